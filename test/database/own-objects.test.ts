import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { loadMigrations, MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { lastingObjects } from "../../src/database/own-objects.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { startStatusBridge } from "../support/statuses.ts";

const statements = loadMigrations(MIGRATIONS_FOLDER).flatMap((migration) => migration.statements);

/** What migration tools do to add a column: the rows are kept aside, the table is dropped, made and filled. */
function makeAnew({ bridge }: TestBridge, table: string): void {
  const { sql } = bridge.store.db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").get(table) as { sql: string };
  bridge.store.db.exec(
    `BEGIN; CREATE TABLE kept AS SELECT * FROM ${table}; DROP TABLE ${table}; ${sql};
     INSERT INTO ${table} SELECT * FROM kept; DROP TABLE kept; COMMIT`,
  );
}

const standing = ({ rows }: TestBridge) =>
  rows("SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL ORDER BY name");

describe("the bridge's own triggers, indexes and views", () => {
  it("are those that the migrations leave behind", () => {
    const db = new Database(":memory:");
    for (const statement of statements) db.exec(statement);
    const made = db
      .prepare(
        "SELECT lower(name), lower(tbl_name) FROM sqlite_schema WHERE type IN ('trigger', 'index', 'view') AND sql IS NOT NULL ORDER BY name",
      )
      .raw()
      .all();
    expect([...lastingObjects(statements)].sort()).toEqual(made.sort());
    expect(made.length).toBeGreaterThan(20);
  });

  it("are made again once erp_orders was made anew, and what the ERP did meanwhile counts", async () => {
    const t = await startTestBridge();
    const before = standing(t);
    const [taken, marked, open, aside] = createOrders(t, 4);
    await t.run("orders");
    const mark = (id: string | undefined, state = "taken") =>
      t.bridge.store.db
        .prepare("INSERT INTO erp_orders (order_id, seen_revision, state) VALUES (?, 1, ?)")
        .run(id, state);
    mark(taken);
    makeAnew(t, "erp_orders");
    mark(marked);
    mark(aside, "blocked");
    expect(t.rows("SELECT order_id FROM orders_pending")).toHaveLength(3);
    await t.run("orders");
    expect(standing(t)).toEqual(before);
    expect(t.rows("SELECT order_id FROM orders_pending")).toEqual([{ order_id: open }]);
    expect(t.rows("SELECT order_id FROM orders_blocked")).toEqual([{ order_id: aside }]);
    expect(t.logs.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
      expect.stringContaining("erp_orders_queue_insert"),
    ]);
    mark(open);
    expect(t.rows("SELECT order_id FROM orders_pending")).toEqual([]);
  });

  it("are made again where one was dropped, or stands on a table that was renamed", async () => {
    const t = await startTestBridge();
    const before = standing(t);
    const { db } = t.bridge.store;
    db.exec("DROP TRIGGER orders_queue_new; DROP VIEW orders_pending");
    createOrders(t, 2);
    await t.run("orders");
    expect(standing(t)).toEqual(before);
    expect(t.rows("SELECT why FROM orders_pending")).toEqual([{ why: "new" }, { why: "new" }]);
    const { sql } = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'erp_orders'").get() as { sql: string };
    db.exec(`ALTER TABLE erp_orders RENAME TO erp_orders_old; ${sql}`);
    await t.run("orders");
    expect(standing(t)).toEqual(before);
  });

  it("are made again before a request leaves of which it is unknown what the ERP had read", async () => {
    const t = await startStatusBridge();
    const [id] = t.ids;
    makeAnew(t, "status_requests");
    t.ask(id!, "shipped");
    t.sandbox.service.changeOrder(id!, { status: "cancelled" });
    await t.run("updates");
    await t.send();

    expect(t.states()).toEqual(["refused"]);
    expect(t.posts()).toEqual([]);
  });
});
