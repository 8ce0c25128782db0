import * as z from "zod";
import { checked } from "./checked.ts";
import { FEEDS, type Feed } from "./messages.ts";

const text = z.string().min(1);
const texts = z.array(text).readonly();
const whole = (least: number) => z.int().min(least);

/** A group of switches. Absent ones have their defaults; the error for an unknown one lists the known ones. */
function group<S extends z.ZodRawShape>(shape: S) {
  const known = `no such switch; known here: ${Object.keys(shape).join(", ")}`;
  return z
    .strictObject(shape, { error: ({ code }) => (code === "unrecognized_keys" ? known : undefined) })
    .prefault({} as never);
}

/** The place of a property: keys separated by dots, an array of keys where a key contains a dot, or null to omit it. */
const NAME = z.union([text, texts, z.null()], { error: "expected text, a list of texts or null" });
export type Name = z.infer<typeof NAME>;

/** The answer to a confirm of something already confirmed, or never delivered. */
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
  "unknown",
  "skipped",
  "good",
  "warnings",
  "taken",
  "ignored",
  "all or none",
  "number",
  "words",
  "rows",
  "count",
  "ok",
  "loaded",
  "sentence",
  "flags",
  "ids",
  "results",
  "codes",
  "bare",
  "outcomes",
  "outcomes in order",
  "updated",
]);

/** The shape of order records. */
const SHAPE = group({
  /** The path of the list in the answer of GET /orders; an empty path is a bare array, which has no batch id. */
  batch: texts.default(["orders"]),
  /** The path of the batch id. */
  batchId: texts.default(["batch_id"]),
  /** The path of the list in the answer of GET /orders/updates. */
  updates: texts.default(["updates"]),
  /** The path of the order in the answer of GET /orders/{order_id}; an empty path is the order itself. */
  snapshot: texts.default([]),
  /** The path of this property in an order. */
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
  /** The path of this property in a line. */
  line: group({
    id: NAME.default("line_id"),
    sku: NAME.default("sku"),
    name: NAME.default("name"),
    quantity: NAME.default("quantity"),
    price: NAME.default("price"),
  }),
  /** The path of this property in a change; null: the same as in an order. */
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
  /**
   * A property of each order: the number of its lines or of its pieces (`items_count`), or the words of a declined
   * payment (`error_message`).
   */
  own: z.enum(["none", "lines", "pieces", "error"]).default("none"),
  /** Writes the properties of each record in a different order every time. */
  shuffleKeys: z.boolean().default(false),
});

const UPDATES = group({
  /** Whether a change at exactly `since` is in the answer. */
  boundary: z.enum(["inclusive", "exclusive"]).default("inclusive"),
  /** The most changes in one answer. */
  pageLimit: whole(1).default(100),
  /** Whether an answer contains changed properties, or whole orders. */
  carry: z.enum(["changes", "whole"]).default("changes"),
  /** Whether a change includes the lines. */
  lines: z.boolean().default(true),
  /** Which of the due changes are on a page where there are more than `pageLimit`. */
  keeps: z.enum(["oldest", "newest", "first-ids"]).default("oldest"),
  /** The sort order of a page. */
  order: z.enum(["ascending", "descending", "shuffled", "ids"]).default("ascending"),
  /** Whose changes are listed: those of delivered orders, of orders whose confirm was accepted, or of all. */
  scope: z.enum(["handed-out", "confirmed", "all"]).default("handed-out"),
  /** The newest change of each order, or every change. */
  history: z.enum(["latest", "log"]).default("latest"),
  /** Whether the creation of an order is a change. */
  created: z.boolean().default(false),
  /** The path of the next `since` in an answer: null for none. */
  next: texts.nullable().default(null),
  /** Its form: the timestamp of the page's newest change, or an opaque cursor. */
  nextForm: z.enum(["timestamp", "cursor"]).default("timestamp"),
  /** Which forms of `since` are accepted; others are answered with 400. */
  since: z.enum(["any", "iso", "iso-basic", "dotted", "unix", "unix_ms"]).default("any"),
  /** An empty `since`: refused with 400, or the beginning. */
  emptySince: z.enum(["refused", "beginning"]).default("refused"),
  /** The maximum age of `since`; an older one is answered with 400. null: no limit. */
  sinceAgeMax: whole(0).nullable().default(null),
  /**
   * A count or link beside the list: the number of due changes, of their pages, or of all orders, or a link to the next
   * page.
   */
  counts: z.enum(["none", "total", "pages", "orders", "link"]).default("none"),
  /** The delay before a change is listed. */
  lagMs: whole(0).default(0),
  /** The timestamp of a delayed change: that of the order, or that of its entry in the list. */
  lagStamp: z.enum(["order", "entry"]).default("order"),
  /** A broken feed: always the first page, whatever `since`, or always an empty one. */
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
    /** The properties that identify a record; the first is required, the others are "" where absent. */
    key: texts.default([...key]),
    /**
     * The property with a file in base64, stored as its size and SHA-256. A form (`multipart/form-data`) is accepted as
     * one record regardless of this. null: no files, and no forms.
     */
    file: text.nullable().default(file ?? null),
    /** Each request replaces all records of the site. */
    replace: z.boolean().default(false),
    /**
     * What the site ignores in a key: case and outer blanks of its first property (`spelling`), its other properties
     * (`others`), or both. Records with such keys are one, and the last accepted one is kept.
     */
    ignores: z.enum(["nothing", "spelling", "others", "both"]).default("nothing"),
  });
}

const IMPORTS = {
  stocks: importOf({ path: "/api/v1/import/stocks", property: "stocks", key: ["sku", "warehouse"] }),
  prices: importOf({ path: "/api/v1/import/prices", property: "prices", key: ["sku", "price_type"] }),
  catalog: importOf({ path: "/api/v1/import/catalog", property: "products", key: ["sku"] }),
  images: importOf({ path: "/api/v1/import/images", property: "images", key: ["sku", "position"], file: "content" }),
} satisfies Record<Feed, z.ZodType>;

/**
 * All switches of the sandbox; their values can be written as JSON. The defaults fit the bridge's default
 * configuration.
 */
const OPTIONS = group({
  /** `repeat`: the same batch until it is confirmed; `next`: each GET delivers the next one. */
  handOut: z.enum(["repeat", "next"]).default("repeat"),
  /**
   * With `next`: the delay before an unconfirmed batch is served again; null: never, `cycle`: when there are no new
   * orders.
   */
  redeliverAfterMs: z
    .union([whole(0), z.literal("cycle"), z.null()], { error: 'expected a whole number, at least 0, "cycle" or null' })
    .default(60_000),
  /** The most orders in a batch. */
  batchSize: whole(1).default(100),
  /** The form of batch ids; `constant`: all batches have the same, and its confirm covers all that were delivered. */
  batchIdKind: z.enum(["string", "number", "huge-number", "constant", "none"]).default("string"),
  /** So many batches were numbered before the sandbox began, as at a service that goes on. */
  batchesBefore: whole(0).default(0),
  /** The number of orders of the previous batch that each new batch repeats. */
  batchOverlap: whole(0).default(0),
  /** Whether a batch contains its first order twice, the second time in its former version. */
  batchTwice: z.enum(["no", "equal", "older"]).default("no"),
  /**
   * The property beside the list of a batch: the number of its records, as `total` or under a name without a meaning;
   * the number of their lines; their ids; a flag that nothing is missing; a list of records left out, empty; a text.
   */
  batchBeside: z
    .enum(["nothing", "total", "number", "lines", "ids", "partial", "skipped", "message"])
    .default("nothing"),
  /** Each delivery of a batch has a new name; all its names can be confirmed. */
  batchLeases: z.boolean().default(false),
  /**
   * How long before its first delivery a batch was formed: its records keep the versions of that time in all
   * deliveries. null: the current versions.
   */
  batchFormedMs: whole(0).nullable().default(null),
  batchPages: group({
    /** The most orders on one page of a batch; null: batches have no pages. */
    size: whole(1).nullable().default(null),
    /** The address in a link to the next page, without the query. */
    link: text.default("/api/v1/1c/orders"),
    /**
     * How many orders leave each batch: the first one, each time that its second page is requested. The confirm still
     * covers them.
     */
    leaves: whole(0).default(0),
    /**
     * Each page has its number (`page`), the number of pages (`pages`), and the number of orders in the batch
     * (`total`).
     */
    numbers: z.boolean().default(false),
  }),
  /** Error texts and acceptances repeat the Client Secret. */
  repeatsSecret: z.boolean().default(false),
  /** Confirms are accepted, and ignored. */
  confirmsForgotten: z.boolean().default(false),
  /**
   * `batch_id` becomes `order_ids` where batches have no id; `all` confirms everything delivered so far; `everything`
   * also confirms orders that were in no batch yet, and these are then never delivered.
   */
  confirmForm: z.enum(["batch_id", "order_ids", "all", "everything"]).default("batch_id"),
  /** The path of the ids in the confirm's body; null: the form's own name. */
  confirmKey: texts.nullable().default(null),
  /** The answer to a confirm of something already confirmed: 200, 404, 409 or 410. */
  confirmRepeated: CONFIRM_ANSWER.default(200),
  /** The answer to a confirm of something never delivered: 200, 404, 409 or 410. */
  confirmUnknown: CONFIRM_ANSWER.default(404),
  /** The form of answers without orders or changes. */
  emptyForm: z.enum(["list", "null", "null-parent", "204", "bare-list"]).default("list"),
  shape: SHAPE,
  /** The form of timestamps; `iso-basic`: YYYYMMDDThhmmssZ; `dotted`: DD.MM.YYYY. */
  timestamps: z.enum(["iso-z", "iso-offset", "iso-naive", "iso-basic", "dotted", "unix", "unix_ms"]).default("iso-z"),
  /** `day`: dates alone; `2min`, `min`: truncated, with 00 seconds; else seconds, milliseconds or microseconds. */
  precision: z.enum(["day", "2min", "min", "s", "ms", "us"]).default("ms"),
  /** The offset in `iso-offset`. */
  timestampOffsetMinutes: whole(-840).default(180),
  /** The zone of `iso-naive` and `dotted`, which have no offset. */
  naiveOffsetMinutes: whole(-840).default(0),
  /** By how many minutes times of orders are written too early, as after a deployment in another zone; `Date` is right. */
  timesBackMinutes: whole(0).default(0),
  /** The encoding of answers, which their `Content-Type` names. Characters that it lacks are escaped. */
  charset: z.enum(["utf-8", "windows-1251"]).default("utf-8"),
  /** Whether answers have the header `Date`. */
  dateHeader: z.boolean().default(true),
  /** The difference between the service's clock and the injected one. */
  clockOffsetMs: z.int().default(0),
  updates: UPDATES,
  /** How long after its last change an order can be read and its status set; null: always. */
  orderRetentionMs: whole(0).nullable().default(null),
  /** The answer for an order that was removed or is too old. */
  goneStatus: z.literal([404, 410]).default(404),
  status: group({
    /** Contains `{order_id}`; null: no such endpoint. */
    path: text.nullable().default("/api/v1/1c/orders/{order_id}/status"),
    /** The method of a status change. */
    method: z.enum(["POST", "PUT", "PATCH"]).default("POST"),
    /** The path of the status in the body. */
    key: texts.default(["status"]),
    /** The allowed next statuses by status; null: any. */
    transitions: z.record(z.string(), texts).nullable().default(null),
    /** The answer to a transition that is not allowed. */
    refusal: z.literal([409, 422]).default(422),
    /** Whether a status is refused with 409 until a confirm of the order was accepted. */
    confirmedOnly: z.boolean().default(false),
    /**
     * Statuses to which an order moves immediately after a status was set; the answer contains the order in that state.
     */
    movesOn: z.record(z.string(), text).default({}),
    /** Whether an order contains the time of each status that was set, such as `packed_at`. */
    timed: z.boolean().default(false),
  }),
  imports: group(IMPORTS),
  /**
   * `counts`: how many were accepted; `changes`: how many of them differ from the stored ones; `success`, `empty`,
   * `text`: nothing about records; `missing`: a list of unknown ones; `each`: a list of all, with a status; `by-key`:
   * the same as an object; `note`: a sentence; `echo`: the stored records; `progress`: how many were accepted, as a
   * fraction; `of`: the same as a text; `lacking`: how many were accepted and how many are unknown, as a text; `stats`,
   * `summary`, `report`, `import`, `data.stats`: how many were received, accepted and refused, in an object of that
   * name; `unknown`, `skipped`, `warnings`: a list of those that were not accepted, their number, and a text for each;
   * `good`: how many were accepted, beside the number of all; `taken`: how many were received and accepted; `ignored`:
   * how many were not accepted; `all or none`: as `taken`, for a request that is accepted as a whole or not at all;
   * `number`, `words`, `rows`, `count`, `ok`, `loaded`: how many were accepted, as a number alone, under a name without a
   * meaning, and at the end of a text; `sentence`: a text that differs if a record was not accepted; `flags`, `ids`, `results`, `codes`, `bare`: a list of
   * all, with `exists`, an id or `null`, "ok" or `null`, 0 or -1, and the values that were taken or none; `outcomes`, `outcomes in order`, `updated`: a
   * list of all with "created", "updated" or "unchanged", with these alone, or with whether it was changed.
   */
  importAnswer: IMPORT_ANSWER.default("counts"),
  /**
   * What `number`, `words`, `rows`, `count`, `ok` and `loaded` count: the accepted records, or only those of them that
   * differ from the stored ones.
   */
  importCounts: z.enum(["accepted", "changed"]).default("accepted"),
  /**
   * Records to refuse: by sku, or all; and whether a bad record refuses its request or itself, is only reported in a
   * 200, or causes an error of the service. `said`: refuses itself, in the usual form of the answers, where that
   * reports single records. A number: the status of the request's answer.
   */
  reject: group({
    skus: z.union([texts, z.literal("all")], { error: 'expected a list of texts or "all"' }).default([]),
    how: z
      .enum(["422", "500", "per-record", "success-false", "said", "401", "402", "403", "423", "308"])
      .default("422"),
    /** The feed of these records; null: any. */
    feed: z.enum(FEEDS).nullable().default(null),
  }),
  /**
   * Stock, prices and images of articles that the catalog does not have: `stored`; or ignored, where the answer is as for
   * accepted ones (`silent`), lists them as errors (`errors`), or reports them in the usual form of the answers, where that
   * reports single records (`said`).
   */
  unknownArticles: z.enum(["stored", "silent", "errors", "said"]).default("stored"),
  /** An article whose catalog record has `active: false` leaves the catalog, with its stock, prices and images. */
  inactiveLeave: z.boolean().default(false),
  limits: group({
    /** A larger body is answered with 413; null: no limit. */
    maxBodyBytes: whole(0).nullable().default(null),
    /** An import with more records is answered with 413; null: no limit. */
    maxRecords: whole(0).nullable().default(null),
    /** A confirm with more orders is answered with 413; null: no limit. */
    confirmIds: whole(0).nullable().default(null),
    /** Only the first so many records of a request are accepted, and only the counts of its answer show it. */
    takenRecords: whole(1).nullable().default(null),
    /** More requests are answered with 429; null: no limit. */
    requestsPerMinute: whole(0).nullable().default(null),
    /** The same in an hour of the clock, with the time to its end in `Retry-After`. */
    requestsPerHour: whole(0).nullable().default(null),
  }),
  /** Whether the import subscription is paid. */
  paid: z.boolean().default(true),
  /** Areas that refuse even valid credentials: `1c`, `import`, or both. */
  refuse: z
    .array(z.enum(["import", "1c"]))
    .readonly()
    .default([]),
});

export type SandboxOptions = z.output<typeof OPTIONS>;
export type ImportOptions = SandboxOptions["imports"][Feed];
/** Switches to change; lists and free maps are replaced as a whole. */
export type SandboxOptionsPatch = NonNullable<z.input<typeof OPTIONS>>;

export function defaultOptions(): SandboxOptions {
  return OPTIONS.parse({});
}

/** Applies a patch to the options. Throws TypeError that names the switch and its values. */
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
