import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { pickOne, type Random } from "../../src/sandbox/random.ts";
import type { Asked } from "./schedule.ts";

/**
 * How one simulated service understands its own interface, and the configuration that fits it. Plain data, so that
 * a schedule can be printed and replayed.
 */
export interface Forms {
  readonly handOut: "repeat" | "next";
  readonly redeliver: 60_000 | "cycle" | null;
  readonly batchSize: number;
  readonly batchId: "string" | "number" | "huge-number" | "none";
  readonly overlap: 0 | 2;
  readonly twice: "no" | "equal" | "older";
  readonly confirm: "batch_id" | "order_ids" | "all" | "everything";
  readonly confirmRepeated: 200 | 404 | 409 | 410;
  readonly empty: "list" | "null" | "null-parent" | "204" | "bare-list";
  readonly bare: boolean;
  readonly upperCase: boolean;
  readonly amounts: "number" | "string";
  readonly extra: "everywhere" | "snapshot";
  readonly shuffleKeys: boolean;
  readonly timestamps: "iso-z" | "iso-offset" | "iso-naive" | "dotted" | "unix" | "unix_ms";
  readonly precision: "min" | "s" | "ms" | "us";
  readonly date: boolean;
  readonly boundary: "inclusive" | "exclusive";
  readonly page: number;
  readonly carry: "changes" | "whole";
  readonly lines: boolean;
  /** Which changes a page leaves out where there are more than it holds: the newest, the oldest, or those of later ids. */
  readonly keeps: "oldest" | "newest" | "first-ids";
  readonly order: "ascending" | "descending" | "shuffled" | "ids";
  /** What says beside the list of changes that more are due. */
  readonly counts: (typeof COUNTS)[number];
  /** How old `since` may be. */
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
  /** An order takes a status only once it is confirmed. */
  readonly confirmedOnly: boolean;
  /** An order has the time of each status that was set. */
  readonly timed: boolean;
  /** What it says of requests repeats the Client Secret. */
  readonly repeatsSecret: boolean;
  /** An order moves on at once from `accepted`, and the answer names it as it is then. */
  readonly movesOn: boolean;
  /** Where statuses wait in a queue the answer names the order as it is until then. */
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
        | typeof SAYS_AS_USUAL
        | typeof SAYS_PLAINLY
      )[number];
  readonly result: boolean;
  readonly rejectHow: "422" | "per-record" | "success-false";
  readonly chunk: number;
  readonly maxRecords: number | null;
  /** The service takes the first so many records of a request, and only its counts say so. */
  readonly takenRecords: number | null;
  readonly prices: boolean;
  readonly whole: boolean;
  /**
   * Whether two rows of stocks may name one article: each has a key of its own, which the service is not told. `zero`: an article that is gone
   * is sent with 0; `ignore`: nothing is sent of it.
   */
  readonly shared: "no" | "zero" | "ignore";
  readonly guard: boolean;
  readonly perSecond: number;
  /** A confirm that names more orders is too large. */
  readonly confirmIds: number | null;
  /** Where a record of stocks says how much there is. */
  readonly level: "quantity" | "amount" | "nested";
  /** Whether batches are kept in a journal as well. */
  readonly journal: boolean;
  /** An endpoint that answers only few requests a minute, for ever. */
  readonly limited: Asked | "none";
  /** What stands beside the list of a batch. */
  readonly beside: (typeof BESIDE)[number];
  /** How long after it was made a change is listed, and whose timestamp it bears then. */
  readonly lagMs: 0 | 20_000 | 240_000;
  readonly lagStamp: "order" | "entry";
  /** Each hand-out of a batch has a name of its own. */
  readonly leases: boolean;
  /** How long before its first hand-out a batch was formed, whose records it keeps; null: they are served as they are. */
  readonly formedMs: number | null;
  /** How many orders one page of a batch holds, and the address that the link to the next one names. */
  readonly pages: 2 | 3 | null;
  readonly link: string;
  /** How many orders leave each batch between its first pages. */
  readonly leaves: 0 | 1 | 2;
  /** The numbers of a page, of its last one and of all orders of the batch stand beside it. */
  readonly numbers: boolean;
  /** In which the ERP has made the file. */
  readonly encoding: "UTF-8" | "UTF-16le" | "UTF-16be";
}

/** Forms of answers to imports that say of single records what became of them. */
export const SAYS_OF_RECORDS = ["missing", "each", "by-key", "note", "echo"] as const;

/** Forms of answers to imports that say how many records were taken, in words or in a fraction. */
export const SAYS_OF_PARTS = ["progress", "of", "lacking"] as const;

/** The same, by counts inside an object of that name. */
export const SAYS_BY_COUNTS = ["stats", "summary", "report", "import", "data.stats"] as const;

/** The same, in numbers alone that only those of former answers show to mean it; `all or none`: a record that is not taken has the whole request left out. */
export const SAYS_AS_USUAL = ["taken", "ignored", "all or none"] as const;

/** The same, by a count that nothing but former answers shows to be one. */
export const SAYS_PLAINLY = ["number", "words", "rows"] as const;

/** What may stand beside a list of the newest changes that leaves out others. */
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

export const BESIDE = ["nothing", "total", "number", "lines", "ids", "partial", "skipped"] as const;

/** Whether its times name a zone. */
export function namesZone({ timestamps }: Pick<Forms, "timestamps">): boolean {
  return timestamps !== "iso-naive" && timestamps !== "dotted";
}

/** Readings under which an answer that is lost on the way loses orders, whatever a client does. */
export function isUnsafe({ handOut, redeliver, confirm }: Forms): boolean {
  return confirm === "everything" || (handOut === "next" && redeliver === null);
}

/** Whether the confirm says which hand-out it means. */
export function namesBatches({ confirm }: Forms): boolean {
  return confirm === "batch_id" || confirm === "order_ids";
}

export function chooseForms(random: Random): Forms {
  const one = <const T>(...choices: readonly T[]): T => pickOne(random, choices);
  const chance = (share: number) => random() < share;
  const handOut = one("repeat", "repeat", "next");
  const bare = chance(0.1);
  const batchId = bare ? "none" : one("string", "string", "number", "huge-number", "none");
  const timestamps = one(
    ...(["iso-z", "iso-z", "iso-z", "iso-z", "iso-offset", "iso-offset"] as const),
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
    result: chance(0.5),
    rejectHow: one("422", "422", "per-record", "success-false"),
    chunk: one(2, 3, 500),
    maxRecords: chance(0.2) ? one(1, 2) : null,
    takenRecords: null,
    prices: chance(0.4),
    whole: chance(0.15),
    guard: chance(0.2),
    perSecond: one(5, 50, 10_000),
    level: one("quantity", "quantity", "amount", "nested"),
    journal: chance(0.2),
    limited: "none",
    beside: "nothing",
    lagMs: 0,
    lagStamp: "order",
    leases: false,
    formedMs: null,
    shared: "no",
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

/** Where the service moves orders on by itself. */
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
      since: forms.since !== "iso" ? forms.since : forms.timestamps === "dotted" ? "dotted" : "any",
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
    repeatsSecret: forms.repeatsSecret,
    limits: {
      maxRecords: forms.whole ? null : forms.maxRecords,
      takenRecords: forms.takenRecords,
      confirmIds: forms.confirmIds,
    },
    imports: { stocks: { replace: forms.whole } },
  };
}

/** In these nothing more is expected of an order. */
export const CLOSED: readonly string[] = ["delivered", "cancelled"];

const CONFIRM_BODIES = { batch_id: "auto", order_ids: { order_ids: "{order_ids}" }, all: {}, everything: {} } as const;

/** What a reload may change, and then change back. */
export interface Changed {
  readonly chunk?: number;
  readonly overlapMs?: number;
  /** The template of stocks names one property more. */
  readonly unit?: boolean;
  /** Rows of stocks are named by the same columns in another order. */
  readonly otherKey?: boolean;
  /** Stocks go to another path. */
  readonly otherPath?: boolean;
}

/** Stocks are taken there too, and nothing is known there of what they were given elsewhere. */
export const OTHER_PATH = "/api/v1/import/levels";

const LEVELS: Record<Forms["level"], object> = {
  quantity: { quantity: "{available|number}" },
  amount: { amount: "{available|number}" },
  nested: { stock: { left: "{available|number}" } },
};

/** What a record of stocks says of how much there is. */
export function levelIn(record: Record<string, unknown>, { level }: Forms): unknown {
  return level === "nested" ? (record["stock"] as { left?: unknown } | undefined)?.left : record[level];
}

/** A row whose key the service is not told is known by it alone. */
function keyOfStocks({ shared }: Forms, { otherKey }: Changed): object {
  if (shared !== "no") return { key: ["warehouse"] };
  return otherKey ? { key: ["warehouse", "sku"] } : {};
}

/** What an operator who knows this service would write. */
export function bridgeSettings(forms: Forms, changed: Changed = {}): Record<string, unknown> {
  const feed = {
    chunk: changed.chunk ?? forms.chunk,
    guard: { from: forms.guard ? 1 : 1_000_000 },
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
    },
  };
}
