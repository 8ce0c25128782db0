/*
 * The tables in PostgreSQL as drizzle has them: the types of rows. The migrations under `drizzle/postgres/` are the truth (drizzle
 * cannot say triggers, policies and rights); a test compares the two. Statements are SQL of their files: each transaction sets its search_path,
 * because the schema's name is configuration, and most write many rows at once.
 */
import {
  bigint,
  boolean,
  integer,
  interval,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";

const shop = () => text().notNull();
const at = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true, mode: "string" });
const big = <Name extends string>(name: Name) => bigint(name, { mode: "number" });

export const shopKeys = pgTable("shop_keys", { shop: text().primaryKey() });

export const shopRoles = pgTable("shop_roles", { role: text().notNull(), shop: shop() }, (table) => [
  primaryKey({ columns: [table.role, table.shop] }),
]);

/** How far each shop's database has come here. */
export const positions = pgTable("positions", {
  shop: text().primaryKey(),
  databaseId: text("database_id").notNull(),
  writer: uuid(),
  writerNo: big("writer_no").notNull(),
  takeoverNo: integer("takeover_no").notNull(),
  host: text(),
  version: text(),
  epoch: integer().notNull(),
  ordersSeq: big("orders_seq").notNull(),
  eventsSeq: big("events_seq").notNull(),
  walk: text({ enum: ["copy", "compare"] }),
  walkAfter: big("walk_after").notNull(),
  comparedAt: at("compared_at"),
  extraOrders: big("extra_orders").notNull(),
  turn: big("turn").notNull(),
  heardAt: at("heard_at").notNull(),
  silentAfter: interval("silent_after").notNull(),
  sentence: text(),
  upNo: big("up_no").notNull(),
  account: text(),
});

/** What a machine that has lost its shop leaves to the one that has it. */
export const strays = pgTable(
  "strays",
  {
    shop: shop(),
    id: big("id").notNull(),
    host: text(),
    orderId: uuid("order_id"),
    serviceId: text("service_id"),
    at: at("at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.id] })],
);

export const orders = pgTable(
  "orders",
  {
    shop: shop(),
    orderId: uuid("order_id").notNull(),
    serviceId: text("service_id"),
    number: text(),
    status: text(),
    isCancelled: boolean("is_cancelled").notNull(),
    isOpen: boolean("is_open").notNull(),
    serviceCreatedAt: text("service_created_at"),
    serviceUpdatedAt: text("service_updated_at"),
    currency: text(),
    total: text(),
    revision: big("revision").notNull(),
    erpRevision: big("erp_revision").notNull(),
    receivedAt: at("received_at").notNull(),
    changedAt: at("changed_at").notNull(),
    removedAt: at("removed_at"),
    lines: jsonb().notNull(),
    payload: jsonb(),
    payloadText: text("payload_text"),
    hash: text().notNull(),
    epoch: integer().notNull(),
    seq: big("seq").notNull(),
    content: big("content"),
  },
  (table) => [primaryKey({ columns: [table.shop, table.orderId] })],
);

export const orderEvents = pgTable(
  "order_events",
  {
    shop: shop(),
    seq: big("seq").notNull(),
    orderId: uuid("order_id").notNull(),
    revision: big("revision").notNull(),
    kind: text().notNull(),
    statusChanged: boolean("status_changed").notNull(),
    linesChanged: boolean("lines_changed").notNull(),
    fieldsChanged: boolean("fields_changed").notNull(),
    oldStatus: text("old_status"),
    newStatus: text("new_status"),
    changes: jsonb(),
    source: text().notNull(),
    at: at("at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.seq] })],
);

export const batches = pgTable(
  "batches",
  {
    shop: shop(),
    id: big("id").notNull(),
    serviceBatchId: text("service_batch_id"),
    receivedAt: at("received_at").notNull(),
    orderCount: integer("order_count").notNull(),
    state: text().notNull(),
    confirmAttempts: integer("confirm_attempts").notNull(),
    confirmedAt: at("confirmed_at"),
    lastError: text("last_error"),
  },
  (table) => [primaryKey({ columns: [table.shop, table.id] })],
);

export const quarantine = pgTable(
  "quarantine",
  {
    shop: shop(),
    id: big("id").notNull(),
    kind: text().notNull(),
    reference: text(),
    reason: text().notNull(),
    state: text().notNull(),
    firstSeenAt: at("first_seen_at").notNull(),
    lastSeenAt: at("last_seen_at").notNull(),
    times: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.id] })],
);

export const conditions = pgTable(
  "conditions",
  {
    shop: shop(),
    rank: integer().notNull(),
    code: text().notNull(),
    severity: text().notNull(),
    subject: text().notNull(),
    since: at("since"),
    params: jsonb().notNull(),
    text: text().notNull(),
    command: text(),
    seenAt: at("seen_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.rank] })],
);

export const erpOrders = pgTable(
  "erp_orders",
  {
    shop: shop(),
    orderId: uuid("order_id").notNull(),
    erpNumber: text("erp_number"),
    seenRevision: big("seen_revision").notNull(),
    state: text({ enum: ["taken", "blocked"] }).notNull(),
    blockReason: text("block_reason"),
    note: text(),
    error: text(),
    blockedAt: big("blocked_at"),
  },
  (table) => [primaryKey({ columns: [table.shop, table.orderId] })],
);

export const erpQueue = pgTable(
  "erp_queue",
  { shop: shop(), orderId: uuid("order_id").notNull(), since: at("since").notNull() },
  (table) => [primaryKey({ columns: [table.shop, table.orderId] })],
);

export const statusRequests = pgTable("status_requests", {
  id: uuid().primaryKey(),
  shop: shop(),
  seq: big("seq").notNull(),
  orderId: uuid("order_id").notNull(),
  status: text().notNull(),
  comment: text(),
  data: jsonb(),
  requestedAt: at("requested_at").notNull(),
  state: text({ enum: ["pending", "sending", "sent", "refused"] }).notNull(),
  attempts: integer().notNull(),
  httpStatus: integer("http_status"),
  answeredAt: at("answered_at"),
  lastError: text("last_error"),
  error: text(),
  knownRevision: big("known_revision"),
});

export const stock = pgTable(
  "stock",
  {
    shop: shop(),
    sku: text().notNull(),
    warehouse: text().notNull(),
    quantity: numeric(),
    reserved: numeric(),
    error: text(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.sku, table.warehouse] })],
);

export const prices = pgTable(
  "prices",
  {
    shop: shop(),
    sku: text().notNull(),
    priceType: text("price_type").notNull(),
    price: numeric(),
    oldPrice: numeric("old_price"),
    currency: text(),
    data: jsonb(),
    error: text(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.sku, table.priceType] })],
);

export const products = pgTable(
  "products",
  {
    shop: shop(),
    sku: text().notNull(),
    parent: text(),
    isGroup: boolean("is_group"),
    name: text(),
    article: text(),
    barcode: text(),
    unit: text(),
    vat: text(),
    description: text(),
    active: boolean(),
    data: jsonb(),
    error: text(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.sku] })],
);

export const images = pgTable(
  "images",
  {
    shop: shop(),
    sku: text().notNull(),
    position: integer().notNull(),
    source: text(),
    alt: text(),
    data: jsonb(),
    error: text(),
  },
  (table) => [primaryKey({ columns: [table.shop, table.sku, table.position] })],
);

export const touched = pgTable(
  "touched",
  { shop: shop(), id: big("id").notNull(), tbl: text().notNull(), k0: text(), k1: text() },
  (table) => [primaryKey({ columns: [table.shop, table.id] })],
);

export const migrations = pgTable("migrations", {
  id: integer().primaryKey(),
  tag: text().notNull(),
  hash: text().notNull(),
  appliedAt: at("applied_at").notNull(),
});
