import { readdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { migrateDatabase } from "../../src/database/migrate.ts";
import { inspectDatabase, loadMigrations, MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { drain, liveADay, startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

/** What an ERP may keep in the file that only its own SQLite can read. */
function addUnknownObjects(file: string): void {
  const erp = new Database(file);
  erp.function("erp_function", { deterministic: true }, (value) => value);
  erp.exec(`
    CREATE TABLE erp_collated (a TEXT COLLATE nocase, b); CREATE INDEX erp_collated_a ON erp_collated (a);
    CREATE TABLE erp_checked (a, CHECK (erp_function(a) > 0)); INSERT INTO erp_checked VALUES (1);
    CREATE TABLE erp_generated (a, b GENERATED ALWAYS AS (erp_function(a)) STORED); INSERT INTO erp_generated (a) VALUES (1);
    CREATE TABLE erp_indexed (a); CREATE INDEX erp_indexed_a ON erp_indexed (erp_function(a)); INSERT INTO erp_indexed VALUES (1);
    CREATE TABLE erp_quoted (a CHECK (a <> '~bad~')); CREATE INDEX erp_quoted_a ON erp_quoted (a) WHERE a <> '~x~'; INSERT INTO erp_quoted VALUES (1);
    CREATE VIEW erp_quoted_view AS SELECT '~main~' AS a; CREATE TRIGGER erp_quoted_trigger AFTER INSERT ON erp_quoted WHEN '~a~' = 'b' BEGIN SELECT 1; END;
    CREATE VIEW erp_view AS SELECT erp_function(a), missing FROM erp_collated;
    CREATE TRIGGER erp_trigger AFTER INSERT ON erp_collated BEGIN INSERT INTO nowhere VALUES (1); END;`);
  erp.unsafeMode();
  erp.pragma("writable_schema = ON");
  erp.exec(
    "UPDATE sqlite_schema SET sql = replace(sql, 'COLLATE nocase', 'COLLATE erp_own') WHERE name = 'erp_collated'",
  );
  erp.exec(`UPDATE sqlite_schema SET sql = replace(replace(sql, '''~', '"'), '~''', '"')`);
  erp.exec(
    "INSERT INTO sqlite_schema VALUES ('table', 'erp_virtual', 'erp_virtual', 0, 'CREATE VIRTUAL TABLE erp_virtual USING erp_module(a)')",
  );
  erp.close();
}

describe("objects that only the ERP's SQLite can read", () => {
  itWhole("hinder no copy, no restore and no flow, and are named", async () => {
    const scene = await startScene();
    addUnknownObjects(scene.database);
    await scene.restart();
    await liveADay(scene);
    expect(await scene.run("backup")).toMatchObject({ error: null, outcome: "done" });
    expect(scene.logs.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^Copied, but not verified, .*: erp_collated, erp_checked, erp_indexed\.$/),
    );
    const report = await scene.restore();
    expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 20 }]);
    expect(report.notes.map(String).join(" ")).toMatch(/erp_/);
    expect(report.complete).toBe(false);
    expect(
      scene.rows("SELECT name FROM sqlite_schema WHERE type = 'index' AND name IN ('erp_collated_a', 'erp_indexed_a')"),
    ).toHaveLength(2);
    await drain(scene);
    expect(scene.rows("SELECT count(*) AS n FROM erp_generated")).toEqual([{ n: 1 }]);
  });

  it("hinder no upgrade, whose copy has them", () => {
    const folder = tempFolder("upgrade");
    const file = path.join(folder, "bridge.db");
    const known = loadMigrations(MIGRATIONS_FOLDER);
    const old = new Database(file);
    old.pragma("journal_mode = WAL");
    migrateDatabase(old, { known: known.slice(0, 6), file, backupFolder: folder, nowMs: 0 });
    old.close();
    addUnknownObjects(file);
    const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
    expect(inspectDatabase(store.db, known, file)).toEqual([]);
    store.close();
    const [copy = ""] = readdirSync(folder).filter((name) => name.includes(".before-") && name.endsWith(".db"));
    const db = new Database(path.join(folder, copy), { readonly: true });
    for (const table of ["erp_checked", "erp_quoted"])
      expect(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()).toBe(1);
    db.close();
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });
});
