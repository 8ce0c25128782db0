/*
 * Every table and view as drizzle has them: the types of rows, and the queries that are not hot. The migrations under
 * `drizzle/` are the truth (drizzle cannot say STRICT, WITHOUT ROWID or triggers); a test compares the two.
 */
import { blob, customType, integer, primaryKey, real, sqliteTable, sqliteView, text } from "drizzle-orm/sqlite-core";
import type { PackedMessage } from "../messages/pack.ts";
import type { HoldReason, HoldScope } from "./hold-names.ts";

/** A column of the ERP's that takes whatever is written. */
const any = customType<{ data: string | number | bigint | Buffer; driverData: string | number | bigint | Buffer }>({
  dataType: () => "any",
});
const hash = <Name extends string>(name: Name) => blob(name, { mode: "buffer" });
const flag = <Name extends string>(name: Name) => integer(name, { mode: "boolean" });

export const meta = sqliteTable("meta", { key: text().primaryKey(), value: text().notNull() });

/** Of the table and of the views that the ERP reads. */
const orderValues = {
  /** The number that people use. @example "1001" */
  number: text(),
  /** The order's status, in the service's words. @example "new" */
  status: text(),
  /** Whether the status is one of `orders.statuses.cancelled`. @example 0 */
  isCancelled: flag("is_cancelled").notNull(),
  /** Whether something is still expected: the status is none of `orders.statuses.closed`, and the order is not removed. @example 1 */
  isOpen: flag("is_open").notNull(),
  /** When the order was made, as the service writes it. @example "2026-06-01T12:00:00.000Z" */
  serviceCreatedAt: text("service_created_at"),
  /** When the order last changed, as the service writes it. @example "2026-06-01T12:00:00.000Z" */
  serviceUpdatedAt: text("service_updated_at"),
  /** The currency, as the service writes it. @example "RUB" */
  currency: text(),
  /** The sum, the exact text that the service sent. @example "1490.00" */
  total: text(),
};
const orderState = {
  /** Counts the versions of the order, from 1 on. @example 1 */
  revision: integer().notNull(),
  /** The newest revision that the ERP has to see; a status that the ERP itself sent and that comes back alone raises only `revision`. @example 1 */
  erpRevision: integer("erp_revision").notNull(),
  /** When the order was stored first. @example "2026-06-01T12:00:00.000Z" */
  receivedAt: text("received_at").notNull(),
  /** When its newest revision was stored. @example "2026-06-01T12:00:00.000Z" */
  changedAt: text("changed_at").notNull(),
  /** Since when the service no longer has it; null: it has. @example null */
  removedAt: text("removed_at"),
};

/** Every order, in its newest version. Never deleted. */
export const orders = sqliteTable("orders", {
  /** The order's number inside the database. @example 1 */
  orderKey: integer("order_key").primaryKey(),
  /** The order's id, a UUID in lower case. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  /** The id as the service writes it, where that is not the lower-case form. @example null */
  serviceId: text("service_id"),
  ...orderValues,
  ...orderState,
  /** Where the newest payload came from. @example "batch" */
  payloadSource: text("payload_source", { enum: ["batch", "update", "snapshot"] }).notNull(),
  /** SHA-256 of the last record in a batch. @example null */
  batchHash: hash("batch_hash"),
  /** The same, order of keys and white space aside. @example null */
  batchContentHash: hash("batch_content_hash"),
  /** SHA-256 of the last record among the changes. @example null */
  updateHash: hash("update_hash"),
  /** The same, order of keys and white space aside. @example null */
  updateContentHash: hash("update_content_hash"),
  /** SHA-256 of the last answer for the order alone. @example null */
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

/** Of the table and of the view that the ERP reads. */
const eventColumns = {
  /** The revision that it led to. @example 2 */
  revision: integer().notNull(),
  /** What happened. @example "changed" */
  kind: text({ enum: ["created", "changed", "cancelled", "removed", "remapped"] }).notNull(),
  /** Whether the status is another one. @example 1 */
  statusChanged: flag("status_changed").notNull(),
  /** Whether the lines are others. @example 0 */
  linesChanged: flag("lines_changed").notNull(),
  /** Whether another column is. @example 0 */
  fieldsChanged: flag("fields_changed").notNull(),
  /** The status before. @example "new" */
  oldStatus: text("old_status"),
  /** The status after. @example "paid" */
  newStatus: text("new_status"),
  /** Each place that differs, with what was and what is: JSON. @example "{\"$.status\":{\"was\":\"new\",\"is\":\"paid\"}}" */
  changes: text(),
  /** Where the news came from; `own`: a status of the ERP's; `remap`: the configuration. @example "update" */
  source: text({ enum: ["batch", "update", "snapshot", "own", "remap"] }).notNull(),
  /** When it was stored. @example "2026-06-01T12:00:00.000Z" */
  at: text().notNull(),
};

export const orderEventRows = sqliteTable("order_event_rows", {
  seq: integer().primaryKey({ autoIncrement: true }),
  orderKey: integer("order_key").notNull(),
  ...eventColumns,
});

/** What the ERP has taken. A row for each order, written by the ERP. */
export const erpOrders = sqliteTable("erp_orders", {
  /** The order, in any case of letters. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").primaryKey(),
  /** The ERP's own number or key. @example "E-17" */
  erpNumber: any("erp_number"),
  /** The newest revision that the ERP has taken. @example 1 */
  seenRevision: integer("seen_revision").notNull(),
  /** `blocked`: the ERP cannot take it. @example "taken" */
  state: text({ enum: ["taken", "blocked"] }).notNull(),
  /** Why it cannot. @example null */
  error: any("error"),
  /** The ERP's own. @example null */
  note: any("note"),
});

export const erpQueue = sqliteTable("erp_queue", {
  orderKey: integer("order_key").primaryKey(),
  blocked: flag("blocked").notNull(),
  since: text().notNull(),
  blockSeen: integer("block_seen"),
});

/**
 * Statuses that the ERP requests. The ERP inserts `order_id`, `status`, `comment` and `data`; the bridge writes the
 * rest.
 */
export const statusRequests = sqliteTable("status_requests", {
  /** Requests of one order leave in this order. Left out by the ERP, or rising, and 9200000000000000000 at most. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  /** The status, in the ERP's words or the service's (`statuses.map`). @example "shipped" */
  status: any("status").notNull(),
  /** For `{comment}` in `statuses.body`. @example "parcel 4711" */
  comment: any("comment"),
  /** JSON; its names may be used in `statuses.body`. @example null */
  data: any("data"),
  /** When the row was inserted. @example "2026-06-01T12:00:00.000Z" */
  requestedAt: text("requested_at"),
  /** Where it stands: [the states](integration.md#sending-a-status-back). @example "sent" */
  state: text({ enum: ["pending", "sending", "sent", "refused"] }).notNull(),
  /** The order's status when it left. @example "new" */
  statusBefore: text("status_before"),
  /** How often it was tried. @example 1 */
  attempts: integer().notNull(),
  /** The last answer's status. @example 200 */
  httpStatus: integer("http_status"),
  /** When that came. @example "2026-06-01T12:00:00.000Z" */
  answeredAt: text("answered_at"),
  /** Why the last try failed. @example null */
  lastError: text("last_error"),
  /** The status as it was sent. @example "shipped" */
  statusSent: text("status_sent"),
  /** Whether its change is awaited among the changes. @example null */
  echo: text({ enum: ["awaited", "owed"] }),
  /** The order's revision when it left. @example 1 */
  revisionBefore: integer("revision_before"),
  /** The order's own time when it left. @example "2026-06-01T12:00:00.000Z" */
  timestampBefore: text("stamp_before"),
  /** When it last left. @example "2026-06-01T12:00:00.000Z" */
  leftAt: text("left_at"),
  /** When it first left. @example "2026-06-01T12:00:00.000Z" */
  firstSentAt: text("first_sent_at"),
  /** The new form in which it was answered; null: a usual one. @example null */
  newForm: text("new_form"),
  /** The order's revision when the row was inserted; the ERP may write the one that it has read. @example 1 */
  knownRevision: integer("known_revision"),
  /** When the order was first stored with the status after it had left. @example "2026-06-01T12:00:10.000Z" */
  shownAt: text("shown_at"),
  /** Since when the order, read again after the status has left or was accepted, lacks it or shows that it was changed; null: it does not. @example null */
  unshownSince: text("unshown_since"),
});

/** Batches of orders that came, and whether they are confirmed. */
export const batches = sqliteTable("batches", {
  /** Counts them. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** SHA-256 of the answer. @example "9f2c…" */
  fingerprint: text().notNull(),
  /** The batch's id, where the service names it. @example "b-1" */
  serviceBatchId: text("service_batch_id"),
  /** When it came. @example "2026-06-01T12:00:00.000Z" */
  receivedAt: text("received_at").notNull(),
  /** How many orders it holds. @example 3 */
  orderCount: integer("order_count").notNull(),
  /** `unread`: does not fit the configuration; `stored`: waits for its confirm; `refused`: the service refused the confirm. @example "confirmed" */
  state: text({ enum: ["unread", "stored", "confirmed", "refused"] }).notNull(),
  /** How often the confirm was sent. @example 1 */
  confirmAttempts: integer("confirm_attempts").notNull(),
  /** When it was accepted. @example "2026-06-01T12:00:00.000Z" */
  confirmedAt: text("confirmed_at"),
  /** Why the last confirm failed, or why it cannot be read. @example null */
  lastError: text("last_error"),
  /** The ids that a confirm names, JSON. @example "[\"6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde\"]" */
  orderIds: text("order_ids"),
  /** The mapping that it could not be read with. @example null */
  readWith: text("read_with"),
  /** `Date` of the answer. @example "Mon, 01 Jun 2026 12:00:00 GMT" */
  serviceDate: text("service_date"),
  /** The answer, where it is kept and not larger than a megabyte. @example null */
  body: blob({ mode: "buffer" }),
  /** The answer's parts in `body_parts`, where it is larger. @example null */
  bodyId: integer("body_id"),
  /** Status and headers that it came with where they may say that it is a part, JSON. @example null */
  head: text(),
  /** The address and the client id under which the service served it, JSON: its confirm goes there alone. @example "[\"https://shop.example.com\",\"c-1\"]" */
  account: text(),
});

/** Records that could not be used, with the reason. */
export const quarantine = sqliteTable("quarantine", {
  /** Names it in `erp-bridge quarantine`. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** What it is: `order`, `change`, `snapshot`, `payload`, `batch`, or a feed. @example "stocks" */
  kind: text({
    enum: ["batch", "order", "change", "snapshot", "payload", "stocks", "prices", "catalog", "images"],
  }).notNull(),
  /** The order's id, or the row's key. @example "A-17" */
  reference: text(),
  /** Why, in English. @example "quantity is no number" */
  reason: text().notNull(),
  /** The record. @example "{\"sku\":\"A-17\"}" */
  payload: text(),
  /** SHA-256 of it. */
  payloadHash: hash("payload_hash").notNull(),
  /** `held`: waits; `released`: was used after all; `dropped`: by a person. @example "held" */
  state: text({ enum: ["held", "released", "dropped"] }).notNull(),
  /** When it came first. @example "2026-06-01T12:00:00.000Z" */
  firstSeenAt: text("first_seen_at").notNull(),
  /** When it came last. @example "2026-06-01T12:00:00.000Z" */
  lastSeenAt: text("last_seen_at").notNull(),
  /** How often. @example 1 */
  times: integer().notNull(),
  /** Its parts in `body_parts`, where it is larger than 16 MB. @example null */
  bodyId: integer("body_id"),
});

/** Areas and flows that wait. */
export const holds = sqliteTable(
  "holds",
  {
    /** `orders`, `imports` or a flow. @example "orders" */
    area: text().notNull(),
    /** Why: [Holds](operations.md#holds). @example "credentials" */
    reason: text().$type<HoldReason>().notNull(),
    /** Since when. @example "2026-06-01T12:00:00.000Z" */
    since: text().notNull(),
    /** When it is tried next; null: after a person. @example "2026-06-01T12:00:00.000Z" */
    nextProbeAt: text("next_probe_at"),
    /** The service's words, or what to do, in English. @example "401" */
    detail: text(),
    /** `area`: every flow of it; `flow`: the flow of that name alone. @example "area" */
    scope: text().$type<HoldScope>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.area, table.reason] })],
);

/** What is worth attention, most important first: [Conditions](monitoring.md#conditions). */
export const conditions = sqliteTable("conditions", {
  /** 1 is the most important. @example 1 */
  rank: integer().primaryKey(),
  /** What it is. @example "quarantined" */
  code: text().notNull(),
  /** How bad. @example "warning" */
  severity: text({ enum: ["critical", "error", "warning", "notice"] }).notNull(),
  /** The flow or the part that it is about. @example "orders" */
  subject: text().notNull(),
  /** Since when. @example null */
  since: text(),
  /** What is known of it, JSON. @example "{\"count\":2}" */
  params: text({ mode: "json" }).$type<object>().notNull(),
  /** A sentence, in English. @example "2 records of orders in quarantine." */
  text: text().notNull(),
  /** What to type next. @example "erp-bridge quarantine list" */
  command: text(),
  /** When the daemon last saw it so. @example "2026-06-01T12:00:00.000Z" */
  seenAt: text("seen_at").notNull(),
});

/** What each pass did. */
export const runs = sqliteTable("runs", {
  /** Counts them. @example 1 */
  id: integer().primaryKey({ autoIncrement: true }),
  /** The flow. @example "orders" */
  job: text().notNull(),
  /** When it began. @example "2026-06-01T12:00:00.000Z" */
  startedAt: text("started_at").notNull(),
  /** When it ended. @example "2026-06-01T12:00:00.000Z" */
  finishedAt: text("finished_at").notNull(),
  /** How. @example "done" */
  outcome: text({ enum: ["idle", "done", "held", "failed", "stopped"] }).notNull(),
  /** What was done, JSON. @example "{\"created\":3,\"confirmed\":3}" */
  counts: text({ mode: "json" }).$type<Record<string, number>>().notNull(),
  /** The code of its failure: [Trouble](trouble.md). @example null */
  errorCode: text("error_code"),
  /** The same in English. @example null */
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
});

/** The key of a feed's row, in the order of the key's columns; a part that the feed lacks is empty. */
const keyParts = {
  k0: text().notNull(),
  k1: text().notNull().default(""),
  k2: text().notNull().default(""),
  k3: text().notNull().default(""),
};

/** Written by the triggers on the ERP's tables: the key as it stands there, of whatever type. */
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

/** What is in stock. Written by the ERP, unless `imports.stocks` names another source. */
export const stock = sqliteTable(
  "stock",
  {
    /** The article's key. @example "A-17" */
    sku: text().notNull(),
    /** The warehouse; empty where there is one. @example "" */
    warehouse: text().notNull().default(""),
    /** How many there are: a number, or its text. @example "12.50" */
    quantity: any("quantity"),
    /** How many of them are promised. @example "2" */
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
    /** The kind of price; empty where there is one. @example "" */
    priceType: text("price_type").notNull().default(""),
    /** The price: a number, or its text. @example "1490.00" */
    price: any("price"),
    /** The price before, where it is shown. @example "1990.00" */
    oldPrice: any("old_price"),
    /** The currency. @example "RUB" */
    currency: any("currency"),
    /** Whatever else a record needs. @example null */
    data: any("data"),
  },
  (table) => [primaryKey({ columns: [table.sku, table.priceType] })],
);

/** Articles and groups. Written by the ERP; off until `imports.catalog.path` is set. */
export const products = sqliteTable("products", {
  /** The article's or the group's key. @example "A-17" */
  sku: text().primaryKey(),
  /** The group that it is in. @example "G-1" */
  parent: any("parent"),
  /** 1: a group. @example 0 */
  isGroup: any("is_group").default(0),
  /** Its name. @example "Kettle" */
  name: any("name"),
  /** The maker's number. @example "KT-2000" */
  article: any("article"),
  /** Its barcode. @example "4601234567893" */
  barcode: any("barcode"),
  /** The unit. @example "pcs" */
  unit: any("unit"),
  /** The tax. @example "20" */
  vat: any("vat"),
  /** A text about it. @example null */
  description: any("description"),
  /** 0: not shown. @example 1 */
  active: any("active").default(1),
  /** Whatever else a record needs. @example null */
  data: any("data"),
});

/** Images of articles. Written by the ERP; off until `imports.images.path` is set. */
export const images = sqliteTable(
  "images",
  {
    /** The article. @example "A-17" */
    sku: text().notNull(),
    /** Which of its images. @example 1 */
    position: integer().notNull().default(0),
    /** An address, or a file below `imports.images.folder`. @example "https://img.example.com/a-17.jpg" */
    source: any("source"),
    /** A text for those who cannot see it. @example "Kettle" */
    alt: any("alt"),
    /** Whatever else a record needs. @example null */
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
  serviceDate: text("service_date"),
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

export const lostValues = sqliteTable("lost_values", {
  orderId: text("order_id").primaryKey(),
  serviceDate: text("service_date").notNull(),
});

/** What is usual of the service's answers; `learned` is JSON. */
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
    /** What. @example "field" */
    kind: text({ enum: ["field", "status", "path"] }).notNull(),
    /** Its name. @example "$.gift_wrap" */
    name: text().notNull(),
    /** What it looked like. @example "a boolean" */
    sample: text().notNull(),
    /** When it was seen first. @example "2026-06-01T12:00:00.000Z" */
    firstSeenAt: text("first_seen_at").notNull(),
    /** `dismissed`: a person has read it. @example "new" */
    state: text({ enum: ["new", "dismissed", "over"] })
      .notNull()
      .default("new"),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name] })],
);

/** Orders that are to be read, with what asked for it. */
export const owedReads = sqliteTable("owed_reads", {
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").primaryKey(),
  /** The id as the service writes it. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  serviceId: text("service_id").notNull(),
  /** What asked for it. @example "update" */
  source: text({ enum: ["batch", "update"] }).notNull(),
  /** The record that did, JSON. @example "{\"order_id\":\"6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde\"}" */
  record: text().notNull(),
  /** SHA-256 of it. */
  recordHash: hash("record_hash").notNull(),
  /** The same, order of keys and white space aside. @example null */
  contentHash: hash("content_hash"),
  /** Since when. @example "2026-06-01T12:00:00.000Z" */
  since: text().notNull(),
  /** How often it was tried. @example 0 */
  attempts: integer().notNull().default(0),
  /** Why the last try failed. @example null */
  lastError: text("last_error"),
  /** When it is tried next; null: at once. @example null */
  dueAt: text("due_at"),
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
 * The views that the ERP and people read. Their text stands in the migrations.
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

/** What the ERP has to take: new or changed since it last looked, oldest first. */
export const ordersPending = sqliteView("orders_pending", {
  ...orderColumns,
  ...orderContent,
  /** What the ERP noted for it. @example null */
  erpNumber: any("erp_number"),
  /** What the ERP has seen of it; 0: nothing. @example 0 */
  seenRevision: integer("seen_revision").notNull(),
  /** Why it is here. @example "new" */
  why: text({ enum: ["new", "changed", "cancelled", "removed"] }).notNull(),
}).existing();

/** Orders that the ERP has put aside. */
export const ordersBlocked = sqliteView("orders_blocked", {
  ...orderColumns,
  ...orderContent,
  /** What the ERP noted for it. @example null */
  erpNumber: any("erp_number"),
  /** What the ERP has seen of it. @example 0 */
  seenRevision: integer("seen_revision").notNull(),
  /** Why it cannot take it. @example "article A-17 is unknown here" */
  error: any("error"),
  /** The ERP's own. @example null */
  note: any("note"),
  /** Since when. @example "2026-06-01T12:00:00.000Z" */
  since: text().notNull(),
}).existing();

/** `orders` for reports, with a column for each path of `orders.extra`. */
export const ordersWide = sqliteView("orders_wide", {
  ...orderColumns,
  /** `total` as a number; may be a cent off. Null where it is not wholly one. @example 1490.0 */
  totalNum: real("total_num"),
  ...orderContent,
}).existing();

const lineColumns = {
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  /** The order's revision that the line belongs to. @example 1 */
  revision: integer().notNull(),
  /** Which line, from 1 on. @example 1 */
  lineNo: integer("line_no").notNull(),
  /** The article's key. @example "A-17" */
  sku: text(),
  /** Its name, as the service sent it. @example "Kettle" */
  name: text(),
};

/** The lines of every order, in its newest composition. */
export const orderLines = sqliteView("order_lines", {
  ...lineColumns,
  /** How many, the exact text. @example "2.000" */
  quantity: text(),
  /** The price of one, the exact text. @example "745.00" */
  price: text(),
  /** The line as the service sent it, JSON. @example "{\"sku\":\"A-17\",\"quantity\":2.000}" */
  payload: text().notNull(),
}).existing();

/** `order_lines` for reports, with a column for each path of `orders.line_extra`. */
export const orderLinesWide = sqliteView("order_lines_wide", {
  ...lineColumns,
  /** How many, the exact text. @example "2.000" */
  quantity: text(),
  /** The same as a number. @example 2.0 */
  quantityNum: real("quantity_num"),
  /** The price of one, the exact text. @example "745.00" */
  price: text(),
  /** The same as a number. @example 745.0 */
  priceNum: real("price_num"),
  /** The line as the service sent it, JSON. @example "{\"sku\":\"A-17\",\"quantity\":2.000}" */
  payload: text().notNull(),
}).existing();

/** What happened to orders. Kept for `retention.events`. */
export const orderEvents = sqliteView("order_events", {
  /** Only grows: a position for a reader that follows all changes. @example 2 */
  seq: integer().notNull(),
  /** The order. @example "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" */
  orderId: text("order_id").notNull(),
  ...eventColumns,
}).existing();

const sentColumns = {
  /** The record that the service acknowledged last, JSON; null: none. @example "{\"sku\":\"A-17\",\"quantity\":10.5}" */
  sent: text(),
  /** When. @example "2026-06-01T12:00:00.000Z" */
  sentAt: text("sent_at"),
  /** Since when a newer value waits. @example null */
  waitingSince: text("waiting_since"),
  /** Where the row stands: [the states](integration.md#what-is-on-the-site). @example "sent" */
  state: text({ enum: ["sent", "refused", "guarded", "held", "doubt", "waiting"] }).notNull(),
  /** Why it was refused. @example null */
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
  /** Which of its images. @example "1" */
  position: text().notNull(),
  ...sentColumns,
}).existing();

/** Answers that could not be read, whole. */
export const keptBodies = sqliteView("kept_bodies", {
  /** The batch. @example 1 */
  batchId: integer("batch_id").notNull(),
  /** When it came. @example "2026-06-01T12:00:00.000Z" */
  receivedAt: text("received_at").notNull(),
  /** Why it cannot be read. @example "no list under $.orders" */
  lastError: text("last_error"),
  /** The answer. */
  body: blob({ mode: "buffer" }),
}).existing();

/** How each flow stands. `sentence` says it. */
export const syncStatus = sqliteView("sync_status", {
  /** The flow; `erp`: the ERP's own side. @example "orders" */
  flow: text().notNull(),
  /** Whether it is switched on. @example 1 */
  enabled: flag("enabled").notNull(),
  /** Its last success. @example "2026-06-01T12:00:00.000Z" */
  lastSuccessAt: text("last_success_at"),
  /** Seconds since. @example 12 */
  ageS: integer("age_s"),
  /** What waits in it: confirms, reads, requests, rows; of `erp` orders. @example 0 */
  waiting: integer().notNull(),
  /** Since when the oldest does. @example null */
  waitingSince: text("waiting_since"),
  /** The reason of its hold. @example null */
  held: text(),
  /** Records of it in quarantine. @example 0 */
  quarantined: integer().notNull(),
  /** The end of its last pass. @example "2026-06-01T12:00:00.000Z" */
  lastRunAt: text("last_run_at"),
  /** Since when its passes fail. @example null */
  failingSince: text("failing_since"),
  /** The code of its failure. @example null */
  errorCode: text("error_code"),
  /** The same in English. @example null */
  error: text(),
  /** Whether it is silent for too long. @example 0 */
  isStale: flag("is_stale").notNull(),
  /** Of a feed: the time whose values the site shows. @example null */
  asOf: text("as_of"),
  /** Of a feed: when the ERP was last seen to write its table. @example null */
  erpWroteAt: text("erp_wrote_at"),
  /** Whether that is too long ago. @example 0 */
  isErpSilent: flag("is_erp_silent").notNull(),
  /** Of a feed: rows that the service refused and that are tried again. @example 0 */
  refused: integer().notNull(),
  /** All of it in a sentence, in English. @example "Succeeded 12 s ago." */
  sentence: text().notNull(),
}).existing();
