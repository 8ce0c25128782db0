/*
 * Every table and view as drizzle knows them: the types of rows, and the queries that are not hot. The migrations under
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

export const orders = sqliteTable("orders", {
  orderKey: integer("order_key").primaryKey(),
  orderId: text("order_id").notNull(),
  serviceId: text("service_id"),
  number: text(),
  status: text(),
  isCancelled: flag("is_cancelled").notNull(),
  isOpen: flag("is_open").notNull(),
  serviceCreatedAt: text("service_created_at"),
  serviceUpdatedAt: text("service_updated_at"),
  currency: text(),
  total: text(),
  revision: integer().notNull(),
  erpRevision: integer("erp_revision").notNull(),
  receivedAt: text("received_at").notNull(),
  changedAt: text("changed_at").notNull(),
  removedAt: text("removed_at"),
  payloadSource: text("payload_source", { enum: ["batch", "update", "snapshot"] }).notNull(),
  batchHash: hash("batch_hash"),
  batchContentHash: hash("batch_content_hash"),
  updateHash: hash("update_hash"),
  updateContentHash: hash("update_content_hash"),
  snapshotHash: hash("snapshot_hash"),
  payloadHash: hash("payload_hash").notNull(),
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
  revision: integer().notNull(),
  kind: text({ enum: ["created", "changed", "cancelled", "removed", "remapped"] }).notNull(),
  statusChanged: flag("status_changed").notNull(),
  linesChanged: flag("lines_changed").notNull(),
  fieldsChanged: flag("fields_changed").notNull(),
  oldStatus: text("old_status"),
  newStatus: text("new_status"),
  changes: text(),
  source: text({ enum: ["batch", "update", "snapshot", "own", "remap"] }).notNull(),
  at: text().notNull(),
};

export const orderEventRows = sqliteTable("order_event_rows", {
  seq: integer().primaryKey({ autoIncrement: true }),
  orderKey: integer("order_key").notNull(),
  ...eventColumns,
});

export const erpOrders = sqliteTable("erp_orders", {
  orderId: text("order_id").primaryKey(),
  erpNumber: any("erp_number"),
  seenRevision: integer("seen_revision").notNull(),
  state: text({ enum: ["taken", "blocked"] }).notNull(),
  error: any("error"),
  note: any("note"),
});

export const erpQueue = sqliteTable("erp_queue", {
  orderKey: integer("order_key").primaryKey(),
  blocked: flag("blocked").notNull(),
  since: text().notNull(),
  blockSeen: integer("block_seen"),
});

export const statusRequests = sqliteTable("status_requests", {
  id: integer().primaryKey({ autoIncrement: true }),
  orderId: text("order_id").notNull(),
  status: any("status").notNull(),
  comment: any("comment"),
  data: any("data"),
  requestedAt: text("requested_at"),
  state: text({ enum: ["pending", "sending", "sent", "refused"] }).notNull(),
  statusBefore: text("status_before"),
  attempts: integer().notNull(),
  httpStatus: integer("http_status"),
  answeredAt: text("answered_at"),
  lastError: text("last_error"),
  statusSent: text("status_sent"),
  echo: text({ enum: ["awaited", "owed"] }),
  revisionBefore: integer("revision_before"),
  timestampBefore: text("stamp_before"),
  leftAt: text("left_at"),
  firstSentAt: text("first_sent_at"),
  newForm: text("new_form"),
});

export const batches = sqliteTable("batches", {
  id: integer().primaryKey({ autoIncrement: true }),
  fingerprint: text().notNull(),
  serviceBatchId: text("service_batch_id"),
  receivedAt: text("received_at").notNull(),
  orderCount: integer("order_count").notNull(),
  state: text({ enum: ["unread", "stored", "confirmed", "refused"] }).notNull(),
  confirmAttempts: integer("confirm_attempts").notNull(),
  confirmedAt: text("confirmed_at"),
  lastError: text("last_error"),
  orderIds: text("order_ids"),
  readWith: text("read_with"),
  serviceDate: text("service_date"),
  body: blob({ mode: "buffer" }),
  bodyId: integer("body_id"),
});

export const quarantine = sqliteTable("quarantine", {
  id: integer().primaryKey({ autoIncrement: true }),
  kind: text({
    enum: ["batch", "order", "change", "snapshot", "payload", "stocks", "prices", "catalog", "images"],
  }).notNull(),
  reference: text(),
  reason: text().notNull(),
  payload: text(),
  payloadHash: hash("payload_hash").notNull(),
  state: text({ enum: ["held", "released", "dropped"] }).notNull(),
  firstSeenAt: text("first_seen_at").notNull(),
  lastSeenAt: text("last_seen_at").notNull(),
  times: integer().notNull(),
  bodyId: integer("body_id"),
});

export const holds = sqliteTable(
  "holds",
  {
    area: text().notNull(),
    reason: text().$type<HoldReason>().notNull(),
    since: text().notNull(),
    nextProbeAt: text("next_probe_at"),
    detail: text(),
    scope: text().$type<HoldScope>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.area, table.reason] })],
);

export const conditions = sqliteTable("conditions", {
  rank: integer().primaryKey(),
  code: text().notNull(),
  severity: text({ enum: ["critical", "error", "warning", "notice"] }).notNull(),
  subject: text().notNull(),
  since: text(),
  params: text({ mode: "json" }).$type<object>().notNull(),
  text: text().notNull(),
  command: text(),
  seenAt: text("seen_at").notNull(),
});

export const runs = sqliteTable("runs", {
  id: integer().primaryKey({ autoIncrement: true }),
  job: text().notNull(),
  startedAt: text("started_at").notNull(),
  finishedAt: text("finished_at").notNull(),
  outcome: text({ enum: ["idle", "done", "held", "failed", "stopped"] }).notNull(),
  counts: text({ mode: "json" }).$type<Record<string, number>>().notNull(),
  errorCode: text("error_code"),
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

/** The ERP's tables that the program lays out. A shop may name others in their place. */
export const stock = sqliteTable(
  "stock",
  {
    sku: text().notNull(),
    warehouse: text().notNull().default(""),
    quantity: any("quantity"),
    reserved: any("reserved").default(0),
  },
  (table) => [primaryKey({ columns: [table.sku, table.warehouse] })],
);

export const prices = sqliteTable(
  "prices",
  {
    sku: text().notNull(),
    priceType: text("price_type").notNull().default(""),
    price: any("price"),
    oldPrice: any("old_price"),
    currency: any("currency"),
    data: any("data"),
  },
  (table) => [primaryKey({ columns: [table.sku, table.priceType] })],
);

export const products = sqliteTable("products", {
  sku: text().primaryKey(),
  parent: any("parent"),
  isGroup: any("is_group").default(0),
  name: any("name"),
  article: any("article"),
  barcode: any("barcode"),
  unit: any("unit"),
  vat: any("vat"),
  description: any("description"),
  active: any("active").default(1),
  data: any("data"),
});

export const images = sqliteTable(
  "images",
  {
    sku: text().notNull(),
    position: integer().notNull().default(0),
    source: any("source"),
    alt: any("alt"),
    data: any("data"),
  },
  (table) => [primaryKey({ columns: [table.sku, table.position] })],
);

export const bodyParts = sqliteTable(
  "body_parts",
  { bodyId: integer("body_id").notNull(), part: integer().notNull(), bytes: blob({ mode: "buffer" }).notNull() },
  (table) => [primaryKey({ columns: [table.bodyId, table.part] })],
);

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

export const observations = sqliteTable(
  "observations",
  {
    kind: text({ enum: ["field", "status", "path"] }).notNull(),
    name: text().notNull(),
    sample: text().notNull(),
    firstSeenAt: text("first_seen_at").notNull(),
    state: text({ enum: ["new", "dismissed", "over"] })
      .notNull()
      .default("new"),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name] })],
);

/** Orders that are to be read, with the record that asked for it. */
export const owedReads = sqliteTable("owed_reads", {
  orderId: text("order_id").primaryKey(),
  serviceId: text("service_id").notNull(),
  source: text({ enum: ["batch", "update"] }).notNull(),
  record: text().notNull(),
  recordHash: hash("record_hash").notNull(),
  contentHash: hash("content_hash"),
  since: text().notNull(),
  attempts: integer().notNull().default(0),
  lastError: text("last_error"),
  dueAt: text("due_at"),
});

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
  orderId: text("order_id").notNull(),
  number: text(),
  status: text(),
  isCancelled: flag("is_cancelled").notNull(),
  isOpen: flag("is_open").notNull(),
  serviceCreatedAt: text("service_created_at"),
  serviceUpdatedAt: text("service_updated_at"),
  currency: text(),
  total: text(),
};
const orderState = {
  payload: text().notNull(),
  revision: integer().notNull(),
  erpRevision: integer("erp_revision").notNull(),
  receivedAt: text("received_at").notNull(),
  changedAt: text("changed_at").notNull(),
  removedAt: text("removed_at"),
};

export const ordersPending = sqliteView("orders_pending", {
  ...orderColumns,
  ...orderState,
  erpNumber: any("erp_number"),
  seenRevision: integer("seen_revision").notNull(),
  why: text({ enum: ["new", "changed", "cancelled", "removed"] }).notNull(),
}).existing();

export const ordersBlocked = sqliteView("orders_blocked", {
  ...orderColumns,
  ...orderState,
  erpNumber: any("erp_number"),
  seenRevision: integer("seen_revision").notNull(),
  error: any("error"),
  note: any("note"),
  since: text().notNull(),
}).existing();

export const ordersWide = sqliteView("orders_wide", {
  ...orderColumns,
  totalNum: real("total_num"),
  ...orderState,
}).existing();

const lineColumns = {
  orderId: text("order_id").notNull(),
  revision: integer().notNull(),
  lineNo: integer("line_no").notNull(),
  sku: text(),
  name: text(),
};

export const orderLines = sqliteView("order_lines", {
  ...lineColumns,
  quantity: text(),
  price: text(),
  payload: text().notNull(),
}).existing();

export const orderLinesWide = sqliteView("order_lines_wide", {
  ...lineColumns,
  quantity: text(),
  quantityNum: real("quantity_num"),
  price: text(),
  priceNum: real("price_num"),
  payload: text().notNull(),
}).existing();

export const orderEvents = sqliteView("order_events", {
  seq: integer().notNull(),
  orderId: text("order_id").notNull(),
  ...eventColumns,
}).existing();

const sentColumns = {
  sent: text(),
  sentAt: text("sent_at"),
  waitingSince: text("waiting_since"),
  state: text({ enum: ["sent", "refused", "guarded", "held", "doubt", "waiting"] }).notNull(),
  lastError: text("last_error"),
};

export const stockSent = sqliteView("stock_sent", {
  sku: text().notNull(),
  warehouse: text().notNull(),
  ...sentColumns,
}).existing();

export const pricesSent = sqliteView("prices_sent", {
  sku: text().notNull(),
  priceType: text("price_type").notNull(),
  ...sentColumns,
}).existing();

export const productsSent = sqliteView("products_sent", { sku: text().notNull(), ...sentColumns }).existing();

export const imagesSent = sqliteView("images_sent", {
  sku: text().notNull(),
  position: text().notNull(),
  ...sentColumns,
}).existing();

export const keptBodies = sqliteView("kept_bodies", {
  batchId: integer("batch_id").notNull(),
  receivedAt: text("received_at").notNull(),
  lastError: text("last_error"),
  body: blob({ mode: "buffer" }),
}).existing();

export const syncStatus = sqliteView("sync_status", {
  flow: text().notNull(),
  enabled: flag("enabled").notNull(),
  lastSuccessAt: text("last_success_at"),
  ageS: integer("age_s"),
  waiting: integer().notNull(),
  waitingSince: text("waiting_since"),
  held: text(),
  quarantined: integer().notNull(),
  lastRunAt: text("last_run_at"),
  failingSince: text("failing_since"),
  errorCode: text("error_code"),
  error: text(),
  isStale: flag("is_stale").notNull(),
  asOf: text("as_of"),
  erpWroteAt: text("erp_wrote_at"),
  isErpSilent: flag("is_erp_silent").notNull(),
  refused: integer().notNull(),
  sentence: text().notNull(),
}).existing();
