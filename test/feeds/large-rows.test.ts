import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FeedRules } from "../../src/feeds/feed.ts";
import { firstOf, ROW_BYTES_MAX, STEP_BYTES_MAX } from "../../src/feeds/feed-record.ts";
import { loadDifferent, saveQueued } from "../../src/feeds/feed-rows.ts";
import { loadSourcePage, loadUnnamedRows, type PageEnd } from "../../src/feeds/source/feed-source.ts";
import { type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const TOO_LARGE = ROW_BYTES_MAX + 1_000_000;
const MB = 1_000_000;

const text = (bytes: number) => `printf('%.*c', ${bytes}, 'x')`;
const held = ({ quarantined }: PushedFeeds) => quarantined().filter(({ state }) => state === "held");
const reason = expect.stringContaining(`a row of more than ${ROW_BYTES_MAX} is not read`);

describe("a row that is too large to be read", () => {
  itWhole.each([
    ["text", text(TOO_LARGE)],
    ["a blob", `zeroblob(${TOO_LARGE})`],
  ])("is held alone, with its size, until it is smaller: %s", async (_, value) => {
    const test = await startFeeds();
    const { erp, minute, compare, level, rows } = test;
    erp.exec(`INSERT INTO stock (sku, quantity) VALUES ('A', 1), ('BIG', ${value}), ('Z', 2)`);
    await minute();
    expect([level("A"), level("BIG"), level("Z")]).toEqual([1, undefined, 2]);
    expect(held(test)).toEqual([{ reference: "BIG", reason, state: "held" }]);
    expect(held(test)[0]?.reason).toContain(`${TOO_LARGE + 3 + 1} bytes`);
    expect(rows("SELECT length(payload) < 200 AS isShort FROM quarantine")).toEqual([{ isShort: 1 }]);
    await compare();
    await minute();
    expect(rows("SELECT times FROM quarantine")).toEqual([{ times: 1 }]);
    erp.exec("UPDATE stock SET quantity = 7 WHERE sku = 'BIG'");
    await minute();
    expect([level("BIG"), held(test)]).toEqual([7, []]);
    erp.exec(`UPDATE stock SET quantity = ${value} WHERE sku = 'BIG'; UPDATE stock SET quantity = 0 WHERE sku = 'A'`);
    await compare();
    await minute();
    expect([level("A"), level("BIG"), held(test).length]).toEqual([0, 7, 1]);
  });

  it("is held as a row without a key where the key is too large", async () => {
    const test = await startFeeds();
    const { erp, minute, compare, level, rows } = test;
    erp.exec(`INSERT INTO stock (sku, quantity) VALUES ('A', 1), (${text(TOO_LARGE)}, 5)`);
    await minute();
    await compare();
    await minute();
    expect(level("A")).toBe(1);
    expect(held(test)).toEqual([{ reference: null, reason, state: "held" }]);
    expect(rows("SELECT count(*) AS n FROM feed_dirty")).toEqual([{ n: 0 }]);
    erp.exec("DELETE FROM stock WHERE sku <> 'A'");
    await minute();
    await compare();
    await minute();
    expect(held(test)).toEqual([]);
  });

  itWhole("is held alone where its values are too large together", async () => {
    const test = await startFeeds();
    const half = text(ROW_BYTES_MAX / 2);
    test.erp.exec(`INSERT INTO stock (sku, quantity, reserved) VALUES ('A', 1, 0), ('BIG', ${half}, ${half})`);
    await test.minute();
    expect([test.level("A"), held(test)]).toEqual([1, [{ reference: "BIG", reason, state: "held" }]]);
  });

  itWhole.each([
    ["a view", { table: "for_sale" }],
    ["a query", { query: "SELECT sku, warehouse, quantity || '' AS quantity, reserved FROM stock" }],
    ["another file", "file"],
  ] as const)("is held alone in %s", async (_, source) => {
    const file = path.join(tempFolder("erp"), "erp.db");
    const settings = source === "file" ? { file, table: "stock" } : source;
    const test = await startFeeds({ settings: { imports: { stocks: settings } }, arm: [] });
    const erp = source === "file" ? new Database(file) : test.erp;
    onTestFinished(() => void erp.close());
    if (source === "file") erp.exec("CREATE TABLE stock (sku, warehouse DEFAULT '', quantity, reserved DEFAULT 0)");
    else erp.exec("CREATE VIEW for_sale AS SELECT sku, warehouse, quantity, reserved FROM stock");
    erp.exec(`INSERT INTO stock (sku, quantity) VALUES ('A', 1), ('BIG', ${text(TOO_LARGE)}), ('Z', 2)`);
    await test.minute();
    await test.minute();
    expect([test.level("A"), test.level("BIG"), test.level("Z")]).toEqual([1, undefined, 2]);
    expect(held(test)).toEqual([{ reference: "BIG", reason, state: "held" }]);
    erp.exec("UPDATE stock SET quantity = 3 WHERE sku = 'BIG'");
    await test.minute();
    expect([test.level("BIG"), held(test)]).toEqual([3, []]);
  });

  itWhole("is held where its record is too long, although the row is not", async () => {
    const test = await startFeeds({
      settings: {
        imports: {
          stocks: { key: ["sku"], record: { sku: "{sku}", quantity: "{available}", a: "{warehouse}{warehouse}" } },
        },
      },
    });
    test.erp.exec(`INSERT INTO stock (sku, warehouse, quantity) VALUES ('A', '', 1), ('L', ${text(9 * MB)}, 1)`);
    await test.minute();
    expect(held(test).map((row) => row.reason)).toEqual([expect.stringContaining("the record is longer than")]);
    expect(test.level("A")).toBe(1);
  });
});

describe("many large rows", () => {
  itWhole("are compared in steps, and sent in requests of a bounded size", async () => {
    const test = await startFeeds({
      settings: {
        imports: { stocks: { key: ["sku"], record: { sku: "{sku}", quantity: "{available}", place: "{warehouse}" } } },
      },
    });
    const { erp, minute, requests, level } = test;
    const insert = erp.prepare(`INSERT INTO stock (sku, warehouse, quantity) VALUES (?, ?, 1)`);
    for (let n = 0; n < 9; n++) insert.run(`S-${n}`, "x".repeat(3 * MB));
    await minute();
    await minute();
    expect(requests()).toHaveLength(2);
    erp.exec("UPDATE stock SET quantity = 2");
    await minute();
    await minute();
    expect([level("S-0"), level("S-8")]).toEqual([2, 2]);
    erp.exec("DELETE FROM stock");
    await minute();
    expect(test.rows("SELECT count(*) AS n FROM feed_dirty")).toEqual([{ n: 0 }]);
    expect(test.rows("SELECT count(*) AS n FROM feed_outbox WHERE gone = 1")).toEqual([{ n: 9 }]);
  });

  it.each([
    ["sku TEXT PRIMARY KEY, quantity)", 1],
    ["sku TEXT PRIMARY KEY, quantity) WITHOUT ROWID", 1],
    ["sku TEXT, place TEXT DEFAULT 'p', quantity, PRIMARY KEY (place, sku)) WITHOUT ROWID", 1],
  ])("are read page by page, each once, beside a key that is too large: %s", async (columns, unnamed) => {
    const { bridge } = await startFeeds();
    const { store } = bridge;
    store.db.exec(`CREATE TABLE goods (${columns}`);
    const insert = store.db.prepare("INSERT INTO goods (sku, quantity) VALUES (?, ?)");
    for (const sku of ["a", "b", "c", "g"]) insert.run(sku, "x".repeat(3 * MB));
    insert.run(`d${"x".repeat(TOO_LARGE)}`, 1);
    insert.run(`e${"x".repeat(TOO_LARGE)}`, 1);
    const rules = { feedId: 1, table: "goods", keys: ["sku"], columns: ["sku", "quantity"] } as unknown as FeedRules;
    const pages: unknown[][] = [];
    for (let after: PageEnd | undefined; pages.length < 20; ) {
      const page = loadSourcePage(store, rules, after, 3);
      if (page.end === undefined) break;
      after = page.end;
      pages.push(page.keys.map(([sku]) => sku));
    }
    const found = pages.flat();
    expect(found.filter((sku) => sku !== null).sort()).toEqual(["a", "b", "c", "g"]);
    expect(found).toHaveLength(6);
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(3);
    expect(pages[0]).toHaveLength(2);
    expect(loadUnnamedRows(store, rules, 100)).toHaveLength(2 * unnamed);
  });

  itWhole("are compared with as many known records as are in memory at a time", async () => {
    const { bridge } = await startFeeds();
    const { store } = bridge;
    const rules = { feedId: 1, keys: ["sku"], identity: [], article: [], dependents: [] } as unknown as FeedRules;
    const keys = Array.from({ length: 7 }, (_, n) => [`S-${n}`]);
    const record = JSON.stringify("x".repeat(5 * MB));
    store.write(() => {
      const queued = { gone: false, isDrop: false, priority: 2, parent: null };
      for (const key of keys)
        saveQueued(store, rules, [{ key, record, ...queued }], { at: "", nowMs: 0, droppedAt: "" });
    });
    const { different, compared } = loadDifferent(
      store,
      rules,
      keys.map((key) => ({ key, record: "{}", parent: null })),
    );
    expect([different.length, compared]).toEqual([4, 4]);
  });
});

describe("the first of many values", () => {
  it.each([
    [[], 0],
    [[STEP_BYTES_MAX * 9], 1],
    [[1, 2, 3], 3],
    [[STEP_BYTES_MAX, 1, 1], 2],
    [[STEP_BYTES_MAX + 1, 1], 1],
  ])("end with the one that exceeds the limit: %j", (sizes, count) => {
    expect(firstOf(sizes, (bytes) => bytes)).toHaveLength(count);
  });
});
