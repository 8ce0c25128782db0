// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits hold source text, template strings included
/* Decisions of one function each, which the tests of that function's own file guard: each taken wrongly once. */
import { type PlantedBug, tested } from "./bug.ts";

const CONDITIONS = "src/health/conditions.ts";
const COMPLETENESS = "src/completeness/plan-completeness.ts";

const OF_WORDS: readonly PlantedBug[] = [
  tested(
    "test/confirm/confirmed-orders.test.ts",
    "an order that only the answer to a confirm names overlooked",
    { in: "judgeAccepted", find: "await context.named.readUnknown(answer, root, signal)", replace: "0" },
    "src/confirm/judge-confirm.ts",
  ),
  tested(
    "test/confirm/confirmed-orders.test.ts",
    "a count of more orders than were confirmed overlooked",
    { of: "findExcessCount", does: "return undefined;" },
    "src/service/outcome/answer-counts.ts",
  ),
  tested(
    "test/health/conditions.test.ts",
    "a failed reload told as trouble with the database",
    { in: "ofDaemon", find: "met !== undefined && isOfDatabase(met)", replace: "met !== undefined" },
    CONDITIONS,
  ),
  tested(
    "test/health/conditions.test.ts",
    "a hold under which everything goes on hides a failing flow",
    { in: "holdsThatStop", find: "CONDITIONS[codeOfHold(hold.reason)].stalls &&", replace: "" },
    CONDITIONS,
  ),
  tested(
    "test/health/conditions.test.ts",
    "an exit code of the least weight",
    { in: "exitCodeOfAll", find: ".find(", replace: ".findLast(" },
    CONDITIONS,
  ),
  tested(
    "test/updates/look-near.test.ts",
    "times that were proved wrong move the position once they are near",
    { in: "latestTime", find: "areNear ? nowMs : nowMs + AHEAD_MS", replace: "nowMs + AHEAD_MS" },
    "src/updates/times/latest-time.ts",
  ),
  tested(
    "test/updates/look-near.test.ts",
    "a time that is ignored moves the position once it is near",
    { of: "planWrongDays", does: "return undefined;" },
    "src/updates/times/latest-time.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a flow takes every probe where none was made for long after it was due",
    {
      in: "isYielding",
      find: "queue.untilMs ??= nowMs + queue.firstMs",
      replace:
        "queue.untilMs ??= Date.parse(hold.nextProbeAt ?? '') + queue.firstMs - this.#context.clock.nowMs() + nowMs",
    },
    "src/daemon/probe-queues.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "every probe of a hold of an area is taken by a flow whose endpoint fails for another reason",
    { in: "endTried", find: "await gate.inVain(left, job.areas, signal);", replace: "" },
    "src/daemon/run-job.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a hold of a clock that was ahead begins anew with each process",
    { in: "admit", find: "await this.#holds.bringBack(areas, signal);", replace: "" },
    "src/daemon/gate.ts",
  ),
  tested(
    "test/confirm/pull-unnamed.test.ts",
    "a wait for a lost delivery begins only with a request where the clock was ahead, and each pass is a process",
    { in: "bringTimesBack", find: "bringDeliveryBack(store, now);", replace: "" },
    "src/daemon/repair.ts",
  ),
  tested(
    "test/completeness/empty-list.test.ts",
    "a wait for empty batches that a clock began that was ahead never ends where each pass is a process",
    { in: "bringTimesBack", find: "bringEmptyBack(store, now);", replace: "" },
    "src/daemon/repair.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a probe that cannot be written cuts another flow's wait short",
    { in: "admit", find: "if (!this.#refusedSince.has(keyOf(hold))) this", replace: "this" },
    "src/daemon/gate.ts",
  ),
  tested(
    "test/health/conditions.test.ts",
    "statuses that are switched off ask for something",
    {
      in: "ofStatuses",
      find: "if (flow !== undefined && !flow.enabled)",
      replace: "if (flow !== undefined && !flow.enabled && flow.waiting > 0)",
    },
    CONDITIONS,
  ),
  tested(
    "test/health/plan-alerts.test.ts",
    "an alert of a former version sent again",
    { of: "keyOfName", does: "return name === '' ? name : undefined;" },
    "src/health/alert-names.ts",
  ),
  tested(
    "test/health/save-conditions.test.ts",
    "conditions that changed kept for minutes",
    { in: "look", find: "this.#saved?.what === what && ", replace: "this.#saved !== undefined && " },
    "src/health/save-conditions.ts",
  ),
  tested(
    "test/health/save-conditions.test.ts",
    "conditions written at every look",
    { in: "look", find: 'name === "ageS" ? undefined : value', replace: 'name === "none" ? undefined : value' },
    "src/health/save-conditions.ts",
  ),
  tested(
    "test/cli/sync-holds.test.ts",
    "a sync that ends with what another area waits for",
    { of: "holdsOf", does: "return names.length === 0 ? [] : loadHolds(store);" },
    "src/cli/sync.ts",
  ),
];

const OF_RECORDS: readonly PlantedBug[] = [
  tested(
    "test/records/order-mapping.test.ts",
    "the first of two values of a field taken for what the record says",
    {
      in: "singleMembersOf",
      find: '!isSameValue(bytes, first, value)) found[i] = "repeated"',
      replace: "false as boolean) found[i] = value",
    },
    "src/answers/json-text.ts",
  ),
  tested(
    "test/records/order-mapping.test.ts",
    "the first of two ids taken for the order's",
    { in: "readRecordId", find: "resolveSingle(", replace: "resolvePath(" },
    "src/records/order-mapping.ts",
  ),
  tested(
    "test/updates/take-cancellation.test.ts",
    "one of two places of a status changed by a cancellation",
    { in: "withStatus", find: "paths.status)) {", replace: "paths.status).slice(0, 1)) {" },
    "src/orders/cancellation.ts",
  ),
  tested(
    "test/records/order-mapping.test.ts",
    "a list in the place of a line stored as a line without values",
    { in: "readLines", find: 'kind !== "object" && ', replace: 'kind === "null" && ' },
    "src/records/order-mapping.ts",
  ),
];

const OF_UPKEEP: readonly PlantedBug[] = [
  tested(
    "test/pass/commit.test.ts",
    "each outcome that a stop leaves waits for the lock anew",
    { in: "commitEnd", find: "lastWrites.get(signal) ?? ", replace: "" },
    "src/pass/commit.ts",
  ),
  tested(
    "test/health/save-conditions.test.ts",
    "a first pass that nobody sees",
    { in: "noteFirstPass", find: "if (isFirstPass(store, job.name))", replace: "if (false as boolean)" },
    "src/daemon/run-job.ts",
  ),
  tested(
    "test/daemon/history-marks.test.ts",
    "history removed that is younger than a mark",
    { in: "idAsOldAs", find: "mark.atMs <= atMs", replace: "mark.atMs > atMs || mark.atMs <= atMs" },
    "src/daemon/history-marks.ts",
  ),
  tested(
    "test/daemon/prune-history.test.ts",
    "a mark of a service that is behind this machine",
    { in: "#mark", find: "Math.max(nowMs, clock.nowMs(), reachedMs ?? 0)", replace: "nowMs" },
    "src/daemon/prune-history.ts",
  ),
  tested(
    "test/feeds/push-tables.test.ts",
    "a key of nineteen digits looked up as text alone",
    { in: "formsOf", find: "\\d{1,19}", replace: "\\d{1,18}" },
    "src/feeds/source/feed-source.ts",
  ),
  tested(
    "test/feeds/large-rows.test.ts",
    "a row read whatever its size",
    { of: "listInSql", does: 'return [...columnsOf(parts).map(quoteName), "0"].join(", ");' },
    "src/feeds/source/feed-source.ts",
  ),
  tested(
    "test/feeds/large-rows.test.ts",
    "a page of rows whatever their size",
    { in: "firstOf", find: "if (bytes > bytesMax) break;", replace: "" },
    "src/feeds/feed-record.ts",
  ),
  tested(
    "test/feeds/large-rows.test.ts",
    "the keys after one that is too large left out of a comparison",
    { in: "loadSourcePage", find: "!values.includes(null)", replace: "values.length > 0" },
    "src/feeds/source/feed-source.ts",
  ),
  tested(
    "test/cli/refusals.test.ts",
    "sync beside a bridge of the same account with another database",
    { in: "lockUnlessDaemon", find: "if (isDaemonRunning(loaded)) return undefined;", replace: "return undefined;" },
    "src/cli/sync.ts",
  ),
  tested(
    "test/cli/sync-preview.test.ts",
    "a row of a view looked up by its key as text alone",
    { in: "findRows", find: "key.map(formsOf)", replace: "key.map((text) => [text])" },
    "src/feeds/source/feed-source.ts",
  ),
  tested(
    "test/completeness/lost-values.test.ts",
    "a status compared letter by letter",
    { of: "foldName", does: "return name;" },
    "src/database/same-name.ts",
  ),
  tested(
    "test/completeness/lost-values.test.ts",
    "a number among statuses believed",
    { of: "isOddStatus", does: "return false;" },
    "src/orders/status-names.ts",
  ),
  tested(
    "test/updates/look-past.test.ts",
    "a page without a time that can be read ends the pass, whatever stands behind it",
    { of: "leadsOn", does: "return true;" },
    "src/updates/looks/look-past.ts",
  ),
  tested(
    "test/updates/look-past.test.ts",
    "the position moves to what a search has shown behind",
    { in: "find", find: "Object.assign(pass, { high,", replace: "Object.assign(pass, {" },
    "src/updates/looks/look-past.ts",
  ),
  tested(
    "test/updates/look-past.test.ts",
    "a page that the same request does not show again is searched for",
    { in: "find", find: "if (!isKnown && !(await shows(asked))) return leave();", replace: "" },
    "src/updates/looks/look-past.ts",
  ),
  tested(
    "test/updates/look-past.test.ts",
    "what a search has found is followed unproved",
    { in: "find", find: "bounds.isProven ||= (await", replace: "bounds.isProven ||= true || (await" },
    "src/updates/looks/look-past.ts",
  ),
  tested(
    "test/updates/look-past.test.ts",
    "searches without a limit, one pass after another",
    { in: "find", find: "if (!isKnown && this.#requests >= REQUESTS_MAX) return leave();", replace: "" },
    "src/updates/looks/look-past.ts",
  ),
  tested(
    "test/health/unlisted-changes.test.ts",
    "changes that no list names go untold",
    { of: "noteUnlisted", does: "return;" },
    "src/updates/looks/unlisted-changes.ts",
  ),
];

const OF_PERSONS: readonly PlantedBug[] = [
  tested(
    "test/pass/holds.test.ts",
    "one word lifts a hold that asks for a statement",
    { in: "planLift", find: "meant.length === 1", replace: "meant.length > 0" },
    "src/pass/hold-reasons.ts",
  ),
  tested(
    "test/pass/holds.test.ts",
    "the wait of one order that is compared is that of all",
    { in: "planHold", find: '(flow !== "reconcile" || scope === "area")', replace: 'flow !== "reconcile"' },
    "src/pass/holds.ts",
  ),
  tested(
    "test/reconcile/reconcile.test.ts",
    "the comparison overlooks how often the order has failed in other processes",
    { in: "#compareOne", find: "loadQueuedRead(this.#context.store, order.orderId)?.attempts", replace: "0" },
    "src/reconcile/reconcile.ts",
  ),
];

const OF_ANSWERS: readonly PlantedBug[] = [
  tested(
    "test/statuses/status-queued.test.ts",
    "a status that came out of a queue looked for only when its wait is over",
    { in: "#isDue", find: "seen !== undefined && loadRequestedOrder", replace: "seen === null && loadRequestedOrder" },
    "src/statuses/send-statuses.ts",
  ),
  tested(
    "test/statuses/status-own-error.test.ts",
    "a held record of an order with words of an error taken for an error by each read that is not in the queue",
    { of: "isHeldAs", does: "return false;" },
    "src/updates/reads/read-snapshot.ts",
  ),
  tested(
    "test/service/secrets.test.ts",
    "the beginning of a secret shown where an answer breaks off inside it",
    { in: "withoutCutSecret", find: "hideSecrets(`${end}${CUT}`).slice(0, -CUT.length)", replace: "hideSecrets(end)" },
    "src/answers/hide-in-body.ts",
  ),
  tested(
    "test/database/erp-objects.test.ts",
    "an index that the ERP dropped taken for a defect where a pass reports it at its end",
    { in: "explain", find: 'thrown.code === "internal" ? thrown.cause : thrown', replace: "!thrown ? null : thrown" },
    "src/database/objects/erp-objects.ts",
  ),
  tested(
    "test/completeness/completeness.test.ts",
    "a field that says nothing contradicts an empty list",
    { in: "findContradictions", find: "if (!field.says) return false;", replace: "" },
    COMPLETENESS,
  ),
  tested(
    "test/completeness/empty-list.test.ts",
    "a batch that shows a part of itself taken for whole",
    { of: "findShortfall", does: "return learned.hasEmpty && size < 0 ? fields : [];" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a batch confirmed after the first of its pages",
    { of: "findNextPage", does: "void [fields, asked, queryOf]; return undefined;" },
    "src/completeness/next-page.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "pages that only their numbers name not asked for",
    {
      in: "findNextPage",
      find: "const turned = turnPage({ fields, size }, asked);",
      replace: "const turned = undefined as NextPage | undefined;",
    },
    "src/completeness/next-page.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "pages that an offset, or a flag beside their number, names not asked for",
    { of: "turnOf", does: "return {};" },
    "src/completeness/page-fields.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "pages that were read again compared with what stood beside the first one before",
    { in: "withPages", find: "[...besideFirst, ...beside]", replace: "[...answer.fields, ...beside]" },
    "src/completeness/next-page.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a batch waits for pages that are batches of their own",
    { in: "withPages", find: "isFollowed ? judged", replace: "isFollowed && size < 0 ? judged" },
    "src/completeness/next-page.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a batch confirmed after an hour although one of its pages failed",
    { in: "mayCountWaiting", find: "return field.isMissing !== true;", replace: "return field.count !== undefined;" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "what stands beside the later pages of a batch overlooked",
    {
      in: "withPages",
      find: "...besideFirst, ...beside",
      replace: "...besideFirst, ...beside.slice(beside.length)",
    },
    "src/completeness/next-page.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "counted pages taken for all of a batch after they were read once",
    { of: "queryOfFirst", does: "void [next, asked, size, PAGE, OFFSET, OTHER]; return undefined;" },
    "src/completeness/next-page.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "another batch counts as the page that a link elsewhere names",
    { in: "#readOnce", find: "isOther && isElsewhere", replace: "false" },
    "src/orders/read-batch-pages.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a page of other orders under the id of one that was read taken for the page before",
    { in: "#isRepeated", find: "&& !hasOneIdTwice(page) && !this.#reader.hasOthers(page)", replace: "" },
    "src/orders/read-batch-pages.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a page that is read again taken for the same",
    { in: "#readOnce", find: "before?.bodies.has(digestOf(page))", replace: "before !== undefined" },
    "src/orders/read-batch-pages.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "a refusal of a status believed before its order is confirmed",
    { in: "#askOrder", find: "isConfirmPending(store, sent.order)", replace: "false" },
    "src/statuses/answered-status.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a link followed to another path",
    { in: "queryOf", find: "return isOwn && ", replace: "return " },
    "src/service/client.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "pages that the journal lacks",
    {
      in: "#storePage",
      find: "if (!(await this.#journal.keep(page.body, note, pass))) throw pass.failure;",
      replace: "void note;",
    },
    "src/orders/store-batches.ts",
  ),
  tested(
    "test/service/outcome/partial-acceptance.test.ts",
    "an answer that tells of a part in a fraction taken for an acceptance",
    { in: "fractionsOf", find: "few < many && few < size &&", replace: "few < 0 &&" },
    "src/service/outcome/partial-acceptance.ts",
  ),
  tested(
    "test/service/outcome/partial-acceptance.test.ts",
    "an answer that counts records as not found taken for an acceptance",
    { in: "findPart", find: "|| isFailed(segment)", replace: "" },
    "src/service/outcome/partial-acceptance.ts",
  ),
  tested(
    "test/service/outcome/partial-acceptance.test.ts",
    "an error accepted because a person has accepted a part",
    { in: "withDoubt", find: 'why: "part"', replace: 'why: "words"' },
    "src/service/outcome/import-result.ts",
  ),
  tested(
    "test/completeness/empty-list.test.ts",
    "a count believed at first sight",
    { in: "countsRecords", find: "return equal !== undefined ||", replace: "return equal !== -1 ||" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/statuses/status-unknown.test.ts",
    "each process waits anew for a status whose answer was lost",
    { in: "resolve", find: "loadLostMs(store, id) ?? nowMs", replace: "nowMs" },
    "src/statuses/resolve-status.ts",
  ),
  tested(
    "test/updates/position-gone-back.test.ts",
    "each process waits anew before it looks by time beside positions",
    { in: "#isLeftBehind", find: "!(await this.#looks.begin(pass.signal))", replace: "clock.monotonicMs() > 0" },
    "src/updates/pages/read-pages.ts",
  ),
  tested(
    "test/updates/follow-rest.test.ts",
    "a position that lies before the one asked is never followed",
    { in: "#mayFollow", find: ">= BACK_MS", replace: "< 0" },
    "src/updates/pages/read-pages.ts",
  ),
  tested(
    "test/pass/machine-clock.test.ts",
    "a time from before the machine's start counts as none",
    { in: "leastAgoMs", find: ": nowMs", replace: ": 0" },
    "src/pass/machine-clock.ts",
  ),
  tested(
    "test/statuses/status-turn.test.ts",
    "a status sent as it was decided before the wait for its turn",
    { in: "take", find: "begun.value", replace: "planned" },
    "src/statuses/settle-status.ts",
  ),
  tested(
    "test/statuses/status-gone.test.ts",
    "what the changes say of a status forgotten where its order is gone",
    { of: "#settleByChanges", does: "void [queued, lastChange, since, at];" },
    "src/updates/reads/read-orders.ts",
  ),
  tested(
    "test/updates/take-cancellation.test.ts",
    "nobody told of an order that only its change calls cancelled",
    { of: "noteCalled", does: "void [queued, answer, at];" },
    "src/updates/reads/asking-record.ts",
  ),
  tested(
    "test/updates/set-back.test.ts",
    "an order taken back for a change whose time cannot be read",
    { in: "isSaidTwice", find: "own === undefined) return false;", replace: "own === undefined) return true;" },
    "src/updates/reads/asking-record.ts",
  ),
  tested(
    "test/updates/set-back.test.ts",
    "a status sent again that made the version which the service has gone back to",
    { in: "reopenLost", find: "if (isSameName(status, kept.status)) return false;", replace: "" },
    "src/orders/echo-rows.ts",
  ),
  tested(
    "test/backup/journal.test.ts",
    "a damaged entry of the journal taken for an unfinished one",
    { in: "settleDamaged", find: "if (isCut && file === newest) {", replace: 'if (isCut || newest !== "") {' },
    "src/backup/damaged-entries.ts",
  ),
  tested(
    "test/backup/journal.test.ts",
    "the journal made anew on the database's disk where its own was pulled",
    {
      in: "refuseOther",
      find: "if (isElsewhere && readMark(folder) === mark) return;",
      replace: "if (mark !== folder) return;",
    },
    "src/backup/journal-files.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "what a list says of a status alone makes the order's own lines older",
    {
      in: "comparedTime",
      find: "if (status !== stored.status)",
      replace: "if (status !== stored.status || mapping !== null)",
    },
    "src/orders/cancellation.ts",
  ),
  tested(
    "test/confirm/lost-answers.test.ts",
    "an answer that was stored before a kill taken for lost",
    { of: "noteAccounted", does: "UNANSWERED.load(store);" },
    "src/batches/delivery-rows.ts",
  ),
  tested(
    "test/confirm/pull-unnamed.test.ts",
    "a mark from before confirms named their batch closed by an answer to another request",
    { in: "closeDelivery", find: "if (isNoted) return;", replace: "" },
    "src/batches/delivery-rows.ts",
  ),
  tested(
    "test/pass/seen-changes.test.ts",
    "a change without a timestamp that leaves the window before all others",
    { of: "leavingOf", does: "return timestampOf(key);" },
    "src/pass/seen-changes.ts",
  ),
  tested(
    "test/confirm/pull-unnamed.test.ts",
    "an answer that was lost while confirms named their batch is forgotten",
    { of: "replaceNote", does: "UNANSWERED.delete(store);" },
    "src/batches/delivery-rows.ts",
  ),
  tested(
    "test/daemon/switch-account.test.ts",
    "a batch confirmed to another account than the one that served it",
    {
      find: 'export const SERVED_HERE = servedTo("@account");',
      replace: 'export const SERVED_HERE = "(1 OR @account)";',
    },
    "src/batches/batch-rows.ts",
  ),
  tested(
    "test/confirm/confirm-size.test.ts",
    "orders of a divided confirm named again although they were accepted",
    { of: "saveUnconfirmedIds", does: "if (id < 0 && begun) store.prepare(rest).run();" },
    "src/confirm/division-rows.ts",
  ),
  tested(
    "test/confirm/confirm-size.test.ts",
    "a limit of confirms that stays after everything was refused for a while",
    { in: "lowerLimit", find: "if (size === 1)", replace: "if (size === 0)" },
    "src/confirm/send-parts.ts",
  ),
  tested(
    "test/service/served-dates.test.ts",
    "a Date that stands still at one address taken for the time",
    { of: "#isOld", does: "return nowMs < atMs && this.last?.date === date;" },
    "src/service/served-dates.ts",
  ),
  tested(
    "test/completeness/partial-answers.test.ts",
    "a part of a batch that is read later taken for whole",
    { of: "headOfText", does: 'return { status: text === "" ? 204 : 200 };' },
    "src/completeness/head-metadata.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a total that is larger than its batch says nothing",
    { in: "countsRecords", find: "|| isPages(field)) return", replace: "|| !isSize(field)) return" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a total that says nothing before it was that of three batches",
    { in: "countsRecords", find: "if (equal === 0 ||", replace: "if (equal !== -1 ||" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a number of all that waits keeps a batch for good",
    { in: "learnShort", find: "if (isWaiting)", replace: "if (isWaiting && count < 0)" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a number of pages of all that waits keeps each batch for an hour",
    { in: "learnShort", find: "isPageNumber(field) ? 1 : before?.size", replace: "before?.size" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a sign of a part that nothing but a person ends",
    { in: "waitForRest", find: "return DAY_MS;", replace: "return 100 * DAY_MS;" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a backlog at a limit of a usual size that waits an hour",
    { in: "waitForRest", find: "? BACKLOG_WAIT_MS : HOUR_MS", replace: "? HOUR_MS : HOUR_MS" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a batch confirmed before the orders that its answer names were read",
    { of: "#isSettled", does: "return unknown.length >= 0;" },
    "src/completeness/orders-beside-list.ts",
  ),
  tested(
    "test/completeness/empty-list.test.ts",
    "a count that never becomes the number of the records",
    { of: "learnSizes", does: "return answer.size === -1 ? { ...learned } : learned;" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/completeness/lost-values.test.ts",
    "a value that all orders lose at once is taken for their own",
    { in: "isUsual", find: "former.length < SINGLE_FORMER_MIN ||", replace: "former.length > 0 ||" },
    "src/completeness/lost-values.ts",
  ),
  tested(
    "test/daemon/newer-elsewhere.test.ts",
    "a lost answer is forgotten where a copy has the place of the database, and the journal has no more",
    { in: "settleOlder", find: "loseDelivery(store, at);", replace: "" },
    "src/daemon/suspect-database.ts",
  ),
  tested(
    "test/daemon/newer-elsewhere.test.ts",
    "a copy from before the mark of a lost answer is not told from the database",
    { in: "isBehind", find: "(own.asked ?? 0) < (note.asked ?? 0)", replace: "(own.asked ?? 0) < 0" },
    "src/database/log/progress.ts",
  ),
  tested(
    "test/completeness/lost-values.test.ts",
    "a value that all orders have lost counts by a clock that jumps ahead",
    {
      in: "hasLasted",
      find: "onMachineMs >= Math.min(forMs, ON_MACHINE_MS)",
      replace: "onMachineMs >= 0",
    },
    "src/pass/machine-clock.ts",
  ),
  tested(
    "test/updates/change-lag.test.ts",
    "changes that are listed later than their orders are waited for",
    { in: "isWithinLag", find: "if (behind.length >= READS_MIN &&", replace: "if (behind.length < 0 &&" },
    "src/updates/times/change-lag.ts",
  ),
  tested(
    "test/updates/change-lag.test.ts",
    "our own statuses never show that the changes are listed later",
    { in: "learnLag", find: "read.isAlike !== true", replace: "read.isAlike !== null" },
    "src/updates/times/change-lag.ts",
  ),
  tested(
    "test/updates/follow.test.ts",
    "one time as digits changes how all changes are asked for",
    { find: "others > 1 ||", replace: "others > 0 ||" },
    "src/updates/times/learn-form.ts",
  ),
  tested(
    "test/updates/follow-pages.test.ts",
    "a named position that is the page's largest timestamp is followed as a token",
    { find: "!isLargest(token, page, pass) && ", replace: "" },
    "src/updates/pages/read-pages.ts",
  ),
  tested(
    "test/updates/first-position.test.ts",
    "following begins at the Date of a pull that came after others without one",
    { of: "loadFirstDate", does: "return undefined;" },
    "src/batches/kept-rows.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "a look by the service's positions begins anew wherever it was asked to wait",
    { in: "#readByToken", find: "from !== undefined && (", replace: "from === null && (" },
    "src/updates/pages/read-pages.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a hold stands that a pass was let in behind, where the pass fails",
    { in: "attempt", find: "isLetIn || isAnswered(error)", replace: "isAnswered(error)" },
    "src/daemon/run-job.ts",
  ),
  tested(
    "test/feeds/push-repeats.test.ts",
    "a row that went to zero, and goes again with its value, counts twice for the guard",
    {
      in: "saveAcknowledged",
      find: "drop_round = iif(record = doubt_record AND gone = 0, NULL, drop_round)",
      replace: "drop_round = drop_round",
    },
    "src/feeds/feed-outbox.ts",
  ),
  tested(
    "test/statuses/status-queued.test.ts",
    "a queued status that went again without an answer waits for a day",
    { in: "#planUnseen", find: "isDoubted || isRepeating ||", replace: "isDoubted ||" },
    "src/statuses/resolve-status.ts",
  ),
  tested(
    "test/batches/unconfirmed-bodies.test.ts",
    "a batch stored before the journal was there is confirmed without it",
    {
      in: "begin",
      find: "if (folder !== undefined) await saveUnconfirmedBodies(this.#context, paths, signal);",
      replace: "",
    },
    "src/batches/journal-batches.ts",
  ),
  tested(
    "test/batches/unconfirmed-bodies.test.ts",
    "a body without all records of its batch taken for whole",
    { in: "recordsOf", find: "ids.length !== batch.orderCount", replace: "false" },
    "src/batches/unconfirmed-bodies.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "an order that left a batch between two readings of its pages is not named with it",
    { in: "#readPages", find: "return { ...now, ids };", replace: "return now;" },
    "src/orders/read-batch-pages.ts",
  ),
  tested(
    "test/backup/journal.test.ts",
    "a batch served again with a later timestamp stays out of the journal",
    { in: "ingestVersion", find: 'return "refreshed";', replace: 'return "same";' },
    "src/orders/ingest-orders.ts",
  ),
  tested(
    "test/feeds/unknown-answers.test.ts",
    "a hold for unusual answers is ended by the process that set it alone",
    { in: "settleForms", find: "(this.#forms.hasFresh || this.#isHeld)", replace: "this.#forms.hasFresh" },
    "src/feeds/send/send-request.ts",
  ),
  tested(
    "test/feeds/unknown-answers.test.ts",
    "a hold for unusual answers stands as long as any row of the feed has an unknown outcome",
    { in: "#end", find: "for (const { id } of rows) this.#unusual.delete(id);", replace: "" },
    "src/feeds/send/send-request.ts",
  ),
  tested(
    "test/feeds/unknown-answers.test.ts",
    "a hold for unusual answers is ended by any acceptance after a restart",
    { in: "recall", find: "if (!this.#isHeld) return;", replace: "if (this.#isRecalled) return;" },
    "src/feeds/send/send-request.ts",
  ),
  tested(
    "test/service/outcome/usual-forms.test.ts",
    "an answer that says nothing speaks against one that said yes",
    { of: "isSilent", does: "return kind === 'number' && kind !== 'number';" },
    "src/service/outcome/answer-form.ts",
  ),
  tested(
    "test/service/outcome/answer-form.test.ts",
    "a text that begins with a count of a part taken for an acceptance",
    {
      in: "isAcceptance",
      find: "Number(TEXTS.takenFirst.exec(start)?.[1]) === size",
      replace: "TEXTS.takenFirst.test(start) && size !== 0",
    },
    "src/service/outcome/answer-form.ts",
  ),
];

const OF_CHANGES: readonly PlantedBug[] = [
  tested(
    "test/completeness/unusual-empty.test.ts",
    "the form of batches without orders taken for that of answers for nothing",
    { in: "#judgeForm", find: "mayBeBatches(names)", replace: "false" },
    "src/completeness/check-completeness.ts",
  ),
  tested(
    "test/updates/follow.test.ts",
    "a position from before the clock was set back taken over after it",
    { in: "mayMove", find: "isFromFuture(candidate, serviceNow, rules.timezone)", replace: "false" },
    "src/updates/pages/follow.ts",
  ),
  tested(
    "test/updates/plan-cut.test.ts",
    "the same gap begins its search again with every pass",
    { in: "planGap", find: "standing?.skipped?.from === skipped.from", replace: "false" },
    "src/updates/cuts/plan-cut.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "a gap that is searched ends later with every order",
    { in: "#plan", find: "loadCut(store)?.skipped?.to", replace: "undefined" },
    "src/updates/pages/first-page.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "the order of a change without an id is not read",
    { in: "readOrdersOf", find: "orders.slice(0, READS_MAX)", replace: "orders.slice(READS_MAX)" },
    "src/orders/quarantine-record.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "changes that name no order passed over",
    { in: "applyUnnamed", find: "noteUnnamed(store, { from, at });", replace: "" },
    "src/updates/pages/apply-change.ts",
  ),
  tested(
    "test/updates/follow.test.ts",
    "changes followed from within a minute to which times are cut",
    {
      in: "planFirstAsk",
      find: "ns = beforeUnit(ns, position)",
      replace: "ns = ns > 0n ? ns : beforeUnit(ns, position)",
    },
    "src/updates/pages/follow.ts",
  ),
  tested(
    "test/updates/follow.test.ts",
    "changes followed from the position itself without an overlap",
    { in: "planFirstAsk", find: "ns -= 1n", replace: "ns -= 0n" },
    "src/updates/pages/follow.ts",
  ),
  tested(
    "test/updates/follow.test.ts",
    "a position compared with times that name no zone",
    { in: "planFirstAsk", find: " + uncertaintyNs(own, form)", replace: " + 0n * uncertaintyNs(own, form)" },
    "src/updates/pages/follow.ts",
  ),
  tested(
    "test/updates/zone-lost.test.ts",
    "another form of times that the newest order shows goes unseen",
    { in: "takeForm", find: "ordersForm: form, form, zoneLost", replace: "ordersForm: form, zoneLost" },
    "src/updates/times/learn-form.ts",
  ),
  tested(
    "test/updates/two-forms.test.ts",
    "the form of since stays, whatever another one brings",
    {
      of: "showsMore",
      does: "return highNs === undefined && known === undefined && askedNs === 0n && timestamps.length < 0;",
    },
    "src/updates/looks/look-other.ts",
  ),
  tested(
    "test/updates/set-back.test.ts",
    "changes that come newest first are never asked from far enough",
    { in: "#beginOf", find: "times % 2 === 1", replace: "times % 2 === 2" },
    "src/updates/reads/look-in-updates.ts",
  ),
  tested(
    "test/orders/pull-bad-orders.test.ts",
    "another order under a known id held as that order's where it lacks something",
    {
      in: "findOther",
      find: "if (!isOtherOrder(",
      replace: 'if (fieldOf(said, "status") === undefined || !isOtherOrder(',
    },
    "src/orders/other-order.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "the age of a since measured at the last repeat of its request",
    { in: "#learnRefused", find: "this.#askedAt", replace: "this.leastNow" },
    "src/updates/pages/first-page.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "an age that was answered and not worth a write forgotten at a refusal",
    {
      in: "noteRefused",
      find: "answeredMs ?? 0].filter(",
      replace: "before === undefined ? (answeredMs ?? 0) : 0].filter(",
    },
    "src/updates/pages/since-limits.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "an age that is known to be answered asked for a unit too far back",
    { in: "askNoEarlier", find: "asked.ns < instantNs", replace: "asked.ns < 0n" },
    "src/updates/pages/follow.ts",
  ),
  tested(
    "test/updates/since-limits.test.ts",
    "a since between two milliseconds asked for again and again",
    { in: "noteRefused", find: "asked.ns + MS_NS - 1n", replace: "asked.ns" },
    "src/updates/pages/since-limits.ts",
  ),
  tested(
    "test/confirm/late-orders.test.ts",
    "orders of a refused batch that another confirm covers are not read again",
    { in: "findLate", find: ", ...loadRefusedConfirms(store, of)", replace: "" },
    "src/confirm/settle-outcome.ts",
  ),
  tested(
    "test/confirm/late-orders.test.ts",
    "the end of a search for changes passes orders that are confirmed meanwhile",
    { in: "#findStart", find: "[loadReached(store), ", replace: "[" },
    "src/confirm/late-orders.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "changes that name no order wait for ever where the service does not go back to them",
    { in: "#fillBack", find: "await this.#cuts.readAll(pass.signal);", replace: "" },
    "src/updates/looks/read-wide.ts",
  ),
  tested(
    "test/updates/set-back.test.ts",
    "what a restored service has lost looked for by this machine's clock, whatever it shows",
    {
      in: "note",
      find: "const isRight = Math.abs(nowMs - serviceMs) <= MARGIN_MS;",
      replace: "const isRight = true as boolean;",
    },
    "src/updates/reads/set-back.ts",
  ),
  tested(
    "test/updates/set-back.test.ts",
    "orders that stay set back for a day show nothing",
    { in: "takeBack", find: "if (lost !== undefined &&", replace: "if (lost !== undefined && isProven &&" },
    "src/updates/reads/read-order.ts",
  ),
  tested(
    "test/updates/stale-replica.test.ts",
    "a version from before its order's creation passes for an earlier one for as long as the changes list the other",
    {
      in: "#readUntilCurrent",
      find: "&& !this.#reader.isOfBeforeItself(read.value.answer, version.timestamp)",
      replace: "",
    },
    "src/updates/reads/read-orders.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "a change from before what was asked for passes for the end of a page",
    {
      in: "withoutEarlier",
      find: "if (!timestamps.some(isEarlier)) return timestamps;",
      replace: "return timestamps;",
    },
    "src/updates/pages/page-cover.ts",
  ),
  tested(
    "test/updates/request-read.test.ts",
    "a read that failed waits although its order has changed again",
    { of: "isLaterThan", does: "return false;" },
    "src/orders/queue-order.ts",
  ),
  tested(
    "test/updates/request-read.test.ts",
    "a read that failed waits although a page may have left out its change",
    {
      in: "#requestSome",
      find: "expediteRead(store, order.orderId);",
      replace: "if (last.orderId === stage) expediteRead(store, order.orderId);",
    },
    "src/updates/cuts/find-cut-changes.ts",
  ),
  tested(
    "test/backup/restore.test.ts",
    "a revision given twice after a restore",
    { in: "raiseNumbers", find: "if (!isComplete) raiseRevisions(to);", replace: "" },
    "src/backup/settle.ts",
  ),
  tested(
    "test/statuses/status-kept.test.ts",
    "a cancellation with an earlier time, or a record without a status, holds no status",
    {
      in: "judge",
      find: "if (status === undefined || cancelled.has(status))",
      replace: 'if (cancelled.has(status ?? "") && !isOld)',
    },
    "src/updates/reads/kept-words.ts",
  ),
  tested(
    "test/statuses/status-kept.test.ts",
    "a cancellation that does not name its order holds no status",
    { in: "loadKept", find: "queued === undefined ? [] : loadUnnamed", replace: "queued !== null ? [] : loadUnnamed" },
    "src/updates/reads/kept-words.ts",
  ),
  tested(
    "test/statuses/status-kept.test.ts",
    "a cancellation that may be of an order holds its status by a clock that jumps ahead",
    { in: "judge", find: "machineMs: sinceMs", replace: "machineMs: null" },
    "src/updates/reads/kept-words.ts",
  ),
  tested(
    "test/statuses/status-unstored.test.ts",
    "a cancellation settled by an answer that was asked for before it",
    { in: "requestReadAfter", find: "record_hash = ?", replace: "record_hash = iif(? IS NULL, '', record_hash)" },
    "src/pass/position-rows.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "an order that was moved on at once counts as changed by somebody else",
    {
      in: "compareShown",
      find: "isMadeAfter(now.timestamp, { ...moves, isReadBefore }, timezone)",
      replace: 'now.status === ""',
    },
    "src/statuses/judge-status.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "a status that its order has already is sent again although it was taken and moved on",
    {
      in: "#askOrder",
      find: 'if (seen.kind === "order") {',
      replace: 'if (seen.kind === "order" && sent.statusSent !== sent.statusBefore) {',
    },
    "src/statuses/answered-status.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "a status sent again although it was seen at its order since a refusal",
    { in: "#look", find: "isSameName(since, status)", replace: 'isSameName(since, "")' },
    "src/statuses/settle-status.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "a status answered with the order in one that is not known counts as sent",
    { in: "send", find: "{ shown: another, ...report }", replace: "report || {}" },
    "src/statuses/answered-status.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "what is accepted says nothing of a status that was answered with the former one",
    { in: "noteOtherAccepted", find: "json('true')", replace: "NULL" },
    "src/statuses/status-rows.ts",
  ),
  tested(
    "test/statuses/status-kept.test.ts",
    "a cancellation that could not be read holds no status",
    { in: "planKept", find: "kept.find(({ isCancelled }) => isCancelled)", replace: "undefined" },
    "src/statuses/plan-status.ts",
  ),
  tested(
    "test/orders/quarantined-orders.test.ts",
    "a row for each heartbeat",
    { in: "replaceAlike", find: "if (id === undefined) return false;", replace: "if (id !== undefined) return false;" },
    "src/orders/alike-rows.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "one refusal with a long wait keeps all of its area from being tried",
    { in: "windowOf", find: "return Math.min(own, ...windows);", replace: "return own;" },
    "src/daemon/standing-holds.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a flow with a long wait takes the probes of those with a short one",
    { in: "#turnOf", find: "waitMs > 0 || isOwn;", replace: "waitMs > 0;" },
    "src/daemon/gate.ts",
  ),
  tested(
    "test/statuses/status-unknown-order.test.ts",
    "a request for an order that the service does not have is not ended",
    { of: "refuseUnknown", does: "return [];" },
    "src/orders/unstored-requests.ts",
  ),
  tested(
    "test/statuses/status-unknown-order.test.ts",
    "a request for an order that is not stored yet is refused",
    {
      in: "planStatus",
      find: 'return { kind: "find", reason: m.statuses.notStored };',
      replace: "return refuse(m.statuses.notStored);",
    },
    "src/statuses/plan-status.ts",
  ),
  tested(
    "test/statuses/status-unknown-order.test.ts",
    "every order that is not stored is asked for at once",
    { in: "requestUnstored", find: " || untried >= UNTRIED_MAX", replace: "" },
    "src/orders/unstored-requests.ts",
  ),
  tested(
    "test/statuses/status-replaced.test.ts",
    "the answer to a former request counts for the one that has its id now",
    { of: "isReplaced", does: "return false;" },
    "src/statuses/status-rows.ts",
  ),
  tested(
    "test/statuses/status-cancelled.test.ts",
    "a request without a revision is sent over a cancellation",
    { in: "loadKnownOrder", find: "WHERE r.id = ?)", replace: "WHERE r.id = ? AND r.known_revision IS NOT NULL)" },
    "src/statuses/requested-order-rows.ts",
  ),
  tested(
    "test/statuses/status-cancelled.test.ts",
    "a word that means a cancellation only now is none",
    {
      in: "findCancellation",
      find: '!(wasCancelled && cancelled.has(was ?? ""))',
      replace: '!cancelled.has(was ?? "")',
    },
    "src/statuses/plan-status.ts",
  ),
  tested(
    "test/updates/second-reads.test.ts",
    "an order with a date alone is read again at the end of the day alone",
    { in: "queueSecondRead", find: "const dueMs = isEarly ?", replace: "const dueMs = isEarly && endMs < askedMs ?" },
    "src/orders/second-reads.ts",
  ),
  tested(
    "test/updates/second-reads.test.ts",
    "reads within the unit do not wait for each other",
    { in: "planSecondRead", find: ", waiting * SPACING_MS)", replace: ", waiting)" },
    "src/orders/second-reads.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "a page of a few of the newest changes is taken for all",
    {
      in: "mayBeLimit",
      find: "if (size < MIXED_MIN || size < pageMax) return false;",
      replace: "if (size < CUT_MIN) return false;",
    },
    "src/updates/pages/page-cover.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "a search waits for an order that the service does not have",
    {
      in: "countRequestedReads",
      find: "order_id IN (SELECT order_id FROM missing_orders)",
      replace: "order_id IS NULL",
    },
    "src/updates/cuts/cut-rows.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "a few changes at a time are searched without end",
    { in: "mayBeLimit", find: "times < FRUITLESS_MAX", replace: "times < Number.POSITIVE_INFINITY" },
    "src/updates/pages/page-cover.ts",
  ),
  tested(
    "test/updates/other-question.test.ts",
    "a service that ignores since taken for one that has nothing new",
    { of: "showsOtherQuestion", does: "return false;" },
    "src/updates/pages/page-cover.ts",
  ),
  tested(
    "test/updates/plan-cut.test.ts",
    "one answer to another question told of at once",
    {
      in: "planOther",
      find: "plan(facts, { size, isOther: true })",
      replace: "plan(facts, { size, isOther: true, isShown: true })",
    },
    "src/updates/cuts/plan-cut.ts",
  ),
  tested(
    "test/updates/other-question.test.ts",
    "open orders read without a pause while the service ignores since",
    { of: "#isTooSoon", does: "return false;" },
    "src/updates/cuts/find-cut-changes.ts",
  ),
  tested(
    "test/updates/other-question.test.ts",
    "a time without a zone taken for one before since",
    { in: "liesBefore", find: "+ uncertaintyNs(form, asked.form)", replace: "" },
    "src/updates/pages/page-cover.ts",
  ),
  tested(
    "test/updates/set-back.test.ts",
    "an order overlooked that is set back between two pages of one pass",
    { of: "#setBackTo", does: "return undefined;" },
    "src/updates/pages/collect-changes.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "a cancellation overlooked that a later change of the same page overtakes",
    { of: "#noteOvertaken", does: "return;" },
    "src/updates/pages/collect-changes.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "an order overlooked that is opened and cancelled again between two polls",
    { in: "#addChange", find: "was !== is", replace: "was" },
    "src/updates/pages/collect-changes.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "an order overlooked that was opened before the cancellation that its read shows",
    { in: "ingestVersion", find: "isCancelled === stored.isCancelled", replace: "!isCancelled" },
    "src/orders/ingest-orders.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "an order taken for opened by a change that another one than a cancellation follows",
    {
      in: "storeOvertaken",
      find: "overtaken.findLastIndex(cancels) + 1",
      replace: "overtaken.length",
    },
    "src/orders/cancellation.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "a cancellation overlooked that waits for its read while a later change comes",
    {
      in: "storeOvertaken",
      find: "[...waiting, ...loadUnstoredOf(store, orderId)]",
      replace: "loadUnstoredOf(store, orderId)",
    },
    "src/orders/cancellation.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "a cancellation overlooked whose order says something later when it is read",
    { of: "takesOvertaken", does: "return false;" },
    "src/orders/ingest-orders.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "a cancellation overlooked that waits for its read while a later record comes that cannot be stored",
    {
      in: "queueOrderRead",
      find: "storeOvertaken({ store, rules }, { orderId, status, timestamp, at: now.at });",
      replace: "",
    },
    "src/orders/queue-order.ts",
  ),
  tested(
    "test/updates/overtaken-cancellation.test.ts",
    "a cancellation overlooked whose order is read before the pass that has listed it is stored",
    {
      in: "storeOvertaken",
      find: "[...waiting, ...loadUnstoredOf(store, orderId)]",
      replace: "waiting",
    },
    "src/orders/cancellation.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "changes that move no position are not looked for in later pages",
    { in: "#newAnchors", find: "(!isWhole && watermark", replace: "(watermark" },
    "src/updates/pages/store-pass.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "a few changes that rise are taken for the oldest, whatever they lack",
    { in: "notePage", find: ", coveredNs, mayBeChance))", replace: ", coveredNs))" },
    "src/updates/pages/follow-pass.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "a count of older changes begins a search for each new one",
    { in: "notePage", find: " && !fallsTo(page.timestamps, coveredNs)", replace: "" },
    "src/updates/pages/follow-pass.ts",
  ),
  tested(
    "test/completeness/completeness.test.ts",
    "a link to a next page beside changes says nothing",
    { in: "findLacks", find: ' || field.kind === "more"', replace: "" },
    "src/completeness/lacks.ts",
  ),
  tested(
    "test/updates/missing-orders.test.ts",
    "an order that is marked as removed is looked for at night alone",
    {
      in: "#settleMissing",
      find: "requestLaterReads(store, queued.orderId, at);",
      replace: "if (missingSince === at) requestLaterReads(store, queued.orderId, at);",
    },
    "src/updates/reads/read-orders.ts",
  ),
];

const WRITES = "test/feeds/erp-writes.test.ts";

const OF_WRITES: readonly PlantedBug[] = [
  tested(
    WRITES,
    "an update to equal values is no write",
    { in: "triggersOf", find: 'after.push(trigger("write",', replace: 'void (trigger("write",' },
    "src/feeds/source/feed-triggers.ts",
  ),
  tested(
    WRITES,
    "one update counts as a write for ever",
    {
      in: "saveErpWrite",
      find: "DELETE FROM feed_writes WHERE feed_id = ?",
      replace: "DELETE FROM feed_writes WHERE feed_id = -?",
    },
    "src/feeds/feed-rows.ts",
  ),
  tested(
    WRITES,
    "a transaction for each pass that finds a write",
    { in: "noteTableWrites", find: "isoTime(nowMs - NOTED_EVERY_MS)", replace: "at" },
    "src/feeds/diff/absorb-feed.ts",
  ),
  tested(
    WRITES,
    "a file that was replaced by an equal one is not written",
    { in: "stateOf", find: "${found.ino}:${found.size}:${found.mtimeNs}", replace: "${found.size}" },
    "src/feeds/source/source-reader.ts",
  ),
  tested(
    WRITES,
    "opening a file for reading is a write of it",
    { in: "stateOf", find: "`${found.ino}:", replace: "`${performance.now()}:" },
    "src/feeds/source/source-reader.ts",
  ),
  tested(
    WRITES,
    "the silence of a view reported",
    { of: "noteNoWrites", does: "return;" },
    "src/feeds/source/erp-writes.ts",
  ),
];

const GONE: PlantedBug = tested(
  "test/cli/gone-database.test.ts",
  "a database that is gone taken for one that is made at the first start",
  { of: "hasDatabase", does: "return existsSync(loaded.config.database.path);" },
  "src/daemon/missing-database.ts",
);

const LOST = "test/cli/lost-output.test.ts";
const TERMINAL = "src/cli/terminal.ts";

const OF_OUTPUT: readonly PlantedBug[] = [
  tested(
    LOST,
    "results that were lost end with 0",
    { of: "codeOfLost", does: "return exitCode;" },
    "src/cli/lost-output.ts",
  ),
  tested(
    LOST,
    "a short write taken for a whole one",
    {
      in: "#writeWhole",
      find: "done += writeSome(bytes.subarray(done))",
      replace: "done += Math.max(bytes.length, writeSome(bytes.subarray(done)))",
    },
    TERMINAL,
  ),
  tested(
    LOST,
    "a failing disk taken for a reader that has gone",
    { in: "listen", find: '(error.code === "EIO" && this.#stream.isTTY)', replace: 'error.code === "EIO"' },
    TERMINAL,
  ),
];

const MODES = "test/backup/file-modes.test.ts";

const OF_MODES: readonly PlantedBug[] = [
  tested(
    MODES,
    "a restored database gets rights that nobody gave",
    { in: "handOver", find: "modeOfNew(database, RESTORING)", replace: "0o660" },
    "src/cli/restore-bridge.ts",
  ),
  tested(
    MODES,
    "a saved database gets rights that nobody gave",
    { in: "saveUnlinked", find: "modeOfNew(file, PARTIAL)", replace: "0o660" },
    "src/backup/save-unlinked.ts",
  ),
];

const PATHS = "test/cli/given-path.test.ts";

const OF_PATHS: readonly PlantedBug[] = [
  tested(
    PATHS,
    "a backup into a folder that is not there",
    { of: "requireFolderOf", does: "return;" },
    "src/cli/given-path.ts",
  ),
  tested(
    PATHS,
    "init makes a database before it knows where the rest goes",
    { of: "requirePlace", does: "return;" },
    "src/cli/given-path.ts",
  ),
];

const LOG_RIGHTS = "test/database/log-rights.test.ts";

const OF_LOGS: readonly PlantedBug[] = [
  tested(
    LOG_RIGHTS,
    "a log made that the ERP cannot write",
    {
      in: "planLog",
      find: "logs.includes(undefined) && !mayAllWrite(file, newLog(file, folder, self))",
      replace: "false",
    },
    "src/database/file/log-rights.ts",
  ),
  tested(
    LOG_RIGHTS,
    "the group of a folder without setgid taken for that of a log",
    { in: "newLog", find: "(folder.mode & SETGID) === 0 ? self.gid : folder.gid", replace: "folder.gid" },
    "src/database/file/log-rights.ts",
  ),
];

export const DECISION_BUGS: readonly PlantedBug[] = [
  GONE,
  ...OF_OUTPUT,
  ...OF_LOGS,
  ...OF_MODES,
  ...OF_PATHS,
  ...OF_WRITES,
  ...OF_WORDS,
  ...OF_RECORDS,
  ...OF_UPKEEP,
  ...OF_PERSONS,
  ...OF_ANSWERS,
  ...OF_CHANGES,
];
