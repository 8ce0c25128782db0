/*
 * The tables as drizzle knows them: the types of rows, and the queries that are not hot. The migrations under
 * `drizzle/` are the truth (drizzle cannot say STRICT, WITHOUT ROWID or triggers); a test compares the two.
 */
import { blob, customType, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { HoldReason, HoldScope } from "./hold-names.ts";

/** A column of the ERP's that takes whatever is written. */
const any = customType<{ data: string | number | bigint | Buffer; driverData: string | number | bigint | Buffer }>({
  dataType: () => "any",
});
const hash = (name: string) => blob(name, { mode: "buffer" });
const flag = (name: string) => integer(name, { mode: "boolean" });

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

export const orderEventRows = sqliteTable("order_event_rows", {
  seq: integer().primaryKey({ autoIncrement: true }),
  orderKey: integer("order_key").notNull(),
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
  stampBefore: text("stamp_before"),
  leftAt: text("left_at"),
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
  kind: text().notNull(),
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
});
