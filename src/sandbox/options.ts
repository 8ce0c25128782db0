import type { Feed } from "./messages.ts";

/** A property's place: keys separated by dots, an array of keys where a key holds a dot, or null to leave it out. */
export type Name = string | readonly string[] | null;

export type ConfirmRefusal = 200 | 404 | 409 | 410;

/** How the records of orders look. */
export interface ShapeOptions {
  /** Where the answer of GET /orders keeps its list; an empty path is a bare array, which has no batch id. */
  batch: readonly string[];
  batchId: readonly string[];
  /** Where the answer of GET /orders/updates keeps its list. */
  updates: readonly string[];
  /** Where the answer of GET /orders/{order_id} keeps the order; an empty path is the order itself. */
  snapshot: readonly string[];
  order: Record<"order_id" | "number" | "status" | "created_at" | "updated_at" | "currency" | "total" | "items", Name>;
  line: Record<"id" | "sku" | "name" | "quantity" | "price", Name>;
  /** Names in a change that differ from those of an order; null: the same. */
  change: Record<"order_id" | "status" | "updated_at" | "items", Name>;
  upperCaseIds: boolean;
  /** Totals, quantities and prices as JSON numbers or as strings. */
  amounts: "number" | "string";
  /** Properties such as `customer` and `comment`: in every record, or only in the snapshot. */
  extra: "everywhere" | "snapshot";
  /** Serve the properties of each record in another order every time. */
  shuffleKeys: boolean;
}

export interface UpdatesOptions {
  boundary: "inclusive" | "exclusive";
  pageLimit: number;
  carry: "changes" | "whole";
  /** Whether a change carries the composition. */
  lines: boolean;
  /** Which of the changes that are due a page holds where they are more than {@link pageLimit}. */
  keeps: "oldest" | "newest";
  /** How a page is sorted. */
  order: "ascending" | "descending" | "shuffled";
  scope: "handed-out" | "all";
  history: "latest" | "log";
  /** Whether the creation of an order is a change. */
  created: boolean;
  /** Where an answer names the next `since`: null for nowhere. */
  next: readonly string[] | null;
  /** What it names: the stamp of the page's newest change, or a cursor that only the service understands. */
  nextForm: "stamp" | "cursor";
  /** Which forms of `since` are understood; others answer 400. */
  since: "any" | "iso" | "unix" | "unix_ms";
  /** What an empty `since` is: refused with 400, or the beginning. */
  emptySince: "refused" | "beginning";
  /** How old `since` may be; an older one answers 400. null: as old as it likes. */
  sinceAgeMax: number | null;
  /** A broken feed: the first page whatever `since` says, or nothing at all. */
  stuck: "none" | "same-page" | "empty";
}

export interface ImportOptions {
  path: string;
  property: string;
  /** The properties that identify a record; the first must be there, the others count as "" when absent. */
  key: readonly string[];
  /**
   * The property that holds a file in base64; it is kept as its size and SHA-256. A form (`multipart/form-data`) is taken
   * as one record whatever this says. null: no files, and no forms.
   */
  file: string | null;
  /** Each request replaces everything that the site holds. */
  replace: boolean;
}

/** Every switch of the sandbox. The object is safe to write as JSON. */
export interface SandboxOptions {
  /** `repeat`: the same batch until it is confirmed; `next`: each GET hands out the following one. */
  handOut: "repeat" | "next";
  /** With `next`: when an unconfirmed batch is served again; null never, `cycle` when nothing new is left. */
  redeliverAfterMs: number | null | "cycle";
  batchSize: number;
  batchIdKind: "string" | "number" | "huge-number" | "none";
  /** How many orders of the batch before are handed out again with each new batch. */
  batchOverlap: number;
  /** Whether a batch names its first order twice, the second time as it was one version ago. */
  batchTwice: "no" | "equal" | "older";
  /**
   * `batch_id` becomes `order_ids` where batches have no id; `all` confirms whatever was handed out so far; `everything`
   * also what no batch has held yet, which is then never handed out.
   */
  confirmForm: "batch_id" | "order_ids" | "all" | "everything";
  /** Where the confirm's body names them; null: at the form's own name. */
  confirmKey: readonly string[] | null;
  confirmRepeated: ConfirmRefusal;
  confirmUnknown: ConfirmRefusal;
  /** How `no orders` and `no changes` look. */
  emptyForm: "list" | "null" | "null-parent" | "204" | "bare-list";
  shape: ShapeOptions;
  stamps: "iso-z" | "iso-offset" | "iso-naive" | "unix" | "unix_ms";
  precision: "s" | "ms" | "us";
  /** The zone that `iso-offset` writes. */
  stampOffsetMinutes: number;
  /** The zone that `iso-naive` means without saying so. */
  naiveOffsetMinutes: number;
  dateHeader: boolean;
  /** How far the service's clock is from the injected one. */
  clockOffsetMs: number;
  updates: UpdatesOptions;
  /** How long after its last change an order can still be read and have its status set; null for ever. */
  orderRetentionMs: number | null;
  goneStatus: 404 | 410;
  status: {
    /** Holds `{order_id}`; null: there is no such endpoint. */
    path: string | null;
    method: "POST" | "PUT" | "PATCH";
    key: readonly string[];
    /** From each status to those it may become; null: any to any. */
    transitions: Record<string, readonly string[]> | null;
    refusal: 409 | 422;
  };
  imports: Record<Feed, ImportOptions>;
  /** `changes`: how many of the records differ from what it had. */
  importAnswer: "counts" | "changes" | "success" | "empty" | "text";
  /** Records to refuse: by sku, or all; and whether one refuses its request, itself, or only says so in a 200, or makes the service fail. */
  reject: { skus: readonly string[] | "all"; how: "422" | "500" | "per-record" | "success-false" };
  /** `takenRecords`: the first so many of a request are taken; only the counts of its answer say so. */
  limits: {
    maxBodyBytes: number | null;
    maxRecords: number | null;
    takenRecords: number | null;
    requestsPerMinute: number | null;
  };
  /** Whether the import subscription is paid. */
  paid: boolean;
  /** Areas that refuse even the right credentials. */
  refuse: readonly ("import" | "1c")[];
}

/** Options of which each may be absent; lists and free maps are replaced as a whole. */
export type Patch<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: Patch<T[K]> } : T;

export type SandboxOptionsPatch = Patch<SandboxOptions>;

const importOptions = (feed: string, property: string, key: readonly string[]): ImportOptions => ({
  path: `/api/v1/import/${feed}`,
  property,
  key,
  file: null,
  replace: false,
});

/** The defaults fit the default configuration of the bridge. */
export function defaultOptions(): SandboxOptions {
  return {
    handOut: "repeat",
    redeliverAfterMs: 60_000,
    batchSize: 100,
    batchIdKind: "string",
    batchOverlap: 0,
    batchTwice: "no",
    confirmForm: "batch_id",
    confirmKey: null,
    confirmRepeated: 200,
    confirmUnknown: 404,
    emptyForm: "list",
    shape: {
      batch: ["orders"],
      batchId: ["batch_id"],
      updates: ["updates"],
      snapshot: [],
      order: {
        order_id: "order_id",
        number: "number",
        status: "status",
        created_at: "created_at",
        updated_at: "updated_at",
        currency: "currency",
        total: "total",
        items: "items",
      },
      line: { id: "line_id", sku: "sku", name: "name", quantity: "quantity", price: "price" },
      change: { order_id: null, status: null, updated_at: null, items: null },
      upperCaseIds: false,
      amounts: "number",
      extra: "everywhere",
      shuffleKeys: false,
    },
    stamps: "iso-z",
    precision: "ms",
    stampOffsetMinutes: 180,
    naiveOffsetMinutes: 0,
    dateHeader: true,
    clockOffsetMs: 0,
    updates: {
      boundary: "inclusive",
      pageLimit: 100,
      carry: "changes",
      lines: true,
      keeps: "oldest",
      order: "ascending",
      scope: "handed-out",
      history: "latest",
      created: false,
      next: null,
      nextForm: "stamp",
      since: "any",
      emptySince: "refused",
      sinceAgeMax: null,
      stuck: "none",
    },
    orderRetentionMs: null,
    goneStatus: 404,
    status: {
      path: "/api/v1/1c/orders/{order_id}/status",
      method: "POST",
      key: ["status"],
      transitions: null,
      refusal: 422,
    },
    imports: {
      stocks: importOptions("stocks", "stocks", ["sku", "warehouse"]),
      prices: importOptions("prices", "prices", ["sku", "price_type"]),
      catalog: importOptions("catalog", "products", ["sku"]),
      images: { ...importOptions("images", "images", ["sku", "position"]), file: "content" },
    },
    importAnswer: "counts",
    reject: { skus: [], how: "422" },
    limits: { maxBodyBytes: null, maxRecords: null, takenRecords: null, requestsPerMinute: null },
    paid: true,
    refuse: [],
  };
}
