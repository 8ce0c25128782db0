import { closeSync, copyFileSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { ProgressNote } from "../../src/database/log/progress-note.ts";
import { verifyTables } from "../../src/database/objects/verify-tables.ts";
import { createOrders } from "../support/pull.ts";
import { drain, liveADay, type Scene, startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** What an ERP whose `lower` and NOCASE know Cyrillic keeps in the file; for it every row and index is right. */
const ERP_OBJECTS: Record<string, { sql: string; complaint: string }> = {
  "an index over lower(…)": {
    sql: "CREATE TABLE my_goods (name); CREATE INDEX my_search ON my_goods (lower(name)); INSERT INTO my_goods VALUES ('Стол'), ('стул')",
    complaint: "row 1 missing from index my_search",
  },
  "a CHECK": {
    sql: "CREATE TABLE my_goods (name, search CHECK (search = lower(name))); INSERT INTO my_goods VALUES ('Стол', 'стол')",
    complaint: "CHECK constraint failed in my_goods",
  },
  "a column with another NOCASE": {
    sql: `CREATE TABLE my_goods (name TEXT COLLATE BINARY); CREATE INDEX my_names ON my_goods (name);
      INSERT INTO my_goods VALUES ('B'), ('a'), ('C'), ('d'); ${anotherCollation("my_goods")}`,
    complaint: "row 2 missing from index my_names",
  },
  "a WITHOUT ROWID table with another NOCASE": {
    sql: `CREATE TABLE my_goods (name TEXT COLLATE BINARY PRIMARY KEY) WITHOUT ROWID;
      INSERT INTO my_goods VALUES ('B'), ('a'), ('C'), ('d'); ${anotherCollation("my_goods")}`,
    complaint: "row not in PRIMARY KEY order for my_goods",
  },
  "a full-text index that is behind": {
    sql: `CREATE TABLE my_docs (id INTEGER PRIMARY KEY, t); CREATE VIRTUAL TABLE my_fts USING fts4 (content='my_docs', t);
      INSERT INTO my_docs (t) VALUES ('a b c'), ('d e'); INSERT INTO my_fts (docid, t) SELECT id, t FROM my_docs; DELETE FROM my_docs WHERE id = 2`,
    complaint: "malformed inverted index for FTS4 table main.my_fts",
  },
};

/** SQLite has it as NOCASE from then on, and the rows stand as before. */
function anotherCollation(table: string): string {
  return `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'BINARY', 'NOCASE') WHERE name = '${table}'`;
}

function inErp(file: string, sql: string): void {
  const erp = new Database(file, { timeout: 5_000 });
  try {
    erp.unsafeMode();
    erp.function("lower", { deterministic: true }, (text) => String(text).toLowerCase());
    erp.exec(sql);
  } finally {
    erp.close();
  }
}

function fileWith(...sql: string[]): string {
  const file = path.join(tempFolder("verify"), "bridge.db");
  copyFileSync(inject("emptyDatabase"), file);
  for (const each of sql) inErp(file, each);
  return file;
}

function verify(file: string, check: "integrity_check" | "quick_check" = "integrity_check", problemsMax = 1) {
  const db = new Database(file); // on one that only reads, SQLite leaves out CHECK
  onTestFinished(() => void db.close());
  return verifyTables(db, check, problemsMax);
}

const SOUND = { problems: [], erpComplaints: [], staleIndexes: [], skipped: [] };

/** Zeros over a leaf of a table, or the loss of an index's rows that no page shows. */
function damage(file: string, name: string, bytes: Buffer, at: number): void {
  const db = new Database(file);
  db.pragma("wal_checkpoint(TRUNCATE)");
  const page = db.prepare("SELECT max(pageno) FROM dbstat WHERE name = ?").pluck().get(name) as number;
  const size = db.pragma("page_size", { simple: true }) as number;
  db.close();
  const fd = openSync(file, "r+");
  writeSync(fd, bytes, 0, bytes.length, (page - 1) * size + at);
  closeSync(fd);
}

describe("verifying", () => {
  itSome(4)(Object.entries(ERP_OBJECTS))(
    "names %s of the ERP's and takes it for no damage",
    (_, { sql, complaint }) => {
      expect(verify(fileWith(sql))).toEqual({ ...SOUND, erpComplaints: [complaint] });
    },
  );

  it("finds damage of the bridge's own tables behind any number of complaints, and in any check", () => {
    const file = fileWith(
      ERP_OBJECTS["an index over lower(…)"]!.sql,
      "PRAGMA ignore_check_constraints = ON; INSERT INTO batches (fingerprint, received_at, order_count, state) VALUES ('a', 'b', -1, 'stored')",
    );
    for (const check of ["integrity_check", "quick_check"] as const)
      expect(verify(file, check).problems).toEqual(["CHECK constraint failed in batches"]);
    const other = fileWith(
      ERP_OBJECTS["a CHECK"]!.sql,
      "INSERT INTO batches (fingerprint, received_at, order_count, state) VALUES ('a', 'b', 1, 'stored')",
    );
    damage(other, "batches_fingerprint", Buffer.alloc(2), 3);
    expect(verify(other, "integrity_check", 3).problems.join("; ")).toContain("batches_fingerprint");
  });

  it.each(["integrity_check", "quick_check"] as const)("finds damaged pages of the ERP's tables: %s", (check) => {
    const file = fileWith(
      ERP_OBJECTS["a CHECK"]!.sql,
      `CREATE TABLE my_many (a PRIMARY KEY, b); WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500)
       INSERT INTO my_many SELECT n, hex(randomblob(60)) FROM c`,
    );
    damage(file, "my_many", Buffer.alloc(512), 0);
    const found = (() => {
      try {
        return verify(file, check).problems.join("; ");
      } catch (error) {
        return (error as { code: string }).code;
      }
    })();
    expect(found).toMatch(/^SQLITE_CORRUPT$|^\*\*\* in database main/);
  });
});

describe("objects of the ERP's that SQLite complains of", () => {
  const logged = (scene: Scene) => scene.logs.map(({ message }) => message).join("\n");

  itWhole("keep no copy, no start and no restore back, and are named", async () => {
    const scene = await startScene();
    Object.values(ERP_OBJECTS).forEach(({ sql }, index) => {
      inErp(scene.database, sql.replaceAll(/my_(\w+)/g, `my_$1_${index}`));
    });
    await scene.restart();
    await liveADay(scene);
    expect(await scene.run("backup")).toMatchObject({ error: null, outcome: "done" });
    expect(logged(scene)).toContain(
      "SQLite complains of objects of the ERP's: row 1 missing from index my_search_0; CHECK",
    );
    scene.logs.length = 0;
    await startAsAfterCrash(scene);
    expect(logged(scene)).toContain(
      "SQLite complains of objects of the ERP's: row 1 missing from index my_search_0; CHECK",
    );
    createOrders(scene, 2);
    await drain(scene);
    expect(scene.sandbox.ledger.confirmedOrderIds().size).toBe(22);
    const report = await scene.restore();
    expect(report.gap).toBeNull();
    expect(report.notes.map(String).join(" ")).toContain("row 1 missing from index my_search_0");
    expect(scene.rows("SELECT * FROM my_goods_1")).toEqual([{ name: "Стол", search: "стол" }]);
  });

  it("are made right for the bridge by a start where it writes them: indexes on its tables, and its own", async () => {
    const scene = await startScene();
    createOrders(scene, 4);
    await drain(scene);
    inErp(
      scene.database,
      `CREATE TABLE my_goods (sku, low AS (lower(sku))); CREATE INDEX erp_bridge_stocks_key ON my_goods (low); INSERT INTO my_goods (sku) VALUES ('Ё');
       UPDATE orders SET number = substr('BaCd', order_key, 1); CREATE INDEX my_numbers ON orders (number COLLATE BINARY);
       PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'BINARY', 'NOCASE') WHERE name = 'my_numbers'`,
    );
    const indexes = ["erp_bridge_stocks_key", "my_numbers"];
    expect(verify(scene.database, "integrity_check", 3)).toMatchObject({
      problems: [],
      staleIndexes: expect.arrayContaining(indexes),
    });
    await startAsAfterCrash(scene);
    expect(verify(scene.database, "integrity_check", 3)).toEqual(SOUND);
    for (const { id } of scene.sandbox.service.orders()) scene.sandbox.service.changeOrder(id, { status: "paid" });
    await drain(scene);
    expect(scene.rows("SELECT status, count(*) AS n FROM orders GROUP BY status")).toEqual([{ status: "paid", n: 4 }]);
  });
});

/** The next start verifies the database where its note says that a page was found damaged. */
async function startAsAfterCrash(scene: Scene): Promise<void> {
  await scene.bridge.stop();
  const note = new ProgressNote(scene.database);
  note.write(note.last!, "damage");
  note.close();
  await scene.restart();
}
