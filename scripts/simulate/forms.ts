import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { pickOne, type Random } from "../../src/sandbox/random.ts";
import type { Asked, FeedName } from "./schedule.ts";

/**
 * The forms of one simulated service's interface, and the configuration that fits it. Plain data, so that a schedule
 * can be printed and replayed.
 */
export interface Forms {
  readonly handOut: "repeat" | "next";
  readonly redeliver: 30_000 | 60_000 | "cycle" | null;
  readonly batchSize: number;
  readonly batchId: "string" | "number" | "huge-number" | "constant" | "none";
  readonly overlap: 0 | 2;
  readonly twice: "no" | "equal" | "older";
  readonly confirm: "batch_id" | "order_ids" | "all" | "everything";
  readonly confirmRepeated: 200 | 404 | 409 | 410;
  readonly empty: "list" | "null" | "null-parent" | "204" | "bare-list";
  readonly bare: boolean;
  readonly upperCase: boolean;
  readonly amounts: "number" | "string";
  readonly extra: "everywhere" | "snapshot";
  readonly own: "none" | "lines" | "pieces" | "error";
  readonly shuffleKeys: boolean;
  readonly timestamps: "iso-z" | "iso-offset" | "iso-naive" | "iso-basic" | "dotted" | "unix" | "unix_ms";
  readonly precision: "min" | "s" | "ms" | "us";
  readonly date: boolean;
  readonly boundary: "inclusive" | "exclusive";
  readonly page: number;
  readonly carry: "changes" | "whole";
  readonly lines: boolean;
  /**
   * Which changes are on a page where there are more than it can contain: the oldest, the newest, or those with the
   * first ids.
   */
  readonly keeps: "oldest" | "newest" | "first-ids";
  readonly order: "ascending" | "descending" | "shuffled" | "ids";
  /** The field beside the list of changes which shows that more are due. */
  readonly counts: (typeof COUNTS)[number];
  /** The maximum age of `since`. */
  readonly sinceAgeMax: number | null;
  readonly scope: "handed-out" | "confirmed" | "all";
  readonly history: "latest" | "log";
  readonly created: boolean;
  readonly next: "none" | "timestamp" | "cursor";
  readonly since: "iso" | "unix" | "unix_ms";
  readonly emptySince: "refused" | "beginning";
  readonly lookBackMs: 0 | 30_000 | 600_000;
  readonly retention: boolean;
  readonly gone: 404 | 410;
  readonly transitions: boolean;
  readonly statusRefusal: 409 | 422;
  /** A status is accepted only after the order's confirm. */
  readonly confirmedOnly: boolean;
  /** An order contains the time of each status that was set. */
  readonly timed: boolean;
  /** Answers about requests repeat the Client Secret. */
  readonly repeatsSecret: boolean;
  /** An order moves on immediately from `accepted`, and the answer contains it in that state. */
  readonly movesOn: boolean;
  /** Where statuses are queued, the answer contains the order in its state before. */
  readonly queueShows: boolean;
  readonly importAnswer:
    | "counts"
    | "success"
    | "empty"
    | "text"
    | (
        | typeof SAYS_OF_RECORDS
        | typeof SAYS_OF_PARTS
        | typeof SAYS_BY_COUNTS
        | typeof SAYS_BY_NAMES
        | typeof SAYS_AS_USUAL
        | typeof SAYS_PLAINLY
        | typeof SAYS_OTHERWISE
        | typeof SAYS_OF_CHANGES
        | typeof SAYS_A_NUMBER
        | typeof SAYS_OUTCOMES
      )[number];
  /** What a count without a meaning counts. */
  readonly importCounts: "accepted" | "changed";
  readonly result: boolean;
  readonly rejectHow: "422" | "per-record" | "success-false";
  readonly chunk: number;
  readonly maxRecords: number | null;
  /** The service accepts only so many records of a request, and only its counts show it. */
  readonly takenRecords: number | null;
  readonly prices: boolean;
  /**
   * Whether there is a catalog, and what the service answers to stock and prices of an article that it does not have, which it
   * ignores: as for accepted ones, with a list of errors, or in the usual form of its answers.
   */
  readonly catalog: "none" | "silent" | "errors" | "said";
  /** A deleted article leaves the site with its stock and prices. */
  readonly leavesSite: boolean;
  readonly whole: boolean;
  /**
   * Whether two rows of stocks may have the same article: each has its own key, which is not sent. `zero`: 0 is sent
   * for a deleted article; `ignore`: nothing is sent.
   */
  readonly shared: "no" | "zero" | "ignore";
  /** What the site ignores in the keys of stocks: rows that differ in nothing else are one article there. */
  readonly ignores: "nothing" | "spelling" | "others" | "both";
  readonly guard: boolean;
  readonly perSecond: number;
  /** A confirm with more orders is too large. */
  readonly confirmIds: number | null;
  /** Where a record of stocks has its level. */
  readonly level: "quantity" | "amount" | "nested";
  /** Whether batches are also stored in a journal; `later`: it is switched on during the life. */
  readonly journal: boolean | "later";
  /** Each pass is a process of its own, once a minute, in place of the daemon. */
  readonly cron: boolean;
  /** An endpoint that permanently answers only few requests a minute. */
  readonly limited: Asked | "none";
  /** The property beside the list of a batch. */
  readonly beside: (typeof BESIDE)[number];
  /** The delay before a change is listed. It then has the timestamp of the order or of its entry. */
  readonly lagMs: 0 | 20_000 | 240_000;
  readonly lagStamp: "order" | "entry";
  /** Each delivery of a batch has its own name. */
  readonly leases: boolean;
  /** How long before its first delivery a batch was formed, with the records of that time; null: current records. */
  readonly formedMs: number | null;
  /** The most orders on one page of a batch, and the address in the link to the next one. */
  readonly pages: 2 | 3 | null;
  readonly link: string;
  /** How many orders leave each batch between its first pages. */
  readonly leaves: 0 | 1 | 2;
  /** Each page of a batch has its number, the number of pages and the number of orders. */
  readonly numbers: boolean;
  /** The encoding of the file created by the ERP. */
  readonly encoding: "UTF-8" | "UTF-16le" | "UTF-16be";
}

/** Forms of answers to imports that report single records. */
export const SAYS_OF_RECORDS = ["missing", "each", "by-key", "note", "echo"] as const;

/** Forms that report the number of accepted records, in words or as a fraction. */
export const SAYS_OF_PARTS = ["progress", "of", "lacking"] as const;

/** Forms that report it with counts inside an object of that name. */
export const SAYS_BY_COUNTS = ["stats", "summary", "report", "import", "data.stats"] as const;

/** Forms that report it under a name that means records left out, or beside the number of all. */
export const SAYS_BY_NAMES = ["unknown", "skipped", "good", "warnings"] as const;

/**
 * Forms that report it with numbers whose meaning only former answers show; `all or none`: a record that is not
 * accepted excludes the whole request.
 */
export const SAYS_AS_USUAL = ["taken", "ignored", "all or none"] as const;

/** Forms that report it with a count that only former answers show to be one. */
export const SAYS_PLAINLY = ["number", "words", "rows"] as const;

/** Forms that report it in a sentence or with a value that no list of words contains; former answers show what is usual. */
export const SAYS_OTHERWISE = ["sentence", "flags", "ids", "results", "codes", "bare"] as const;

/** Forms that report the number of changes, under a name that means it. */
export const SAYS_OF_CHANGES = ["changes"] as const;

/** Forms that no situation has replaced yet. */
export const AS_USUAL: ReadonlySet<Forms["importAnswer"]> = new Set(["counts", "success", "empty", "text"]);

/** Forms that report for each record whether it was changed. */
export const SAYS_OUTCOMES = ["outcomes", "outcomes in order", "updated"] as const;

/** Forms with a count that may be one of anything. */
export const SAYS_A_NUMBER = ["count", "ok", "loaded"] as const;

/** Fields beside a list of the newest changes that omits others. */
export const COUNTS = ["none", "total", "link"] as const;

/** Addresses of `GET /orders`, as a service behind a proxy may write them. */
export const LINKS = [
  "/api/v1/1c/orders",
  "/api/v1/1c/orders/",
  "https://127.0.0.1:8080/api/v1/1c/orders",
  "http://orders.internal/api/v1/1c/orders",
  "//shop.example/api/v1/1c/orders",
  "/shop/api/v1/1c/orders",
  "http://127.0.0.1:8080/1c/orders",
] as const;

export const BESIDE = ["nothing", "total", "number", "lines", "ids", "partial", "skipped", "message"] as const;

/** Whether its timestamps have a zone. */
export function namesZone({ timestamps }: Pick<Forms, "timestamps">): boolean {
  return timestamps !== "iso-naive" && timestamps !== "dotted";
}

/** Forms with which a lost answer loses orders, whatever a client does. */
export function isUnsafe({ handOut, redeliver, confirm }: Forms): boolean {
  return confirm === "everything" || (handOut === "next" && redeliver === null);
}

/** Whether the confirm names the delivery. */
export function namesBatches(forms: Forms): boolean {
  return forms.confirm === "order_ids" || namesOneBatch(forms);
}

/** Whether the confirm names a batch, and no other batch has the name. */
export function namesOneBatch({ confirm, batchId, bare }: Forms): boolean {
  return confirm === "batch_id" && batchId !== "none" && batchId !== "constant" && !bare;
}

export function chooseForms(random: Random): Forms {
  const one = <const T>(...choices: readonly T[]): T => pickOne(random, choices);
  const chance = (share: number) => random() < share;
  const handOut = one("repeat", "repeat", "next");
  const bare = chance(0.1);
  const batchId = bare ? "none" : one("string", "string", "number", "huge-number", "none");
  const timestamps = one(
    ...(["iso-z", "iso-z", "iso-z", "iso-basic", "iso-offset", "iso-offset"] as const),
    ...(["iso-naive", "dotted", "unix", "unix", "unix_ms", "unix_ms"] as const),
  );
  const precision = one("s", "s", "s", "ms", "ms", "ms", "us", "us", "us", "min");
  const next = bare ? "none" : one("none", "none", "none", "timestamp", "cursor");
  const confirm = chance(0.06) ? "everything" : one("batch_id", "batch_id", "order_ids", "all");
  return {
    handOut,
    redeliver: handOut === "repeat" ? 60_000 : chance(0.15) ? null : one<60_000 | "cycle">(60_000, "cycle"),
    batchSize: one(1, 2, 3, 5, 100),
    batchId,
    overlap: one(0, 0, 0, 2),
    twice: one("no", "no", "no", "equal", "older"),
    confirm: confirm === "batch_id" && batchId === "none" ? "order_ids" : confirm,
    confirmRepeated: one(200, 404, 409, 410),
    empty: bare ? one("list", "204", "bare-list") : one("list", "null", "null-parent", "204", "bare-list"),
    bare,
    upperCase: chance(0.15),
    amounts: one("number", "string"),
    extra: one("everywhere", "everywhere", "snapshot"),
    own: "none",
    shuffleKeys: chance(0.15),
    timestamps,
    precision,
    date: chance(0.9),
    boundary: one("inclusive", "exclusive"),
    page: one(2, 3, 5, 10, 100),
    keeps: "oldest",
    counts: "none",
    sinceAgeMax: null,
    carry: one("changes", "whole"),
    lines: chance(0.8),
    order: one("ascending", "ascending", "descending", "shuffled"),
    scope: one("handed-out", "handed-out", "all"),
    history: one("latest", "log"),
    created: chance(0.2),
    next,
    since: next !== "none" || chance(0.8) ? "iso" : one("unix", "unix_ms"),
    lookBackMs: one(0, 30_000, 600_000),
    retention: chance(0.05),
    gone: one(404, 410),
    transitions: chance(0.5),
    statusRefusal: one(409, 422),
    importAnswer: one("counts", "success", "empty", "text"),
    importCounts: "accepted",
    result: chance(0.5),
    rejectHow: one("422", "422", "per-record", "success-false"),
    chunk: one(2, 3, 500),
    maxRecords: chance(0.2) ? one(1, 2) : null,
    takenRecords: null,
    prices: chance(0.4),
    catalog: "none",
    leavesSite: false,
    whole: chance(0.15),
    guard: chance(0.2),
    perSecond: one(5, 50, 10_000),
    level: one("quantity", "quantity", "amount", "nested"),
    journal: chance(0.2),
    cron: false,
    limited: "none",
    beside: "nothing",
    lagMs: 0,
    lagStamp: "order",
    leases: false,
    formedMs: null,
    shared: "no",
    ignores: "nothing",
    pages: null,
    link: LINKS[0],
    leaves: 0,
    numbers: false,
    confirmedOnly: false,
    encoding: "UTF-8",
    timed: false,
    repeatsSecret: false,
    movesOn: false,
    queueShows: false,
    emptySince: one("refused", "beginning"),
    confirmIds: null,
  };
}

export const TRANSITIONS = {
  new: ["accepted", "cancelled"],
  accepted: ["packed", "new", "cancelled"],
  packed: ["shipped", "accepted"],
  shipped: ["packed"],
};

/** Statuses from which the service moves orders on by itself. */
export const MOVES_ON: Readonly<Record<string, string>> = { accepted: "packed" };

export function serviceOptions(forms: Forms): SandboxOptionsPatch {
  return {
    handOut: forms.handOut,
    redeliverAfterMs: forms.redeliver,
    batchSize: forms.batchSize,
    batchIdKind: forms.batchId,
    batchOverlap: forms.overlap,
    batchTwice: forms.twice,
    batchBeside: forms.beside,
    batchLeases: forms.leases,
    batchFormedMs: forms.formedMs,
    batchPages: { size: forms.pages, link: forms.link, leaves: forms.leaves, numbers: forms.numbers },
    confirmForm: forms.confirm,
    confirmRepeated: forms.confirmRepeated,
    emptyForm: forms.empty,
    shape: {
      batch: forms.bare ? [] : ["data", "orders"],
      batchId: ["data", "batch_id"],
      updates: forms.bare ? [] : ["data", "updates"],
      snapshot: forms.bare ? [] : ["order"],
      upperCaseIds: forms.upperCase,
      amounts: forms.amounts,
      extra: forms.extra,
      own: forms.own,
      shuffleKeys: forms.shuffleKeys,
    },
    timestamps: forms.timestamps,
    precision: forms.precision,
    dateHeader: forms.date,
    updates: {
      boundary: forms.boundary,
      pageLimit: forms.page,
      carry: forms.carry,
      lines: forms.lines,
      keeps: forms.keeps,
      counts: forms.counts,
      sinceAgeMax: forms.sinceAgeMax,
      order: forms.order,
      scope: forms.scope,
      history: forms.history,
      created: forms.created,
      next: forms.next === "none" ? null : ["next"],
      nextForm: forms.next === "cursor" ? "cursor" : "timestamp",
      since: forms.since !== "iso" ? forms.since : ownText(forms),
      emptySince: forms.emptySince,
      lagMs: forms.lagMs,
      lagStamp: forms.lagStamp,
    },
    orderRetentionMs: forms.retention ? 20 * 60_000 : null,
    goneStatus: forms.gone,
    status: {
      transitions: forms.transitions ? TRANSITIONS : null,
      refusal: forms.statusRefusal,
      timed: forms.timed,
      confirmedOnly: forms.confirmedOnly,
      movesOn: forms.movesOn ? MOVES_ON : {},
    },
    importAnswer: forms.importAnswer,
    importCounts: forms.importCounts,
    repeatsSecret: forms.repeatsSecret,
    unknownArticles: forms.catalog === "none" ? "stored" : forms.catalog,
    inactiveLeave: forms.leavesSite,
    limits: {
      maxRecords: forms.whole ? null : forms.maxRecords,
      takenRecords: forms.takenRecords,
      confirmIds: forms.confirmIds,
    },
    imports: { stocks: { replace: forms.whole, ignores: forms.ignores } },
  };
}

/** A service compares `since` with its own texts, or parses it. */
function ownText({ timestamps }: Forms): "dotted" | "iso-basic" | "any" {
  return timestamps === "dotted" || timestamps === "iso-basic" ? timestamps : "any";
}

/** The statuses after which no change is expected. */
export const CLOSED: readonly string[] = ["delivered", "cancelled"];

const CONFIRM_BODIES = { batch_id: "auto", order_ids: { order_ids: "{order_ids}" }, all: {}, everything: {} } as const;

/** Settings that a reload may change, and later change back. */
export interface Changed {
  readonly chunk?: number;
  readonly overlapMs?: number;
  /** The template of stocks has one more property. */
  readonly unit?: boolean;
  /** The key of stocks has the same columns in another order. */
  readonly otherKey?: boolean;
  /** Stocks are sent to another path. */
  readonly otherPath?: boolean;
}

/** Accepts stocks too, but does not have those sent to the other path. */
export const OTHER_PATH = "/api/v1/import/levels";

const LEVELS: Record<Forms["level"], object> = {
  quantity: { quantity: "{available|number}" },
  amount: { amount: "{available|number}" },
  nested: { stock: { left: "{available|number}" } },
};

/** The level in a record of stocks. */
export function levelIn(record: Record<string, unknown>, { level }: Forms): unknown {
  return level === "nested" ? (record["stock"] as { left?: unknown } | undefined)?.left : record[level];
}

/** Fewer rows that go to zero or away never wait. */
export const GUARD_FROM = 2;

/** A row whose key is not sent is identified by that key alone. */
function keyOfStocks({ shared }: Forms, { otherKey }: Changed): object {
  if (shared !== "no") return { key: ["warehouse"] };
  return otherKey ? { key: ["warehouse", "sku"] } : {};
}

const CATALOG = {
  path: "/api/v1/import/catalog",
  record: { sku: "{sku}", name: "{name}", active: "{active|bool}" },
};

/** The feeds of the shop. */
export function feedsOf({ prices, catalog }: Forms): readonly FeedName[] {
  return ["stocks", ...(prices ? ["prices" as const] : []), ...(catalog === "none" ? [] : ["catalog" as const])];
}

/** The configuration that an operator would write for this service. */
export function bridgeSettings(forms: Forms, changed: Changed = {}): Record<string, unknown> {
  const feed = {
    chunk: changed.chunk ?? forms.chunk,
    guard: { from: forms.guard ? GUARD_FROM : 1_000_000 },
    result: forms.result && !forms.whole ? { rejected: "$.errors", key: "$.sku", message: "$.message" } : null,
  };
  return {
    service: { requests_per_second: forms.perSecond },
    orders: {
      batch: forms.bare
        ? { orders: "$" }
        : { orders: "$.data.orders", ...(forms.batchId === "none" ? {} : { id: "$.data.batch_id" }) },
      confirm: { body: CONFIRM_BODIES[forms.confirm] },
      statuses: { closed: CLOSED },
    },
    updates: {
      changes: forms.bare ? "$" : "$.data.updates",
      snapshot: forms.bare ? "$" : "$.order",
      carry: forms.carry === "whole" ? "whole" : "changes",
      since: forms.since,
      overlap: `${(changed.overlapMs ?? forms.lookBackMs) / 1000}s`,
      next: forms.next === "none" ? null : "$.next",
    },
    statuses: { path: "/api/v1/1c/orders/{order_id}/status", body: { status: "{status}", comment: "{comment}" } },
    imports: {
      stocks: {
        ...feed,
        scope: forms.whole ? "whole" : "changed",
        ...(changed.otherPath ? { path: OTHER_PATH } : {}),
        ...keyOfStocks(forms, changed),
        ...(forms.shared === "ignore" ? { on_delete: "ignore" } : {}),
        ...(changed.unit || forms.level !== "quantity" || forms.shared !== "no"
          ? {
              record: {
                sku: "{sku}",
                ...(forms.shared === "no" ? { warehouse: "{warehouse}" } : {}),
                ...LEVELS[forms.level],
                ...(changed.unit ? { unit: "pcs" } : {}),
              },
            }
          : {}),
      },
      prices: { ...feed, ...(forms.prices ? { path: "/api/v1/import/prices" } : {}) },
      ...(forms.catalog === "none" ? {} : { catalog: { ...feed, ...CATALOG } }),
    },
  };
}
