import Database from "better-sqlite3";
import { describe, expect } from "vitest";
import { importKey } from "../../src/sandbox/imports.ts";
import { type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { isWhole, itSome } from "../support/whole.ts";

const ROWS = 15;
const RECORD = { sku: "{sku}", warehouse: "{warehouse}", ean: "{ean}", quantity: "{available|number}" };
const STOCKS = {
  table: "goods",
  key: ["sku"],
  record: RECORD,
  guard: { percent: 30, from: 5 },
  delete_after: "2m",
};
const GOODS = `(id INTEGER PRIMARY KEY, sku TEXT UNIQUE, ean TEXT UNIQUE, warehouse TEXT, above TEXT, quantity, reserved DEFAULT 0)`;

type Stocks = Record<string, unknown>;
/** What the feed is told before and after, and what the ERP does to its schema in between. */
const CHANGES: [name: string, after: Stocks, before?: Stocks, erp?: string][] = [
  ["a key that the record names", { key: ["ean"] }],
  ["a key of one more column", { key: ["sku", "warehouse"] }],
  ["a key of one column less", { key: ["sku"] }, { key: ["sku", "warehouse"] }],
  ["a key in another order", { key: ["warehouse", "sku"] }, { key: ["sku", "warehouse"] }],
  ["a key that only the source names", { key: ["id"] }],
  [
    "a key that is called otherwise",
    { table: "wares", key: ["code"], record: { ...RECORD, sku: "{code}" } },
    {},
    "CREATE TABLE wares AS SELECT *, sku AS code FROM goods",
  ],
  [
    "a key that nothing of before names",
    { table: "wares", key: ["code"], record: { sku: "{name}", quantity: "{available|number}" } },
    { record: { sku: "{sku}", quantity: "{available|number}" } },
    `CREATE TABLE wares AS SELECT *, 'c' || id AS code FROM goods;
     ALTER TABLE wares RENAME COLUMN sku TO name`,
  ],
  [
    "a key of a feed that is read through",
    { query: "SELECT * FROM goods", key: ["ean"] },
    { query: "SELECT * FROM goods" },
  ],
  ["a template with the level elsewhere", { record: { ...RECORD, quantity: 1, stock: { left: "{available}" } } }],
  ["a template without the key", { record: { sku: "{ean}", quantity: "{available|number}" } }],
  ["another calculation", { available: "quantity" }],
  ["another table", { table: "copy" }, {}, "CREATE TABLE copy AS SELECT * FROM goods"],
  ["a view", { table: "seen" }, {}, "CREATE VIEW seen AS SELECT * FROM goods"],
  ["a query", { query: "SELECT * FROM goods WHERE sku <> ''" }],
  ["a table instead of a query", { query: null }, { query: "SELECT * FROM goods" }],
  ["another query", { query: "SELECT *, 1 AS more FROM goods" }, { query: "SELECT * FROM goods" }],
  ["another file", { file: "OTHER" }],
  ["a file no more", { file: null }, { file: "OTHER" }],
  ["a parent", { parent: "above", record: { ...RECORD, above: "{above}" } }],
  ["a parent no more", { parent: null }, { parent: "above", record: { ...RECORD, above: "{above}" } }],
  ["the whole table", { scope: "whole" }],
  ["single rows again", { scope: "changed" }, { scope: "whole" }],
];
const WAITING = ["nothing", "changes", "a deletion", "an unknown outcome"] as const;

function levelsOf(record: string): unknown[] {
  const { quantity, stock } = JSON.parse(record) as { quantity?: unknown; stock?: { left?: unknown } };
  return [quantity, stock?.left].filter((level) => level !== undefined);
}

function zerosOf({ sandbox }: PushedFeeds, skus: readonly string[]): string[] {
  return skus.filter((sku) =>
    ["", "east", "west"]
      .flatMap((warehouse) => sandbox.ledger.acceptedValues("stocks", importKey(sku, warehouse)))
      .some((record) => levelsOf(record).includes(0)),
  );
}

describe("a feed whose rules are changed", () => {
  itSome(1)(
    CHANGES.flatMap(([name, after, before = {}, erp = ""], at) =>
      WAITING.filter((_, index) => isWhole || index === at % WAITING.length).map((waiting) => ({
        ...{ name, waiting, after, before, erp },
      })),
    ),
  )("sends no zero for it: $name, while there waits $waiting", async ({ waiting, after, before, erp }) => {
    const settings = (stocks: Stocks, folder: string) => ({
      imports: {
        stocks: { ...STOCKS, ...stocks, ...("file" in stocks && stocks["file"] !== null ? { file: folder } : {}) },
      },
    });
    const test = await startFeeds({ settings: { imports: { stocks: { path: null } } }, arm: [] });
    const other = `${test.bridge.store.path}.other`;
    for (const db of [test.erp, new Database(other)]) {
      db.exec(`CREATE TABLE goods ${GOODS}`);
      const insert = db.prepare("INSERT INTO goods (sku, ean, warehouse, above, quantity) VALUES (?, ?, ?, ?, ?)");
      for (let n = 1; n <= ROWS; n++) {
        insert.run(`S-${n}`, `E-${n}`, n % 2 === 0 ? "east" : "west", n > 9 ? `S-${n - 9}` : null, 10 + n);
      }
      if (db !== test.erp) db.close();
    }
    const write = (sql: string) => {
      test.erp.exec(sql);
      const db = new Database(other);
      db.exec(sql);
      db.close();
    };
    await test.restart(settings(before, other));
    await test.minute();
    expect(Object.keys(test.site())).toHaveLength(ROWS);
    const whole =
      { ...STOCKS, ...after }["scope" as never] === "whole" || { ...STOCKS, ...before }["scope" as never] === "whole";
    if (whole) test.sandbox.service.setOptions({ imports: { stocks: { replace: true } } });
    const gone = waiting === "a deletion" ? ["S-15"] : [];
    if (waiting === "changes") {
      test.sandbox.service.setOptions({ paid: false });
      write("UPDATE goods SET quantity = quantity + 100 WHERE id < 5");
    }
    if (waiting === "a deletion") write("DELETE FROM goods WHERE sku = 'S-15'");
    if (waiting === "an unknown outcome") {
      write("UPDATE goods SET quantity = quantity + 100 WHERE id < 5");
      test.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    }
    await test.minute();
    test.sandbox.service.setOptions({ paid: true });
    test.erp.exec(erp);
    await test.restart(settings({ ...before, ...after }, other));
    test.clock.advance(31 * 60_000);
    for (let passed = 0; passed < 8; passed++) await test.minute();
    const held = Array.from({ length: ROWS }, (_, index) => `S-${index + 1}`).filter((sku) => !gone.includes(sku));
    expect(zerosOf(test, held)).toEqual([]);
    expect(test.holds()).toEqual([]);
    expect(test.rows("SELECT * FROM feed_outbox")).toEqual([]);
    const [feed] = test.rows<{ n: number; rekey: string | null }>(
      "SELECT live_count AS n, rekey_from AS rekey FROM feeds WHERE name = 'stocks'",
    );
    expect(feed).toEqual({ n: ROWS - gone.length, rekey: null });
    expect(test.rows("SELECT count(*) AS n FROM feed_sent WHERE live = 1")).toEqual([{ n: ROWS - gone.length }]);
    // The guard is as strong as it was.
    write("UPDATE goods SET quantity = 0");
    const table = String({ ...STOCKS, ...after }.table);
    if (table !== "goods" && table !== "seen") test.erp.exec(`UPDATE ${table} SET quantity = 0`);
    for (let passed = 0; passed < 3; passed++) await test.minute();
    expect(test.holds()).toEqual([{ area: "stocks", reason: "guard" }]);
    expect(zerosOf(test, held)).toEqual([]);
    await test.close();
  });
});

itSome(1)([
  ["some rows", "DELETE FROM stock WHERE sku = 'a'", [0, 0]],
  ["every row", "DELETE FROM stock", [0, 0]],
])("what was acknowledged as gone elsewhere goes to this address as gone: %s", async (_what, sql, expected) => {
  const elsewhere = { path: "/api/v1/import/prices", property: "prices" };
  const here = { delete_after: "0s", guard: { from: 1000 } };
  const test = await startFeeds({ settings: { imports: { stocks: here } } });
  test.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('a', 5), ('b', 3), ('c', 2)");
  await test.minute();
  await test.restart({ imports: { stocks: { ...here, ...elsewhere } } });
  await test.minute();
  test.erp.exec(`UPDATE stock SET quantity = 0 WHERE sku = 'b'; ${sql}`);
  await test.minutes(2);
  expect([test.level("a"), test.level("b")]).toEqual([5, 3]);
  await test.restart({ imports: { stocks: { ...here, path: "/api/v1/import/stocks", property: "stocks" } } });
  await test.minutes(2);
  expect([test.level("a"), test.level("b")]).toEqual(expected);
  test.requests();
  await test.compare();
  await test.minute();
  expect([test.requests(), test.rows("SELECT k0 FROM feed_outbox")]).toEqual([[], []]);
});
