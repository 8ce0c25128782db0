// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits hold source text, template strings included
/* Bugs that an attack from outside would find again, by what the world draws since. */
import { LINKS, SAYS_A_NUMBER, SAYS_PLAINLY } from "../simulate/forms.ts";
import { OTHERWISE } from "../simulate/hostile/grammar.ts";
import { hostile, one, type PlantedBug, tested } from "./bug.ts";

const BATCHES = "src/batches/batch-rows.ts";
const COUNTS = "src/service/outcome/answer-counts.ts";
const LACKING_CHANGES = "src/feeds/send/lacking-changes.ts";
const REPEATED = "src/feeds/repeated-rows.ts";
const REPORTS = "src/service/outcome/record-reports.ts";

/** A record is left out, and the answer says so in this form. */
const leftOut = (importAnswer: string) => ({ forms: { importAnswer }, step: { do: "leave out" } }) as const;

/** Fewer changes than there were are counted, under a name that means changes or under any. */
const fewChanges = (...importAnswer: string[]) =>
  ({ forms: { importAnswer, importCounts: "changed" }, step: { do: ["leave out", "read only"] } }) as const;
/** No more records of a request are taken, and nothing says so but a count of unknown meaning. */
const silentLimit = (...importAnswer: string[]) => ({ forms: { importAnswer, takenRecords: [2, 3] } }) as const;

/** The site takes rows for one article whose keys differ, and the ERP has such rows. */
const respelled = (ignores: string, ...how: string[]) =>
  ({ forms: { ignores }, step: { do: "respell", how } }) as const;

/** Every import with one article is denied. */
const DENIED = {
  step: { do: "lie", lie: { on: "import", status: [401, 402, 403], span: "for ever", of: { nth: [0, 1, 2, 3] } } },
} as const;

export const FOUND_BUGS: readonly PlantedBug[] = [
  tested(
    "test/statuses/status-unknown.test.ts",
    "a copy from before a status left taken for what its order is",
    { in: "#isMadeBefore", find: "return isBefore &&", replace: "return !isBefore && isBefore &&" },
    "src/updates/reads/read-order.ts",
  ),
  tested(
    "test/statuses/status-unknown.test.ts",
    "an order taken for a copy by a clock that is a year behind",
    { in: "#isMadeBefore", find: "&& sinceMs < COPY_FOR_MS", replace: "" },
    "src/updates/reads/read-order.ts",
  ),
  tested(
    "test/statuses/status-unknown.test.ts",
    "an order taken for a copy since the service's clock was set back",
    { in: "#isMadeBefore", find: "sinceMs >= 0 && ", replace: "" },
    "src/updates/reads/read-order.ts",
  ),
  tested(
    "test/statuses/status-unknown.test.ts",
    "an order taken for a copy by a clock that goes on behind the others",
    { in: "isUnproven", find: "?.goesOn !== true", replace: " !== null" },
    "src/service/served-dates.ts",
  ),
  tested(
    "test/statuses/status-kept.test.ts",
    "a look at an order counts although the changes have shown the status since",
    { in: "isToBeRead", find: "looked.get(id) !== listed", replace: "wasAnswered && !looked.has(id)" },
    "src/statuses/settle-status.ts",
  ),
  tested(
    "test/feeds/push-denied.test.ts",
    "a hold of refused credentials stands although the service says of rows what is not understood",
    { in: "isJudged", find: 'if (error.code === "answer_unknown") return true;', replace: "" },
    "src/daemon/run-job.ts",
  ),
  tested(
    "test/feeds/push-denied.test.ts",
    "a hold of refused credentials stands although the service judges what is sent",
    { in: "overBy", find: "|| (isHeldAsDenied([reason]) && isJudged(error))", replace: "" },
    "src/daemon/run-job.ts",
  ),
  {
    ...one(
      "that a record is unchanged since its answer was lost taken for no acceptance",
      REPORTS,
      "of?.mayBeThere !== undefined && saysTaken(text)",
      "of?.mayBeThere !== undefined && VALUES.refusal.test(text) && saysTaken(text)",
    ),
    draws: { forms: { importAnswer: "outcomes" } },
  },
  tested(
    "test/service/outcome/record-reports.test.ts",
    "a record that is not updated, as it may be there, taken for left out",
    { find: "of?.mayBeThere?.() === true", replace: "of?.mayBeThere?.() === null" },
    REPORTS,
  ),
  one(
    "an earlier copy since which only stock was sent taken for the newest database",
    "src/feeds/send/flights.ts",
    "markLoaded(store, next); countAsked(store);",
    "markLoaded(store, next);",
  ),
  one(
    "an earlier copy since which only a status was sent taken for the newest database",
    "src/statuses/status-rows.ts",
    "if (isMarked) countAsked(store);",
    "",
  ),
  tested(
    "test/daemon/older-database.test.ts",
    "the stock of an older database sent at once",
    { of: "doubtFeeds", does: "markAcknowledgedUnknown(to, because); return [];" },
    "src/backup/settle.ts",
  ),
  tested(
    "test/daemon/older-database.test.ts",
    "a copy without its note noticed only if it has orders",
    { in: "isUnnoted", find: "own.mark === NOTED ||", replace: "(own.mark === NOTED && own.batches > 0) ||" },
    "src/database/log/progress.ts",
  ),
  {
    ...one(
      "a status leaves while the changes cannot be had, before anything is asked of its order",
      "src/statuses/settle-status.ts",
      'if (!hasSucceeded(store, "updates")) return false;',
      "if (loadFollowedAt(store, { sinceRun: this.#runAtStart }) === undefined) return false;",
    ),
    draws: { step: { do: "cancel unseen", isStopped: false } },
  },
  {
    ...one(
      "a status leaves after a start before anything is asked of its order",
      "src/statuses/settle-status.ts",
      'if (!hasSucceeded(store, "updates")) return false;',
      'if (!hasSucceeded(store, "updates") || this.#readFirst.size === 0) return false;',
    ),
    draws: { step: { do: "cancel unseen", isStopped: true } },
  },
  {
    ...one(
      "the time until which the service asks to wait reckoned by this machine's clock",
      "src/service/client.ts",
      'firstOf(headers["date"]) ?? this.serviceNow ?? ""',
      'String(headers["-"])',
    ),
    draws: { step: { do: "net", fate: { status: 429, retryAfter: ["date", "epoch"] } } },
  },
  {
    ...one(
      "a rising page that lacks its oldest changes taken for whole",
      "src/updates/pages/follow-pass.ts",
      "isInOrder && mayBeLimit(",
      "isInOrder && length < 10 && mayBeLimit(",
    ),
    draws: { forms: { keeps: "newest", order: "ascending" } },
  },
  tested(
    "test/updates/follow-cut.test.ts",
    "a rising page that was asked from behind what is known taken for whole",
    {
      in: "notePage",
      find: "isInOrder && mayBeLimit(",
      replace: "isInOrder && (length < 10 || askedNs < (coveredNs ?? 0n)) && mayBeLimit(",
    },
    "src/updates/pages/follow-pass.ts",
  ),
  tested(
    "test/updates/follow-cut.test.ts",
    "the position moves over a rising page where the request that would judge it has to wait",
    { in: "isUnclear", find: "[gap, mixed]", replace: "[gap?.mayBeChance ? undefined : gap, mixed]" },
    "src/updates/pages/judge-pages.ts",
  ),
  {
    ...one(
      "a secret that an acceptance repeats learned with its words",
      "src/service/client.ts",
      'body: request.method === "GET" ? body : this.#withoutSecrets(body)',
      'body: request.method !== "GET" ? body : this.#withoutSecrets(body)',
    ),
    draws: { forms: { repeatsSecret: true } },
  },
  {
    ...one(
      "what an answer says of single records overlooked",
      "src/service/outcome/usual-reports.ts",
      "if (word === WELL || words.includes(word) || word.endsWith(HOLDS) || word.endsWith(DIFFERS)) return false;",
      "if (words.length >= 0) return false;",
    ),
    draws: { step: { do: "leave out" } },
  },
  {
    ...one(
      "what a record of an answer lacks overlooked",
      "src/service/outcome/usual-reports.ts",
      "if (word.endsWith(HOLDS_NOT))\n    return memberTimes >= USUAL_TIMES &&",
      "if (word.endsWith(HOLDS_NOT)) return memberTimes < 0 &&",
    ),
    draws: { forms: { importAnswer: ["bare", "results"] }, step: { do: "leave out" } },
  },
  {
    ...one(
      "another number of a record overlooked",
      REPORTS,
      "return sent.length === 0 || said === undefined || sent.includes(said) ?",
      "return sent.length === 0 || said === undefined || sent.length > 0 ?",
    ),
    draws: leftOut("echo"),
  },
  {
    ...one(
      "a record that a text names overlooked",
      REPORTS,
      "for (const index of this.#names.inText(value, path))",
      "for (const index of this.#names.ofMember(value, path))",
    ),
    draws: leftOut("note"),
  },
  {
    ...one(
      "what a customer adds taken for a part of the ERP's status",
      "src/orders/learn-echo.ts",
      "keys.every((key) => (known[key] ?? 0) >= Math.max(TIMES_MIN, count / 2))",
      "keys.every((key) => (known[key] ?? 0) >= Math.min(0, count))",
    ),
    draws: { step: { do: "change", what: "request" } },
  },
  tested(
    "test/service/outcome/usual-forms.test.ts",
    "what is said of one record usual after hours",
    { in: "learnUnusual", find: "&& isLong && !isOfRecords", replace: "&& isLong" },
    "src/service/outcome/usual-forms.ts",
  ),
  {
    ...one(
      "unknown words beside an empty list read as nothing new",
      "src/completeness/empty-form.ts",
      "const isKnown = times >= USUAL_TIMES;",
      "const isKnown = times < 0;",
    ),
    draws: { step: { do: "lie", lie: { body: "empty otherwise" } } },
  },
  {
    ...one(
      "a named batch without orders never confirmed",
      "src/completeness/check-completeness.ts",
      'if (isDue && (isTrial || names.usual !== "named")) return "due";',
      'if (isDue && !isTrial && names.usual === "named") return "due";',
    ),
    draws: { step: { do: "empty batch" } },
  },
  {
    ...one(
      "a batch without orders under new names never confirmed",
      "src/completeness/empty-names.ts",
      "(first === undefined || trials >= TRIALS_MAX)",
      "(first === undefined || trials >= 0)",
    ),
    draws: { forms: { leases: true }, step: { do: "empty batch" } },
  },
  tested(
    "test/completeness/unusual-empty.test.ts",
    "a batch without orders that comes again taken for the service's name for nothing",
    { in: "learnEmptyName", find: "return names;\n  if (last", replace: 'return { usual: "named" };\n  if (last' },
    "src/completeness/empty-names.ts",
  ),
  {
    ...one(
      "changes before a watermark that is ahead never asked for",
      "src/updates/looks/look-near.ts",
      "return this.#context.clock.monotonicMs() >= this.#dueMs &&",
      "return this.#context.clock.monotonicMs() < this.#dueMs &&",
    ),
    draws: { step: { do: "skew", ms: [3 * 3_600_000, 24 * 3_600_000, 365 * 24 * 3_600_000] } },
  },
  {
    ...one(
      "the same orders under another name taken for others",
      "src/orders/write-batch.ts",
      "known === undefined && fresh ? this.#repeated.find(",
      "known === undefined && !fresh ? this.#repeated.find(",
    ),
    draws: { step: { do: "forget confirms" } },
  },
  {
    ...one(
      "what an answer says of a part of the records overlooked",
      "src/service/outcome/import-result.ts",
      "if (words !== undefined) return { ...acceptance,",
      'if (words === "") return { ...acceptance,',
    ),
    draws: { forms: { importAnswer: ["progress", "of", "lacking"] }, step: { do: "leave out" } },
  },
  tested(
    "test/service/outcome/partial-acceptance.test.ts",
    "a count of refused records inside an answer overlooked",
    { in: "isRefusedCount", find: "isNumber && ", replace: 'isNumber && label === "" && ' },
    "src/service/outcome/partial-acceptance.ts",
  ),
  {
    ...one(
      "another sentence than the usual one counts as accepted",
      "src/service/outcome/usual-texts.ts",
      "if (!areTextsKnown(usual)) return undefined;",
      "if (areTextsKnown(usual)) return undefined;",
    ),
    draws: { forms: { importAnswer: ["sentence"] }, step: { do: "leave out" } },
  },
  {
    ...one(
      "flags and ids of a record overlooked",
      "src/service/outcome/record-reports.ts",
      "return flags.slice(0, FLAGS_MAX);",
      "return flags.slice(0, FLAGS_MAX - 4);",
    ),
    draws: { forms: { importAnswer: ["flags", "ids"] }, step: { do: "leave out" } },
  },
  {
    ...one(
      "a list of what was left out overlooked in the first answers",
      "src/service/outcome/partial-acceptance.ts",
      "members.find(isLeftOut)",
      "members.find((member) => member.level < 0 && isLeftOut(member))",
    ),
    draws: { forms: { importAnswer: ["unknown", "warnings"] }, step: { do: "leave out", isFirst: true } },
  },
  {
    ...one(
      "a count of what was left out overlooked in the first answers",
      "src/service/outcome/answer-counts.ts",
      'const isMeant = isCalled("takenAtAll", name) || isLeftOut || ',
      'const isMeant = isCalled("takenAtAll", name) || ',
    ),
    draws: { forms: { importAnswer: ["skipped"] }, step: { do: "leave out", isFirst: true } },
  },
  {
    ...one(
      "a count of good ones beside all overlooked in the first answers",
      "src/service/outcome/answer-counts.ts",
      'return isGood && !isCalled("all", name) &&',
      'return isGood && isCalled("all", name) &&',
    ),
    draws: { forms: { importAnswer: ["good"] }, step: { do: "leave out", isFirst: true } },
  },
  {
    ...one(
      "a count of none beside one of what came overlooked",
      "src/service/outcome/answer-counts.ts",
      'return !isCalled("changed", of.name) && Object',
      'return isCalled("changed", of.name) && Object',
    ),
    draws: { forms: { importAnswer: ["taken", "all or none"] }, step: { do: "leave out" } },
  },
  {
    name: "fewer changes than there were overlooked",
    edits: [{ file: LACKING_CHANGES, of: "read", does: "return {};" }],
    draws: fewChanges("changes"),
    foundBy: "simulation",
  },
  {
    name: "fewer changes overlooked until it is known that changes are counted",
    edits: [{ file: LACKING_CHANGES, of: "note", does: "return;" }],
    draws: fewChanges(...SAYS_PLAINLY, ...SAYS_A_NUMBER),
    foundBy: "simulation",
  },
  {
    name: "a count that is lower because an answer was lost says nothing any more",
    edits: [
      {
        file: "src/feeds/send/send-request.ts",
        of: "#withoutExplained",
        does: "return rows.length > 0 ? counted : counted;",
      },
    ],
    draws: fewChanges("changes", ...SAYS_PLAINLY, ...SAYS_A_NUMBER),
    foundBy: "simulation",
  },
  {
    ...one(
      "a newer value that is counted settles the rows that were left out",
      LACKING_CHANGES,
      "this.#load().map((lack) => without(lack, settled))",
      "this.#load().filter((lack) => lack.rows.every((id) => !settled.has(id)))",
    ),
    draws: fewChanges("changes"),
  },
  {
    name: "what was accepted in vain before a count was known does not go again",
    edits: [{ file: "src/service/outcome/usual-counts.ts", of: "findShortSince", does: "return undefined;" }],
    draws: silentLimit("count", "ok"),
    foundBy: "simulation",
  },
  {
    name: "a count that was smaller at first is never one of records",
    edits: [{ file: "src/service/outcome/usual-counts.ts", of: "learnShort", does: "return known;" }],
    draws: silentLimit("count", "rows"),
    foundBy: "simulation",
  },
  {
    name: "a count in a Russian text overlooked where it was smaller at first",
    edits: [
      {
        file: COUNTS,
        in: "addText",
        find: "readCountsInWords(",
        replace: "readCountsInWords(/[а-я]/i.test(text) ? place : ",
      },
    ],
    draws: silentLimit("loaded"),
    foundBy: "simulation",
  },
  tested(
    "test/completeness/unusual-empty.test.ts",
    "null taken for no changes where known ones should be listed",
    { of: "hasAnchors", does: "return anchors.length < 0 && askedNs === nowNs;" },
    "src/updates/pages/page-cover.ts",
  ),
  ...[
    tested(
      "test/service/outcome/answer-counts.test.ts",
      "counts in texts overlooked",
      { of: "addText", does: "return;" },
      "src/service/outcome/answer-counts.ts",
    ),
    tested(
      "test/service/outcome/answer-counts.test.ts",
      "a number alone is no count",
      { in: "readCounts", find: "addNumber(IN_TEXT, answer.text);", replace: "void answer;" },
      "src/service/outcome/answer-counts.ts",
    ),
    tested(
      "test/service/outcome/answer-counts.test.ts",
      "what counts single records follows nothing",
      { of: "isUsuallyEqual", does: "return false;" },
      "src/service/outcome/answer-counts.ts",
    ),
    tested(
      "test/feeds/lacking-changes.test.ts",
      "a count of changes is right whatever the site has",
      { of: "read", does: "return {};" },
      "src/feeds/send/lacking-changes.ts",
    ),
    tested(
      "test/feeds/lacking-changes.test.ts",
      "the site may have any value of an article after a request without an answer",
      { in: "#differing", find: "!isSentAgain(row)", replace: "row.flightRecord === null" },
      "src/feeds/send/lacking-changes.ts",
    ),
    tested(
      "test/feeds/lacking-changes.test.ts",
      "a newer value that is counted shows that other records were taken",
      { in: "forget", find: "without(lack, settled)", replace: "without(lack, new Set(lack.rows))" },
      "src/feeds/send/lacking-changes.ts",
    ),
    tested(
      "test/service/outcome/answer-counts.test.ts",
      "a count that was 1 of several records once is a flag for ever",
      { in: "otherwise", find: "count === 0", replace: "count <= 1" },
      "src/service/outcome/usual-counts.ts",
    ),
    tested(
      "test/service/outcome/answer-counts.test.ts",
      "a site that changes by itself goes on lacking changes",
      { of: "learnLack", does: "return learned;" },
      "src/service/outcome/usual-counts.ts",
    ),
    tested(
      "test/feeds/lacking-changes.test.ts",
      "what was accepted before a count was known to be of records does not go again",
      { of: "findShortSince", does: "return undefined;" },
      "src/service/outcome/usual-counts.ts",
    ),
    tested(
      "test/feeds/counted-short.test.ts",
      "a count of none always says that nothing has changed",
      { of: "isSame", does: "return true;" },
      "src/feeds/send/count-probe.ts",
    ),
    tested(
      "test/feeds/counted-short.test.ts",
      "what a count of none means found out only by a record accepted before it",
      { of: "settleOpen", does: "return;" },
      "src/feeds/send/count-probe.ts",
    ),
    tested(
      "test/feeds/counted-short.test.ts",
      "a count of none never says that nothing has changed",
      { of: "isSame", does: "return false;" },
      "src/feeds/send/count-probe.ts",
    ),
  ],
  tested(
    "test/database/open-file.test.ts",
    "what lies beside a file is not checked before SQLite opens it",
    { of: "refuseLinkedBeside", does: "return;" },
    "src/database/file/file-checks.ts",
  ),
  tested(
    "test/database/open-file.test.ts",
    "a pipe in the place of a copy is opened",
    { in: "openFile", find: "refuseNoFile(real);", replace: "" },
    "src/database/file/open-file.ts",
  ),
  tested(
    "test/platform/fresh-file.test.ts",
    "a file with two names is written",
    { in: "openOnlyName", find: "nlink <= 1", replace: "nlink >= 1" },
    "src/platform/fresh-file.ts",
  ),
  tested(
    "test/feeds/push-parents.test.ts",
    "what takes off sale waits for a parent",
    { of: "isOffSale", does: "return false;" },
    "src/feeds/diff/plan-feed.ts",
  ),
  tested(
    "test/feeds/push-parents.test.ts",
    "a pass that waits for what has failed is a success",
    { in: "saveRun", find: "is.isAwaiting && !isWell(store, run.job)", replace: "is.isAwaiting && isWell(store, '')" },
    "src/pass/runs.ts",
  ),
  {
    ...one(
      "a count of what was left out taken for one of something else",
      "src/service/outcome/usual-counts.ts",
      'return isCalled("leftOut", name) ? Math.max(0, size - count) : count;',
      'return isCalled("leftOut", name) ? Math.max(size, size - count) : count;',
    ),
    draws: leftOut("ignored"),
  },
  {
    ...one(
      "a table's key looked up in the order of its collation",
      "src/feeds/source/feed-source.ts",
      "return `${quoteName(name)} COLLATE BINARY`;",
      "return quoteName(name);",
    ),
    draws: { step: { do: "own order" } },
  },
  {
    ...one(
      "half a surrogate pair taken as it is read",
      "src/database/stored-text.ts",
      "isExact: (text, bytes) => bytesOf(text).equals(bytes)",
      "isExact: (text, bytes) => bytesOf(text).length > 0 || bytes.length > 0",
    ),
    draws: { step: { do: "cut key", isGone: false } },
  },
  {
    ...one(
      "a row that no key can name left out without a word",
      "src/feeds/diff/absorb-feed.ts",
      "return found.filter((row) => quarantineUnnamed(step, row)).length > 0;",
      "return found.length > 0;",
    ),
    draws: { step: { do: "cut key", isGone: false } },
  },
  {
    name: "foreign keys of the ERP's enforced",
    edits: [
      {
        file: "src/database/connection.ts",
        find: 'db.pragma("foreign_keys = OFF");',
        replace: 'db.pragma("foreign_keys = ON");',
      },
      { file: "src/database/connection.ts", find: "foreign_keys: 0,", replace: "" },
    ],
    foundBy: "simulation",
    draws: { step: { do: "refer" } },
  },
  hostile(
    "a body that waits for the journal replaced by the next one",
    "src/batches/batch-rows.ts",
    [
      "insertRow(store, unjournaledBodies, body);",
      "deleteRows(store, unjournaledBodies, { fingerprint: body.fingerprint });\n  insertRow(store, unjournaledBodies, body);",
    ],
    { forms: { journal: true }, step: { do: "lie", lie: { on: "orders", body: "no value", when: "after" } } },
  ),
  tested(
    "test/statuses/status-unstored.test.ts",
    "what the changes say counts for statuses only once it is stored",
    { in: "loadKept", find: "...unnamed, ...unstored];", replace: "...unnamed, ...unstored.slice(0, 0)];" },
    "src/updates/reads/kept-words.ts",
  ),
  {
    ...one(
      "a cancellation of an order that cannot be read overlooked",
      "src/updates/reads/kept-words.ts",
      "return [...waiting, ...held, ...unnamed, ...unstored];",
      "return [...waiting.slice(0, 0), ...held, ...unnamed, ...unstored];",
    ),
    draws: { step: { do: "cancel" } },
  },
  {
    ...one(
      "a cancellation under another name overlooked until its order is read",
      "src/updates/reads/kept-words.ts",
      "return [...waiting, ...held, ...unnamed, ...unstored];",
      "return [...waiting, ...held, ...unnamed.slice(0, 0), ...unstored];",
    ),
    draws: { step: { do: "lie", lie: { body: "named otherwise" } } },
  },
  {
    ...one(
      "a cancellation with an earlier time overlooked until its order is read",
      "src/updates/reads/kept-words.ts",
      "if (status === undefined || cancelled.has(status)) {",
      "if (status === undefined || (cancelled.has(status) && !isOld)) {",
    ),
    draws: { step: { do: "lie", lie: { body: "named otherwise", ageMs: OTHERWISE.indexOf("time") } } },
  },
  {
    name: "a cancellation overlooked that a later change of the same answer overtakes",
    edits: [
      { file: "src/updates/pages/collect-changes.ts", of: "#noteOvertaken", does: "return;" },
      { file: "src/orders/cancellation.ts", of: "storeOvertaken", does: "return false;" },
    ],
    foundBy: "simulation",
    draws: { step: { do: "move on", afterMs: 20_000 } },
  },
  {
    ...one(
      "a cancellation overlooked whose time alone names a zone",
      "src/orders/cancellation.ts",
      "(isOvertaken && isStrictlyNewer(time, stored.updatedAt, timezone))",
      "(isOvertaken && stored.updatedAt === timezone)",
    ),
    draws: { step: { do: "move on", afterMs: 30_000 } },
  },
  {
    ...one(
      "a batch that was handed out in a lost answer confirmed by the name of a former one",
      "src/confirm/lost-answers.ts",
      "return confirmNames(this.#form) &&",
      "return !confirmNames(this.#form) &&",
    ),
    world: "hostile",
    draws: { step: { do: "restore", ms: 90_000 } },
  },
  {
    name: "a service that reads since no more taken for one that has nothing new",
    edits: [{ file: "src/updates/pages/page-cover.ts", of: "showsOtherQuestion", does: "return false;" }],
    foundBy: "simulation",
    draws: { step: { do: "switch", what: "same page", ms: 3 * 3_600_000 } },
  },
  {
    ...one(
      "a cancellation overlooked once the order was moved on from it",
      "src/statuses/requested-order-rows.ts",
      "const events = loadEventsSince(store, id, order);",
      'if (!cancelled.has(order.status ?? "")) return undefined;\n  const events = loadEventsSince(store, id, order);',
    ),
    draws: { step: { do: "move on" } },
  },
  {
    name: "a status sent again and again where the service has moved its order on at once",
    edits: [
      {
        file: "src/statuses/judge-status.ts",
        find: 'const compared = isMovedOn ? "wanted" :',
        replace: 'const compared = isMovedOn || (shown !== undefined && shows === "another") ? "former" :',
      },
      {
        file: "src/statuses/resolve-status.ts",
        find: 'const unseen = compared === "former" && answered !== undefined ?',
        replace: 'const unseen = compared === "former" && answered !== undefined && named === undefined ?',
      },
    ],
    draws: { forms: { movesOn: true } },
    foundBy: "simulation",
  },
  {
    ...one(
      "a status sent again at once where an answer shows its order as it was",
      "src/statuses/resolve-status.ts",
      'const unseen = compared === "former" && answered !== undefined ?',
      'const unseen = compared === "former" && answered !== undefined && answered.shown === undefined ?',
    ),
    draws: { forms: { queueShows: true } },
  },
  {
    name: "batches of records without ids, whose keys come in another order each time, asked for without a pause",
    edits: [
      {
        file: "src/records/read-records.ts",
        find: "isReadable ? digestOf(canonicalJson(bytes, span)) : written",
        replace: "isReadable ? written : written",
      },
      {
        file: "src/orders/pull-orders.ts",
        find: 'pass.counts["created"] !== undefined ||',
        replace: "pass.isAnswered ||",
      },
    ],
    foundBy: "simulation",
    draws: {
      forms: { shuffleKeys: true },
      step: { do: "lie", lie: { on: "orders", body: "named otherwise", ageMs: OTHERWISE.indexOf("number") } },
    },
  },
  tested(
    "test/feeds/counted-short.test.ts",
    "an answer that counted nothing taken for a lost one where the service asks for a wait before it shows what it counts",
    { in: "#isSame", find: 'await this.#end(uncounted, "over", pass.signal);', replace: "" },
    "src/feeds/send/send-request.ts",
  ),
  tested(
    "test/confirm/lost-answers.test.ts",
    "a confirm that waits without having failed told to nobody",
    {
      find: "WHERE state = 'stored' AND ${OF_ACCOUNT}",
      replace: "WHERE state = 'stored' AND last_error IS NOT NULL AND ${OF_ACCOUNT}",
    },
    "src/health/fact-rows.ts",
  ),
  tested(
    "test/confirm/lost-answers.test.ts",
    "a name that came before waits an hour although its batch is served again and again",
    { of: "isRepeating", does: "return false;" },
    "src/confirm/plan-loss.ts",
  ),
  tested(
    "test/confirm/plan-loss.test.ts",
    "a batch that is served again and again proves that nothing else is left although another one is not served any more",
    { in: "repeatedAfter", find: "!open.includes(batch) || served.size + open.length > 2", replace: "served.size > 1" },
    "src/confirm/plan-loss.ts",
  ),
  tested(
    "test/config/canary.test.ts",
    "the value of an unknown key shown, which may be a secret under a mistyped one",
    { in: "refusal", find: "if (isUnknown && place !== undefined)", replace: "if (false)" },
    "src/config/load.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "a status whose order was read sent only after the other orders were read",
    {
      in: "#settleAll",
      find: "present = isAgain ? loadOpenRequest(this.#context.store, request.id) : undefined;",
      replace: "present = undefined;",
    },
    "src/statuses/send-statuses.ts",
  ),
  tested(
    "test/statuses/status-refused.test.ts",
    "the probe of a path that is refused made with the same order each time",
    { in: "#settleOne", find: "this.#waiting.postpone(request.id, { ms: 0, asked: request.asked });", replace: "" },
    "src/statuses/send-statuses.ts",
  ),
  tested(
    "test/statuses/status-kept.test.ts",
    "the orders that a record of a batch may be of not read at once",
    { in: "readOrdersOf", find: 'mapping.source === "snapshot"', replace: 'mapping.source !== "update"' },
    "src/orders/quarantine-record.ts",
  ),
  {
    ...one(
      "a link to the next page of a batch by another host taken for none",
      "src/service/client.ts",
      'if (!link.includes("?") && !isWhole && !isPath) return undefined;',
      'if (isWhole || (!link.includes("?") && !isPath)) return undefined;',
    ),
    draws: { forms: { pages: [2, 3], link: LINKS.filter((link) => link.includes("//")) } },
  },
  {
    ...one(
      "pages of a batch that an order has left between them taken for all of it",
      "src/completeness/next-page.ts",
      "return [{ query, first: queryOfFirst(query, { asked, size }), fields: named }];",
      "return [{ query, first: size < 0 ? queryOfFirst(query, { asked, size }) : undefined, fields: named }];",
    ),
    draws: { forms: { pages: [2, 3], leaves: [1, 2] } },
  },
  {
    ...one(
      "the number of the first page of a batch counted against that page alone",
      "src/completeness/next-page.ts",
      "(isPageNumber(field) && (field.count ?? 0) <= count) ||",
      "(isPageNumber(field) && (field.count ?? 0) <= Math.min(count, 1)) ||",
    ),
    draws: { forms: { pages: [2, 3], numbers: true } },
  },
  {
    ...one(
      "a refusal of a status believed while the order's confirm is still sent",
      "src/confirm/due-rows.ts",
      "orderId, serviceId) === 1;",
      "orderId, serviceId) === 2;",
    ),
    draws: { forms: { confirmedOnly: true } },
  },
  {
    ...one(
      "a link to the next page of a batch that leads elsewhere taken for none",
      "src/service/client.ts",
      '[...url.searchParams] : "elsewhere";',
      "[...url.searchParams] : undefined;",
    ),
    draws: { step: { do: "links elsewhere" } },
  },
  {
    ...one(
      "views that a rename has written anew left as they are",
      "src/database/objects/own-objects.ts",
      "(isFree ? isReadable(db, name) : found.sql === wanted.sql)",
      '(isFree ? isReadable(db, name) : found.sql === wanted.sql || type === "view")',
    ),
    draws: { step: { do: "anew" } },
  },
  {
    ...one(
      "orders that were marked while no trigger stood left in the queue",
      "src/database/objects/make-own.ts",
      "if (isThere && made.some(isNoted)) mendQueue(db);",
      "if (isThere && made.length === 0) mendQueue(db);",
    ),
    draws: { step: { do: "anew", table: "erp_orders" } },
  },
  {
    ...one(
      "another order under the id of a stored one taken for a version of it",
      "src/orders/other-order.ts",
      "isOtherOrder(said, other, rules.plan.timezone)",
      "orderId.length === 0",
    ),
    draws: { step: { do: "one id", what: "known" } },
  },
  {
    ...one(
      "different orders of one batch under one id taken for versions of one",
      "src/records/newest-records.ts",
      "const own = orders.find((order) => !isOtherOrder({ text, mapping }, { text: order.text, mapping }, timezone));",
      "const own = orders.find((order) => order.versions.length > 0);",
    ),
    draws: { step: { do: "one id", what: "known", laterMs: 0 } },
  },
  {
    name: "what is owed to another address confirmed at this one",
    edits: [
      {
        file: BATCHES,
        find: 'export const SERVED_HERE = servedTo("@account");',
        replace: 'export const SERVED_HERE = "(1 OR @account)";',
      },
      { file: BATCHES, of: "isServedBy", does: "return account === null || here !== '';" },
    ],
    foundBy: "simulation",
    draws: { step: { do: "move", to: "nothing" } },
  },
  {
    ...one(
      "a table of a feed that the ERP has made anew left without triggers",
      "src/feeds/diff/feed-changes.ts",
      "if (version === this.#schemaVersion) return;",
      "if (this.#schemaVersion !== undefined) return;",
    ),
    draws: { step: { do: "remake" } },
  },
  {
    name: "a table of a feed that was made again with its triggers is taken for the former one",
    edits: [
      {
        file: "src/feeds/source/feed-triggers.ts",
        of: "readTablePlaces",
        does: "return String(store.path === rules.table);",
      },
    ],
    foundBy: "simulation",
    draws: { step: { do: "remake", key: [0, 1, 2, 3] } },
  },
  {
    ...one(
      "a time in another zone taken by its digits",
      "src/answers/timestamp.ts",
      "const offset = offsetOf(named);",
      "const offset = (offsetOf(named) ?? 0) * 0;",
    ),
    draws: { forms: { timestamps: "iso-z" }, step: { do: "times", form: "iso-offset" } },
  },
  {
    ...one(
      "changes that were set back by a zone are requested from a moment before the present alone",
      "src/pass/orders-behind.ts",
      "isoTime(behind.fromMs - overlapMs)",
      "isoTime(clock.nowMs() - behind.byMs - overlapMs)",
    ),
    draws: { step: { do: "times back" } },
  },
  tested(
    "test/updates/follow-position.test.ts",
    "times were set back when the first new order with such a time was made",
    { in: "noteNewOrder", find: "order, position - byMs,", replace: "order," },
    "src/pass/orders-behind.ts",
  ),
  {
    ...one(
      "new orders with times behind the position mean nothing",
      "src/pass/orders-behind.ts",
      "const known = BEHIND.load(store);",
      "const known = BEHIND.load(store);\n  if (known === undefined) return;",
    ),
    draws: { step: { do: "times back" } },
  },
  {
    ...one(
      "since written as ISO text where times are DD.MM.YYYY",
      "src/answers/timestamp.ts",
      'const date = form.kind === "dotted" ?',
      'const date = form.kind !== "iso" && form.zone !== "" ?',
    ),
    draws: { forms: { timestamps: "dotted", since: "iso" } },
  },
  {
    ...one(
      "since written with hyphens and colons where times have none",
      "src/answers/timestamp.ts",
      'const whole = form.kind === "compact" ? ',
      'const whole = form.kind === "compact" && form.zone === "" ? ',
    ),
    draws: { forms: { timestamps: "iso-basic", since: "iso" } },
  },
  tested(
    "test/health/unreadable-times.test.ts",
    "timestamps that cannot be read passed over in silence",
    { of: "isUnreadForm", does: "return unread < read && unread < 0;" },
    "src/answers/timestamp.ts",
  ),
  tested(
    "test/statuses/plan-status.test.ts",
    "a status in another spelling taken for another one",
    {
      in: "compareStatus",
      find: "isSameName(status, request.statusSent)",
      replace: "status === request.statusSent",
    },
    "src/statuses/judge-status.ts",
  ),
  tested(
    "test/feeds/record-identity.test.ts",
    "records named by another key column than the first overlooked",
    { in: "namesOf", find: "return first === 0 ? own :", replace: "return first >= 0 ? own :" },
    "src/feeds/record-identity.ts",
  ),
  {
    name: "a deleted row that sends nothing leaves its number where another row names its article",
    edits: [
      {
        file: "src/feeds/diff/absorb-feed.ts",
        in: "absorbFound",
        find: "rules.keepsShared && rows.length === 0",
        replace: "!rules.keepsShared && rows.length < 0",
      },
    ],
    foundBy: "simulation",
    draws: { forms: { shared: "ignore" }, step: { do: "second row", how: "remove" } },
  },
  tested(
    "test/feeds/former-rows.test.ts",
    "a deleted row that the guard has held goes although another row names its article by then",
    { in: "#spareGoing", find: "await this.#changes.spareGoing(limits, pass);", replace: "void limits;" },
    "src/feeds/push-imports.ts",
  ),
  {
    name: "a row that stays is not sent again where the one that was sent last for its article goes",
    edits: [
      {
        file: "src/feeds/rekey/handed-rows.ts",
        in: "isLast",
        find: "return own.sentAt <= sentAt || own.sentAt > at;",
        replace: "return own.sentAt > at;",
      },
    ],
    foundBy: "simulation",
    draws: { step: { do: "second row", how: ["remove", "other"] } },
  },
  tested(
    "test/feeds/former-rows.test.ts",
    "an article stays on sale while what its row holds now cannot be sent",
    { in: "setApart", find: '(isOther || local.kind === "bad")', replace: "isOther" },
    "src/feeds/diff/diff.ts",
  ),
  tested(
    "test/feeds/former-rows.test.ts",
    "a deletion that was refused is tried again although another row names the article",
    {
      in: "loadDueGone",
      find: "o.gone = 1 AND coalesce(",
      replace: "o.gone = 1 AND o.state = 'waiting' AND coalesce(",
    },
    "src/feeds/rekey/going-rows.ts",
  ),
  tested(
    "test/feeds/former-rows.test.ts",
    "what a deleted row has sent is forgotten where the row that names its article was never accepted",
    {
      in: "isLast",
      find: "if (sentAt === null) return false;",
      replace: "if (sentAt === null || own.record === null) return false;",
    },
    "src/feeds/rekey/handed-rows.ts",
  ),
  tested(
    "test/feeds/former-rows.test.ts",
    "articles that go to zero in rows with other keys are not counted by the guard",
    { in: "planOf", find: "return [Number(isDrop), priority];", replace: "return [0 * Number(isDrop), priority];" },
    "src/feeds/rekey/handed-rows.ts",
  ),
  tested(
    "test/feeds/unknown-answers.test.ts",
    "what an answer says of a record without its key said of none",
    { in: "namesOf", find: "if (isKeyUntold)", replace: "if (keys.length < 1)" },
    "src/feeds/record-identity.ts",
  ),
  tested(
    "test/feeds/former-rows.test.ts",
    "a deleted row whose request was not answered takes off sale what another row names",
    {
      in: "loadDueGone",
      find: "coalesce(s.record, o.doubt_record) IS NOT NULL",
      replace: "o.doubt_record IS NULL AND s.record IS NOT NULL",
    },
    "src/feeds/rekey/going-rows.ts",
  ),
  tested(
    "test/feeds/push-parents.test.ts",
    "what is in a group waits while a change of the group cannot be sent",
    { find: "AND s.gone = 0 AND s.epoch = f.epoch)`", replace: "AND s.gone = 2 AND s.epoch = f.epoch)`" },
    "src/feeds/feed-outbox.ts",
  ),
  tested(
    "test/feeds/push-parents.test.ts",
    "what is in a group goes before it to another address",
    { find: "AND s.gone = 0 AND s.epoch = f.epoch)`", replace: "AND s.gone = 0)`" },
    "src/feeds/feed-outbox.ts",
  ),
  {
    name: "a row that was acknowledged as gone elsewhere is not sent here as gone",
    edits: [
      {
        file: "src/feeds/feed-outbox.ts",
        in: "loadKnownKeys",
        find: 'rules.scope === "whole"',
        replace: "rules.feedId > 0",
      },
    ],
    foundBy: "simulation",
    draws: { step: { do: "other path" } },
  },
  {
    ...one(
      "what another address has acknowledged counts at this one",
      "src/feeds/rekey/rule-rows.ts",
      "epoch = epoch + (address IS NOT NULL AND address <> @address)",
      "epoch = epoch",
    ),
    draws: { step: { do: "other path" } },
  },
  tested(
    "test/cli/approve.test.ts",
    "an approval covers rows that nobody was shown",
    { find: "const more = waiting > atMost || isOther ? waiting : 0;", replace: "const more = 0;" },
    "src/cli/approve.ts",
  ),
  tested(
    "test/updates/look-near.test.ts",
    "what lies behind a watermark taken for proof that it is ahead",
    { in: "look", find: "const isNews = isNear &&", replace: "const isNews =" },
    "src/updates/looks/look-near.ts",
  ),
  tested(
    "test/updates/look-near.test.ts",
    "an order that is said otherwise with its former time taken for proof that the watermark is ahead",
    { in: "look", find: "instantOf(ahead.near, follow.timezone) ?? -1n", replace: "-1n" },
    "src/updates/looks/look-near.ts",
  ),
  tested(
    "test/updates/look-near.test.ts",
    "an order waits behind a time that has proved wrong",
    { in: "latestTime", find: "isProven !== true", replace: "isProven !== undefined" },
    "src/updates/times/latest-time.ts",
  ),
  tested(
    "test/orders/repeated-batches.test.ts",
    "a record without an id that is served with its keys in another order taken for another one",
    {
      in: "readRecord",
      find: "isReadable ? digestOf(canonicalJson(bytes, span)) : written",
      replace: "isReadable ? written : written",
    },
    "src/records/read-records.ts",
  ),
  tested(
    "test/orders/repeated-batches.test.ts",
    "the same orders in another order of keys taken for others",
    {
      in: "#keysOf",
      find: "!this.#known.has(record.orderId)",
      replace: "record.orderId !== null",
    },
    "src/orders/repeated-batches.ts",
  ),
  tested(
    "test/orders/repeated-batches.test.ts",
    "the same orders in another order of keys taken for others by the next process",
    { in: "#identityOf", find: "?? contentOf(bytes, record)", replace: '?? record.hash.toString("latin1")' },
    "src/orders/repeated-batches.ts",
  ),
  tested(
    "test/orders/repeated-batches.test.ts",
    "repeated batches forgotten by each process",
    { in: "save", find: "Math.min(times + 1, TIMES_MAX)", replace: "1" },
    "src/orders/repeated-batches.ts",
  ),
  tested(
    "test/orders/repeated-batches.test.ts",
    "a batch with a new order taken for a repeated one",
    { in: "digestInSlices", find: "return undefined;\n      found.push(", replace: "continue;\n      found.push(" },
    "src/orders/repeated-batches.ts",
  ),
  tested(
    "test/confirm/confirm-restarts.test.ts",
    "the time at which refused confirms are repeated is not saved",
    { in: "begin", find: "||= isAny", replace: "||= false" },
    "src/confirm/refused-counts.ts",
  ),
  tested(
    "test/confirm/confirm-restarts.test.ts",
    "a clock that was set back postpones refused confirms",
    { in: "readUntil", find: "this.isUnsaved ||= leftMs > 0 &&", replace: "this.isUnsaved ||= leftMs < 0 &&" },
    "src/confirm/confirm-record.ts",
  ),
  tested(
    "test/confirm/confirm-restarts.test.ts",
    "refusals in a row forgotten by each process",
    { in: "toSaved", find: "this.#batches.size === 0", replace: "this.#batches.size >= 0" },
    "src/confirm/confirm-breaker.ts",
  ),
  tested(
    "test/confirm/confirm-restarts.test.ts",
    "polls without a batch of unknown outcome forgotten by each process",
    { in: "listUnserved", find: "this.#times.isUnsaved = true;", replace: "" },
    "src/confirm/unknown-outcomes.ts",
  ),
  tested(
    "test/orders/repeated-batches.test.ts",
    "batches that bring no new order asked for without a pause",
    { in: "runOnce", find: 'pass.counts["created"] !== undefined ||', replace: "pass.isAnswered ||" },
    "src/orders/pull-orders.ts",
  ),
  tested(
    "test/updates/find-unnamed.test.ts",
    "a record without an id taken for another part of its order",
    { in: "isSameOrder", find: "lines === linesOf(order)", replace: "lines !== undefined" },
    "src/records/same-order.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "a cancellation that is held gives its place to an older record of its order",
    { in: "isOlderThanHeld", find: "isOlder(time, timeOf(text), rules.plan.timezone)", replace: 'text === ""' },
    "src/orders/quarantine-record.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "changes of several orders that bear the same in the place of their ids held as one",
    { in: "replaceAlike", find: "mapping }).length === 0", replace: "mapping }).length >= 0" },
    "src/orders/alike-rows.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "a change of a list with times of its own held for ever",
    {
      in: "#keepChanged",
      find: "Date.parse(at) - Date.parse(firstSeenAt) < BEHIND_FOR_MS",
      replace: 'firstSeenAt !== ""',
    },
    "src/updates/reads/find-unnamed.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "a held change stays where a later one of its order waits for a read for ever",
    { in: "#find", find: "(isOnly && this.#isOvertaken(", replace: '(isOnly && orderId === "" && this.#isOvertaken(' },
    "src/updates/reads/find-unnamed.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "a held change released for a later one while it may keep a status back",
    { in: "#isOvertaken", find: "hasLasted(since, now, DAY_MS)", replace: "hasLasted(since, now, 0)" },
    "src/updates/reads/find-unnamed.ts",
  ),
  tested(
    "test/updates/unnamed-changes.test.ts",
    "a held change of one of two orders released for a later one of the other",
    { in: "#find", find: "isOnly && this.#isOvertaken(", replace: "this.#isOvertaken(" },
    "src/updates/reads/find-unnamed.ts",
  ),
  tested(
    "test/feeds/counted-short.test.ts",
    "a count of rejected records taken for one of what has changed",
    { in: "withDoubt", find: "? readRefusedCount(answer)", replace: "? undefined" },
    "src/service/outcome/import-result.ts",
  ),
  tested(
    "test/feeds/push-whole.test.ts",
    "a table that may have replaced the site's goes again with its changed rows alone",
    { in: "#markInvalidated", find: "if (openTables > 0)", replace: "if (openTables < 0)" },
    "src/feeds/diff/feed-changes.ts",
  ),
  {
    ...one(
      "an order whose confirm comes after the position of changes is not read",
      "src/confirm/late-orders.ts",
      "timestamp.instantNs < fromNs",
      "timestamp.instantNs < 0n",
    ),
    draws: { forms: { scope: "confirmed" }, step: { do: "cancel", isOpen: true } },
  },
  tested(
    "test/confirm/late-orders.test.ts",
    "a position that moves after a confirm by an answer from before it passes its orders",
    { in: "find", find: "this.#duringPass?.push(batch);", replace: "" },
    "src/confirm/late-orders.ts",
  ),
  tested(
    "test/confirm/pull-confirm.test.ts",
    "a refused batch is owed whole although others cover its orders one by one",
    { in: "saveCoveredIds", find: "AND EXISTS (", replace: "AND FALSE AND EXISTS (" },
    "src/confirm/outcome-rows.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a refused confirm of orders that were all confirmed before stays for good",
    { in: "retryRefused", find: ">= REPEAT_RETRIES", replace: "> 1_000" },
    "src/confirm/refused-confirms.ts",
  ),
  tested(
    "test/confirm/gone-batches.test.ts",
    "a confirm that was carried out and refused stays refused for good",
    { of: "isCarriedOut", does: "return false;" },
    "src/confirm/plan-repeat.ts",
  ),
  tested(
    "test/confirm/gone-batches.test.ts",
    "a batch that the service does not have counts as confirmed although it accepts no other confirm",
    {
      in: "isCarriedOut",
      find: "retries >= REPEAT_RETRIES && isOtherAccepted",
      replace: "retries >= REPEAT_RETRIES",
    },
    "src/confirm/plan-repeat.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a refused batch that is still served counts as confirmed",
    { in: "noteServed", find: "counted.delete(id)", replace: "counted.has(id)" },
    "src/confirm/refused-counts.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a refused batch whose orders are served under other names counts as confirmed",
    { in: "noteServed", find: "own.has(orderId)", replace: "orderId === null" },
    "src/confirm/refused-counts.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a confirm that is refused because of the credentials ends",
    {
      in: "isOfBatch",
      find: 'outcome?.verdict === "refused"',
      replace: 'outcome !== undefined && outcome.verdict !== "confirmed"',
    },
    "src/confirm/plan-outcome.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a batch that counted as confirmed and is refused when it is served again is not shown",
    { in: "markConfirmRefused", find: "OR last_error IS NOT NULL", replace: "" },
    "src/confirm/outcome-rows.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a refused confirm ends by a confirm to another account",
    { in: "loadNamedOrders", find: "AND id < @id AND ${SERVED_HERE}), 0)", replace: "AND id < @id), 0)" },
    "src/confirm/repeat-rows.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a refused confirm ends although its order is still to be read",
    { in: "isRepeat", find: "!mayHaveChanged &&", replace: "" },
    "src/confirm/plan-repeat.ts",
  ),
  tested(
    "test/feeds/push-values.test.ts",
    "a row that comes back to what was dropped stays dropped",
    { in: "releaseRow", find: "state <> 'released'", replace: "state = 'held'" },
    "src/pass/quarantine-rows.ts",
  ),
  {
    ...one(
      "one name for all batches taken for the name of one batch",
      "src/confirm/reused-names.ts",
      "if (newest === undefined || isNameReused({ newest, hasOthers, reused })) return true;",
      "if (newest?.id !== 0) return false;",
    ),
    draws: { forms: { batchId: "constant", confirm: "batch_id", handOut: "next" } },
  },
  tested(
    "test/confirm/late-orders.test.ts",
    "an order that left its batch before the confirm is not read",
    { in: "listLeft", find: "!served.has(orderId)", replace: "false && !served.has(orderId)" },
    "src/confirm/late-orders.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a batch of which nothing is under the number of its first page counts as read",
    {
      in: "#readOnce",
      find: "isEmpty && first === undefined",
      replace: "isEmpty && first?.records.length === 0",
    },
    "src/orders/read-batch-pages.ts",
  ),
  {
    ...one(
      "rows that wait to go to zero count together whenever they went",
      "src/feeds/guard/plan-guard.ts",
      "next.atMs <= first.atMs + overMs",
      "(next.atMs <= first.atMs + overMs || !next.isSent)",
    ),
    draws: { forms: { guard: true }, step: { do: "switch", what: ["unpaid", "imports refused"], ms: 10_800_000 } },
  },
  {
    name: "rows that went to zero while the clock was ahead count until that time",
    edits: [
      {
        file: "src/feeds/guard/plan-guard.ts",
        find: "next.atMs <= first.atMs + overMs",
        replace: "(next.atMs <= first.atMs + overMs || next.isSent)",
      },
      {
        file: "src/feeds/guard/hold-drops.ts",
        find: "if (!hasLaterDrops(store, rules, times)) return;",
        replace: "if (rules.name !== times.at) return;",
      },
    ],
    foundBy: "simulation",
    draws: { forms: { guard: true }, step: { do: "clock", ms: [86_400_000, 31_536_000_000] } },
  },
  tested(
    "test/health/alerts.test.ts",
    "a receiver that missed an alert of a problem that is over counts as unreachable for ever",
    { in: "#notify", find: "planMissed(state.told, state.failing.since)", replace: "undefined" },
    "src/health/send-alerts.ts",
  ),
  tested(
    "test/statuses/status-kept.test.ts",
    "a cancellation in a record that looks like another order's does not count",
    { in: "loadHeldUnder", find: "@orderId || '!'", replace: "@orderId || ' '" },
    "src/pass/held-rows.ts",
  ),
  tested(
    "test/updates/other-order.test.ts",
    "an order under whose id another one is stored is never stored",
    {
      in: "holdOther",
      find: "options.accepted === doubtOf(other)",
      replace: "options.accepted === doubtOf({ ...other, reference: orderId })",
    },
    "src/orders/other-order.ts",
  ),
  tested(
    "test/updates/other-order.test.ts",
    "an order replaced by another one under its id is in no place any more",
    { in: "replaceByOther", find: "if (isElsewhere) return;", replace: 'if (number !== "") return;' },
    "src/orders/other-order.ts",
  ),
  tested(
    "test/updates/other-order.test.ts",
    "an order read as either of two in turn goes to and fro",
    { in: "ingestKnown", find: "deleteFirstLook(store, record.orderId);", replace: "" },
    "src/orders/ingest-orders.ts",
  ),
  tested(
    "test/updates/other-order.test.ts",
    "orders believed to be others while the service answers for each of them with another one",
    { in: "read", find: "!(await reads.shows(doubt, orderId))", replace: 'orderId === ""' },
    "src/updates/reads/repeated-reads.ts",
  ),
  tested(
    "test/statuses/status-unknown.test.ts",
    "the status of another order's content counts for a status whose outcome is unknown",
    { in: "read", find: "isOther = this.isOther(answer);", replace: "isOther = answer.isCached;" },
    "src/updates/reads/read-order.ts",
  ),
  tested(
    "test/confirm/repeats-confirmed.test.ts",
    "a refused confirm stays for an order that the service has no more",
    { in: "isRepeat", find: "isRemoved ||", replace: "" },
    "src/confirm/plan-repeat.ts",
  ),
  tested(
    "test/feeds/push-failing-record.test.ts",
    "a request that fails is sent whole again by each process",
    { in: "#saveFailed", find: "FAILED.save(store, all)", replace: "void all" },
    "src/feeds/send/send-rows.ts",
  ),
  tested(
    "test/statuses/waiting-requests.test.ts",
    "a status that is refused for ever is sent by each process",
    { in: "save", find: "KEPT_REQUESTS.save(", replace: "void (store, " },
    "src/statuses/waiting-requests.ts",
  ),
  tested(
    "test/cli/sync-planned.test.ts",
    "sync makes no comparison, however long ago the last one was",
    { in: "due", find: "Date.parse(at) <= nowMs", replace: "nowMs < 0" },
    "src/daemon/planned-work.ts",
  ),
  tested(
    "test/cli/sync-planned.test.ts",
    "sync makes each comparison again and again once its time has come",
    { in: "settle", find: "await this.#save", replace: "void ({}), await (async (..._: unknown[]) => {})" },
    "src/daemon/planned-work.ts",
  ),
  tested(
    "test/updates/position-gone-back.test.ts",
    "a position in another form is forgotten by each process",
    { in: "noteOtherForm", find: "OTHER_FORM.save(store, form)", replace: "void form" },
    "src/updates/pages/other-form.ts",
  ),
  tested(
    "test/feeds/push-parents.test.ts",
    "what is refused below a refused group holds the feed",
    { in: "refuseEach", find: "each.row.isOrphan !== true", replace: "each.row.isOrphan !== undefined" },
    "src/feeds/send/refusal-trial.ts",
  ),
  tested(
    "test/statuses/status-other.test.ts",
    "a status is sent while the service answers with another order under the id",
    { in: "planStatus", find: "if (order.isOther) return", replace: "if (order.isOther && order.isRemoved) return" },
    "src/statuses/plan-status.ts",
  ),
  tested(
    "test/statuses/status-other.test.ts",
    "a status for the former order is sent to the one that has replaced it",
    { in: "isReplacedSince", find: "revision < first", replace: "revision < 0" },
    "src/orders/replaced-orders.ts",
  ),
  tested(
    "test/confirm/reused-names.test.ts",
    "a batch of which nothing could be read shows that its name is used again",
    { in: "#storePart", find: "isNew: isNew && hasCreated", replace: "isNew" },
    "src/orders/write-batch.ts",
  ),
  tested(
    "test/confirm/reused-names.test.ts",
    "a part of a batch that names what it leaves out shows that everything was served again",
    { in: "#saveBatch", find: "(read.ordersBeside ?? 0) === 0 &&", replace: "" },
    "src/orders/write-batch.ts",
  ),
  tested(
    "test/pass/first-looks.test.ts",
    "the first of two reads in doubt is not forgotten after a day",
    { in: "judgeLook", find: "agoMs >= FORGOTTEN_MS", replace: "firstMs === undefined" },
    "src/pass/first-looks.ts",
  ),
  tested(
    "test/pass/interval.test.ts",
    "an interval that begins anew with each process",
    { in: "begin", find: "leftMs(last, clock.nowMs(), this.#everyMs)", replace: "this.#everyMs" },
    "src/pass/interval.ts",
  ),
  tested(
    "test/backup/back-up.test.ts",
    "a journal on another disk shortened by copies that are lost with the database",
    { in: "reachedBy", find: "isApart(folder, database) && !isApart(file, database)", replace: "folder === file" },
    "src/backup/backup-helper.ts",
  ),
  tested(
    "test/feeds/push-guard.test.ts",
    "rows that went to zero while the clock was ahead do not count when it is set right",
    {
      in: "correctDropTimes",
      find: "if (!hasLaterDrops(store, rules, times)) return;",
      replace: "if (rules.name !== times.at) return;",
    },
    "src/feeds/guard/hold-drops.ts",
  ),
  tested(
    "test/feeds/push-guard.test.ts",
    "what a long pass finds gone to zero counts apart",
    { in: "stepOf", find: "droppedAt: startedAt", replace: "droppedAt: startedAt && isoTime(clock.nowMs())" },
    "src/feeds/diff/absorb-feed.ts",
  ),
  tested(
    "test/feeds/push-guard.test.ts",
    "a row that changes again while it waits counts as gone to zero anew",
    { in: "saveQueued", find: "coalesce(dropped_at, excluded.dropped_at)", replace: "excluded.dropped_at" },
    "src/feeds/feed-rows.ts",
  ),
  tested(
    "test/feeds/push-guard.test.ts",
    "rows sent beside those that the guard holds are forgotten in time",
    {
      in: "saveSentDrops",
      find: "min(@at, ${first(UNSHOWN)}, ${first(HELD_ROUND)})",
      replace: "coalesce(@at, ${first(UNSHOWN)}, ${first(HELD_ROUND)})",
    },
    "src/feeds/guard/guard-rows.ts",
  ),
  {
    name: "a refused status is sent again and again where each pass is a process of its own",
    edits: [{ file: "src/statuses/status-rows.ts", of: "isAcceptedSinceRefusal", does: "return false;" }],
    foundBy: "simulation",
    draws: { forms: { cron: true }, step: { do: "ask", status: ["nonsense", "shipped", "packed"] } },
  },
  {
    name: "a hold that began while the clock was ahead stands until that time where each pass is a process of its own",
    edits: [{ file: "src/daemon/standing-holds.ts", of: "bringBack", does: "return;" }],
    foundBy: "simulation",
    draws: { forms: { cron: true }, step: { do: "lie", lie: { status: [401, 402, 403], retryAfter: null } } },
  },
  {
    name: "a batch without orders waits for the time at which it came while the clock was ahead",
    edits: [{ file: "src/completeness/list-rows.ts", of: "bringEmptyBack", does: "return;" }],
    foundBy: "simulation",
    draws: { forms: { cron: true }, step: { do: "empty batch" } },
  },
  {
    name: "a delivery that was lost while the clock was ahead stands until that time",
    edits: [{ file: "src/batches/delivery-rows.ts", of: "bringDeliveryBack", does: "return;" }],
    foundBy: "simulation",
    draws: {
      forms: { cron: true, confirm: "all", redeliver: null },
      step: { do: "clock", ms: [10_800_000, 86_400_000, 31_536_000_000] },
    },
  },
  {
    name: "a journal in another folder begins without the batches whose confirms are owed",
    edits: [
      {
        file: "src/batches/unconfirmed-bodies.ts",
        of: "saveUnconfirmedBodies",
        does: "void context; void paths; void signal;",
      },
    ],
    foundBy: "simulation",
    draws: { step: { do: "journal folder" } },
  },
  tested(
    "test/batches/unconfirmed-bodies.test.ts",
    "a journal in another folder never gets a confirmed batch that is served again",
    { in: "begin", find: "markJournaledElsewhere(store);", replace: "" },
    "src/batches/journal-batches.ts",
  ),
  hostile(
    "a time that was proved wrong moves the position in the hour before it comes",
    "src/updates/times/latest-time.ts",
    ["isoTime(areNear ? nowMs : nowMs + AHEAD_MS)", "isoTime(areNear ? nowMs + AHEAD_MS : nowMs + AHEAD_MS)"],
    { forms: { date: false, page: [10, 100] }, step: { do: "change", timestamp: "future" } },
  ),
  {
    ...one(
      "a name with line breaks is lines of its own wherever it is shown",
      "src/messages/message.ts",
      'typeof value === "string" ? inertLine(value) : value',
      'typeof value === "string" ? value : value',
    ),
    draws: { step: { do: "odd trigger" } },
  },
  {
    ...one(
      "the password of an address without its scheme is shown",
      "src/config/source.ts",
      '.replace(BARE_USERINFO, "***@")',
      "",
    ),
    draws: { step: { do: "mistype", slip: ["no scheme", "one slash"] } },
  },
  {
    ...one(
      "what a service serves while its clock is behind proves that a lost batch has come again",
      "src/batches/delivery-rows.ts",
      "if (isBehindLoss(mark, { serviceMs, machineMs, timesBehindMs: loadBehindMs(store) }))",
      "if (mark.id === 0)",
    ),
    draws: {
      forms: { confirm: "all", date: true, redeliver: 60_000 },
      step: { do: "skew", ms: [-3_600_000, -86_400_000] },
    },
  },
  tested(
    "test/confirm/pull-unnamed.test.ts",
    "a lost answer waits for ever where new orders are always late",
    { in: "settleDelivery", find: " && mark.behindMs !== HAS_WAITED", replace: "" },
    "src/batches/delivery-rows.ts",
  ),
  tested(
    "test/service/charset.test.ts",
    "an answer in another encoding read as UTF-8",
    { in: "#read", find: "charset === undefined ? sent : await toUtf8(sent, charset)", replace: "sent" },
    "src/service/client.ts",
  ),
  tested(
    "test/service/charset.test.ts",
    "one broken text makes a body in UTF-8 one in the encoding that its name says",
    { in: "toUtf8", find: "(isUtf8(body) || (await isMostlyUtf8(body)))", replace: "isUtf8(body)" },
    "src/service/charset.ts",
  ),
  tested(
    "test/feeds/push-repeats.test.ts",
    "stock and prices of an article that is on sale again are as the service had them",
    { in: "loadNewArticles", find: "s.live >= r.value ->> 1", replace: "s.live >= 0" },
    "src/feeds/repeated-rows.ts",
  ),
  tested(
    "test/feeds/push-waits.test.ts",
    "a request that is answered with waits goes again as large as it was",
    { in: "#saveWait", find: "...(isTooLarge && smaller)", replace: "...(isTooLarge && sinceMs < 0 && smaller)" },
    "src/feeds/send/send-rows.ts",
  ),
  tested(
    "test/feeds/push-waits.test.ts",
    "requests get smaller although a service that counts them asks to wait",
    { in: "#saveWait", find: "size > taken ||", replace: "size > 0 ||" },
    "src/feeds/send/send-rows.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a page without orders taken for the end of its batch",
    { in: "readPage", find: "elements.length === 0 ? 1 :", replace: "elements.length === 0 ? 0 :" },
    "src/orders/read-batch.ts",
  ),
  tested(
    "test/confirm/pull-unnamed.test.ts",
    "orders are asked for while a confirm that covers everything may still be carried out",
    {
      in: "#drain",
      find: "if (!isWaiting && this.#confirms.mayArrive)",
      replace: "if (batches < 0)",
    },
    "src/orders/pull-orders.ts",
  ),
  tested(
    "test/cli/approve.test.ts",
    "an approval of a number covers other rows that took the place of those shown",
    { in: "coveredRows", find: "isShown: newestMs <=", replace: "isShown: newestMs > 0 || newestMs <=" },
    "src/feeds/guard/guard-shown.ts",
  ),
  tested(
    "test/feeds/push-guard.test.ts",
    "the guard forgets what it counted where the time of day is set forward",
    { in: "#noteClocks", find: "aheadMs > CLOCK_STEP_MS", replace: "aheadMs > CLOCK_STEP_MS * 1e9" },
    "src/feeds/push-imports.ts",
  ),
  tested(
    "test/feeds/push-parents.test.ts",
    "acknowledged records of a whole table stand where their keys put them",
    { in: "parentsFirst", find: "if (parent === null) return", replace: "if (parent !== null) return" },
    "src/feeds/send/send-whole.ts",
  ),
  tested(
    "test/confirm/pull-unnamed.test.ts",
    "a loss that nobody was shown is given up with the others",
    { in: "coveredLosses", find: "|| lostAt < since", replace: "|| lostAt !== since" },
    "src/batches/delivery-rows.ts",
  ),
  tested(
    "test/feeds/push-whole.test.ts",
    "a table that was no acceptance does not go again without the row that it lacked",
    { in: "forgetAbsent", find: "max(sent_at, @at)", replace: "min(sent_at, @at)" },
    "src/feeds/send/whole-rows.ts",
  ),
  tested(
    "test/feeds/push-whole.test.ts",
    "a table that is refused twice by name is refused as a whole",
    { in: "sendWhole", find: "requests === REQUESTS_MAX", replace: "requests > 1" },
    "src/feeds/send/send-whole.ts",
  ),
  tested(
    "test/feeds/push-trouble.test.ts",
    "a refused probe ends the hold of a feed of which one row waits",
    {
      in: "#mustHold",
      find: "pass.heldFor.length > 0 || acceptedAt",
      replace: "pass.heldFor.length < 0 || acceptedAt",
    },
    "src/feeds/send/send-rows.ts",
  ),
  tested(
    "test/cli/resume.test.ts",
    "a command decides about what it has not named",
    { in: "mayDecide", find: "named === digestOf", replace: "named !== digestOf" },
    "src/pass/shown.ts",
  ),
  tested(
    "test/confirm/pull-unnamed.test.ts",
    "an answer that no empty one was like before ends the mark of a delivery",
    { in: "read", find: "unusual !== undefined || !isServed", replace: "!isServed" },
    "src/orders/read-batch.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a page of the batch before completes the next one",
    { in: "has", find: "if (found === undefined ||", replace: "if (found !== undefined ||" },
    "src/orders/former-pages.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "an empty page that names another batch is taken for the next batch",
    {
      in: "#readOnce",
      find: "const name = isEmpty || first === undefined",
      replace: "const name = first === undefined",
    },
    "src/orders/read-batch-pages.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a cursor of the next page is not followed",
    { in: "turnOf", find: "if (isNamed && named !== undefined)", replace: "if (isNamed && named === null)" },
    "src/completeness/page-fields.ts",
  ),
  tested(
    "test/feeds/push-trouble.test.ts",
    "what waits for a time waits for the schedule of its feed",
    { of: "#nextDue", does: "return {};" },
    "src/feeds/push-imports.ts",
  ),
  tested(
    "test/orders/removed-orders.test.ts",
    "a newer record of a removed order is confirmed and stored nowhere",
    { in: "planOrder", find: "if (!isNewer)", replace: 'if (!isNewer || (stored.removed && source !== "snapshot"))' },
    "src/orders/plan-order.ts",
  ),
  tested(
    "test/config/feed-level.test.ts",
    "a deleted row is taken off sale in the form of a former template",
    { in: "hasValue", find: "&& ![", replace: "|| ![" },
    "src/config/feed-level.ts",
  ),
  tested(
    "test/updates/follow-pages.test.ts",
    "a change with the time of a full page is not looked for once its orders were read",
    { in: "settleEqualTimestamps", find: "range === undefined ||", replace: "range !== undefined ||" },
    "src/updates/cuts/equal-timestamps-rows.ts",
  ),
  tested(
    "test/confirm/confirmed-orders.test.ts",
    "an order that was named beside the list counts as one that never came",
    { in: "findExcess", find: " + context.state.ordersBesideOf(each.id)", replace: "" },
    "src/confirm/judge-confirm.ts",
  ),
  tested(
    "test/confirm/lost-answers.test.ts",
    "confirms that are due leave although the service was set back",
    { of: "noteSetBack", does: "return;" },
    "src/confirm/lost-answers.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a batch is confirmed although the service has made another one of its next pages",
    { in: "#readOnce", find: "isOther && !this.#reader.arePagesNamed", replace: "isOther" },
    "src/orders/read-batch-pages.ts",
  ),
  tested(
    "test/service/outcome/record-reports.test.ts",
    "a record whose key is a word of the usual answer counts as named by it",
    {
      in: "ofMember",
      find: "this.#ordinary.has(memberPath(path, key)) ? [] : this.#of(key)",
      replace: "this.#of(key)",
    },
    "src/service/outcome/named-records.ts",
  ),
  tested(
    "test/feeds/unknown-answers.test.ts",
    "a key that is a value of the usual answer makes it a new form",
    { in: "judge", find: "learned.since !== null && !isUnusual(learned, withoutOwn)", replace: "false" },
    "src/pass/answer-forms.ts",
  ),
  tested(
    "test/updates/stale-replica.test.ts",
    "an answer with another status than a change of the same time is never asked for again",
    { of: "contradicts", does: "return false;" },
    "src/updates/reads/asking-record.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a batch that another one follows is confirmed without a second look at it",
    { in: "#readPages", find: "(before.isFollowed ? this.#reader.query : undefined)", replace: "undefined" },
    "src/orders/read-batch-pages.ts",
  ),
  tested(
    "test/confirm/lost-answers.test.ts",
    "the confirm of a name that came before leaves although a lost answer may have had it",
    { of: "mayNameLost", does: "return false;" },
    "src/confirm/lost-answers.ts",
  ),
  tested(
    "test/updates/stale-replica.test.ts",
    "a batch that differs from the answer of the same time is not asked about again",
    { in: "contradicts", find: 'source === "update" ? listed === 1 : listed <= 1', replace: "listed === 1" },
    "src/updates/reads/asking-record.ts",
  ),
  tested(
    "test/updates/stale-replica.test.ts",
    "of a whole order only the status may contradict the answer",
    { in: "contradicts", find: "isWhole ? differs : isOtherStatus", replace: "isOtherStatus" },
    "src/updates/reads/asking-record.ts",
  ),
  tested(
    "test/service/outcome/usual-reports.test.ts",
    "a word of a refusal that stands at an unknown place is not noticed",
    { of: "#sayRefusal", does: "return;" },
    "src/service/outcome/record-reports.ts",
  ),
  tested(
    "test/service/outcome/usual-reports.test.ts",
    "a flag that was always true and is false now is not noticed",
    {
      in: "isOddFlag",
      find: "return words.includes(word.replace(FLAG_NO",
      replace: 'return words.includes("") && words.includes(word.replace(FLAG_NO',
    },
    "src/service/outcome/usual-reports.ts",
  ),
  tested(
    "test/service/outcome/acceptance.test.ts",
    "a list of nulls is an error of the whole answer",
    { of: "isListOfNothing", does: "return false;" },
    "src/service/outcome/reported-errors.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a next page that an object describes is not asked for",
    { in: "nextOf", find: 'if (kind === "object") return nextIn(bytes, value);', replace: "" },
    "src/completeness/page-fields.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "headers that number the pages are not read",
    { of: "readPageHeaders", does: "return [];" },
    "src/completeness/head-metadata.ts",
  ),
  tested(
    "test/orders/next-pages.test.ts",
    "a flag that the list is cut keeps its batch from being confirmed although all pages were read",
    { of: "isCutFlag", does: "return false;" },
    "src/completeness/metadata-fields.ts",
  ),
  {
    name: "a confirm that is refused because of one order is not divided",
    edits: [
      { file: "src/confirm/send-parts.ts", in: "sendParts", find: "if (isDivisible &&", replace: "if (false &&" },
    ],
    foundBy: "simulation",
    draws: { step: { do: "lie", lie: { on: "confirm", span: "for ever" } } },
  },
  {
    ...one(
      "what comes behind a batch that is served again is left to the next pass",
      "src/orders/pull-orders.ts",
      "batch.seenBefore && had.has(batch.row.id)",
      "batch.seenBefore && had.size >= 0",
    ),
    draws: { forms: { redeliver: 30_000 }, step: { do: "lie", lie: { on: "confirm", span: "for ever" } } },
  },
  tested(
    "test/confirm/reused-names.test.ts",
    "a shared name is confirmed while an answer is kept that may have had it",
    { of: "hasUnreadOf", does: "return false;" },
    "src/batches/kept-rows.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a probe that fails for another reason waits as long as one that is refused",
    { in: "admit", find: "Math.min(windowMs ?? 0, probeMs)", replace: "windowMs ?? 0" },
    "src/daemon/gate.ts",
  ),
  tested(
    "test/feeds/push-holds.test.ts",
    "a feed that is refused again and again keeps the others waiting",
    { of: "wasProbeRefused", does: "return false;" },
    "src/pass/refused-probes.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a flow that asks during a probe is forgotten when the probe is refused",
    { in: "noteRefused", find: "new Set(this.#queues.get(keyOf(hold))?.waiting)", replace: "new Set<string>()" },
    "src/daemon/probe-queues.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "after a start the flow that is refused takes every probe from the others",
    { in: "#queueOf", find: "refused === undefined", replace: "true" },
    "src/daemon/probe-queues.ts",
  ),
  tested(
    "test/feeds/counted-short.test.ts",
    "a record that was not taken counts as unchanged after a lost request with another value",
    { in: "mayBeThere", find: "flightRecord === row.record", replace: "flightRecord !== null" },
    "src/feeds/send/count-probe.ts",
  ),
  tested(
    "test/confirm/refused-orders.test.ts",
    "an order that was refused alone is named with every later batch",
    { in: "withoutRefused", find: "if (refused.size === 0) return row;", replace: "return row;" },
    "src/confirm/divide-confirm.ts",
  ),
  tested(
    "test/updates/wide-failure.test.ts",
    "a wide re-poll that fails is sent in the place of every later pass",
    { in: "#follow", find: "WIDE_FAILURE.load(store) === undefined ? due : undefined", replace: "due" },
    "src/updates/follow-updates.ts",
  ),
  tested(
    "test/updates/wide-failure.test.ts",
    "a wide re-poll that fails is sent again just as wide",
    { in: "narrow", find: "lookBackMs / 2 ** (tries - 1)", replace: "lookBackMs" },
    "src/updates/pages/wide-failure.ts",
  ),
  tested(
    "test/updates/wide-failure.test.ts",
    "half of an odd number of milliseconds is asked for",
    { in: "narrow", find: "Math.ceil(lookBackMs / 2 ** (tries - 1))", replace: "lookBackMs / 2 ** (tries - 1)" },
    "src/updates/pages/wide-failure.ts",
  ),
  {
    name: "a position at which the service fails for hours is asked for without end",
    edits: [{ file: "src/updates/pages/since-limits.ts", of: "isLastingFault", does: "return false;" }],
    foundBy: "simulation",
    draws: { step: { do: "lie", lie: { on: "updates", span: "for ever" } } },
  },
  tested(
    "test/updates/snapshot-errors.test.ts",
    "an order that has the words of an error among its fields is never stored",
    { in: "readErrorIn", find: "words === undefined || isOwn(order)", replace: "words === undefined" },
    "src/updates/reads/read-snapshot.ts",
  ),
  tested(
    "test/updates/snapshot-errors.test.ts",
    "an order that has lost its lines and reports an error is never judged",
    { in: "isOrderItself", find: "attempts >= OWN_ERROR_TRIES", replace: "attempts < 0" },
    "src/updates/reads/read-snapshot.ts",
  ),
  tested(
    "test/updates/snapshot-errors.test.ts",
    "an error that repeats the id of an order with lines is that order",
    { in: "isOrderItself", find: ".lines.length === 0", replace: ".lines.length >= 0" },
    "src/updates/reads/read-snapshot.ts",
  ),
  tested(
    "test/updates/snapshot-errors.test.ts",
    "the state of an error that repeats the id is that of the order",
    { in: "readErrorIn", find: '=== "absent" ? "list" : "record"', replace: '=== "absent" ? "record" : "record"' },
    "src/updates/reads/read-snapshot.ts",
  ),
  tested(
    "test/statuses/status-own-error.test.ts",
    "words of an error that an order had before refuse its status",
    { of: "#isOwnWord", does: "return false;" },
    "src/statuses/answered-status.ts",
  ),
  tested(
    "test/statuses/status-own-error.test.ts",
    "whatever words of an error an answer has, they are the order's own",
    { in: "#isOwnWord", find: "stored.words === words", replace: "stored.words !== undefined" },
    "src/statuses/answered-status.ts",
  ),
  tested(
    "test/feeds/former-rows.test.ts",
    "of two records of an article in one request the first one found counts",
    {
      in: "saveFormer",
      find: "(excluded.sent_at, excluded.live) > (sent_at, live)",
      replace: "excluded.sent_at > sent_at",
    },
    "src/feeds/rekey/former-rows.ts",
  ),
  tested(
    "test/feeds/former-rows.test.ts",
    "of two deleted rows of one request the one at zero keeps their article",
    { in: "isSentLater", find: "(at === otherAt && one.live > other.live)", replace: "false" },
    "src/feeds/rekey/former-rows.ts",
  ),
  {
    ...one(
      "a hold of refused credentials probed with the rows that were refused",
      "src/feeds/push-imports.ts",
      "if (!isHeldAsDenied(pass.heldFor) || this.#only",
      "if (pass.heldFor.length >= 0 || this.#only",
    ),
    draws: DENIED,
  },
  {
    ...one(
      "a request that is denied after an accepted probe is about the feed",
      "src/feeds/send/read-refusal.ts",
      "return trial.hasAccepted;",
      "return false;",
    ),
    draws: DENIED,
  },
  tested(
    "test/feeds/push-denied.test.ts",
    "a row that was denied goes with others again",
    {
      in: "send",
      find: "const areApart = trial.hasAccepted || !isHeldAsDenied(pass.heldFor);",
      replace: "const areApart = false;",
    },
    "src/feeds/send/send-rows.ts",
  ),
  tested(
    "test/feeds/push-denied.test.ts",
    "each probe of a hold takes the row with which the last one was refused",
    { of: "saveProbed", does: "" },
    "src/feeds/send/refused-rows.ts",
  ),
  tested(
    "test/feeds/push-denied.test.ts",
    "many controls with credentials that are refused between two requests",
    { in: "#nextControl", find: "this.hasAccepted && !this.#isDenied", replace: "this.hasAccepted" },
    "src/feeds/send/refusal-trial.ts",
  ),
  tested(
    "test/feeds/push-denied.test.ts",
    "a quarantined row that is denied holds its feed",
    { in: "isAboutRows", find: "isDenied || isRefused", replace: "isDenied" },
    "src/feeds/send/read-refusal.ts",
  ),
  {
    name: "the rows of a failed request are sent again together and with others",
    edits: [{ file: "src/feeds/send/refusal-trial.ts", of: "planParts", does: "return [[...rows]];" }],
    foundBy: "simulation",
    draws: { step: { do: "lie", lie: { on: "import", status: [500, 502, 504], span: "for ever" } } },
  },
  tested(
    "test/feeds/push-failing-record.test.ts",
    "after an outage the rows of each failed request are sent in parts",
    { in: "#saveWell", find: "inRow >= FAILURES_IN_ROW_MAX", replace: "inRow < 0" },
    "src/feeds/send/send-rows.ts",
  ),
  tested(
    "test/feeds/push-failing-record.test.ts",
    "rows of a failed request are sent one by one to a service that fails at all of them",
    { in: "#sendPart", find: "suspects.length < FAILURES_IN_ROW_MAX", replace: "suspects.length < 1_000" },
    "src/feeds/send/send-rows.ts",
  ),
  tested(
    "test/feeds/push-failing-record.test.ts",
    "rows of a failed request are no condition while others are accepted",
    { of: "countUnanswered", does: "return 0;" },
    "src/health/conditions.ts",
  ),
  tested(
    "test/updates/second-reads.test.ts",
    "the minute of a change is taken for its millisecond where the order shows one",
    { of: "isCutToMinute", does: "return false;" },
    "src/orders/second-reads.ts",
  ),
  tested(
    "test/feeds/push-guard.test.ts",
    "the guard does not see that prices become 0",
    { in: "readLevels", find: "LEVEL_COLUMNS[feed] ?? []", replace: 'feed === "stocks" ? ["quantity"] : []' },
    "src/config/feed-level.ts",
  ),
  tested(
    "test/feeds/push-refusals.test.ts",
    "new articles that the service does not know hold the stock up",
    { of: "queueAccepted", does: "return undefined;" },
    "src/feeds/send/controls.ts",
  ),
  tested(
    "test/feeds/push-refusals.test.ts",
    "the probe of a held feed is a new article while known ones wait",
    { of: "loadKnownSendable", does: "return undefined;" },
    "src/feeds/send/controls.ts",
  ),
  tested(
    "test/feeds/push-refusals.test.ts",
    "each probe of a service that refuses everything queues one more row",
    { in: "queueAccepted", find: "waiting === ACCEPTED_QUEUED_MAX", replace: "waiting < 0" },
    "src/feeds/send/controls.ts",
  ),
  tested(
    "test/feeds/push-refusals.test.ts",
    "an article that is for sale is sent again as a control",
    { in: "queueAccepted", find: '"AND s.live = 0"', replace: '""' },
    "src/feeds/send/controls.ts",
  ),
  tested(
    "test/service/outcome/acceptance.test.ts",
    "errors of single records are read only in lists of a usual name",
    { of: "readReportedWords", does: "return undefined;" },
    "src/service/outcome/reported-errors.ts",
  ),
  tested(
    "test/service/outcome/acceptance.test.ts",
    "an error of what was sent is read only below a usual name",
    { of: "readSentWords", does: "return undefined;" },
    "src/service/outcome/reported-errors.ts",
  ),
  tested(
    "test/statuses/status-unknown.test.ts",
    "a lost request for the status that the order already had counts as sent",
    {
      in: "#settleRead",
      find: 'shows === "wanted" && !isProven ?',
      replace: 'shows === "wanted" && isProven && !isProven ?',
    },
    "src/statuses/resolve-status.ts",
  ),
  tested(
    "test/mirror/up.test.ts",
    "more rows that PostgreSQL lacks are deleted than a person has approved",
    { of: "unlessMore", does: "return walk;" },
    "src/mirror/up/plan-walk.ts",
  ),
  tested(
    "test/cli/switched-off.test.ts",
    "approve mirror approves more rows than were shown",
    { in: "approveMirror", find: "waiting > atMost", replace: "waiting < 0" },
    "src/mirror/mirror-state.ts",
  ),
  tested(
    "test/confirm/lost-answers.test.ts",
    "a batch that comes again with a changed order waits as if its name were another one's",
    { in: "isNameOfConfirmed", find: "events.at < @receivedAt", replace: "events.at < '' AND @receivedAt <> ''" },
    "src/confirm/reused-names.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "passes that the service ended before their pages could be judged are not counted over processes",
    { of: "loadUnjudged", does: "return 0;" },
    "src/updates/pages/pass-turn.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "reads of orders have no turn after a pass that the service ended",
    { in: "#takeTurn", find: "TURN.load(store)", replace: "undefined" },
    "src/updates/follow-updates.ts",
  ),
  tested(
    "test/statuses/status-unknown.test.ts",
    "what an answer to a status says of its order is not compared with the usual words",
    { find: "const report = shown === undefined &&", replace: "const report = shown === null &&" },
    "src/statuses/answered-status.ts",
  ),
  tested(
    "test/service/outcome/record-reports.test.ts",
    "records that an answer names by numbered members are not looked at by their places",
    { of: "isNumbered", does: "return false;" },
    "src/service/outcome/record-reports.ts",
  ),
  tested(
    "test/service/outcome/record-reports.test.ts",
    "a gap in the list of what was made of the records says nothing",
    { in: "#sayInPlaces", find: "hasGaps && element === null", replace: "hasGaps && element === undefined" },
    "src/service/outcome/record-reports.ts",
  ),
  {
    name: "a status is sent by what a pass over changes showed some minutes ago",
    edits: [
      {
        in: "#isReadFirst",
        find: "attempts < UNREAD_MAX",
        replace: "attempts < 0",
        file: "src/statuses/settle-status.ts",
      },
    ],
    foundBy: "simulation",
    draws: { step: { do: "cancel unseen", isStopped: false } },
  },
  tested(
    "test/statuses/status-unknown.test.ts",
    "a number that means a failure to some services is an acceptance of a status",
    { of: "readFailureCode", does: "return undefined;" },
    "src/service/outcome/unknown-outcome.ts",
  ),
  tested(
    "test/confirm/refused-orders.test.ts",
    "a division of a refused confirm that is broken off begins anew in each pass",
    { of: "resumeDivided", does: "return undefined;" },
    "src/confirm/divide-confirm.ts",
  ),
  tested(
    "test/daemon/gate.test.ts",
    "a pass that is a process of its own leaves every probe to flows that never take it",
    { in: "noteYielded", find: "return true;", replace: "return false;" },
    "src/daemon/probe-queues.ts",
  ),
  tested(
    "test/completeness/unusual-empty.test.ts",
    "204 in the place of an empty list is as usual as the list",
    { in: "readRoot", find: 'says: NO_CONTENT, counts: "before"', replace: 'says: NO_CONTENT, counts: "never"' },
    "src/completeness/empty-form.ts",
  ),
  tested(
    "test/completeness/empty-list.test.ts",
    "a text of what was left out of a batch means as little as other texts under its name",
    { in: "findShortfall", find: "field.words === undefined || known.equal === 0", replace: "field.says" },
    "src/completeness/shortfall.ts",
  ),
  tested(
    "test/service/outcome/lost-words.test.ts",
    "a word of failure counts as one whatever stands before it",
    { in: "saysLost", find: "TEXTS.noneBefore, TEXTS.noneFirst", replace: "TEXTS.noneBefore" },
    "src/service/outcome/partial-acceptance.ts",
  ),
  tested(
    "test/completeness/lost-values.test.ts",
    "a number of pieces counts lines where all orders had one piece",
    { in: "findUnexplained", find: "sums.explains(count) ? [] : [name]", replace: "[name]" },
    "src/completeness/counted-lines.ts",
  ),
  tested(
    "test/completeness/lost-values.test.ts",
    "no number larger than that of the lines counts them",
    { of: "findUnexplained", does: "return [];" },
    "src/completeness/counted-lines.ts",
  ),
  tested(
    "test/completeness/lost-values.test.ts",
    "an order that has fewer lines than a number that may count them is held for more than an hour",
    { in: "isHeldForLong", find: 'part === "count" ? COUNT_HELD_MS : SINGLE_HELD_MS', replace: "SINGLE_HELD_MS" },
    "src/completeness/lost-values.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a total beside a batch that is a sum over its orders says that orders are missing",
    { of: "isOfLines", does: "return false;" },
    "src/completeness/learned-metadata.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a sum over the orders of a batch says nothing although it never was the count",
    { in: "isOfLines", find: "(known?.apart ?? 0) < EQUAL_TIMES", replace: "known !== null" },
    "src/completeness/learned-metadata.ts",
  ),
  tested(
    "test/completeness/orders-beside-list.test.ts",
    "a sum over the orders of a batch is the count of orders by its name",
    { in: "mayCountSums", find: "&& !RECORDS_NAME.test(name)", replace: "" },
    "src/completeness/metadata-fields.ts",
  ),
  tested(
    "test/completeness/completeness.test.ts",
    "a total beside a page of changes that is a sum over them says that changes are missing",
    { in: "findLacks", find: "if (isOfLines(field, known)) return [];", replace: "" },
    "src/completeness/lacks.ts",
  ),
  tested(
    "test/feeds/push-repeats.test.ts",
    "stock and prices that were sent before their article do not go once more after it",
    { of: "repeatOfNew", does: "return;" },
    REPEATED,
  ),
  {
    name: "what a service has ignored of a new article is lost",
    edits: [{ of: "repeatOfNew", does: "return;", file: "src/feeds/repeated-rows.ts" }],
    foundBy: "simulation",
    draws: { forms: { catalog: "silent" } },
  },
  {
    name: "only the stock of a new article goes once more after it",
    edits: [
      {
        in: "repeatOfNew",
        find: 'repeat("f.feed_id IN (SELECT value FROM json_each(@feeds))", PRIORITY.ofNew)',
        replace: 'repeat("f.feed_id = 1 AND @feeds IS NOT NULL", PRIORITY.ofNew)',
        file: "src/feeds/repeated-rows.ts",
      },
    ],
    foundBy: "simulation",
    draws: { forms: { catalog: "silent", prices: true } },
  },
  {
    name: "an article that was deleted counts as one that the service has",
    edits: [
      {
        in: "loadNewArticles",
        find: "s.gone = 0 AND s.live >= r.value ->> 1 AND s.epoch IN (f.epoch, ${HANDED_EPOCH})",
        replace: "s.epoch IN (f.epoch, ${HANDED_EPOCH})",
        file: "src/feeds/repeated-rows.ts",
      },
    ],
    foundBy: "simulation",
    draws: { forms: { catalog: "silent", leavesSite: true } },
  },
  {
    name: "an article whose deletion was not answered counts as one that the service has",
    edits: [{ of: "doubtReturning", does: "return;", file: "src/feeds/feed-rows.ts" }],
    foundBy: "simulation",
    draws: { forms: { catalog: "silent", leavesSite: true } },
  },
  {
    name: "rows that were refused for an unknown article wait although the service has it now",
    edits: [{ of: "retryOfNew", does: "return;", file: "src/feeds/send/refused-rows.ts" }],
    foundBy: "simulation",
    draws: { forms: { catalog: ["errors", "said"] } },
  },
  tested(
    "test/service/outcome/usual-reports.test.ts",
    "an id that is equal to a quantity by chance counts as its repetition",
    {
      in: "isOdd",
      find: "memberTimes >= USUAL_TIMES && !words.includes(word.slice(0, -HOLDS_NOT.length) + DIFFERS)",
      replace: "memberTimes >= USUAL_TIMES",
    },
    "src/service/outcome/usual-reports.ts",
  ),
  tested(
    "test/feeds/push-repeats.test.ts",
    "rows that were refused for an unknown article are looked for by their keys",
    {
      in: "ofArticles",
      find: 'coalesce(${storedInSql(article, "record", "k0")}, k0) IN',
      replace: "${article.length < 0 ? storedInSql(article, '', '') : ''} k0 IN",
    },
    "src/feeds/send/refused-rows.ts",
  ),
  tested(
    "test/feeds/push-repeats.test.ts",
    "stock of an article whose deletion was not answered does not go once more where it comes back",
    { of: "doubtReturning", does: "return;" },
    "src/feeds/feed-rows.ts",
  ),
  tested(
    "test/feeds/push-repeats.test.ts",
    "a request that left before the service had the article counts as sent after it",
    { in: "saveAcknowledged", find: "record = doubt_record AND again < 2", replace: "record = doubt_record" },
    "src/feeds/feed-outbox.ts",
  ),
  tested(
    "test/feeds/push-repeats.test.ts",
    "a catalog waits for the stock that goes once more because of it",
    { of: "isOfNew", does: "return false;" },
    REPEATED,
  ),
  tested(
    "test/feeds/push-last-word.test.ts",
    "the zero of a row is the last word about an article that another row has",
    { of: "repeatOfDropped", does: "return;" },
    REPEATED,
  ),
  tested(
    "test/feeds/push-last-word.test.ts",
    "article numbers are only compared exactly",
    { of: "foldArticle", does: "return text;" },
    "src/database/same-name.ts",
  ),
  {
    name: "a site that compares loosely keeps the zero of a row whose key the ERP has changed",
    edits: [{ file: REPEATED, of: "repeatOfDropped", does: "return;" }],
    foundBy: "simulation",
    draws: respelled("both", "update", "anew"),
  },
  {
    ...one(
      "rows of other warehouses do not go once more after a deleted one",
      "src/feeds/record-identity.ts",
      'if (name === "stocks" || article.length === identity.length) return "1";',
      'if (name === "" || article.length === identity.length) return "1";',
    ),
    draws: respelled("others", "update", "anew"),
  },
  {
    name: "rows of other spellings do not go once more after a deleted one",
    edits: [
      {
        file: "src/feeds/record-identity.ts",
        in: "foldedInSql",
        find: "`fold_article(${textInSql(record, steps)})`",
        replace: "textInSql(record, steps)",
      },
    ],
    foundBy: "simulation",
    draws: respelled("spelling", "update", "anew"),
  },
  {
    name: "the article of an acknowledged row is not stored as a service may compare it",
    edits: [{ file: "src/feeds/record-identity.ts", of: "storedInSql", does: 'void record; void k0; return "NULL";' }],
    foundBy: "simulation",
    draws: respelled("spelling", "update", "anew"),
  },
  {
    ...one(
      "the others of an article go once more where a row has only sold out",
      "src/feeds/feed-outbox.ts",
      "if (gone.length > 0) repeatOfDropped(store, rules, { ids: idsOf(gone), at });",
      "repeatOfDropped(store, rules, { ids: idsOf(rows.filter((row) => row.gone || !row.live)), at });",
    ),
    draws: respelled("both", "beside"),
  },
  {
    name: "a site that compares loosely keeps the zero of a row that had sold out before it was deleted",
    edits: [
      {
        file: "src/feeds/diff/plan-feed.ts",
        in: "planAbsent",
        find: "isOwn && sent?.isLastWord !== true",
        replace: "isOwn",
      },
    ],
    foundBy: "simulation",
    draws: respelled("both", "beside"),
  },
  tested(
    "test/feeds/push-last-word.test.ts",
    "a row that had sold out sends its zero again although another row of its article was sent after it",
    { find: "(t.sent_at <= s.sent_at OR t.sent_at > f.last_accepted_at)", replace: "t.sent_at > 0" },
    "src/feeds/feed-rows.ts",
  ),
  tested(
    "test/feeds/push-last-word.test.ts",
    "a control takes an article off sale that another row has on sale",
    { in: "queueAccepted", find: "AND NOT ${hasOther}", replace: "" },
    "src/feeds/send/controls.ts",
  ),
  tested(
    "test/feeds/push-guard.test.ts",
    "the guard does not count what it let go of rows that were on the site by a lost answer alone",
    {
      in: "#saveAccepted",
      find: "if (!before.has(id) && droppedAt === null) continue;",
      replace: "if (!before.has(id)) continue;",
    },
    "src/feeds/send/send-request.ts",
  ),
  tested(
    "test/updates/urgent-reads.test.ts",
    "a cancellation waits for the reads of thousands of orders that were only touched",
    { of: "urgencyOf", does: "void isSameName; return URGENCY.sameStatus;" },
    "src/orders/queue-order.ts",
  ),
  tested(
    "test/updates/urgent-reads.test.ts",
    "reads of orders that are cancelled already come before that of one that is cancelled now",
    { in: "urgencyOf", find: "isCancelled && !stored.isCancelled", replace: "isCancelled" },
    "src/orders/queue-order.ts",
  ),
  tested(
    "test/updates/urgent-reads.test.ts",
    "urgent reads keep those that wait longest waiting for ever",
    { in: "inTurns", find: "this.#urgent >= URGENT_IN_ROW", replace: "false" },
    "src/updates/reads/read-turns.ts",
  ),
  tested(
    "test/updates/urgent-reads.test.ts",
    "a cancellation whose read failed once waits for all that have not failed",
    { find: "attempts < ${URGENT_TRIES} THEN", replace: "attempts < 1 THEN" },
    "src/pass/position-rows.ts",
  ),
  tested(
    "test/updates/urgent-reads.test.ts",
    "where no order can be read, a cancellation is looked for among all orders that were touched",
    { in: "loadLongQueued", find: "AND urgency > ${URGENCY.sameStatus} ", replace: "" },
    "src/pass/position-rows.ts",
  ),
  tested(
    "test/health/late-reads.test.ts",
    "all is up to date while thousands of reads wait for minutes",
    { of: "findReadsBehind", does: "void queuedReads; void nowMs; void READS_BEHIND_MS; return undefined;" },
    "src/health/conditions.ts",
  ),
  tested(
    "test/updates/background-reads.test.ts",
    "a long wait that all were asked for limits no reads in the background",
    {
      in: "hold",
      find: "if (isLongWait(plan)) noteLongWait(store, now);",
      replace: "void [isLongWait, noteLongWait];",
    },
    "src/daemon/gate.ts",
  ),
  tested(
    "test/updates/background-reads.test.ts",
    "a read that a status waits for is made when there is room for reads in the background",
    { find: "SELECT lower(order_id) FROM status_requests", replace: "SELECT order_id FROM status_requests" },
    "src/pass/position-rows.ts",
  ),
  tested(
    "test/updates/background-reads.test.ts",
    "a comparison that may read no more orders for now counts as finished",
    { in: "#compareSome", find: "if (pass.isOut) break;", replace: "if (pass.isOut) return true;" },
    "src/reconcile/reconcile.ts",
  ),
  tested(
    "test/updates/plan-read-budget.test.ts",
    "reads in the background are made at the beginning of each hour",
    { in: "roomOf", find: "(part * limit.perHour) / SLOTS_PER_HOUR", replace: "part * limit.perHour" },
    "src/updates/reads/plan-read-budget.ts",
  ),
  tested(
    "test/updates/plan-read-budget.test.ts",
    "a quota that stays is tried every day",
    { in: "planAfterWait", find: "Math.min(2 * limit.days, DAYS_MAX)", replace: "Math.min(limit.days, DAYS_MAX)" },
    "src/updates/reads/plan-read-budget.ts",
  ),
  tested(
    "test/service/outcome/usual-reports.test.ts",
    "what an answer says of an article with two records is compared with one of them",
    {
      in: "#wordsBeside",
      find: "all.map((each) => this.#recordAt(each))",
      replace: "all.slice(0, 1).map(() => this.#recordAt(index))",
    },
    REPORTS,
  ),
  tested(
    "test/service/outcome/usual-forms.test.ts",
    "words of a refusal usual after a day in which other records were accepted",
    { of: "isRefusal", does: "void doubt; return false;" },
    "src/service/outcome/usual-forms.ts",
  ),
  tested(
    "test/service/outcome/partial-acceptance.test.ts",
    "a count of 0 taken for one of changes beside words of a refusal",
    { in: "withDoubt", find: 'if (unknown?.why === "words") return acceptance;', replace: "" },
    "src/service/outcome/import-result.ts",
  ),
  tested(
    "test/feeds/tried-rows.test.ts",
    "what was acknowledged by a clock that was set back counts as older than the doubt",
    { of: "loadEarliestSince", does: "void store; return since;" },
    "src/pass/runs.ts",
  ),
  tested(
    "test/updates/cached-orders.test.ts",
    "a copy of a cache replaces a version of the future",
    { in: "newerStored", find: "if (!answer.isCached && isOfFuture", replace: "if (isOfFuture" },
    "src/updates/reads/read-order.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "a limit of since that was proved is forgotten with each search of a process of its own",
    {
      in: "#searchLimit",
      find: "limits: refused && { ...refused, isProven, isCertain }",
      replace: "limits: refused && { ...refused, isProven: isProven && false, isCertain }",
    },
    "src/updates/pages/first-page.ts",
  ),
  tested(
    "test/updates/follow-limits.test.ts",
    "a process of its own for each pass waits for a since that goes on becoming older",
    { in: "readFirst", find: "if (isFirst || (this.leastNow", replace: "if (!isFirst && (this.leastNow" },
    "src/updates/pages/first-page.ts",
  ),
  tested(
    "test/updates/missing-orders.test.ts",
    "an order that is missing waits for ever for changes that answer nothing",
    { in: "#lookForMissing", find: "forMs: UNLISTED_MS", replace: "forMs: Number.POSITIVE_INFINITY * UNLISTED_MS" },
    "src/updates/reads/read-orders.ts",
  ),
];
