import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { OWN_NAMES, queryProblem, tableProblem } from "../../src/config/source-text.ts";
import { runs } from "../support/whole.ts";
import { MINIMAL, parse } from "./support.ts";

const FEEDS = ["stock", "prices", "products", "images"];

describe("a table that is named as a feed's source", () => {
  it("is none that the bridge made for itself", () => {
    const db = new Database(inject("emptyDatabase"), { readonly: true });
    const names = db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      )
      .pluck()
      .all();
    db.close();
    // A table that a migration makes is added to the list.
    expect([...OWN_NAMES].sort()).toEqual(names.filter((name) => !FEEDS.includes(name)).sort());
  });

  it.each([
    "orders",
    "ORDERS",
    "feed_sent",
    "stock_sent",
    "sync_status",
    "sqlite_master",
    "SQLite_Sequence",
    "pragma_table_list",
  ])("%s is refused when the configuration is read", (table) => {
    expect(() => parse(`${MINIMAL}\nimports: { stocks: { table: "${table}" } }\n`)).toThrow(
      /imports\.stocks\.table: .*own; name a table or view of the ERP/s,
    );
  });

  it("may be named so in another file, or where a query stands in its place", () => {
    for (const more of ["file: erp.db", "query: SELECT 1"])
      parse(`${MINIMAL}\nimports: { stocks: { table: orders, ${more} } }\n`);
    expect(tableProblem("sqlite_master", false)).not.toBeNull();
    for (const table of [...FEEDS, "goods", "order", "my orders"]) expect(tableProblem(table, true)).toBeNull();
  });
});

describe("a SELECT that is a feed's source", () => {
  it.each([
    ["SELECT 1; SELECT 2", "more than one statement"],
    ["SELECT 1;;SELECT 2", "more than one statement"],
    ["SELECT 1; DROP TABLE stock", "more than one statement"],
    ["SELECT 'a;b'; DELETE FROM stock -- c", "more than one statement"],
    ["SELECT 1 /* ; */ ; /* */ x", "more than one statement"],
    ["SELECT load_extension('x.so')", "calls load_extension"],
    ["SELECT Load_Extension /* why */ (x) FROM t", "calls load_extension"],
    ['SELECT "load_extension"(x) FROM t', "calls load_extension"],
    ["SELECT [load_extension] (x) FROM t", "calls load_extension"],
  ])("%s is refused when the configuration is read", (query, words) => {
    expect(String(queryProblem(query))).toContain(words);
    expect(() => parse(`${MINIMAL}\nimports: { stocks: { query: ${JSON.stringify(query)} } }\n`)).toThrow(words);
  });

  it.each([
    "SELECT 1",
    "SELECT 1;",
    "SELECT 1 ; -- the end; really",
    "SELECT 1; /* ; */ ;",
    "SELECT ';', \"a;b\", [c;d], `e;f` FROM t",
    "SELECT 'it''s; fine' FROM t",
    "SELECT load_extension FROM t WHERE name = 'load_extension(x)'",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c",
  ])("%s is accepted", (query) => {
    expect(queryProblem(query)).toBeNull();
  });

  it("is divided as SQLite itself divides it", () => {
    const db = new Database(":memory:");
    const pieces = fc.constantFrom(
      "SELECT 1",
      ";",
      " ",
      "'",
      "''",
      '"',
      "--",
      "\n",
      "/*",
      "*/",
      "[",
      "]",
      "`",
      "a",
      ",",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const sql = `SELECT 1 ${parts.join("")}`;
        let isMany = false;
        try {
          db.prepare(sql);
        } catch (error) {
          isMany = /more than one statement/.test(String(error));
          if (!isMany) return; // no statement at all
        }
        expect(queryProblem(sql) !== null, sql).toBe(isMany);
      }),
      { numRuns: runs(25, 500) },
    );
    db.close();
  });
});
