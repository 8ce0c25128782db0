/*
 * All tables and views, declared for drizzle: the types of rows, and the queries that are not hot. The migrations under
 * `drizzle/` are authoritative (drizzle cannot express STRICT, WITHOUT ROWID or triggers); a test compares the two.
 */
import { blob, customType, integer, primaryKey, real, sqliteTable, sqliteView, text } from "drizzle-orm/sqlite-core";
import type { PackedMessage } from "../messages/pack.ts";

/** A column that the ERP writes, with values of any type. */
const any = customType<{ data: string | number | bigint | Buffer; driverData: string | number | bigint | Buffer }>({
  dataType: () => "any",
});
const hash = <Name extends string>(name: Name) => blob(name, { mode: "buffer" });
const flag = <Name extends string>(name: Name) => integer(name, { mode: "boolean" });

export const meta = sqliteTable("meta", { key: text().primaryKey(), value: text().notNull() });

/** Shared by the table and the views that the ERP reads. */
const orderValues = {
  /** The order number that people use. @example "1001" */
  number: text(),
  /** The order's status, as the service names it. @example "new" */
  status: text(),
  /** Whether the status is one of `orders.statuses.cancelled`. @example 0 */
  isCancelled: flag("is_cancelled").notNull(),
  /** Whether the order is unfinished: the status is none of `orders.statuses.closed`, and the order is not removed. @example 1 */
  isOpen: flag("is_open").notNull(),
  /** When the order was created, as the service writes it. @example "2026-06-01T12:00:00.000Z" */
  serviceCreatedAt: text("service_created_at"),
  /** When the order last changed, as the service writes it. @example "2026-06-01T12:00:00.000Z" */
  serviceUpdatedAt: text("service_updated_at"),
  /** The currency, as the service writes it. @example "RUB" */
  currency: text(),
  /** The total amount, the exact text that the service sent. @example "1490.00" */
  total: text(),
};
const orderState = {
  /** Counts the versions of the order, from 1 on. @example 1 */
  revision: integer().notNull(),
  /** The newest revision that the ERP has to process; a change that consists only of a status sent by the ERP raises only `revision`. @example 1 */
  erpRevision: integer("erp_revision").notNull(),
  /** When the order was first stored. @example "2026-06-01T12:00:00.000Z" */
  receivedAt: text("received_at").notNull(),
  /** When the newest revision was stored. @example "2026-06-01T12:00:00.000Z" */
  changedAt: text("changed_at").notNull(),
  /** Since when the order no longer exists at the service; null: it exists. @example null */
  removedAt: text("removed_at"),
};

/** All orders, each in its newest version. Rows are never deleted. */
export const orders = sqliteTable("orders", {
  /** The order's key inside the database. @example 1 */
  orderKey: integer("order_key").primaryKey(),
  /** The order's id, a UUID in lower case. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  /** The id as the service writes it, where that is not the lower-case form. @example null */
  serviceId: text("service_id"),
  ...orderValues,
  ...orderState,
  /** Where the newest payload came from. @example "batch" */
  payloadSource: text("payload_source", { enum: ["batch", "update", "snapshot"] }).notNull(),
  /** SHA-256 of the last record that came in a batch. @example null */
  batchHash: hash("batch_hash"),
  /** The same, independent of key order and white space. @example null */
  batchContentHash: hash("batch_content_hash"),
  /** SHA-256 of the last record that came in the list of changes. @example null */
  updateHash: hash("update_hash"),
  /** The same, independent of key order and white space. @example null */
  updateContentHash: hash("update_content_hash"),
  /** SHA-256 of the last answer to a read of this order alone. @example null */
  snapshotHash: hash("snapshot_hash"),
  /** SHA-256 of `payload`. */
  payloadHash: hash("payload_hash").notNull(),
  /** The order as the service sent it, JSON. @example "{\"order_id\":\"6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde\",\"number\":\"1001\"}" */
  payload: text().notNull(),
});

export const orderLineRows = sqliteTable(
  "order_line_rows",
  {
    orderKey: integer("order_key").notNull(),
    lineNo: integer("line_no").notNull(),
    sku: text(),
    name: text(),
    quantity: text(),
    price: text(),
    payload: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.orderKey, table.lineNo] })],
);

/** Shared by the table and the view that the ERP reads. */
const eventColumns = {
  /** The order's revision after the event. @example 2 */
  revision: integer().notNull(),
  /** What happened. @example "changed" */
  kind: text({ enum: ["created", "changed", "cancelled", "removed", "remapped"] }).notNull(),
  /** Whether the status changed. @example 1 */
  statusChanged: flag("status_changed").notNull(),
  /** Whether the lines changed. @example 0 */
  linesChanged: flag("lines_changed").notNull(),
  /** Whether another column changed. @example 0 */
  fieldsChanged: flag("fields_changed").notNull(),
  /** The status before. @example "new" */
  oldStatus: text("old_status"),
  /** The status after. @example "paid" */
  newStatus: text("new_status"),
  /** Each path that differs, with the value before (`was`) and after (`is`): JSON. @example "{\"$.status\":{\"was\":\"new\",\"is\":\"paid\"}}" */
  changes: text(),
  /** Where the change came from; `own`: a status that the ERP sent; `remap`: a change of the configuration. @example "update" */
  source: text({ enum: ["batch", "update", "snapshot", "own", "remap"] }).notNull(),
  /** When it was stored. @example "2026-06-01T12:00:00.000Z" */
  at: text().notNull(),
};

export const orderEventRows = sqliteTable("order_event_rows", {
  seq: integer().primaryKey({ autoIncrement: true }),
  orderKey: integer("order_key").notNull(),
  ...eventColumns,
});

/** Which orders the ERP has taken. One row per order, written by the ERP. */
export const erpOrders = sqliteTable("erp_orders", {
  /** The order, in upper or lower case. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").primaryKey(),
  /** The ERP's own number or key. @example "E-17" */
  erpNumber: any("erp_number"),
  /** The newest revision that the ERP has taken. @example 1 */
  seenRevision: integer("seen_revision").notNull(),
  /** `blocked`: the ERP cannot take the order. @example "taken" */
  state: text({ enum: ["taken", "blocked"] }).notNull(),
  /** Why it cannot, written by the ERP. @example null */
  error: any("error"),
  /** For the ERP's own use. @example null */
  note: any("note"),
});

export const erpQueue = sqliteTable("erp_queue", {
  orderKey: integer("order_key").primaryKey(),
  blocked: flag("blocked").notNull(),
  since: text().notNull(),
  blockSeen: integer("block_seen"),
});

/** Statuses that the ERP requests. It inserts `order_id`, `status`, `comment` and `data`; the bridge writes the rest. */
export const statusRequests = sqliteTable("status_requests", {
  /** Requests of one order are sent in this order. The ERP omits it, or writes increasing values of at most 9200000000000000000. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  /** The status, as the ERP or the service names it (`statuses.map`). @example "shipped" */
  status: any("status").notNull(),
  /** The value of `{comment}` in `statuses.body`. @example "parcel 4711" */
  comment: any("comment"),
  /** JSON; its names can be used in `statuses.body`. @example null */
  data: any("data"),
  /** When the row was inserted. @example "2026-06-01T12:00:00.000Z" */
  requestedAt: text("requested_at"),
  /** The request's state: [the states](integration.md#sending-a-status-back). @example "sent" */
  state: text({ enum: ["pending", "sending", "sent", "refused"] }).notNull(),
  /** The order's status when the request was sent. @example "new" */
  statusBefore: text("status_before"),
  /** Number of attempts. @example 1 */
  attempts: integer().notNull(),
  /** HTTP status of the last answer. @example 200 */
  httpStatus: integer("http_status"),
  /** When the last answer came. @example "2026-06-01T12:00:00.000Z" */
  answeredAt: text("answered_at"),
  /** Why the last attempt failed. @example null */
  lastError: text("last_error"),
  /** The status as it was sent. @example "shipped" */
  statusSent: text("status_sent"),
  /** Whether the resulting change is still expected in the list of changes. @example null */
  echo: text({ enum: ["awaited", "owed"] }),
  /** The order's revision when the request was sent. @example 1 */
  revisionBefore: integer("revision_before"),
  /** The order's `service_updated_at` when the request was sent. @example "2026-06-01T12:00:00.000Z" */
  timestampBefore: text("stamp_before"),
  /** When the request was last sent. @example "2026-06-01T12:00:00.000Z" */
  leftAt: text("left_at"),
  /** When the request was first sent. @example "2026-06-01T12:00:00.000Z" */
  firstSentAt: text("first_sent_at"),
  /** The form of its answer, if that form is new; null: a usual form. @example null */
  newForm: text("new_form"),
  /** The order's revision when the row was inserted; the ERP may write the revision that it has read; 0 or null: it has read none. @example 1 */
  knownRevision: integer("known_revision"),
  /** When the order was first stored with the status after the request was sent. @example "2026-06-01T12:00:10.000Z" */
  shownAt: text("shown_at"),
  /** Since when reads of the order after the request was sent or accepted lack the status, or show that it was changed again; null: they do not. @example null */
  unshownSince: text("unshown_since"),
  /** Milliseconds from the machine's start to the first read of the order that lacked the status, while the answer to the request is missing; null: it is not. @example null */
  lostMs: real("lost_ms"),
});

/** Batches of orders that were received, and whether they are confirmed. */
export const batches = sqliteTable("batches", {
  /** The number of the batch. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** SHA-256 of the answer. @example "9f2c…" */
  fingerprint: text().notNull(),
  /** The batch's id, if the service sends one. @example "b-1" */
  serviceBatchId: text("service_batch_id"),
  /** When it was received. @example "2026-06-01T12:00:00.000Z" */
  receivedAt: text("received_at").notNull(),
  /** Number of orders in the batch. @example 3 */
  orderCount: integer("order_count").notNull(),
  /** `unread`: does not fit the configuration; `stored`: waits for its confirm; `refused`: the service refused the confirm. @example "confirmed" */
  state: text({ enum: ["unread", "stored", "confirmed", "refused"] }).notNull(),
  /** How often the confirm was sent. @example 1 */
  confirmAttempts: integer("confirm_attempts").notNull(),
  /** When the confirm was accepted. @example "2026-06-01T12:00:00.000Z" */
  confirmedAt: text("confirmed_at"),
  /** Why the last confirm failed, or why the batch cannot be read. @example null */
  lastError: text("last_error"),
  /** The order ids that the confirm lists, JSON. @example "[\"6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde\"]" */
  orderIds: text("order_ids"),
  /** The mapping with which the batch could not be read. @example null */
  readWith: text("read_with"),
  /** The `Date` header of the answer. @example "Mon, 01 Jun 2026 12:00:00 GMT" */
  serviceDate: text("service_date"),
  /** The answer, if it is kept and at most a megabyte. @example null */
  body: blob({ mode: "buffer" }),
  /** The key of the answer's parts in `body_parts`, if it is larger. @example null */
  bodyId: integer("body_id"),
  /** Status and headers of the answer, if they may mean that it is partial, JSON. @example null */
  head: text(),
  /** The address and the client id with which it was fetched, JSON: it is confirmed only there. @example "[\"https://shop.example.com\",\"c-1\"]" */
  account: text(),
  /** 1: it was confirmed before the journal was in its present folder, which gets it if it is served again. @example null */
  journaledElsewhere: integer("journaled_elsewhere"),
});

/** Records that could not be used, with the reason. */
export const quarantine = sqliteTable("quarantine", {
  /** The record's number in `erp-bridge quarantine`. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** What the record is: `order`, `change`, `snapshot`, `payload`, `batch`, or a feed. @example "stocks" */
  kind: text({
    enum: ["batch", "order", "change", "snapshot", "payload", "stocks", "prices", "catalog", "images"],
  }).notNull(),
  /** The order's id, or the row's key. @example "A-17" */
  reference: text(),
  /** The reason, in English. @example "quantity is no number" */
  reason: text().notNull(),
  /** The record. @example "{\"sku\":\"A-17\"}" */
  payload: text(),
  /** SHA-256 of the record. */
  payloadHash: hash("payload_hash").notNull(),
  /** `held`: waits; `released`: was used later; `dropped`: was discarded by a person. @example "held" */
  state: text({ enum: ["held", "released", "dropped"] }).notNull(),
  /** When the record was first received. @example "2026-06-01T12:00:00.000Z" */
  firstSeenAt: text("first_seen_at").notNull(),
  /** When the record was last received. @example "2026-06-01T12:00:00.000Z" */
  lastSeenAt: text("last_seen_at").notNull(),
  /** How often it was received. @example 1 */
  times: integer().notNull(),
  /** The key of its parts in `body_parts`, if it is larger than 16 MB. @example null */
  bodyId: integer("body_id"),
  /** Milliseconds from the machine's start to when the record was first received. @example null */
  firstSeenMs: real("first_seen_ms"),
});

/** Areas and flows that are on hold. */
export const holds = sqliteTable(
  "holds",
  {
    /** `orders`, `imports` or a flow. @example "orders" */
    area: text().notNull(),
    /** The reason: [Holds](operations.md#holds). @example "credentials" */
    reason: text().notNull(),
    /** Since when. @example "2026-06-01T12:00:00.000Z" */
    since: text().notNull(),
    /** When the next attempt is made; null: after a person has acted. @example "2026-06-01T12:00:00.000Z" */
    nextProbeAt: text("next_probe_at"),
    /** The service's text, or what to do, in English. @example "401" */
    detail: text(),
    /** `area`: all flows of the area; `flow`: only the flow of that name. @example "area" */
    scope: text().$type<"area" | "flow">().notNull(),
  },
  (table) => [primaryKey({ columns: [table.area, table.reason] })],
);

/** What needs attention, most important first: [Conditions](monitoring.md#conditions). */
export const conditions = sqliteTable("conditions", {
  /** 1 is the most important. @example 1 */
  rank: integer().primaryKey(),
  /** The code of the condition. @example "quarantined" */
  code: text().notNull(),
  /** How severe it is. @example "warning" */
  severity: text({ enum: ["critical", "error", "warning", "notice"] }).notNull(),
  /** The flow or the part that it is about. @example "orders" */
  subject: text().notNull(),
  /** Since when. @example null */
  since: text(),
  /** Details, JSON. @example "{\"count\":2}" */
  params: text({ mode: "json" }).$type<object>().notNull(),
  /** The condition as a sentence, in English. @example "2 records of orders in quarantine." */
  text: text().notNull(),
  /** The command to run next. @example "erp-bridge quarantine list" */
  command: text(),
  /** When the daemon last found it. @example "2026-06-01T12:00:00.000Z" */
  seenAt: text("seen_at").notNull(),
});

/** What each pass did. */
export const runs = sqliteTable("runs", {
  /** The number of the pass. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** The flow. @example "orders" */
  job: text().notNull(),
  /** When it began. @example "2026-06-01T12:00:00.000Z" */
  startedAt: text("started_at").notNull(),
  /** When it ended. @example "2026-06-01T12:00:00.000Z" */
  finishedAt: text("finished_at").notNull(),
  /** How it ended. @example "done" */
  outcome: text({ enum: ["idle", "done", "held", "failed", "stopped"] }).notNull(),
  /** What was done, JSON. @example "{\"created\":3,\"confirmed\":3}" */
  counts: text({ mode: "json" }).$type<Record<string, number>>().notNull(),
  /** The code of the error: [Trouble](trouble.md). @example null */
  errorCode: text("error_code"),
  /** The error, in English. @example null */
  error: text(),
});

export const feeds = sqliteTable("feeds", {
  feedId: integer("feed_id").primaryKey(),
  name: text().notNull(),
  template: text(),
  address: text(),
  epoch: integer().notNull(),
  compareBecause: text("compare_because"),
  comparedAt: text("compared_at"),
  acceptedAt: text("accepted_at"),
  liveCount: integer("live_count").notNull(),
  guardSince: text("guard_since"),
  approvedRound: integer("approved_round").notNull(),
  chunk: integer(),
  acceptedBy: text("accepted_by", { enum: ["status", "records"] }),
  lastAcceptedAt: text("last_accepted_at"),
  touchedAt: text("touched_at"),
  writeWithinS: integer("write_within_s"),
  keyColumns: text("key_columns", { mode: "json" }).$type<string[]>(),
  rekeyFrom: text("rekey_from"),
  sentHow: text("sent_how"),
  formerLevels: text("former_levels"),
  doubtSince: text("doubt_since"),
  openTables: integer("open_tables").notNull().default(0),
  fileState: text("file_state"),
  articlesOf: text("articles_of"),
});

/** The values of a feed's key columns, in their order; unused parts are empty. */
const keyParts = {
  k0: text().notNull(),
  k1: text().notNull().default(""),
  k2: text().notNull().default(""),
  k3: text().notNull().default(""),
};

/** Keys of changed rows, written by the triggers on the ERP's tables: the values and types that those tables have. */
export const feedDirty = sqliteTable(
  "feed_dirty",
  {
    feedId: integer("feed_id").notNull(),
    k0: any().notNull(),
    k1: any().notNull(),
    k2: any().notNull(),
    k3: any().notNull(),
  },
  (table) => [primaryKey({ columns: [table.feedId, table.k0, table.k1, table.k2, table.k3] })],
);

/** Written by the triggers on the ERP's tables: rows of the feed were updated, to whatever values. */
export const feedWrites = sqliteTable("feed_writes", { feedId: integer("feed_id").primaryKey() });

export const feedDrops = sqliteTable("feed_drops", {
  feedId: integer("feed_id").notNull(),
  at: text().notNull(),
  count: integer().notNull(),
});

export const feedFormer = sqliteTable(
  "feed_former",
  {
    feedId: integer("feed_id").notNull(),
    former: text().notNull(),
    key: text().notNull(),
    record: text().notNull(),
    sentAt: text("sent_at").notNull(),
    live: flag("live").notNull(),
    since: text().notNull(),
    state: text({ enum: ["waiting", "away", "gone", "kept"] }).notNull(),
    rowKey: text("row_key"),
  },
  (table) => [primaryKey({ columns: [table.feedId, table.former, table.key] })],
);

export const feedOutbox = sqliteTable("feed_outbox", {
  id: integer().primaryKey({ autoIncrement: true }),
  feedId: integer("feed_id").notNull(),
  ...keyParts,
  record: text().notNull(),
  gone: flag("gone").notNull().default(false),
  awaySinceMs: real("away_since_ms"),
  dropRound: integer("drop_round"),
  priority: integer().notNull().default(2),
  state: text({ enum: ["waiting", "refused"] })
    .notNull()
    .default("waiting"),
  waitingSince: text("waiting_since").notNull(),
  doubtRecord: text("doubt_record"),
  doubtUntilMs: real("doubt_until_ms"),
  lastError: text("last_error"),
  parent: text(),
  refusal: text({ enum: ["unproven", "passing", "proven"] }),
  retryMs: real("retry_ms"),
  tries: integer().notNull().default(0),
  droppedAt: text("dropped_at"),
  denied: flag("denied").notNull().default(false),
  probed: integer().notNull().default(0),
  again: integer().notNull().default(0),
});

export const feedSent = sqliteTable(
  "feed_sent",
  {
    feedId: integer("feed_id").notNull(),
    ...keyParts,
    record: text().notNull(),
    sentAt: text("sent_at").notNull(),
    gone: flag("gone").notNull().default(false),
    live: flag("live").notNull().default(true),
    epoch: integer().notNull().default(0),
    article: text(),
  },
  (table) => [primaryKey({ columns: [table.feedId, table.k0, table.k1, table.k2, table.k3] })],
);

export const imageFiles = sqliteTable("image_files", {
  path: text().primaryKey(),
  identity: text(),
  size: integer().notNull().default(0),
  sha256: text(),
  type: text(),
  problem: text(),
});

/** Stock levels. Written by the ERP, unless `imports.stocks` names another source. */
export const stock = sqliteTable(
  "stock",
  {
    /** The article's key. @example "A-17" */
    sku: text().notNull(),
    /** The warehouse; empty if there is only one. @example "" */
    warehouse: text().notNull().default(""),
    /** The quantity: a number, or its text. @example "12.50" */
    quantity: any("quantity"),
    /** How many of them are reserved. @example "2" */
    reserved: any("reserved").default(0),
  },
  (table) => [primaryKey({ columns: [table.sku, table.warehouse] })],
);

/** Prices. Written by the ERP; off until `imports.prices.path` is set. */
export const prices = sqliteTable(
  "prices",
  {
    /** The article's key. @example "A-17" */
    sku: text().notNull(),
    /** The kind of price; empty if there is only one. @example "" */
    priceType: text("price_type").notNull().default(""),
    /** The price: a number, or its text. @example "1490.00" */
    price: any("price"),
    /** The former price, if it is shown. @example "1990.00" */
    oldPrice: any("old_price"),
    /** The currency. @example "RUB" */
    currency: any("currency"),
    /** Further values for the record. @example null */
    data: any("data"),
  },
  (table) => [primaryKey({ columns: [table.sku, table.priceType] })],
);

/** Articles and groups. Written by the ERP; off until `imports.catalog.path` is set. */
export const products = sqliteTable("products", {
  /** The article's or the group's key. @example "A-17" */
  sku: text().primaryKey(),
  /** The key of the parent group. @example "G-1" */
  parent: any("parent"),
  /** 1: the row is a group. @example 0 */
  isGroup: any("is_group").default(0),
  /** Its name. @example "Kettle" */
  name: any("name"),
  /** The manufacturer's article number. @example "KT-2000" */
  article: any("article"),
  /** Its barcode. @example "4601234567893" */
  barcode: any("barcode"),
  /** The unit. @example "pcs" */
  unit: any("unit"),
  /** The VAT rate. @example "20" */
  vat: any("vat"),
  /** The description. @example null */
  description: any("description"),
  /** 0: not shown on the site. @example 1 */
  active: any("active").default(1),
  /** Further values for the record. @example null */
  data: any("data"),
});

/** Images of articles. Written by the ERP; off until `imports.images.path` is set. */
export const images = sqliteTable(
  "images",
  {
    /** The article. @example "A-17" */
    sku: text().notNull(),
    /** The position of the image among the article's images. @example 1 */
    position: integer().notNull().default(0),
    /** A URL, or a file below `imports.images.folder`. @example "https://img.example.com/a-17.jpg" */
    source: any("source"),
    /** The alternative text. @example "Kettle" */
    alt: any("alt"),
    /** Further values for the record. @example null */
    data: any("data"),
  },
  (table) => [primaryKey({ columns: [table.sku, table.position] })],
);

export const bodyParts = sqliteTable(
  "body_parts",
  { bodyId: integer("body_id").notNull(), part: integer().notNull(), bytes: blob({ mode: "buffer" }).notNull() },
  (table) => [primaryKey({ columns: [table.bodyId, table.part] })],
);

export const unjournaledBodies = sqliteTable("unjournaled_bodies", {
  id: integer().primaryKey(),
  fingerprint: text().notNull(),
  account: text(),
  receivedAt: text("received_at").notNull(),
  isPart: flag("is_part").notNull().default(false),
  bodyId: integer("body_id"),
  body: blob({ mode: "buffer" }),
});

export const comparedOrders = sqliteTable("compared_orders", {
  orderKey: integer("order_key").primaryKey(),
  payloadHash: hash("payload_hash").notNull(),
  contentHash: hash("content_hash").notNull(),
});

export const flows = sqliteTable("flows", {
  flow: text().primaryKey(),
  enabled: flag("enabled").notNull().default(false),
  staleAfterS: integer("stale_after_s").notNull().default(0),
  lastRunAt: text("last_run_at"),
  lastSuccessAt: text("last_success_at"),
  failingSince: text("failing_since"),
  failures: integer().notNull().default(0),
  errorCode: text("error_code"),
  error: text(),
  firstPassSince: text("first_pass_since"),
});

export const matchedPaths = sqliteTable(
  "matched_paths",
  { role: text().notNull(), path: text().notNull(), matchedAt: text("matched_at").notNull() },
  (table) => [primaryKey({ columns: [table.role, table.path] })],
);

export const missingOrders = sqliteTable("missing_orders", {
  orderId: text("order_id").primaryKey(),
  since: text().notNull(),
  machineMs: real("machine_ms").notNull(),
});

export const laterReads = sqliteTable("later_reads", {
  orderId: text("order_id").primaryKey(),
  begunAt: text("begun_at").notNull(),
  step: integer().notNull(),
  dueAt: text("due_at").notNull(),
});

export const repeatReads = sqliteTable("repeat_reads", {
  orderId: text("order_id").primaryKey(),
  dueAt: text("due_at").notNull(),
  endAt: text("end_at"),
  step: integer().notNull(),
});

export const firstLooks = sqliteTable("first_looks", {
  orderId: text("order_id").primaryKey(),
  doubt: text().notNull(),
  machineMs: real("machine_ms").notNull(),
});

/** What is usual in the service's answers; `learned` is JSON. */
export const learnedAnswers = sqliteTable(
  "learned_answers",
  {
    topic: text({ enum: ["forms", "counts", "list", "changes"] }).notNull(),
    endpoint: text().notNull(),
    learned: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.topic, table.endpoint] })],
);

export const storedMessages = sqliteTable("stored_messages", {
  text: text().primaryKey(),
  message: text({ mode: "json" }).$type<PackedMessage>().notNull(),
});

/** What was noticed about the service: [Noticed about the service](operations.md#noticed-about-the-service). */
export const observations = sqliteTable(
  "observations",
  {
    /** What was noticed. @example "field" */
    kind: text({ enum: ["field", "status", "path"] }).notNull(),
    /** Its name. @example "$.gift_wrap" */
    name: text().notNull(),
    /** The type or value that it had. @example "a boolean" */
    sample: text().notNull(),
    /** When it was first seen. @example "2026-06-01T12:00:00.000Z" */
    firstSeenAt: text("first_seen_at").notNull(),
    /** `dismissed`: a person has read it. @example "new" */
    state: text({ enum: ["new", "dismissed", "over"] })
      .notNull()
      .default("new"),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name] })],
);

/** The refresh queue: orders to read, each with the record that caused it. */
export const queuedReads = sqliteTable("owed_reads", {
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").primaryKey(),
  /** The id as the service writes it. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  serviceId: text("service_id").notNull(),
  /** Where the record came from. @example "update" */
  source: text({ enum: ["batch", "update"] }).notNull(),
  /** The record that caused the read, JSON. @example "{\"order_id\":\"6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde\"}" */
  record: text().notNull(),
  /** SHA-256 of the record. */
  recordHash: hash("record_hash").notNull(),
  /** The same, independent of key order and white space. @example null */
  contentHash: hash("content_hash"),
  /** Since when the order waits. @example "2026-06-01T12:00:00.000Z" */
  since: text().notNull(),
  /** Number of attempts. @example 0 */
  attempts: integer().notNull().default(0),
  /** Why the last attempt failed. @example null */
  lastError: text("last_error"),
  /** When the next attempt is due; null: at once. @example null */
  dueAt: text("due_at"),
  /** Milliseconds from the machine's start to when the order began to wait with a record. @example null */
  sinceMs: real("since_ms"),
  /** 2: the record cancels the order; 1: its status is not the stored one; 0: it is, or there is no record. @example 0 */
  urgency: integer().notNull().default(1),
});

export const mirrorChanges = sqliteTable("mirror_changes", {
  id: integer().primaryKey({ autoIncrement: true }),
  kind: text({ enum: ["batch", "quarantine", "request"] }).notNull(),
  key: integer().notNull(),
});

export const mirrorRequests = sqliteTable("mirror_requests", {
  requestUuid: text("request_uuid").primaryKey(),
  requestId: integer("request_id"),
  takenAt: text("taken_at").notNull(),
});

export const mirrorState = sqliteTable("mirror_state", { key: text().primaryKey(), value: text().notNull() });

export const openDelivery = sqliteTable("pull_mark", {
  id: integer().primaryKey(),
  openedAt: text("opened_at").notNull(),
  isOpen: flag("is_open").notNull(),
  lost: flag("lost").notNull(),
  lastBatchId: integer("last_batch_id"),
  firstServed: text("first_served"),
  serviceMs: real("service_ms"),
  behindMs: real("behind_ms"),
  askedAt: text("asked_at"),
  lostAt: text("lost_at"),
  /** Without use now; it stays, because to drop a column SQLite reads all of the ERP's objects. */
  toldAt: text("told_at"),
});

export const seenChanges = sqliteTable("seen_changes", {
  orderId: text("order_id").primaryKey(),
  seen: blob({ mode: "buffer" }).notNull(),
});

export const syncRequests = sqliteTable("sync_requests", {
  id: integer().primaryKey({ autoIncrement: true }),
  jobs: text().notNull(),
  requestedAt: text("requested_at").notNull(),
  takenAt: text("taken_at"),
  finishedAt: text("finished_at"),
  result: text(),
  onlyKey: text("only_key"),
});

export const watermarks = sqliteTable("watermarks", {
  stream: text().primaryKey(),
  value: text().notNull(),
  updatedAt: text("updated_at").notNull(),
});

/*
 * The views that the ERP and people read. Their SQL is in the migrations.
 */

const orderColumns = {
  /** The order's id, a UUID in lower case. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  ...orderValues,
};
const orderContent = {
  /** The order as the service sent it, JSON. @example "{\"order_id\":\"6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde\",\"number\":\"1001\"}" */
  payload: text().notNull(),
  ...orderState,
};

/** Orders that the ERP has to take: new, or changed since the revision that it has taken; oldest first. */
export const ordersPending = sqliteView("orders_pending", {
  ...orderColumns,
  ...orderContent,
  /** The ERP's own number or key, from `erp_orders`. @example null */
  erpNumber: any("erp_number"),
  /** The newest revision that the ERP has taken; 0: none. @example 0 */
  seenRevision: integer("seen_revision").notNull(),
  /** Why the order is listed. @example "new" */
  why: text({ enum: ["new", "changed", "cancelled", "removed"] }).notNull(),
}).existing();

/** Orders that the ERP has marked as blocked. */
export const ordersBlocked = sqliteView("orders_blocked", {
  ...orderColumns,
  ...orderContent,
  /** The ERP's own number or key, from `erp_orders`. @example null */
  erpNumber: any("erp_number"),
  /** The newest revision that the ERP has taken or blocked. @example 0 */
  seenRevision: integer("seen_revision").notNull(),
  /** Why the ERP cannot take it. @example "article A-17 is unknown here" */
  error: any("error"),
  /** For the ERP's own use. @example null */
  note: any("note"),
  /** Since when it is blocked. @example "2026-06-01T12:00:00.000Z" */
  since: text().notNull(),
}).existing();

/** `orders` for reports, with a column for each path of `orders.extra`. */
export const ordersWide = sqliteView("orders_wide", {
  ...orderColumns,
  /** `total` as a floating-point number, which may be a cent off; null if `total` is no number. @example 1490.0 */
  totalNum: real("total_num"),
  ...orderContent,
}).existing();

const lineColumns = {
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  /** The order's revision that the line belongs to. @example 1 */
  revision: integer().notNull(),
  /** The number of the line, from 1 on. @example 1 */
  lineNo: integer("line_no").notNull(),
  /** The article's key. @example "A-17" */
  sku: text(),
  /** The article's name, as the service sent it. @example "Kettle" */
  name: text(),
};

/** The lines of every order, in its newest version. */
export const orderLines = sqliteView("order_lines", {
  ...lineColumns,
  /** The quantity, the exact text. @example "2.000" */
  quantity: text(),
  /** The unit price, the exact text. @example "745.00" */
  price: text(),
  /** The line as the service sent it, JSON. @example "{\"sku\":\"A-17\",\"quantity\":2.000}" */
  payload: text().notNull(),
}).existing();

/** `order_lines` for reports, with a column for each path of `orders.line_extra`. */
export const orderLinesWide = sqliteView("order_lines_wide", {
  ...lineColumns,
  /** The quantity, the exact text. @example "2.000" */
  quantity: text(),
  /** The quantity as a floating-point number. @example 2.0 */
  quantityNum: real("quantity_num"),
  /** The unit price, the exact text. @example "745.00" */
  price: text(),
  /** The unit price as a floating-point number. @example 745.0 */
  priceNum: real("price_num"),
  /** The line as the service sent it, JSON. @example "{\"sku\":\"A-17\",\"quantity\":2.000}" */
  payload: text().notNull(),
}).existing();

/** What happened to orders. Kept for `retention.events`. */
export const orderEvents = sqliteView("order_events", {
  /** Only increases: a position for a reader that follows all changes. @example 2 */
  seq: integer().notNull(),
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  ...eventColumns,
}).existing();

const sentColumns = {
  /** The last record that the service acknowledged, JSON; null: none. @example "{\"sku\":\"A-17\",\"quantity\":10.5}" */
  sent: text(),
  /** When it was acknowledged. @example "2026-06-01T12:00:00.000Z" */
  sentAt: text("sent_at"),
  /** Since when a newer value waits. @example null */
  waitingSince: text("waiting_since"),
  /** The row's state: [the states](integration.md#what-is-on-the-site). @example "sent" */
  state: text({ enum: ["sent", "refused", "guarded", "held", "doubt", "waiting"] }).notNull(),
  /** Why the service refused the row. @example null */
  lastError: text("last_error"),
};

/** What the site shows of `stock`, row by row. */
export const stockSent = sqliteView("stock_sent", {
  /** The article's key. @example "A-17" */
  sku: text().notNull(),
  /** The warehouse. @example "" */
  warehouse: text().notNull(),
  ...sentColumns,
}).existing();

/** What the site shows of `prices`. */
export const pricesSent = sqliteView("prices_sent", {
  /** The article's key. @example "A-17" */
  sku: text().notNull(),
  /** The kind of price. @example "" */
  priceType: text("price_type").notNull(),
  ...sentColumns,
}).existing();

/** What the site shows of `products`. */
export const productsSent = sqliteView("products_sent", {
  /** The article's key. @example "A-17" */
  sku: text().notNull(),
  ...sentColumns,
}).existing();

/** What the site shows of `images`. */
export const imagesSent = sqliteView("images_sent", {
  /** The article. @example "A-17" */
  sku: text().notNull(),
  /** The position of the image among the article's images. @example "1" */
  position: text().notNull(),
  ...sentColumns,
}).existing();

/** Answers that could not be read, complete. */
export const keptBodies = sqliteView("kept_bodies", {
  /** The batch. @example 1 */
  batchId: integer("batch_id").notNull(),
  /** When it was received. @example "2026-06-01T12:00:00.000Z" */
  receivedAt: text("received_at").notNull(),
  /** Why it cannot be read. @example "no list under $.orders" */
  lastError: text("last_error"),
  /** The answer. */
  body: blob({ mode: "buffer" }),
}).existing();

/** The state of each flow; `sentence` sums it up. */
export const syncStatus = sqliteView("sync_status", {
  /** The flow; `erp`: the orders that the ERP has to take. @example "orders" */
  flow: text().notNull(),
  /** Whether it is switched on. @example 1 */
  enabled: flag("enabled").notNull(),
  /** When it last succeeded. @example "2026-06-01T12:00:00.000Z" */
  lastSuccessAt: text("last_success_at"),
  /** Seconds since then. @example 12 */
  ageS: integer("age_s"),
  /** How many confirms, reads, requests or rows wait in it; for `erp`, orders. @example 0 */
  waiting: integer().notNull(),
  /** Since when the oldest of them waits. @example null */
  waitingSince: text("waiting_since"),
  /** The reason for its hold. @example null */
  held: text(),
  /** Number of its records in quarantine. @example 0 */
  quarantined: integer().notNull(),
  /** When its last pass ended. @example "2026-06-01T12:00:00.000Z" */
  lastRunAt: text("last_run_at"),
  /** Since when its passes fail. @example null */
  failingSince: text("failing_since"),
  /** The code of the error. @example null */
  errorCode: text("error_code"),
  /** The error, in English. @example null */
  error: text(),
  /** Whether its last success is too long ago. @example 0 */
  isStale: flag("is_stale").notNull(),
  /** Of a feed: the time as of which the site's values are current. @example null */
  asOf: text("as_of"),
  /** Of a feed: when the ERP was last seen to write its table or file. Null where writes are not seen, as through a view. @example null */
  erpWroteAt: text("erp_wrote_at"),
  /** Whether that is too long ago. @example 0 */
  isErpSilent: flag("is_erp_silent").notNull(),
  /** Of a feed: number of rows that the service refused and that are sent again. @example 0 */
  refused: integer().notNull(),
  /** The state in one sentence, in English. @example "Succeeded 12 s ago." */
  sentence: text().notNull(),
}).existing();
