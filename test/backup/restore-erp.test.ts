import { closeSync, openSync, writeSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect } from "vitest";
import { deleteHold } from "../../src/pass/hold-rows.ts";
import { createOrders } from "../support/pull.ts";
import { drain, type Scene, startScene } from "../support/restored.ts";
import { itSome, itWhole } from "../support/whole.ts";

const exec = (scene: Scene, sql: string) => scene.bridge.store.db.exec(sql);
/** Text in the machine's code page, as an old ERP binds it. */
const raw = (hex: string) => `CAST(x'${hex}' AS TEXT)`;
const [TABLE_CP1251, CHAIR_CP1251] = ["f1f2eeeb", "f1f2f3eb"];

/** What the ERP has in the file, each value with its bytes. */
function dump(scene: Scene): unknown {
  const objects = scene.rows<{ type: string; name: string; h: string }>(
    `SELECT type, name, hex(sql) AS h FROM sqlite_schema WHERE name LIKE 'my\\_%' ESCAPE '\\'
       OR lower(name) IN ('stock', 'prices', 'products', 'images', 'erp_orders') ORDER BY type, name`,
  );
  const tables = scene.rows<{ name: string; wr: number; type: string }>(
    "SELECT name, wr, type FROM pragma_table_list WHERE schema = 'main' AND (name LIKE 'my\\_%' ESCAPE '\\' OR lower(name) IN ('stock', 'prices', 'erp_orders')) AND type <> 'virtual' ORDER BY name",
  );
  const rows = tables.map(({ name, wr, type }) => {
    const columns = scene.rows<{ name: string }>("SELECT name FROM pragma_table_xinfo(?)", name);
    const rowid = wr === 1 || type === "view" ? "" : "rowid, ";
    const list = columns.map((column) => `typeof("${column.name}"), hex("${column.name}")`).join(", ");
    return [
      name,
      scene
        .rows(`SELECT ${rowid}${list} FROM "${name}"`)
        .map((row) => JSON.stringify(row))
        .sort(),
    ];
  });
  const sequences = scene.rows("SELECT name, seq FROM sqlite_sequence WHERE name LIKE 'my\\_%' ESCAPE '\\' ORDER BY 1");
  return {
    objects,
    rows,
    sequences,
    version: scene.rows("PRAGMA user_version"),
    id: scene.rows("PRAGMA application_id"),
  };
}

const FEED = { imports: { stocks: { table: "my_stock" } } } as never;
const VIEW = "CREATE VIEW my_stock AS SELECT a AS sku, '' AS warehouse, q AS quantity, 0 AS reserved FROM my_goods";
const asTable = (b: number) =>
  `CREATE TABLE my_stock (sku TEXT PRIMARY KEY, warehouse TEXT DEFAULT '', quantity, reserved DEFAULT 0);
   INSERT INTO my_stock (sku, quantity) VALUES ('A', 5), ('B', ${b})`;

/** A day of the ERP's between a copy and its restore. */
async function restoreAfter(scene: Scene, before: string, after: string, between?: () => void) {
  const [order] = createOrders(scene, 1);
  exec(scene, before);
  await drain(scene);
  await scene.backUp();
  exec(scene, after.replaceAll("ORDER_ID", order ?? ""));
  await drain(scene);
  const was = dump(scene);
  return { report: await scene.restore(between), was, order };
}

function expectWhole({ report }: Awaited<ReturnType<typeof restoreAfter>>, scene: Scene): void {
  expect(report).toMatchObject({ complete: true, gap: null, notes: [] });
  expect(scene.rows("SELECT * FROM holds")).toEqual([]);
  expect(scene.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
}

const onSite = (scene: Scene) =>
  Object.fromEntries(
    [...scene.sandbox.service.imported("stocks").values()].map((text) => {
      const { sku, quantity } = JSON.parse(text) as { sku: string; quantity: number };
      return [sku, quantity];
    }),
  );

describe("what a restore brings over of the ERP's", () => {
  itWhole("is every value with its bytes, and every row under its number", async () => {
    const scene = await startScene();
    const outcome = await restoreAfter(
      scene,
      `CREATE TABLE my_goods (name TEXT PRIMARY KEY, price TEXT);
       CREATE TABLE my_log (x, "rowid" TEXT); CREATE TABLE my_keyless (x); INSERT INTO my_keyless (rowid, x) VALUES (3, 'old');
       CREATE TABLE my_made (id INTEGER PRIMARY KEY AUTOINCREMENT, a, b AS (a || 'x') STORED)`,
      `INSERT INTO my_goods VALUES (${raw(TABLE_CP1251)}, '100'), (${raw(CHAIR_CP1251)}, '200');
       INSERT INTO my_log (_rowid_, x) VALUES (7, ${raw("610062")}), (99, 9223372036854775807), (-5, 9e999), (100, -9e999), (101, -0.0), (102, x'00ff'), (103, 1.0), (104, NULL);
       DELETE FROM my_keyless; INSERT INTO my_keyless (rowid, x) VALUES (70, ${raw(TABLE_CP1251)}), (71, '');
       INSERT INTO my_made (id, a) VALUES (50, ${raw(TABLE_CP1251)}); DELETE FROM my_made; INSERT INTO my_made (id, a) VALUES (7, 'y');
       INSERT INTO prices (sku, price, data) VALUES ('A', 1, ${raw(TABLE_CP1251)}), (${raw(CHAIR_CP1251)}, 2, NULL);
       INSERT INTO erp_orders (order_id, erp_number, seen_revision) VALUES ('ORDER_ID', ${raw(TABLE_CP1251)}, 1);
       INSERT INTO status_requests (order_id, status, comment) VALUES ('ORDER_ID', ${raw(TABLE_CP1251)}, ${raw(CHAIR_CP1251)})`,
    );
    expect(dump(scene)).toEqual(outcome.was);
    expect(scene.rows("SELECT hex(status) AS s, hex(comment) AS c FROM status_requests")).toEqual([
      { s: TABLE_CP1251.toUpperCase(), c: CHAIR_CP1251.toUpperCase() },
    ]);
    expectWhole(outcome, scene);
  });

  itWhole(
    "is every view, index, trigger, version and search table as it was last, and nothing that is gone",
    async () => {
      const scene = await startScene();
      const outcome = await restoreAfter(
        scene,
        `CREATE TABLE my_goods (a, b); CREATE TABLE my_gone (a); CREATE VIEW my_view AS SELECT a FROM my_goods; CREATE VIEW my_old AS SELECT 1 AS x;
       CREATE INDEX my_index ON my_goods (a); CREATE INDEX my_event ON orders (number); CREATE INDEX my_left ON orders (status, number);
       CREATE TRIGGER my_trigger AFTER INSERT ON my_goods BEGIN UPDATE my_goods SET b = 1; END;
       CREATE VIRTUAL TABLE my_words USING fts5(w); INSERT INTO my_words VALUES ('before'); CREATE VIRTUAL TABLE my_former USING fts5(w); PRAGMA user_version = 1`,
        `DROP VIEW my_view; CREATE VIEW my_view AS SELECT b AS a FROM my_goods; DROP VIEW my_old; DROP TABLE my_gone; ALTER TABLE my_goods ADD COLUMN c DEFAULT 'new';
       DROP INDEX my_index; CREATE UNIQUE INDEX my_index ON my_goods (b, a); DROP INDEX my_event; CREATE INDEX my_event ON orders (number, status); DROP INDEX my_left;
       DROP TRIGGER my_trigger; CREATE TRIGGER my_trigger AFTER INSERT ON my_goods BEGIN UPDATE my_goods SET b = 2; END;
       CREATE VIEW my_new AS SELECT * FROM my_view; CREATE TRIGGER my_instead INSTEAD OF INSERT ON my_new BEGIN SELECT 1; END;
       DROP TABLE my_former; INSERT INTO my_words VALUES ('after'); CREATE VIRTUAL TABLE my_places USING rtree(id, x0, x1); INSERT INTO my_places VALUES (1, 2, 3);
       INSERT INTO my_goods VALUES (1, 2, 3); PRAGMA user_version = 2; PRAGMA application_id = 7`,
      );
      expect(dump(scene)).toEqual(outcome.was);
      expect(scene.rows("SELECT w FROM my_words WHERE my_words MATCH 'after'")).toEqual([{ w: "after" }]);
      expect(scene.rows("SELECT id FROM my_places WHERE x0 < 3")).toEqual([{ id: 1 }]);
      expectWhole(outcome, scene);
    },
  );

  itWhole("is what it has added to tables of the bridge's, and tables that it has made anew", async () => {
    const scene = await startScene();
    const outcome = await restoreAfter(
      scene,
      "INSERT INTO stock (sku, quantity) VALUES ('A', 5)",
      `ALTER TABLE erp_orders ADD COLUMN my_note TEXT DEFAULT 'x'; ALTER TABLE status_requests ADD COLUMN my_by TEXT; ALTER TABLE orders ADD COLUMN my_mark ANY;
       INSERT INTO erp_orders (order_id, my_note) VALUES ('ORDER_ID', ${raw(TABLE_CP1251)});
       INSERT INTO status_requests (order_id, status, my_by) VALUES ('ORDER_ID', 'paid', ${raw(TABLE_CP1251)});
       UPDATE orders SET my_mark = ${raw(TABLE_CP1251)};
       DROP TABLE stock; CREATE TABLE Stock (sku TEXT PRIMARY KEY, warehouse DEFAULT '', quantity, reserved DEFAULT 0, shelf); INSERT INTO Stock (sku, quantity, shelf) VALUES ('A', 2, 'x')`,
    );
    expect(dump(scene)).toEqual(outcome.was);
    const hex = TABLE_CP1251.toUpperCase();
    expect(scene.rows("SELECT hex(my_by) AS h FROM status_requests")).toEqual([{ h: hex }]);
    expect(scene.rows("SELECT hex(my_mark) AS h FROM orders")).toEqual([{ h: hex }]);
    expectWhole(outcome, scene);
  });

  itWhole("has no request again that it has withdrawn, and no mark that it has taken back", async () => {
    const settings = { statuses: { path: "/api/v1/1c/orders/{order_id}/status" } };
    const scene = await startScene(settings);
    const [order] = createOrders(scene, 1);
    await drain(scene);
    exec(scene, `INSERT INTO status_requests (order_id, status) VALUES ('${order}', 'packed'), ('${order}', 'paid')`);
    exec(scene, `INSERT INTO erp_orders (order_id, seen_revision) VALUES ('${order}', 1)`);
    await scene.backUp();
    exec(scene, "DELETE FROM status_requests WHERE status = 'packed'; DELETE FROM erp_orders");
    expect(await scene.restore()).toMatchObject({ complete: true });
    expect(scene.rows("SELECT status FROM status_requests")).toEqual([{ status: "paid" }]);
    expect(scene.rows("SELECT order_id FROM orders_pending")).toEqual([{ order_id: order }]);
  });

  itWhole(
    "has its blocks as they stood: a taken order that it put aside, and one that a change has brought back",
    async () => {
      const scene = await startScene();
      const ids = createOrders(scene, 4);
      await drain(scene);
      const [taken, changed, never, open] = ids;
      const block = (id: string | undefined) =>
        exec(
          scene,
          `INSERT INTO erp_orders (order_id, state, error) VALUES ('${id}', 'blocked', 'unknown article')
         ON CONFLICT (order_id) DO UPDATE SET state = excluded.state, error = excluded.error`,
        );
      exec(scene, `INSERT INTO erp_orders (order_id, seen_revision) VALUES ('${taken}', 1)`);
      block(changed);
      exec(
        scene,
        `UPDATE orders SET erp_revision = erp_revision + 1, revision = revision + 1 WHERE order_id = '${changed}'`,
      );
      await scene.backUp();
      block(taken);
      block(never);
      const of = (view: string) =>
        scene.rows<{ order_id: string }>(
          `SELECT v.order_id FROM ${view} v JOIN orders o USING (order_id) ORDER BY o.order_key`,
        );
      const views = () =>
        [of("orders_pending"), of("orders_blocked")].map((rows) => rows.map(({ order_id }) => order_id));
      const before = [
        [changed, open],
        [taken, never],
      ];
      expect(views()).toEqual(before);
      expect(await scene.restore()).toMatchObject({ complete: true });
      expect(views()).toEqual(before);
    },
  );

  itWhole("is what it has added to a table, also where the replaced file was begun anew", async () => {
    const scene = await startScene();
    createOrders(scene, 1);
    exec(scene, "INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    await drain(scene);
    await scene.backUp();
    exec(
      scene,
      `ALTER TABLE stock ADD COLUMN shelf TEXT DEFAULT 'none'; INSERT INTO stock (sku, quantity, shelf) VALUES ('B', 1, ${raw(TABLE_CP1251)});
       UPDATE orders SET received_at = '2020-01-01T00:00:00.000Z'`,
    );
    expect(await scene.restore()).toMatchObject({ complete: false });
    expect(scene.rows("SELECT sku, hex(shelf) AS h FROM stock ORDER BY sku")).toEqual([
      { sku: "A", h: "6E6F6E65" },
      { sku: "B", h: TABLE_CP1251.toUpperCase() },
    ]);
  });

  itWhole("is the text of its statements, also where that is not UTF-8", async () => {
    const scene = await startScene();
    const write = () => {
      const erp = new Database(scene.database);
      erp.unsafeMode();
      erp.pragma("writable_schema = ON");
      erp.exec(
        `UPDATE sqlite_schema SET sql = CAST(replace(CAST(sql AS BLOB), CAST('@@' AS BLOB), x'${TABLE_CP1251}') AS TEXT) WHERE name LIKE 'my\\_%' ESCAPE '\\'`,
      );
      erp.close();
    };
    const outcome = await restoreAfter(
      scene,
      "CREATE TABLE my_goods (a)",
      `CREATE TABLE my_units (a, unit TEXT DEFAULT '@@'); CREATE VIEW my_kinds AS SELECT '@@' AS kind;
       CREATE TRIGGER my_noted AFTER INSERT ON my_goods BEGIN INSERT INTO my_units VALUES (1, '@@'); END;`,
      write,
    );
    exec(scene, "INSERT INTO my_goods VALUES (1); INSERT INTO my_units (a) VALUES (2)");
    const hex = TABLE_CP1251.toUpperCase();
    expect(scene.rows("SELECT hex(unit) AS h FROM my_units UNION ALL SELECT hex(kind) FROM my_kinds")).toEqual([
      { h: hex },
      { h: hex },
      { h: hex },
    ]);
    expectWhole(outcome, scene);
  });

  itWhole("is what holds text in double quotes, which only other builds of SQLite take in a statement", async () => {
    const scene = await startScene();
    createOrders(scene, 1);
    const inDoubleQuotes = (sql: string, rows: string) => {
      const erp = new Database(scene.database);
      erp.exec(sql);
      erp.unsafeMode();
      erp.pragma("writable_schema = ON");
      erp.exec(`UPDATE sqlite_schema SET sql = replace(replace(sql, '''~', '"'), '~''', '"')`);
      erp.pragma("writable_schema = RESET");
      erp.exec(rows);
      erp.close();
    };
    inDoubleQuotes(
      `CREATE TABLE my_goods (a PRIMARY KEY, q CHECK (q <> '~bad~'), kind); CREATE INDEX my_kinds ON my_goods (q) WHERE kind <> '~service~'`,
      "INSERT INTO my_goods VALUES ('A', 5, 'x')",
    );
    await drain(scene);
    await scene.backUp();
    inDoubleQuotes(
      `CREATE TABLE my_docs (id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE CHECK (a <> '~bad~'), b DEFAULT '~new~', c AS (b || '~!~') STORED, UNIQUE (b, a));
       CREATE UNIQUE INDEX my_open ON my_docs (b || '~/~' || a) WHERE b <> '~draft~'; CREATE INDEX my_number ON orders (number) WHERE currency <> '~none~';
       CREATE TABLE my_places (a UNIQUE, b, c CHECK (c <> '~bad~'), PRIMARY KEY (b, a)) WITHOUT ROWID;
       CREATE VIEW my_view AS SELECT a, '~main~' AS house FROM my_docs; CREATE TRIGGER my_noted AFTER DELETE ON my_places BEGIN DELETE FROM my_goods WHERE kind = '~gone~'; END;
       ALTER TABLE erp_orders ADD COLUMN my_note TEXT DEFAULT '~none~'; ALTER TABLE status_requests ADD COLUMN my_by TEXT DEFAULT '~us~'`,
      `INSERT INTO my_goods VALUES ('B', 7, 'service'); INSERT INTO my_docs (a, b) VALUES ('invoice 1', 'paid'), ('invoice 2', ${raw(TABLE_CP1251)});
       INSERT INTO my_docs (id, a) VALUES (70, 3); DELETE FROM my_docs WHERE id = 70; INSERT INTO my_places VALUES (1, 2, 3), (0, 3, 3)`,
    );
    await scene.restart();
    const names = "SELECT type, name, sql FROM sqlite_schema WHERE name LIKE 'my\\_%' ESCAPE '\\' ORDER BY name";
    const goods = "SELECT rowid, * FROM my_goods UNION ALL SELECT * FROM my_docs";
    const was = [scene.rows(names), scene.rows(goods)];
    const report = await scene.restore();
    expect(report).toMatchObject({ complete: true, gap: null, notes: [] });
    expect([scene.rows(names), scene.rows(goods)]).toEqual(was);
    expect(scene.rows("SELECT seq FROM sqlite_sequence WHERE name = 'my_docs'")).toEqual([{ seq: 70 }]);
    expect(scene.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    expect(scene.rows("SELECT a FROM my_places WHERE a > 0")).toEqual([{ a: 1 }]);
    expect(() => exec(scene, "INSERT INTO my_goods VALUES ('C', 'bad', 'x')")).toThrow(/CHECK/);
    await drain(scene);
  });

  itSome(1)([
    ["a table by now, in the copy a view", VIEW, `DROP VIEW my_stock; ${asTable(0)}`],
    [
      "a view by now, in the copy a table",
      asTable(6),
      `DROP TABLE my_stock; ${VIEW}; UPDATE my_goods SET q = 0 WHERE a = 'B'`,
    ],
    [
      "another view than in the copy",
      VIEW,
      "DROP VIEW my_stock; CREATE VIEW my_stock AS SELECT a AS sku, '' AS warehouse, q - 6 AS quantity, 0 AS reserved FROM my_goods WHERE a = 'B'",
    ],
  ])("feeds what it is meant to: %s", async (_, before, after) => {
    const scene = await startScene(FEED);
    const goods = "CREATE TABLE my_goods (a TEXT PRIMARY KEY, q INT); INSERT INTO my_goods VALUES ('A', 5), ('B', 6);";
    const outcome = await restoreAfter(scene, `${goods} ${before}`, after);
    expect(dump(scene)).toEqual(outcome.was);
    expectWhole(outcome, scene);
    await drain(scene);
    expect(onSite(scene)["B"]).toBe(0);
  });

  itWhole("is a view in the place of the bridge's own stock", async () => {
    const scene = await startScene();
    const outcome = await restoreAfter(
      scene,
      "CREATE TABLE my_goods (a TEXT PRIMARY KEY, q INT); INSERT INTO my_goods VALUES ('B', 6); INSERT INTO stock (sku, quantity) VALUES ('B', 6)",
      `DROP TABLE stock; ${VIEW.replace("my_stock", "stock")}; UPDATE my_goods SET q = 0`,
    );
    expect(dump(scene)).toEqual(outcome.was);
    expectWhole(outcome, scene);
    await drain(scene);
    expect(onSite(scene)).toEqual({ B: 0 });
  });

  itWhole.each([
    ["needs what only the ERP has", ", z AS (erp_function(q)) STORED", /my_goods needs what only the ERP has/],
    [
      "needs what only the ERP has, behind text in double quotes",
      `, z AS (erp_function(q || "x")) STORED`,
      /my_goods needs/,
    ],
    ["is damaged there", "", /my_goods/],
  ])("is named where it %s; the feed that reads it waits for a person, others go on", async (_, check, words) => {
    const scene = await startScene(FEED);
    const outcome = await restoreAfter(
      scene,
      `CREATE TABLE my_goods (a TEXT PRIMARY KEY, q INT); INSERT INTO my_goods VALUES ('A', 5), ('B', 6); CREATE TABLE my_rows (a); ${VIEW}`,
      "UPDATE my_goods SET q = 0 WHERE a = 'B'; INSERT INTO my_rows VALUES (1)",
      () => {
        const db = new Database(scene.database);
        db.pragma("wal_checkpoint(TRUNCATE)");
        const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'my_goods'").pluck().get() as number;
        const size = db.pragma("page_size", { simple: true }) as number;
        if (check !== "") {
          db.unsafeMode();
          db.pragma("writable_schema = ON");
          db.prepare("UPDATE sqlite_schema SET sql = replace(sql, 'q INT', ?) WHERE name = 'my_goods'").run(
            `q INT ${check}`,
          );
          if (check.includes('"'))
            db.exec("UPDATE sqlite_schema SET sql = replace(sql, ''''' AS', '\"\" AS') WHERE name = 'my_stock'");
        }
        db.close();
        if (check !== "") return;
        const fd = openSync(scene.database, "r+");
        writeSync(fd, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
        closeSync(fd);
      },
    );
    expect(outcome.report.complete).toBe(false);
    expect([String(outcome.report.gap), ...outcome.report.notes.map(String)].join(" ")).toMatch(words);
    const claims = [
      String(outcome.report.gap).includes("No order is missing"),
      /confirmed between/.test(String(outcome.report.gap)),
    ];
    expect(claims).toEqual([check !== "", check === ""]);
    expect(scene.rows("SELECT a FROM my_rows")).toEqual([{ a: 1 }]);
    expect(scene.rows("SELECT q FROM my_goods WHERE a = 'B'")).toEqual([{ q: 6 }]);
    expect(scene.rows("SELECT area, reason FROM holds ORDER BY area")).toEqual([
      { area: "orders", reason: "restored" },
      { area: "stocks", reason: "unrestored" },
    ]);
    scene.clock.advance(600_000);
    await scene.run("stocks");
    expect(onSite(scene)).toEqual({ A: 5, B: 0 });
    // A person has put the table right, and says so.
    exec(scene, "UPDATE my_goods SET q = 1 WHERE a = 'B'");
    scene.bridge.store.write(() => deleteHold(scene.bridge.store, "stocks", "unrestored"));
    await drain(scene);
    expect(onSite(scene)).toEqual({ A: 5, B: 1 });
  });

  itWhole(
    "stays as the copy has it where the replaced file was begun anew and has another kind of that name, and is named",
    async () => {
      const scene = await startScene(FEED);
      createOrders(scene, 1);
      exec(scene, `CREATE TABLE my_goods (a TEXT PRIMARY KEY, q INT); ${VIEW}`);
      await drain(scene);
      await scene.backUp();
      exec(scene, `DROP VIEW my_stock; ${asTable(0)}; UPDATE orders SET received_at = '2020-01-01T00:00:00.000Z'`);
      const report = await scene.restore();
      expect(String(report.gap)).toContain("my_stock");
      expect(scene.rows("SELECT type FROM sqlite_schema WHERE name = 'my_stock'")).toEqual([{ type: "view" }]);
      expect(scene.rows("SELECT area FROM holds ORDER BY area")).toEqual([{ area: "orders" }, { area: "stocks" }]);
    },
  );
});
