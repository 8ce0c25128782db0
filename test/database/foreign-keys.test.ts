import { readdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { migrateDatabase } from "../../src/database/migrate.ts";
import { inspectDatabase, loadMigrations, MIGRATIONS_FOLDER, statementsOf } from "../../src/database/migrations.ts";
import { namesMadeBy } from "../../src/database/objects/made-objects.ts";
import { openStore } from "../../src/database/open.ts";
import { createOrders, expectComplete } from "../support/pull.ts";
import { drain, liveADay, type Scene, startScene } from "../support/restored.ts";
import { startStatusBridge } from "../support/statuses.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const known = loadMigrations(MIGRATIONS_FOLDER);

/** As most programs have it: foreign keys are written down and not enforced. */
function inErp<T>(file: string, act: (erp: Database.Database) => T): T {
  const erp = new Database(file, { timeout: 5_000 });
  try {
    erp.pragma("foreign_keys = OFF");
    return act(erp);
  } finally {
    erp.close();
  }
}

/** For each of the bridge's tables one of the ERP's that refers to a column without a unique index, and to one that is not there. */
function referToAll(file: string): number {
  return inErp(file, (erp) => {
    const own = new Set(namesMadeBy(statementsOf(known)));
    const tables = erp.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
    const ours = tables.filter((table) => own.has(table));
    for (const table of ours) {
      const column = erp.prepare("SELECT name FROM pragma_table_info(?) ORDER BY pk, cid DESC").pluck().get(table);
      erp.exec(
        `CREATE TABLE my_${table} (a REFERENCES ${table} ("${column}") ON DELETE CASCADE, b REFERENCES ${table} (nowhere));
         INSERT INTO my_${table} VALUES ('a', 'b')`,
      );
    }
    return ours.length;
  });
}

const ownOrphans = ({ rows }: Pick<Scene, "rows">) =>
  ["order_line_rows", "order_event_rows", "erp_queue", "compared_orders"].flatMap((table) =>
    rows(`PRAGMA foreign_key_check(${table})`),
  );

describe("foreign keys of the ERP's to the bridge's tables", () => {
  itWhole("hinder no flow, no copy and no restore, and nothing of the bridge's is left behind", async () => {
    const scene = await startScene();
    expect(referToAll(scene.database)).toBeGreaterThan(25);
    await scene.restart();
    await liveADay(scene);
    expect(await scene.run("backup")).toMatchObject({ error: null, outcome: "done" });
    expect(await scene.restore()).toMatchObject({ complete: true, gap: null });
    createOrders(scene, 2);
    await drain(scene);
    expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 22 }]);
    expect(scene.sandbox.ledger.confirmedOrderIds().size).toBe(22);
    expect(ownOrphans(scene)).toEqual([]);
    expect(scene.rows("SELECT a, b FROM my_orders")).toEqual([{ a: "a", b: "b" }]);
  });

  itWhole("hinder no status", async () => {
    const t = await startStatusBridge();
    inErp(t.bridge.store.path, (erp) => {
      erp.exec("CREATE TABLE my_requests (a REFERENCES status_requests (order_id), b REFERENCES orders (status))");
      erp.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'shipped')").run(t.ids[0]);
    });
    await t.send();
    expect(t.states()).toEqual(["sent"]);
  });

  it("take no row of the ERP's away with one of the bridge's", async () => {
    const scene = await startScene();
    inErp(scene.database, (erp) =>
      erp.exec(`CREATE TABLE my_places (sku, warehouse, FOREIGN KEY (sku, warehouse) REFERENCES stock (sku, warehouse)
        ON DELETE CASCADE ON UPDATE CASCADE); INSERT INTO stock (sku, quantity) VALUES ('A', 1); INSERT INTO my_places VALUES ('A', '')`),
    );
    scene.bridge.store.write(() => scene.bridge.store.db.exec("DELETE FROM stock"));
    expect(scene.rows("SELECT sku FROM my_places")).toEqual([{ sku: "A" }]);
  });

  itWhole("hinder no upgrade, not even those of a table that the ERP made anew", () => {
    const folder = tempFolder("upgrade");
    const file = path.join(folder, "bridge.db");
    const old = new Database(file);
    old.pragma("journal_mode = WAL");
    migrateDatabase(old, { known: known.slice(0, 6), file, backupFolder: folder, nowMs: 0 });
    old.close();
    inErp(file, (erp) =>
      erp.exec(`CREATE TABLE my_goods (sku); DROP TABLE stock; DROP TABLE erp_orders;
        CREATE TABLE stock (sku TEXT PRIMARY KEY REFERENCES my_goods (sku), warehouse TEXT, quantity, reserved);
        CREATE TABLE erp_orders (order_id TEXT COLLATE NOCASE PRIMARY KEY REFERENCES my_goods (sku), erp_number,
          seen_revision INTEGER, state TEXT, error, note);
        INSERT INTO stock (sku) VALUES ('A')`),
    );
    referToAll(file);
    const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
    expect(inspectDatabase(store.db, known, file)).toEqual([]);
    store.close();
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });
});

describe("without any foreign key being enforced", () => {
  it("no row of the bridge's refers to nothing", async () => {
    const scene = await startScene();
    await liveADay(scene);
    await scene.restore();
    await drain(scene);
    expectComplete(scene);
    expect(ownOrphans(scene)).toEqual([]);
  });
});
