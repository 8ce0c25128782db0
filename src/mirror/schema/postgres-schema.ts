/*
 * The table in PostgreSQL whose column types the mirror uses, declared for drizzle. The migrations under
 * `drizzle/postgres/` are authoritative; a test compares the two. Statements are SQL in their files: the connection sets
 * its search_path, because the schema's name is configuration, and most statements write many rows at once.
 */
import { bigint, integer, interval, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

const at = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true, mode: "string" });
const big = <Name extends string>(name: Name) => bigint(name, { mode: "number" });

/** The progress of each shop in PostgreSQL. */
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
