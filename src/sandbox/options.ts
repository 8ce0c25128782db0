import * as z from "zod";
import { checked } from "./checked.ts";
import { FEEDS, type Feed } from "./messages.ts";

const text = z.string().min(1);
const texts = z.array(text).readonly();
const whole = (least: number) => z.int().min(least);

/** Switches under one name. Absent ones stand for their defaults; an unknown one is answered with those that there are. */
function group<S extends z.ZodRawShape>(shape: S) {
  const known = `no such switch; known here: ${Object.keys(shape).join(", ")}`;
  return z
    .strictObject(shape, { error: ({ code }) => (code === "unrecognized_keys" ? known : undefined) })
    .prefault({} as never);
}

/** A property's place: keys separated by dots, an array of keys where a key holds a dot, or null to leave it out. */
const NAME = z.union([text, texts, z.null()], { error: "expected text, a list of texts or null" });
export type Name = z.infer<typeof NAME>;

/** The confirm of what was confirmed before, or of what was never delivered. */
const CONFIRM_ANSWER = z.literal([200, 404, 409, 410]);

/** The answer to an import. */
const IMPORT_ANSWER = z.enum([
  "counts",
  "changes",
  "success",
  "empty",
  "text",
  "missing",
  "each",
  "by-key",
  "note",
  "echo",
  "progress",
  "of",
  "lacking",
  "stats",
  "summary",
  "report",
  "import",
  "data.stats",
  "taken",
  "ignored",
  "all or none",
  "number",
  "words",
  "rows",
]);

/** How the records of orders look. */
const SHAPE = group({
  /** Where the answer of GET /orders keeps its list; an empty path is a bare array, which has no batch id. */
  batch: texts.default(["orders"]),
  /** Where it keeps the id of the batch. */
  batchId: texts.default(["batch_id"]),
  /** Where the answer of GET /orders/updates keeps its list. */
  updates: texts.default(["updates"]),
  /** Where the answer of GET /orders/{order_id} keeps the order; an empty path is the order itself. */
  snapshot: texts.default([]),
  /** Where an order keeps what. */
  order: group({
    order_id: NAME.default("order_id"),
    number: NAME.default("number"),
    status: NAME.default("status"),
    created_at: NAME.default("created_at"),
    updated_at: NAME.default("updated_at"),
    currency: NAME.default("currency"),
    total: NAME.default("total"),
    items: NAME.default("items"),
  }),
  /** Where a line keeps what. */
  line: group({
    id: NAME.default("line_id"),
    sku: NAME.default("sku"),
    name: NAME.default("name"),
    quantity: NAME.default("quantity"),
    price: NAME.default("price"),
  }),
  /** Names in a change that differ from those of an order; null: the same. */
  change: group({
    order_id: NAME.default(null),
    status: NAME.default(null),
    updated_at: NAME.default(null),
    items: NAME.default(null),
  }),
  /** Whether ids are written in upper case. */
  upperCaseIds: z.boolean().default(false),
  /** Totals, quantities and prices as JSON numbers or as strings. */
  amounts: z.enum(["number", "string"]).default("number"),
  /** Properties such as `customer` and `comment`: in every record, or only in the snapshot. */
  extra: z.enum(["everywhere", "snapshot"]).default("everywhere"),
  /** Serve the properties of each record in another order every time. */
  shuffleKeys: z.boolean().default(false),
});

const UPDATES = group({
  /** Whether a change at `since` itself is in the answer. */
  boundary: z.enum(["inclusive", "exclusive"]).default("inclusive"),
  /** How many changes an answer holds at most. */
  pageLimit: whole(1).default(100),
  /** Whether an answer holds what changed, or whole orders. */
  carry: z.enum(["changes", "whole"]).default("changes"),
  /** Whether a change carries the composition. */
  lines: z.boolean().default(true),
  /** Which of the changes that are due a page holds where they are more than `pageLimit`. */
  keeps: z.enum(["oldest", "newest", "first-ids"]).default("oldest"),
  /** How a page is sorted. */
  order: z.enum(["ascending", "descending", "shuffled", "ids"]).default("ascending"),
  /** Whose changes are listed: of orders that were delivered, of those whose confirm was accepted, or of all. */
  scope: z.enum(["handed-out", "confirmed", "all"]).default("handed-out"),
  /** The newest change of each order, or every change. */
  history: z.enum(["latest", "log"]).default("latest"),
  /** Whether the creation of an order is a change. */
  created: z.boolean().default(false),
  /** Where an answer names the next `since`: null for nowhere. */
  next: texts.nullable().default(null),
  /** What it names: the timestamp of the page's newest change, or a cursor that only the service understands. */
  nextForm: z.enum(["timestamp", "cursor"]).default("timestamp"),
  /** Which forms of `since` are understood; others answer 400. */
  since: z.enum(["any", "iso", "dotted", "unix", "unix_ms"]).default("any"),
  /** What an empty `since` is: refused with 400, or the beginning. */
  emptySince: z.enum(["refused", "beginning"]).default("refused"),
  /** How old `since` may be; an older one answers 400. null: as old as it likes. */
  sinceAgeMax: whole(0).nullable().default(null),
  /** What stands beside the list: the number of changes that are due, of the pages that they would make, or of all orders, or a link to the next page. */
  counts: z.enum(["none", "total", "pages", "orders", "link"]).default("none"),
  /** How long after it was made a change is listed. */
  lagMs: whole(0).default(0),
  /** What timestamp it bears then: that of the order, or that of its own entry in the list. */
  lagStamp: z.enum(["order", "entry"]).default("order"),
  /** A broken feed: the first page whatever `since` says, or nothing at all. */
  stuck: z.enum(["none", "same-page", "empty"]).default("none"),
});

interface ImportDefaults {
  path: string;
  property: string;
  key: readonly string[];
  file?: string;
}

function importOf({ path, property, key, file }: ImportDefaults) {
  return group({
    /** The path of the import. */
    path: text.default(path),
    /** The name of the array in its body. */
    property: text.default(property),
    /** The properties that identify a record; the first must be there, the others count as "" when absent. */
    key: texts.default([...key]),
    /**
     * The property that holds a file in base64; it is kept as its size and SHA-256. A form (`multipart/form-data`) is taken
     * as one record whatever this says. null: no files, and no forms.
     */
    file: text.nullable().default(file ?? null),
    /** Each request replaces everything that the site holds. */
    replace: z.boolean().default(false),
  });
}

const IMPORTS = {
  stocks: importOf({ path: "/api/v1/import/stocks", property: "stocks", key: ["sku", "warehouse"] }),
  prices: importOf({ path: "/api/v1/import/prices", property: "prices", key: ["sku", "price_type"] }),
  catalog: importOf({ path: "/api/v1/import/catalog", property: "products", key: ["sku"] }),
  images: importOf({ path: "/api/v1/import/images", property: "images", key: ["sku", "position"], file: "content" }),
} satisfies Record<Feed, z.ZodType>;

/** Every switch of the sandbox, its values safe to write as JSON. The defaults fit the default configuration of the bridge. */
const OPTIONS = group({
  /** `repeat`: the same batch until it is confirmed; `next`: each GET delivers the following one. */
  handOut: z.enum(["repeat", "next"]).default("repeat"),
  /** With `next`: when an unconfirmed batch is served again; null never, `cycle` when nothing new is left. */
  redeliverAfterMs: z
    .union([whole(0), z.literal("cycle"), z.null()], { error: 'expected a whole number, at least 0, "cycle" or null' })
    .default(60_000),
  /** How many orders a batch holds at most. */
  batchSize: whole(1).default(100),
  /** How a batch is named. */
  batchIdKind: z.enum(["string", "number", "huge-number", "none"]).default("string"),
  /** How many orders of the batch before are delivered again with each new batch. */
  batchOverlap: whole(0).default(0),
  /** Whether a batch names its first order twice, the second time as it was one version ago. */
  batchTwice: z.enum(["no", "equal", "older"]).default("no"),
  /**
   * What stands beside the list of a batch: how many records it holds, as `total` or under a name that says nothing; how many lines they
   * have; their ids; that nothing is missing; that nothing was left out.
   */
  batchBeside: z.enum(["nothing", "total", "number", "lines", "ids", "partial", "skipped"]).default("nothing"),
  /** Each delivery of a batch names it anew; every name of it is good for a confirm. */
  batchLeases: z.boolean().default(false),
  /**
   * How long before its first delivery a batch was formed: it holds its records as they were then, however often it is delivered. null:
   * as they are.
   */
  batchFormedMs: whole(0).nullable().default(null),
  batchPages: group({
    /** How many orders one page of a batch holds; null: a batch has no pages. */
    size: whole(1).nullable().default(null),
    /** The address that a link to the next page names; what it asks for stands behind it. */
    link: text.default("/api/v1/1c/orders"),
    /** How many orders leave each batch: the first one, each time that its second page is asked for. Its confirm covers them all the same. */
    leaves: whole(0).default(0),
    /** Beside each page stands its number (`page`), that of the last one (`pages`), and how many orders the batch holds (`total`). */
    numbers: z.boolean().default(false),
  }),
  /** What is said of a request, accepted or refused, repeats the Client Secret. */
  repeatsSecret: z.boolean().default(false),
  /** Confirms are answered well, and forgotten. */
  confirmsForgotten: z.boolean().default(false),
  /**
   * `batch_id` becomes `order_ids` where batches have no id; `all` confirms whatever was delivered so far; `everything`
   * also what no batch has held yet, which is then never delivered.
   */
  confirmForm: z.enum(["batch_id", "order_ids", "all", "everything"]).default("batch_id"),
  /** Where the confirm's body names them; null: at the form's own name. */
  confirmKey: texts.nullable().default(null),
  /** The answer to a confirm of what was confirmed before: 200, 404, 409 or 410. */
  confirmRepeated: CONFIRM_ANSWER.default(200),
  /** The answer to a confirm of what was never delivered: 200, 404, 409 or 410. */
  confirmUnknown: CONFIRM_ANSWER.default(404),
  /** How `no orders` and `no changes` look. */
  emptyForm: z.enum(["list", "null", "null-parent", "204", "bare-list"]).default("list"),
  shape: SHAPE,
  /** How times are written; `dotted`: DD.MM.YYYY. */
  timestamps: z.enum(["iso-z", "iso-offset", "iso-naive", "dotted", "unix", "unix_ms"]).default("iso-z"),
  /** Days, written as dates alone; two minutes or one, written with 00 seconds; seconds, milliseconds or microseconds. */
  precision: z.enum(["day", "2min", "min", "s", "ms", "us"]).default("ms"),
  /** The zone that `iso-offset` writes. */
  timestampOffsetMinutes: whole(-840).default(180),
  /** The zone that `iso-naive` and `dotted` mean without saying so. */
  naiveOffsetMinutes: whole(-840).default(0),
  /** Whether answers have the header `Date`. */
  dateHeader: z.boolean().default(true),
  /** How far the service's clock is from the injected one. */
  clockOffsetMs: z.int().default(0),
  updates: UPDATES,
  /** How long after its last change an order can still be read and have its status set; null for ever. */
  orderRetentionMs: whole(0).nullable().default(null),
  /** The answer for an order that is gone. */
  goneStatus: z.literal([404, 410]).default(404),
  status: group({
    /** Holds `{order_id}`; null: there is no such endpoint. */
    path: text.nullable().default("/api/v1/1c/orders/{order_id}/status"),
    /** The method of a status change. */
    method: z.enum(["POST", "PUT", "PATCH"]).default("POST"),
    /** Where the body has the status. */
    key: texts.default(["status"]),
    /** From each status to those it may become; null: any to any. */
    transitions: z.record(z.string(), texts).nullable().default(null),
    /** The answer to a status that the order may not take. */
    refusal: z.literal([409, 422]).default(422),
    /** Whether an order whose confirm was never answered well takes none: 409. */
    confirmedOnly: z.boolean().default(false),
    /** From a status that was set to the one that the order moves on to at once; the answer names the order as it is then. */
    movesOn: z.record(z.string(), text).default({}),
    /** Whether an order has the time of each status that was set: `packed_at`. */
    timed: z.boolean().default(false),
  }),
  imports: group(IMPORTS),
  /**
   * `counts`: how many were taken; `changes`: how many of them differ from what it had; `success`, `empty`, `text`: nothing of records;
   * `missing`: a list of those that it does not have; `each`: a list of all, with a status; `by-key`: the same as an object; `note`: a
   * sentence; `echo`: the records as they are now; `progress`: how many of them were taken, as a fraction; `of`: the same as a text;
   * `lacking`: how many were taken and how many it does not have, as a text; `stats`, `summary`, `report`, `import`, `data.stats`: how
   * many came, were taken and were not, as counts inside an object of that name; `taken`: how many came and were taken; `ignored`: how
   * many were not; `all or none`: as `taken`, of a request that is taken as a whole or not at all; `number`, `words`, `rows`: how many were
   * taken, as a number alone, at the end of a text, and under a name that does not say what it counts.
   */
  importAnswer: IMPORT_ANSWER.default("counts"),
  /**
   * Records to refuse: by sku, or all; and whether one refuses its request, itself, or only says so in a 200, or makes the service fail.
   * `said`: itself, in the usual form of the answers, where that says something of records.
   */
  reject: group({
    skus: z.union([texts, z.literal("all")], { error: 'expected a list of texts or "all"' }).default([]),
    how: z.enum(["422", "500", "per-record", "success-false", "said"]).default("422"),
    /** The feed whose records they are; null: any. */
    feed: z.enum(FEEDS).nullable().default(null),
  }),
  limits: group({
    /** A larger body is answered with 413; null: none is. */
    maxBodyBytes: whole(0).nullable().default(null),
    /** More records in an import are answered with 413; null: none are. */
    maxRecords: whole(0).nullable().default(null),
    /** A confirm that names more orders is answered with 413; null: none is. */
    confirmIds: whole(0).nullable().default(null),
    /** The first so many of a request are taken; only the counts of its answer say so. */
    takenRecords: whole(1).nullable().default(null),
    /** More are answered with 429; null: none are. */
    requestsPerMinute: whole(0).nullable().default(null),
  }),
  /** Whether the import subscription is paid. */
  paid: z.boolean().default(true),
  /** Areas that refuse even the right credentials: `1c`, `import`, or both. */
  refuse: z
    .array(z.enum(["import", "1c"]))
    .readonly()
    .default([]),
});

export type SandboxOptions = z.output<typeof OPTIONS>;
export type ImportOptions = SandboxOptions["imports"][Feed];
/** Switches of which each may be absent; lists and free maps are replaced as a whole. */
export type SandboxOptionsPatch = NonNullable<z.input<typeof OPTIONS>>;

export function defaultOptions(): SandboxOptions {
  return OPTIONS.parse({});
}

/** Options with a patch of any origin laid over them. Throws TypeError that names the switch and what it takes. */
export function mergeOptions(base: SandboxOptions, patch: unknown): SandboxOptions {
  return checked(OPTIONS, laidOver(OPTIONS, base, patch));
}

function laidOver(schema: unknown, base: unknown, patch: unknown): unknown {
  const shape = schema instanceof z.ZodPrefault ? (schema.unwrap() as z.ZodObject).shape : undefined;
  if (shape === undefined || !isMap(base) || !isMap(patch)) return patch;
  const changed = Object.entries(patch).map(([key, value]) => [key, laidOver(shape[key], base[key], value)]);
  return Object.fromEntries([...Object.entries(base), ...changed]);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
