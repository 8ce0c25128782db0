import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { loadMigrations, MIGRATIONS_FOLDER, statementsOf } from "../../src/database/migrations.ts";
import { namesMadeBy, objectsMadeBy } from "../../src/database/objects/made-objects.ts";
import { inspectOwn, ownObjects } from "../../src/database/objects/own-objects.ts";
import { openStore } from "../../src/database/open.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { startShop } from "../support/shop.ts";
import { startStatusBridge } from "../support/statuses.ts";
import { tempFolder } from "../support/temp.ts";
import { startWebBridge } from "../support/web.ts";
import { itWhole } from "../support/whole.ts";

const statements = statementsOf(loadMigrations(MIGRATIONS_FOLDER));

/** What migration tools do to add a column: the rows are kept aside, the table is dropped, made and filled. */
function makeAnew({ bridge }: TestBridge, table: string): void {
  const { sql } = bridge.store.db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").get(table) as { sql: string };
  bridge.store.db.exec(
    `BEGIN; CREATE TABLE kept AS SELECT * FROM ${table}; DROP TABLE ${table}; ${sql};
     INSERT INTO ${table} SELECT * FROM kept; DROP TABLE kept; COMMIT`,
  );
}

/** The other way: the old one is renamed first, which writes its new name into the views. */
function renameAnew(db: Database.Database, table: string): void {
  const { sql } = db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").get(table) as { sql: string };
  db.exec(
    `BEGIN IMMEDIATE; ALTER TABLE ${table} RENAME TO ${table}_old; ${sql};
     INSERT INTO ${table} SELECT * FROM ${table}_old; DROP TABLE ${table}_old; COMMIT`,
  );
}

const OBJECTS =
  "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index', 'view') AND sql IS NOT NULL ORDER BY name";
const standing = ({ rows }: Pick<TestBridge, "rows">) => rows(OBJECTS);
const viewsOf = (db: Database.Database) =>
  db.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all() as string[];

describe("the bridge's own triggers, indexes and views", () => {
  itWhole("are those that the migrations leave behind, as SQLite keeps them", () => {
    const db = new Database(":memory:");
    for (const statement of statements) db.exec(statement);
    const made = db
      .prepare(
        "SELECT type, lower(name), lower(tbl_name), sql FROM sqlite_schema WHERE sql IS NOT NULL AND type <> 'table'",
      )
      .raw()
      .all();
    const own = [...objectsMadeBy(statements, "UTF-16").values()];
    const lasting = own.filter(({ type }) => type !== "table");
    expect(lasting.map(({ type, name, table, sql }) => [type, name, table, sql]).sort()).toEqual(made.sort());
    expect(made.length).toBeGreaterThan(20);
    const tables = db.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    );
    expect(
      own
        .filter(({ type }) => type === "table")
        .map(({ name }) => name)
        .sort(),
    ).toEqual(tables.pluck().all().sort());
    expect(namesMadeBy(statements)).toEqual(expect.arrayContaining(own.map(({ name }) => name)));
  });

  itWhole.each(["UTF-8", "UTF-16"])("stand as they are to stand in a new database in %s", (encoding) => {
    const file = path.join(tempFolder("own"), "bridge.db");
    const erp = new Database(file);
    erp.exec(`PRAGMA encoding = '${encoding}'; CREATE TABLE erp_own (name TEXT)`);
    erp.close();
    using store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
    const own = ownObjects(store.db);
    expect(inspectOwn(store.db, own)).toEqual({ changed: [], lacking: [] });
  });

  itWhole("are made again once erp_orders was made anew, and what the ERP did meanwhile counts", async () => {
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

  itWhole("are made again where one was dropped, or stands on a table that was renamed", async () => {
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

  itWhole("are made again before a request leaves of which it is unknown what the ERP had read", async () => {
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

  itWhole.each(["erp_orders", "status_requests"])("are made again once the old %s was renamed first", async (table) => {
    const t = await startTestBridge({ settings: { orders: { extra: { phone: "$.phone" } } } });
    await t.run("stocks");
    const before = standing(t);
    createOrders(t, 2);
    await t.run("orders");
    const { db } = t.bridge.store;
    renameAnew(db, table);
    db.exec("INSERT INTO erp_orders (order_id, seen_revision) SELECT order_id, 1 FROM orders LIMIT 1");
    await t.bridge.watch.look();
    expect(standing(t)).toEqual(before);
    expect(t.rows("SELECT why FROM orders_pending")).toEqual([{ why: "new" }]);
    for (const view of viewsOf(db)) expect(() => db.prepare(`SELECT * FROM ${view}`).all()).not.toThrow();
  });

  itWhole.each(["orders_pending", "orders_blocked", "order_events", "sync_status", "stock_sent", "orders_wide"])(
    "take the name %s back from a view of the ERP's",
    async (view) => {
      const t = await startTestBridge({ settings: { orders: { extra: { phone: "$.phone" } } } });
      await t.run("stocks");
      const before = standing(t);
      t.bridge.store.db.exec(`DROP VIEW ${view}; CREATE TABLE my_own (a); CREATE VIEW ${view} AS SELECT a FROM my_own`);
      await t.bridge.watch.look();
      await t.run("stocks");
      expect(standing(t)).toEqual(before);
    },
  );

  itWhole("are made again by a command that writes, and status and check report them until then", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const before = shop.rows(OBJECTS);
    const db = new Database(shop.database);
    renameAnew(db, "status_requests");
    db.close();
    const status = await shop.command("status");
    expect(status).toMatchObject({ code: 2, err: "" });
    expect(status.out).toContain("changed by another program: ");
    expect(status.out).toContain("sync_status");
    expect(status.out).toContain("erp-bridge check");
    expect(await shop.command("status", "--json")).toMatchObject({ code: 2, err: "" });
    const check = await shop.command("check");
    expect(check.code).toBe(2);
    expect(check.out).toMatch(/FAIL database: Missing, or changed .*sync_status/);
    await shop.command("quarantine", "list");
    await shop.command("sync", "orders");
    expect(shop.rows(OBJECTS)).toEqual(before);
    expect((await shop.command("check")).out).not.toContain("FAIL database");
  });

  itWhole("are made again before an upgrade changes them", () => {
    const folder = tempFolder("own");
    const copy = path.join(folder, "drizzle");
    cpSync(MIGRATIONS_FOLDER, copy, { recursive: true });
    const journal = path.join(copy, "meta", "_journal.json");
    const { entries, ...rest } = JSON.parse(readFileSync(journal, "utf8")) as { entries: object[] };
    writeFileSync(journal, JSON.stringify({ ...rest, entries: entries.slice(0, 14) }));
    const file = path.join(folder, "bridge.db");
    const open = (migrationsFolder: string) => openStore({ path: file, migrationsFolder, mode: "daemon" });
    const old = open(copy);
    old.db.exec("DROP VIEW sync_status; DROP VIEW orders_pending; DROP TRIGGER orders_queue_new");
    old.close();
    using store = open(MIGRATIONS_FOLDER);
    const own = ownObjects(store.db);
    expect(inspectOwn(store.db, own)).toEqual({ changed: [], lacking: [] });
  });

  itWhole.each([
    ["DROP VIEW orders_pending; CREATE TABLE orders_pending (a)", "orders_pending"],
    ["DROP VIEW sync_status; CREATE TABLE sync_status (a)", "sync_status"],
    ["DROP VIEW stock_sent; CREATE TABLE stock_sent (a)", "stock_sent"],
    ["DROP VIEW orders_wide; CREATE TABLE orders_wide (a)", "orders_wide"],
    ["DROP INDEX status_requests_refused; CREATE TABLE status_requests_refused (a)", "status_requests_refused"],
    ["DROP TABLE erp_orders", "erp_orders"],
    ["DROP TABLE status_requests", "status_requests"],
    ["DROP TABLE erp_orders; CREATE TABLE erp_orders (order_id TEXT PRIMARY KEY, seen_revision)", "erp_orders.state"],
    [
      "ALTER TABLE erp_orders RENAME TO kept; CREATE TABLE erp_orders AS SELECT * FROM kept",
      "erp_orders (PRIMARY KEY)",
    ],
    [
      "ALTER TABLE status_requests RENAME TO kept; CREATE TABLE status_requests AS SELECT * FROM kept",
      "status_requests (PRIMARY KEY)",
    ],
    [
      "DROP TABLE status_requests; CREATE TABLE status_requests (id INTEGER PRIMARY KEY, order_id, status)",
      "status_requests.state",
    ],
  ])("that cannot be made are a condition, and nothing else stops: %s", async (sql, name) => {
    const t = await startWebBridge();
    await t.run("stocks");
    t.bridge.store.db.exec(sql);
    createOrders(t, 2);
    for (let round = 0; round < 2; round++) {
      await t.bridge.watch.look();
      expect(await t.run("orders")).toMatchObject({ error: null });
      expect(await t.run("stocks")).toMatchObject({ error: null });
    }
    expect(t.sandbox.ledger.confirmedOrderIds().size).toBe(2);
    const { status, body } = await t.health();
    expect(status).toBe(503);
    expect(body.ill).toContainEqual({ flow: "database", reason: "changed", since: null });
    expect(body.sentence).toContain(name);
    for (const page of ["/", "/metrics"]) expect((await t.ask(page)).status).toBe(200);
    expect((await t.ask("/")).body).toContain(name.replace(/ .*/, ""));
    expect(t.rows("SELECT code, command FROM conditions WHERE rank = 1")).toEqual([
      { code: "objects_changed", command: "erp-bridge check" },
    ]);
    await t.restart();
    expect(await t.run("orders")).toMatchObject({ error: null });
  });

  itWhole("are made again once a table has again what it lacked, and the queue is worked out anew", async () => {
    const t = await startTestBridge();
    const before = standing(t);
    const [taken] = createOrders(t, 2);
    const { db } = t.bridge.store;
    const { sql } = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'erp_orders'").get() as { sql: string };
    db.exec("DROP TABLE erp_orders; CREATE TABLE erp_orders (order_id TEXT PRIMARY KEY, seen_revision)");
    await t.run("orders");
    db.prepare("INSERT INTO erp_orders (order_id, seen_revision) VALUES (?, 1)").run(taken);
    await t.bridge.watch.look();
    db.exec(`CREATE TABLE kept AS SELECT * FROM erp_orders; DROP TABLE erp_orders; ${sql};
      INSERT INTO erp_orders (order_id, seen_revision) SELECT order_id, seen_revision FROM kept; DROP TABLE kept`);
    await t.bridge.watch.look();
    expect(standing(t)).toEqual(before);
    expect(t.rows("SELECT count(*) AS n FROM orders_pending")).toEqual([{ n: 1 }]);
  });

  it("are named where a statement fails because of them", async () => {
    const t = await startStatusBridge();
    t.bridge.store.db.exec(
      "DROP TABLE status_requests; CREATE TABLE status_requests (id INTEGER PRIMARY KEY, order_id, status)",
    );
    const { error } = await t.run("statuses");
    expect(error).toMatchObject({ code: "database_refused" });
    expect(error?.message).toContain("status_requests.state");
    expect(String(error?.hint)).toContain("erp-bridge check");
  });
});
