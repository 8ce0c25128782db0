import path from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import type { FeedRules } from "../../src/feeds/feed.ts";
import { openSource } from "../../src/feeds/source/source-reader.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome } from "../support/whole.ts";

it("gives text that is no UTF-8 as its bytes, whether all rows are read or one", () => {
  const file = path.join(tempFolder(), "erp.db");
  const db = new Database(file);
  db.exec(
    "CREATE TABLE goods (sku TEXT, name TEXT); INSERT INTO goods VALUES ('A', CAST(x'cff0e8' AS TEXT)), ('B', 'good')",
  );
  db.close();
  const rules = { name: "stocks", table: "goods", query: null, file, keys: ["sku"], columns: ["sku", "name"] };
  const reader = openSource(rules as unknown as FeedRules, file);
  const bytes = Buffer.from("cff0e8", "hex");
  expect([...reader.rows({ exactly: true })][0]).toEqual({ sku: "A", name: bytes });
  expect(reader.find(["A"])).toEqual([{ sku: "A", name: bytes }]);
  expect(reader.find(["B"])).toEqual([{ sku: "B", name: "good" }]);
  reader.close();
});

/** A database of an ERP's whose SQLite takes a word in double quotes for text: `~x~` stands for such a word. */
function makeQuoted(sql: string): string {
  const file = path.join(tempFolder(), "erp.db");
  const db = new Database(file);
  db.exec(sql.replaceAll("~", "`"));
  db.unsafeMode();
  db.pragma("writable_schema = ON");
  db.exec(`UPDATE sqlite_schema SET sql = replace(sql, '\`', '"')`);
  db.close();
  return file;
}

const GOODS = `CREATE TABLE goods (sku, main, kind); INSERT INTO goods VALUES ('A', 1, 'x'), ('B', 2, 'main'), ('C', 3, 'it"s');`;

itSome(4)([
  ["a word", "CREATE VIEW v AS SELECT sku, ~x~ AS n FROM goods WHERE kind <> ~it''s~", "A=x B=x C=x"],
  ["a quote", 'CREATE VIEW v AS SELECT sku, ~it""s~ || ~\'~ AS n FROM goods WHERE kind = ~it""s~', `C=it"s'`],
  [
    "an alias",
    "CREATE VIEW v AS SELECT sku, ~x~ AS ~y~, kind AS ~n~ FROM goods ORDER BY ~n~, ~z~, ~y~",
    'C=it"s B=main A=x',
  ],
  [
    "a column in one place",
    "CREATE VIEW v AS SELECT sku, ~main~ || (SELECT max(~main~) FROM (SELECT 1 AS one)) || ~sku~ AS n FROM goods",
    "C=33C",
  ],
  [
    "a column in one place and text in another",
    "CREATE VIEW v AS SELECT ~sku~, (SELECT ~main~ FROM (SELECT 1 AS one)) || n AS n FROM (SELECT sku, (SELECT group_concat(~sku~ || ~kind~) FROM (SELECT 5 AS ~sku~)) AS n FROM (SELECT sku FROM goods))",
    "A=main5kind B=main5kind C=main5kind",
  ],
  [
    "other views",
    `CREATE VIEW inn AS SELECT sku, ~main~ AS n, kind AS ~w~ FROM goods WHERE ~main~ > 1; CREATE VIEW other AS SELECT ~main~ AS m, ~w~ AS w FROM (SELECT 1);
     CREATE VIEW v (sku, n) AS SELECT ~sku~, ~n~ || m || other.w || ~n2~ || inn.~w~ FROM inn, other WHERE m = ~main~`,
    'B=2mainwn2main C=3mainwn2it"s',
  ],
])("reads a view with %s in double quotes as the ERP does", (_, sql, expected) => {
  const file = makeQuoted(GOODS + sql);
  for (const query of [null, "SELECT * FROM v"]) {
    const rules = { name: "stocks", table: "v", query, file, keys: ["sku"], columns: ["sku", "n"] };
    const reader = openSource(rules as unknown as FeedRules, file);
    expect([...reader.rows({ exactly: false })].map(({ sku, n }) => `${sku}=${n}`).join(" ")).toBe(expected);
    expect(reader.measure().rows).toBe(expected.split(" ").length);
    reader.close();
  }
});

it("names what it cannot read in double quotes", () => {
  const file = makeQuoted(
    `${GOODS} CREATE VIEW v AS SELECT sku, ~x~ AS n FROM goods; CREATE VIEW w AS SELECT * FROM main.v`,
  );
  const rules = { name: "stocks", table: "w", query: null, file, keys: ["sku"], columns: ["sku", "n"] };
  expect(() => openSource(rules as unknown as FeedRules, file)).toThrow(/no such column: "x"/);
});
