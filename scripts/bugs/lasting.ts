// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits hold source text, template strings included

/* Bugs by which passing trouble leaves lasting damage, in the order of the rules that they break. */
import { direct, hostile, one, type PlantedBug, tested } from "./bug.ts";

const HOLDS = "src/pass/holds.ts";
const ACCEPTANCE = "src/service/outcome/acceptance.ts";
const READS = "src/updates/reads/read-orders.ts";
const REFUSALS = "src/feeds/send/refusal-trial.ts";
const LEVEL = "src/config/feed-level.ts";
const BATCHES = "src/orders/write-batch.ts";
const FOLLOW_JOB = "src/updates/pages/store-pass.ts";

/** The form of an answer is not looked at: what is learned would catch most of what its words say. */
const ANY_FORM = {
  file: "src/service/outcome/compare-forms.ts",
  find: "  return (since !== null || form.doubt !== null) && ",
  replace: "  return since === form.kind && ",
} as const;
const unlearned = (bug: PlantedBug): PlantedBug => ({ ...bug, edits: [...bug.edits, ANY_FORM] });

const lie = <const T extends object>(draw: T) => ({ do: "lie", lie: draw }) as const;
const SUCCESS = [200, 201, 202, 203, 206, 226];
const REFUSED = [400, 409, 422];
const MISSING = [404, 410];
/** Bodies that a service itself may write. */
const SAID = ["refusal", "empty", "text"];
const LONG = { ms: [25 * 60_000, 3_600_000, 6 * 3_600_000] };

/** A refusal says something about one record only if the service was well while it said it. */
const OF_REFUSALS: readonly PlantedBug[] = [
  hostile("a page that lacks its oldest changes taken for whole", "src/updates/pages/page-cover.ts", [
    "  return first !== undefined && (mayBeChance || !(isRising && last !== first));",
    "  return false && first !== undefined && (mayBeChance || !(isRising && last !== first));",
  ]),
  hostile("a missing order believed at once", "src/updates/reads/missing-orders.ts", [
    "row === undefined || leastAgoMs(row.machineMs, nowMs) < MISSING_FOR_MS",
    "row === undefined && orderId === at",
  ]),
  hostile("a missing order believed within a minute", "src/updates/reads/missing-orders.ts", [
    "MISSING_FOR_MS = 10 * 60_000",
    "MISSING_FOR_MS = 1_000",
  ]),
  hostile("a web page believed about an order", "src/updates/reads/missing-orders.ts", ["!error.isWebPage && ", ""], {
    step: lie({ on: "snapshot", status: MISSING, body: "html" }),
  }),
  hostile(
    "a missing order believed of an ill service",
    READS,
    ['if (health === "well" && each.missing !== undefined) {', "if (each.missing !== undefined) {"],
    { step: lie({ on: "snapshot", status: MISSING, of: "all", span: LONG, body: SAID }) },
  ),
  hostile("an order removed for good", "src/orders/order-rows.ts", [", removed_at = NULL", ""], {
    step: lie({ on: "snapshot", status: MISSING, of: { nth: [0, 1, 2, 3] }, span: LONG, body: SAID }),
  }),
  hostile(
    "a web page believed about a status",
    "src/statuses/judge-status.ts",
    [" && !error.isWebPage) return", ") return"],
    { step: lie({ on: "status", status: REFUSED, body: "html" }) },
  ),
  hostile(
    "a refused status believed at once",
    "src/statuses/judge-status.ts",
    ["  if (times < 2) return false;\n", "  if (times > 0) return true;\n"],
    { step: lie({ on: "status", status: REFUSED, body: "refusal" }) },
  ),
  hostile(
    "a refusal believed over the order itself",
    "src/statuses/answered-status.ts",
    [
      'if (shows === "wanted" && !isSameName(sent.statusSent, sent.statusBefore)) {',
      'if (shows === "wanted" && isSameName(sent.statusSent, sent.statusBefore)) {',
    ],
    { step: lie({ on: "status", status: REFUSED, body: "refusal", when: "after" }) },
  ),
  hostile(
    "one order's refusal holds its area",
    HOLDS,
    ['if (error.target === "order") return', 'if (error.target === "order" && error.status === 404) return'],
    { step: lie({ on: ["snapshot", "status"], status: [401, 402, 403] }) },
  ),
  hostile(
    "an order that fails stays first",
    READS,
    ["        if (isAnswered(error)) await this.#queue.postpone(queued, error, pass.signal);\n", ""],
    { step: lie({ on: "snapshot", status: [429, 503], span: "for ever", retryAfter: ["1", "30", "600"] }) },
  ),
  hostile(
    "one feed's refusal holds all feeds",
    HOLDS,
    [
      'return accepted.some((atMs) => atMs >= Math.max(...refused)) ? "flow" : "area";',
      'return accepted.some((atMs) => atMs < 0) ? "flow" : "area";',
    ],
    { step: lie({ on: "import", status: [401, 402, 403], of: { feed: ["stocks", "prices"] } }) },
  ),
  hostile(
    "rows blamed for a service out of order",
    REFUSALS,
    [
      "const isRecovery = !this.hasAccepted && this.#suspects.length > 1;",
      "const isRecovery = !this.hasAccepted && this.#suspects.length > 1_000;",
    ],
    { step: lie({ on: "import", status: [400, 413, 422], of: "all" }) },
  ),
  hostile(
    "a hold of a feed that only a person ends",
    HOLDS,
    [
      '      return { ...ofFlow, reason: "refused", probeAfterMs: HOLDS.refused.blocks.probeMs };',
      '      return { ...ofFlow, reason: "refused", probeAfterMs: null };',
    ],
    { step: lie({ on: "import", of: "all" }) },
  ),
  hostile(
    "a kept answer that only a person settles",
    "src/batches/kept-answers.ts",
    ["if (clock.monotonicMs() < this.#lookAtMs) return 0;", "if (clock.monotonicMs() >= 0) return 0;"],
    { step: lie({ on: "orders", body: ["changing shape", "another endpoint"] }) },
  ),
  hostile(
    "a pass that sleeps for one order",
    "src/statuses/send-statuses.ts",
    [
      "    if (error === undefined) {\n",
      "    await clock.sleep(8_000, pass.signal);\n    if (error === undefined) {\n",
    ],
    { step: lie({ on: "status", status: [500, 502, 504] }) },
  ),
  unlearned(
    hostile(
      "an error with success taken for acceptance",
      ACCEPTANCE,
      ['  if (words !== undefined) return { kind: "error", words, answer: read };', ""],
      { step: lie({ on: "import", body: ["error beside", "success false", "false"], status: SUCCESS }) },
    ),
  ),
  unlearned(
    hostile(
      "success 0 taken for acceptance",
      "src/service/outcome/reported-errors.ts",
      ["if (isZero || isFailure(said))", "if (isFailure(said))"],
      { step: lie({ on: "import", body: "success 0", status: SUCCESS }) },
    ),
  ),
  hostile("any form of answer taken for the usual one", ANY_FORM.file, [ANY_FORM.find, ANY_FORM.replace], {
    step: lie({ on: "import", body: "another form", status: SUCCESS, when: "before" }),
  }),
  hostile(
    "words of failure taken for acceptance",
    ACCEPTANCE,
    [
      'withUnknown({ kind: "accepted", answer }, ofWords(readFailureWords(text)))',
      'withUnknown({ kind: "accepted", answer }, undefined)',
    ],
    { step: lie({ on: "import", body: "no in words", status: SUCCESS, when: "before" }) },
  ),
  hostile(
    "a status sent again after a refusal without a look",
    "src/statuses/settle-status.ts",
    [
      "  return listed === undefined ? wasAnswered && !looked",
      '  return listed === undefined ? status === "" && !looked',
    ],
    { step: lie({ on: "status", status: [401, 402, 403, 423, 451] }) },
  ),
  hostile(
    "a cut answer taken for acceptance",
    ACCEPTANCE,
    ['    return { kind: "cut" };', '    return { kind: "accepted" };'],
    { step: lie({ on: ["import", "status"], body: "cut", status: SUCCESS, when: "before" }) },
  ),
  hostile(
    "an error without records read as nothing new",
    "src/records/read-list.ts",
    ["  if (error !== undefined) throw reportedError(error);\n", ""],
    { step: lie({ on: ["orders", "updates"], body: "error beside nothing", status: SUCCESS }) },
  ),
];

/** No value makes a pass fail or a guard vanish. */
const OF_VALUES: readonly PlantedBug[] = [
  hostile(
    "a timestamp beyond 2262 written as it is",
    "src/pass/seen-changes.ts",
    [
      "  return timestampNs > LAST_STAMP_NS ? LAST_STAMP_NS : timestampNs;",
      "  return timestampNs < LAST_STAMP_NS ? timestampNs : timestampNs;",
    ],
    { step: { do: "value", field: "updated_at", value: ["year 9999", "year 275760"] } },
  ),
  {
    ...hostile(
      "a level looked for under one name",
      LEVEL,
      [
        'const named = available === null ? [] : placesOf(root, ["available"]);',
        'const named = (available === null ? [] : placesOf(root, ["available"])).filter(({ steps }) => steps[0] === "quantity");',
      ],
      { forms: { level: ["amount", "nested"] }, step: { do: ["remove", "empty"] } },
    ),
    edits: [
      {
        file: LEVEL,
        find: 'const named = available === null ? [] : placesOf(root, ["available"]);',
        replace:
          'const named = (available === null ? [] : placesOf(root, ["available"])).filter(({ steps }) => steps[0] === "quantity");',
      },
      {
        file: LEVEL,
        find: 'if (feed === "stocks" && found.levels.length === 0) {',
        replace: 'if (feed === "nothing") {',
      },
    ],
  },
  hostile(
    "text that is no UTF-8 sent as it is shown",
    "src/database/stored-text.ts",
    ["  return found ?? null;", "  return null;"],
    { step: { do: "odd status", what: "no UTF-8" } },
  ),
  hostile(
    "a row for each content of a bad record",
    "src/pass/quarantine-rows.ts",
    ["  if (replaceHeld(store, { ...bad, reason })) return true;\n", ""],
    { step: lie({ on: ["updates", "snapshot"], body: "changing record", status: SUCCESS }) },
  ),
  direct("bare braces", "a template without quotes read as a group", "src/config/document.ts", [
    "      if (isFlow && pair.value === null) {",
    "      if (isFlow && key === null) {",
  ]),
];

/** A position is never lost, and a pass that cannot finish says so. */
const OF_POSITIONS: readonly PlantedBug[] = [
  {
    ...one(
      "an order that was read within its own minute is read no more",
      "src/orders/second-reads.ts",
      "if (askedMs >= unitEndMs) return false;",
      "if (askedMs !== unitEndMs) return false;",
    ),
    draws: {
      forms: { precision: "min", lines: false, carry: "changes", history: "latest", date: true },
      step: { do: "service clock", ms: 30_000 },
    },
  },
  hostile(
    "no position taken for one",
    "src/updates/pages/next-token.ts",
    ["  return NOTHING.has(token.trim().toLowerCase()) ? undefined : token;", "  return token;"],
    { step: lie({ on: "updates", body: ["next empty", "next zero"], status: SUCCESS }) },
  ),
  hostile(
    "a pass that reaches its bound begins anew",
    FOLLOW_JOB,
    [
      "    else saveRest(store, of, rest, this.#signature);",
      "    else if (rest === undefined) saveRest(store, of, rest, this.#signature);",
    ],
    { step: { do: "flood" } },
  ),
  hostile(
    "one record that is no JSON hides the others",
    "src/records/read-list.ts",
    ['if ("element" in mended) throw', 'if ("element" in mended || mended.broken.size > 0) throw'],
    {
      step: {
        do: "value",
        value: ["raw tab", "raw break", "unknown escape", "NaN itself", "007", "comma before the end"],
      },
    },
  ),
  hostile(
    "a refused confirm sent again after a minute",
    "src/confirm/plan-wait.ts",
    ["untilMs: nowMs + Math.max(waitMs, refusedMs)", "untilMs: nowMs + waitMs"],
    { step: lie({ on: "confirm", status: [401, 402, 403] }) },
  ),
  hostile(
    "a confirm that is too large is never divided",
    "src/confirm/send-parts.ts",
    ["size === 1 || !confirmNamesOrders(context.form, part.batchId)", "size > 0"],
    { forms: { confirmIds: [1, 2] } },
  ),
  hostile("confirmed batches kept for ever", "src/daemon/prune-history.ts", [
    '      batches: (limit: number) => deleteConfirmedBefore(store, old("batches", batchesMs), limit),\n',
    "",
  ]),
  direct("old refusals", "refused confirms counted among the newest alone", "src/health/fact-rows.ts", [
    "FROM batches INDEXED BY batches_refused\n       WHERE state = 'refused' AND ${OF_ACCOUNT} GROUP BY last_error`",
    "FROM batches INDEXED BY batches_refused\n       WHERE state = 'refused' AND ${OF_ACCOUNT} AND id > (SELECT max(id) FROM batches) - 20000 GROUP BY last_error`",
  ]),
];

const UP_TO_DATE = { page: [10, 100], keeps: "oldest", order: "ascending", next: "none" } as const;

/** What a service does that is well: it is restored, caches stand before it, work waits in queues, and it has limits of its own. */
const OF_SERVICES: readonly PlantedBug[] = [
  hostile(
    "a restored service is sent nothing again",
    "src/updates/reads/set-back.ts",
    ["invalidateAcknowledged(store, FEED_NAMES,", "invalidateAcknowledged(store, [],"],
    { forms: UP_TO_DATE, step: { do: "restore" } },
  ),
  hostile(
    "a service that went back known by a moment alone",
    "src/updates/reads/plan-set-back.ts",
    [
      "  if (together.length < ORDERS_MIN || !isOneMoment)",
      "  if (together.length < 1_000 * ORDERS_MIN || !isOneMoment)",
    ],
    { forms: UP_TO_DATE, step: { do: "restore" } },
  ),
  hostile(
    "a status in a queue sent again and again",
    "src/statuses/judge-status.ts",
    ["const repeatMs = UNSEEN_REPEATS_MS[repeats];", "const repeatMs = UNSEEN_REPEATS_MS[repeats - repeats];"],
    { step: lie({ on: "status", body: "queued", of: "all", ageMs: 86_400_000, span: { ms: 30 * 3_600_000 } }) },
  ),
  hostile("a waiting status undoes a cancellation", "src/statuses/plan-status.ts", [
    "if (isCancelled && !isOwn && ",
    "if (isCancelled && isOwn && ",
  ]),
  hostile(
    "a limit of since is never learned",
    "src/updates/pages/since-limits.ts",
    ["  if (isYoung(asked, serviceNow)) return undefined;", "  if (age !== undefined) return undefined;"],
    { forms: { sinceAgeMax: [3_600_000, 18_000_000], next: "none" } },
  ),
  hostile(
    "a page in the order of ids taken for whole",
    "src/updates/pages/page-cover.ts",
    ["  return hasRisen && hasFallen;", "  return hasRisen && hasFallen && pageMax < 0;"],
    { forms: { keeps: "first-ids" }, step: { do: "orders", count: [3, 4] } },
  ),
  hostile(
    "what a cache says of an order taken for its state",
    "src/service/cached-answer.ts",
    ["isCached: ageS > 0 || isStale || isHit,", "isCached: ageS < 0,"],
    { step: lie({ on: "snapshot", body: "cached with its age", of: "all" }) },
  ),
];

/** The file is not the bridge's alone. */
const OF_FILES: readonly PlantedBug[] = [
  direct("removed log", "a removed log not noticed", "src/database/file/file-watch.ts", [
    '    if (stat === undefined) return "gone";',
    '    if (stat === undefined) return "same";',
  ]),
  direct("foreign collation", "a table of the ERP's ends the verification", "src/database/objects/verify-tables.ts", [
    '    if (!isUnknownHere(error) && faultCodeOf(error) !== "SQLITE_CORRUPT_VTAB") throw error;\n',
    "    throw error;\n",
  ]),
  direct("renamed table", "an index that went with a renamed table", "src/feeds/source/feed-triggers.ts", [
    "return { isRight: isHere && standing.sql === ownIndexSql(rules) };",
    "return { isRight: isHere || standing.sql !== ownIndexSql(rules) };",
  ]),
  direct("shared folders", "another shop's copies taken for own", "src/platform/owner.ts", [
    "return made.account !== undefined && made.account !== own.account;",
    "return made.account !== undefined && made.account === own.account;",
  ]),
  direct("missing database", "a database that is gone begun anew", "src/daemon/missing-database.ts", [
    "if (copy === undefined && !hasJournal && !existsSync(idOf(file))) return;",
    "if (copy === undefined && !hasJournal) return;",
  ]),
];

/** What a person approves, changes or repairs has exactly that effect. */
const OF_PERSONS: readonly PlantedBug[] = [
  {
    name: "an approval lets go what the guard has not shown",
    edits: [
      {
        file: "src/feeds/guard/guard-rows.ts",
        find: 'mark(UNSHOWN, HELD_ROUND, "(away_since_ms IS NULL OR away_since_ms <= @away)")',
        replace: 'mark(UNSHOWN, HELD_ROUND, "TRUE")',
      },
      {
        file: "src/feeds/guard/guard-rows.ts",
        find: 'mark(HELD_ROUND, UNSHOWN, "away_since_ms > @away")',
        replace: 'mark(HELD_ROUND, UNSHOWN, "FALSE")',
      },
    ],
    draws: { forms: { guard: true, whole: false }, step: { do: "empty", how: "remove" } },
    foundBy: "simulation",
  },
  tested(
    "test/daemon/prune-history.test.ts",
    "history removed by the machine's clock alone",
    {
      in: "runOnce",
      find: "const nowMs = this.#confirmedNow();",
      replace: "const nowMs = this.#confirmedNow() ?? this.#context.clock.nowMs();",
    },
    "src/daemon/prune-history.ts",
  ),
  hostile(
    "a changed key that forgets what was sent",
    "src/feeds/rekey/apply-rules.ts",
    ["    if (from !== undefined) saveRekey(store, rules, { from, isMoved: false });\n", ""],
    { step: { do: "reload", what: "other key" } },
  ),
  hostile(
    "a hold that outlives the secret",
    "src/daemon/account.ts",
    [
      'return known === undefined ? 0 : deleteHoldsFor(store, "credentials");',
      'return known !== undefined ? 0 : deleteHoldsFor(store, "credentials");',
    ],
    { step: { do: "reload", what: "wrong secret" } },
  ),
  hostile(
    "the same status with a new comment not sent",
    "src/statuses/plan-status.ts",
    ["    if (hasStatus && saysNothingNew(body, status, order, rules)) return", "    if (hasStatus) return"],
    { step: { do: "odd status", what: "the same" } },
  ),
  hostile(
    "newer content confirmed without the journal",
    BATCHES,
    ["known !== undefined && hasNews(known, results)", "known !== undefined && results.length < 0"],
    { forms: { journal: true, shuffleKeys: false }, step: lie({ on: "confirm" }) },
  ),
  hostile(
    "a batch confirmed that the journal has not",
    BATCHES,
    [
      "isNoNews || (await this.#journal.keep(read.body, note, pass));",
      "(await this.#journal.keep(read.body, note, pass)) || !isPartial || !isNoNews;",
    ],
    { step: { do: "journal" } },
  ),
  direct("whole tree", "a whole table without rows whose parent waits", "src/feeds/feed-outbox.ts", [
    'if (rules.parent === null || rules.scope === "whole")',
    "if (rules.parent === null)",
  ]),
  {
    ...one(
      "a failed handshake taken for a request that may have arrived",
      "src/service/client.ts",
      'const effect = this.#begun.has(sent) ? "unknown" : "none";',
      'const effect = this.#begun.has(sent) || codeOf(error).startsWith("ERR_SSL") ? "unknown" : "none";',
    ),
    draws: { step: { do: "net", on: "status", fate: { kind: "no handshake" } } },
  },
];

/** Nothing blocks the loop. */
const OF_LOOP: readonly PlantedBug[] = [
  direct("turns", "a large answer read at once", "src/answers/slices.ts", [
    "    if (step.done) return step.value;\n    await turn();",
    "    if (step.done) return step.value;",
  ]),
];

export const LASTING_BUGS: readonly PlantedBug[] = [
  ...OF_REFUSALS,
  ...OF_VALUES,
  ...OF_POSITIONS,
  ...OF_SERVICES,
  ...OF_FILES,
  ...OF_PERSONS,
  ...OF_LOOP,
];
