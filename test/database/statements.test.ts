import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { plannedOnce } from "../../src/database/statements.ts";

describe("a statement that is planned once", () => {
  it.each([
    ["a = ? AND b=@b LIMIT ?", "a = +? AND b=+@b LIMIT ? + 0"],
    ["a <> ? OR a IS @a OR a IS NOT @b LIMIT @max", "a <> +? OR a IS +@a OR a IS NOT +@b LIMIT @max + 0"],
    ["a IN (?, ?) AND (a, b) > (?, ?) AND c IS NULL LIMIT 5", "a IN (?, ?) AND (a, b) > (?, ?) AND c IS NULL LIMIT 5"],
  ])("has its parameters in expressions: %s", (sql, planned) => {
    expect(plannedOnce(sql)).toBe(planned);
  });

  it("keeps texts and names as they are", () => {
    const sql = `SELECT "a = ?" FROM "LIMIT ?" WHERE "it""s = ?" = 'it''s = ?'`;
    expect(plannedOnce(sql)).toBe(sql);
  });

  it("gives the same rows, whatever the type of a column and of a value", () => {
    const db = new Database(":memory:");
    db.exec("CREATE TABLE t (i INTEGER, r REAL, t TEXT COLLATE NOCASE, n NUMERIC, b BLOB, x)");
    const values = [1, 1.5, "1", "a", "A", Buffer.from("1"), Buffer.from("a"), null, 10n ** 15n];
    const insert = db.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)");
    for (const value of values) insert.run(value, value, value, value, value, value);
    for (const column of ["i", "r", "t", "n", "b", "x"]) {
      for (const by of ["=", "<>", "<", ">=", "IS", "IS NOT"]) {
        const sql = `SELECT rowid FROM t WHERE ${column} ${by} ? ORDER BY rowid LIMIT ?`;
        for (const value of values) {
          const rows = db.prepare(sql).all(value, 100);
          expect(db.prepare(plannedOnce(sql)).all(value, 100), `${column} ${by} ${String(value)}`).toEqual(rows);
        }
      }
    }
    db.close();
  });
});
