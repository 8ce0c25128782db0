import path from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import type { FeedRules } from "../../src/feeds/feed.ts";
import { openSource } from "../../src/feeds/source-reader.ts";
import { tempFolder } from "../support/temp.ts";

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
  expect([...reader.rows(true)][0]).toEqual({ sku: "A", name: bytes });
  expect(reader.find(["A"])).toEqual([{ sku: "A", name: bytes }]);
  expect(reader.find(["B"])).toEqual([{ sku: "B", name: "good" }]);
  reader.close();
});
