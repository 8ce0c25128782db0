import { describe, expect, it } from "vitest";
import { FEED_IDS } from "../../src/feeds/feed.ts";
import { approveGuarded } from "../../src/feeds/guard/guard-rows.ts";
import { decideFormer, listFormer } from "../../src/feeds/rekey/former-rows.ts";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

type Settings = Record<string, unknown>;

/** Table, columns, and record of a table of the ERP's own with its own names, and how it is filled. */
const OWN = {
  stocks: {
    own: { table: "goods", key: ["article"], record: { sku: "{article}", warehouse: "", quantity: "{available}" } },
    before: "INSERT INTO stock (sku, quantity) VALUES ('a', 1), ('b', 2), ('c', 5)",
    after:
      "CREATE TABLE goods (article, quantity, reserved DEFAULT 0); INSERT INTO goods (article, quantity) VALUES ('a', 3), ('z', 4)",
    off: { sku: "c", quantity: 0 },
  },
  catalog: {
    own: { table: "goods", key: ["article"], record: { sku: "{article}", name: "{title}", active: "{active|bool}" } },
    before: "INSERT INTO products (sku, name) VALUES ('a', 'A'), ('b', 'B'), ('c', 'C')",
    after:
      "CREATE TABLE goods (article, title, active DEFAULT 1); INSERT INTO goods (article, title) VALUES ('a', 'A'), ('z', 'Z')",
    off: { sku: "c", active: false },
  },
} as const;

async function startOwn(feed: "stocks" | "catalog", settings: Settings = {}): Promise<PushedFeeds> {
  const test = await startFeeds({
    settings: { imports: { [feed]: { path: `/api/v1/import/${feed}`, delete_after: "10m", ...settings } } },
    arm: [feed],
  });
  test.erp.exec(OWN[feed].before);
  await test.minute(feed);
  return test;
}

const conditions = ({ bridge, clock }: PushedFeeds) =>
  listConditions(loadFacts(bridge.store), { nowMs: clock.nowMs(), isRunning: true }, { erpReadWithinMs: 1e12 })
    .filter(({ code }) => code === "former_rows")
    .map(({ subject, params }) => ({ subject, params }));

const decide = ({ bridge }: PushedFeeds, how: "gone" | "kept") =>
  bridge.store.write(() => decideFormer(bridge.store, "stocks", how));

const former = ({ bridge }: PushedFeeds) =>
  listFormer(bridge.store, "stocks").map(({ name, state }) => ({ name, state }));

/** The names are JSON of the ERP's own, which may say anything. */
const OLD = {
  ...{ delete_after: "10m", table: "old", key: ["id"] },
  record: { sku: "{name|json}", quantity: "{available}" },
};

/** Neither the key of before nor that of now stands in a record, nor what names an article, and no row has both. */
async function startUntold(): Promise<PushedFeeds> {
  const test = await startFeeds();
  test.erp.exec(`CREATE TABLE old (id, name, quantity, reserved DEFAULT 0);
    INSERT INTO old (id, name, quantity) VALUES (1, '"a"', 1), (2, '"b"', 2), (3, '"c"', 5)`);
  await test.restart({ imports: { stocks: OLD } });
  await test.minute();
  test.erp.exec(`CREATE TABLE goods (code, name, quantity, reserved DEFAULT 0);
    INSERT INTO goods (code, name, quantity) VALUES ('x', '"a"', 3)`);
  await test.restart({ imports: { stocks: { ...OLD, table: "goods", key: ["code"] } } });
  await test.minute();
  return test;
}

describe("what was sent under a former key", () => {
  itSome(1)(["stocks", "catalog"] as const)(
    "is named by the new template and goes away where the new source lacks it: %s",
    async (feed) => {
      const { own, after, off } = OWN[feed];
      const test = await startOwn(feed);
      test.erp.exec(after);
      await test.restart({ imports: { [feed]: { path: `/api/v1/import/${feed}`, delete_after: "10m", ...own } } });
      await test.minute(feed);
      expect(test.site(feed)).toHaveProperty("b");
      for (let passed = 0; passed < 12; passed++) await test.minute(feed);
      expect(test.site(feed)["c"]).toMatchObject(off);
      expect(test.site(feed)["a"]).not.toMatchObject({ quantity: 0 });
      expect([test.holds(), former(test)]).toEqual([[], []]);
      expect(test.rows(`SELECT state FROM ${feed === "stocks" ? "stock_sent" : "products_sent"}`)).toHaveLength(4);
    },
  );

  itWhole(
    "goes away under its former name where the new key cannot name it, and its article is not there",
    async () => {
      const test = await startOwn("stocks");
      test.erp.exec(
        "CREATE TABLE goods (code, article, quantity, reserved DEFAULT 0); INSERT INTO goods (code, article, quantity) VALUES (1, 'a', 3), (2, 'b', 4)",
      );
      const record = { sku: "{article}", quantity: "{available}" };
      await test.restart({ imports: { stocks: { delete_after: "10m", table: "goods", key: ["code"], record } } });
      await test.minutes(2);
      expect([test.level("a"), test.level("c"), former(test)]).toEqual([
        ...[3, 5],
        [{ name: '{"sku":"c","warehouse":""}', state: "away" }],
      ]);
      await test.minutes(12);
      expect([test.level("a"), test.level("b"), test.level("c"), former(test)]).toEqual([3, 4, 0, []]);
      expect(test.rows("SELECT * FROM feed_outbox")).toEqual([]);
    },
  );

  itWhole("stays on sale where its article comes to the new source under a name that nothing told before", async () => {
    const test = await startOwn("stocks");
    test.erp.exec("CREATE TABLE goods (code, article, quantity, reserved DEFAULT 0)");
    test.erp.exec("INSERT INTO goods (code, article, quantity) VALUES (1, 'a', 3), (2, 'b', 4)");
    const record = { sku: "{article}", quantity: "{available}" };
    await test.restart({ imports: { stocks: { delete_after: "10m", table: "goods", key: ["code"], record } } });
    await test.minutes(2);
    test.erp.exec("INSERT INTO goods (code, article, quantity) VALUES (3, 'c', 7)");
    await test.minutes(15);
    expect([test.levels("c"), former(test)]).toEqual([[5, 7], []]);
  });

  itWhole("waits for a person where the record of before does not tell, with its keys", async () => {
    const test = await startUntold();
    await test.minutes(15);
    expect(conditions(test)).toEqual([{ subject: "stocks", params: { count: 3, keys: "1, 2, 3" } }]);
    expect([test.level("a"), test.level("b"), test.level("c"), test.holds()]).toEqual([3, 2, 5, []]);
    expect(decide(test, "gone")).toBe(3);
    await test.minute();
    expect([test.level("b"), test.level("c"), test.holds(), conditions(test)]).toEqual([0, 0, [], []]);
  });

  itWhole("stays as it is where a person says so, and is known again under its former key", async () => {
    const test = await startUntold();
    decide(test, "kept");
    await test.minutes(15);
    expect([test.level("c"), conditions(test)]).toEqual([5, []]);
    test.erp.exec("DELETE FROM old WHERE id = 2");
    await test.restart({ imports: { stocks: OLD } });
    await test.minute();
    test.erp.exec("DELETE FROM old WHERE id = 3");
    await test.minutes(15);
    // Of what was not there any more stays what a person has said.
    expect([test.level("b"), test.level("c")]).toEqual([2, 0]);
    expect(former(test)).toContainEqual({ name: '{"id":"2"}', state: "kept" });
  });

  itWhole("waits for a person where one row stands for two of before", async () => {
    const test = await startOwn("stocks");
    test.erp.exec("INSERT INTO stock (sku, warehouse, quantity) VALUES ('d', 'east', 2), ('d', 'west', 3)");
    await test.minute();
    const stocks = {
      ...{ delete_after: "10m", available: "quantity", key: ["sku"] },
      query: "SELECT sku, sum(quantity) AS quantity FROM stock GROUP BY sku",
      record: { sku: "{sku}", warehouse: "", quantity: "{available}" },
    };
    await test.restart({ imports: { stocks } });
    await test.minutes(15);
    expect(test.site()).toMatchObject({ d: { quantity: 5 }, "d east": { quantity: 2 }, "d west": { quantity: 3 } });
    expect(conditions(test)).toEqual([{ subject: "stocks", params: { count: 2, keys: "d/east, d/west" } }]);
    decide(test, "gone");
    await test.minute();
    expect(test.site()).toMatchObject({ d: { quantity: 5 }, "d east": { quantity: 0 }, "d west": { quantity: 0 } });
    expect([test.level("a"), test.level("b"), test.level("c")]).toEqual([1, 2, 5]);
  });

  itWhole("is counted by the guard", async () => {
    const test = await startOwn("stocks", { guard: { percent: 30, from: 2 } });
    test.erp.exec(OWN.stocks.after);
    const { own } = OWN.stocks;
    await test.restart({ imports: { stocks: { delete_after: "10m", guard: { percent: 30, from: 2 }, ...own } } });
    await test.minutes(15);
    expect([test.holds(), test.level("b"), test.level("c")]).toEqual([[{ area: "stocks", reason: "guard" }], 2, 5]);
  });

  itWhole("is not forgotten where the key is changed once more before all rows have their names", async () => {
    const test = await startOwn("stocks");
    await test.restart({ imports: { stocks: { ...OWN.stocks.own, table: "missing", delete_after: "10m" } } });
    await test.minute();
    // Some rows had their names when the daemon ended.
    test.erp.exec(`UPDATE feed_sent SET feed_id = -${FEED_IDS.stocks} WHERE k0 <> 'b'`);
    test.erp.exec("CREATE TABLE wares (code, quantity, reserved DEFAULT 0)");
    test.erp.exec("INSERT INTO wares (code, quantity) VALUES ('a', 3)");
    const record = { sku: "{code}", warehouse: "", quantity: "{available}" };
    await test.restart({ imports: { stocks: { delete_after: "10m", table: "wares", key: ["code"], record } } });
    await test.minutes(15);
    expect([test.levels("a"), test.level("b"), test.level("c"), former(test)]).toEqual([[1, 3], 0, 0, []]);
  });
});

describe("another table under the same key", () => {
  it("is guarded as any other loss of rows", async () => {
    const stocks = { delete_after: "10m", guard: { percent: 30, from: 2 } };
    const test = await startOwn("stocks", stocks);
    test.erp.exec(
      "CREATE TABLE other AS SELECT * FROM stock WHERE 0; INSERT INTO other (sku, warehouse, quantity) VALUES ('z', '', 4)",
    );
    test.erp.exec("UPDATE other SET reserved = 0");
    await test.restart({ imports: { stocks: { ...stocks, table: "other" } } });
    await test.minutes(15);
    expect([test.holds(), test.level("a"), test.level("z")]).toEqual([[{ area: "stocks", reason: "guard" }], 1, 4]);
  });
});

const GOODS = {
  delete_after: "10m",
  table: "goods",
  key: ["id"],
  record: { sku: "{article}", quantity: "{available}" },
};

async function startGoods(settings: Settings = {}): Promise<PushedFeeds> {
  const test = await startFeeds();
  test.erp.exec(`CREATE TABLE goods (id INTEGER PRIMARY KEY, article, quantity, reserved DEFAULT 0);
    INSERT INTO goods (article, quantity) VALUES ('a', 5), ('b', 5), ('c', 5)`);
  await test.restart({ imports: { stocks: { ...GOODS, ...settings } } });
  await test.minute();
  return test;
}

describe("an article that its row names no longer", () => {
  it("goes away where the ERP writes another one into the row", async () => {
    const test = await startGoods();
    test.erp.exec("UPDATE goods SET article = 'y', quantity = 7 WHERE id = 1");
    await test.minutes(2);
    expect([test.level("y"), test.level("a"), former(test)]).toEqual([7, 5, [{ name: '{"sku":"a"}', state: "away" }]]);
    await test.minutes(12);
    expect([test.level("y"), test.level("a"), former(test), conditions(test)]).toEqual([7, 0, [], []]);
    test.erp.exec("UPDATE goods SET quantity = 0");
    await test.minute();
    expect([test.level("y"), test.level("b"), test.level("c")]).toEqual([0, 0, 0]);
    expect(test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'")).toEqual([{ live: 0 }]);
  });

  itWhole.each([
    ["it has no number", "NULL"],
    ["its number is none", "'1,5'"],
  ])("goes away where the ERP writes another one into the row, which cannot be sent: %s", async (_what, quantity) => {
    const test = await startGoods();
    test.erp.exec(`UPDATE goods SET article = 'y', quantity = ${quantity} WHERE id = 1`);
    test.erp.exec(
      `UPDATE goods SET article = 'b', quantity = ${quantity} WHERE id = 3; DELETE FROM goods WHERE id = 2`,
    );
    await test.minutes(15);
    expect(["a", "b", "c", "y"].map((sku) => test.level(sku))).toEqual([0, 5, 0, undefined]);
    expect([former(test), test.quarantined().length]).toEqual([[], 2]);
    const [counted, live] = liveCounts(test);
    expect(counted).toEqual(live);
    test.erp.exec("DELETE FROM goods");
    await test.minutes(15);
    expect(["a", "b", "c", "y"].map((sku) => test.level(sku))).toEqual([0, 0, 0, undefined]);
    expect(test.rows("SELECT id FROM feed_outbox")).toEqual([]);
  });

  itWhole("goes away where its row was deleted and another one has its id", async () => {
    const test = await startGoods();
    test.erp.exec("DELETE FROM goods WHERE article = 'c'; INSERT INTO goods (article, quantity) VALUES ('z', 4)");
    expect(test.rows("SELECT id FROM goods WHERE article = 'z'")).toEqual([{ id: 3 }]);
    await test.minutes(15);
    expect([test.level("z"), test.levels("c"), test.levels("a")]).toEqual([4, [5, 0], [5]]);
  });

  itWhole("goes away where its id was given to another one after the deletion was noted", async () => {
    const test = await startGoods();
    test.erp.exec("DELETE FROM goods WHERE article = 'c'");
    await test.minutes(2);
    test.erp.exec("INSERT INTO goods (article, quantity) VALUES ('z', 0)");
    await test.minutes(15);
    expect([test.level("z"), test.levels("c")]).toEqual([0, [5, 0]]);
  });

  itWhole("goes away under another template with the same key", async () => {
    const test = await startGoods({ record: { sku: "{id}", quantity: "{available}" } });
    test.erp.exec("DELETE FROM goods WHERE id = 3");
    await test.restart({ imports: { stocks: GOODS } });
    await test.minutes(15);
    expect(test.site()).toMatchObject({ a: { quantity: 5 }, b: { quantity: 5 } });
    expect(["1", "2", "3"].map((id) => test.site()[id])).toMatchObject([
      { quantity: 0 },
      { quantity: 0 },
      { quantity: 0 },
    ]);
    expect(former(test)).toEqual([]);
  });

  itWhole("stays on sale where other rows name it, also more than one", async () => {
    const test = await startGoods();
    test.erp.exec("INSERT INTO goods (article, quantity) VALUES ('a', 5), ('a', 5)");
    test.erp.exec("UPDATE goods SET article = 'y' WHERE id = 1");
    await test.minutes(15);
    expect([new Set(test.levels("a")), test.level("y"), former(test)]).toEqual([new Set([5]), 5, []]);
  });

  itWhole.each([
    ["names another one", "UPDATE goods SET article = 'x-' || article"],
    ["is deleted", "DELETE FROM goods"],
  ])("goes away where two rows that were sent in one request named it, one with 0, and each %s", async (_how, sql) => {
    const test = await startGoods();
    test.erp.exec("INSERT INTO goods (article, quantity) VALUES ('z', 0), ('z', 7), ('w', 7), ('w', 0)");
    test.requests();
    await test.minute();
    expect(test.requests().map(({ records }) => records.length)).toEqual([4]);
    expect([test.level("z"), test.level("w")]).toEqual([7, 7]);
    test.erp.exec(sql);
    await test.minutes(15);
    expect([test.level("z"), test.level("w"), test.level("a"), former(test)]).toEqual([0, 0, 0, []]);
  });

  itWhole("stays on sale where two rows exchange their articles", async () => {
    const test = await startGoods();
    test.erp.exec("UPDATE goods SET article = CASE article WHEN 'a' THEN 'b' ELSE 'a' END, quantity = 6 WHERE id < 3");
    await test.minutes(15);
    expect([test.levels("a"), test.levels("b"), former(test)]).toEqual([[5, 6], [5, 6], []]);
  });

  itWhole("stays on sale where the ERP fills its table anew, and its rows have other ids", async () => {
    const test = await startGoods();
    test.erp.exec("DELETE FROM goods");
    test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (11, 'a', 5), (12, 'b', 6)");
    await test.minutes(15);
    expect(["a", "b", "c"].map((sku) => test.level(sku))).toEqual([5, 6, 0]);
    expect([test.levels("a").includes(0), test.rows("SELECT id FROM feed_outbox")]).toEqual([false, []]);
    expect(test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'")).toEqual([{ live: 2 }]);
    test.erp.exec("DELETE FROM goods WHERE article = 'a'");
    await test.minutes(15);
    expect([test.level("a"), test.level("b")]).toEqual([0, 6]);
  });

  itWhole.each([
    ["is deleted", "DELETE FROM goods WHERE id > 3"],
    ["names another article", "UPDATE goods SET article = 'd' || id WHERE id > 3"],
  ])("shows what its own row says where another one named it and %s", async (_how, sql) => {
    const test = await startGoods();
    test.erp.exec("UPDATE goods SET quantity = 0 WHERE article = 'a'");
    await test.minute();
    test.erp.exec("INSERT INTO goods (article, quantity) VALUES ('a', 9), ('b', 0), ('c', 5)");
    await test.minutes(2);
    expect(["a", "b", "c"].map((sku) => test.level(sku))).toEqual([9, 0, 5]);
    test.erp.exec(sql);
    await test.minutes(15);
    expect(["a", "b", "c"].map((sku) => test.levels(sku))).toEqual([
      [5, 0, 9, 0],
      [5, 0, 5],
      [5, 5],
    ]);
    const live = test.rows("SELECT count(*) AS live FROM feed_sent WHERE live = 1");
    expect(test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'")).toEqual(live);
    test.requests();
    await test.compare();
    await test.minute();
    expect([test.requests(), test.rows("SELECT k0 FROM feed_outbox")]).toEqual([[], []]);
  });

  itWhole.each([
    ["sent before", 6],
    ["never sent", undefined],
  ])(
    "stays on sale where another row names it and the deleted one, %s, was in a request of unknown outcome",
    async (_what, before) => {
      const test = await startGoods();
      if (before !== undefined) test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (8, 'z', 6)");
      await test.minute();
      test.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
      test.erp.exec("REPLACE INTO goods (id, article, quantity) VALUES (8, 'z', 7)");
      await test.run("stocks");
      expect(test.rows("SELECT k0 FROM feed_outbox WHERE doubt_record IS NOT NULL")).toEqual([{ k0: "8" }]);
      test.erp.exec("DELETE FROM goods WHERE id = 8; INSERT INTO goods (id, article, quantity) VALUES (9, 'z', 5)");
      await test.minutes(30);
      expect([test.levels("z").includes(0), test.level("z"), former(test)]).toEqual([false, 5, []]);
      expect(test.rows("SELECT id FROM feed_outbox")).toEqual([]);
      const live = test.rows("SELECT count(*) AS live FROM feed_sent WHERE live = 1");
      expect(test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'")).toEqual(live);
    },
  );

  itWhole("shows what its own row says where another one, deleted, was in a request of unknown outcome", async () => {
    const test = await startGoods();
    test.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (8, 'a', 7)");
    await test.run("stocks");
    expect(test.rows("SELECT k0 FROM feed_outbox WHERE doubt_record IS NOT NULL")).toEqual([{ k0: "8" }]);
    test.erp.exec("DELETE FROM goods WHERE id = 8");
    await test.minutes(30);
    expect([test.levels("a"), former(test), test.rows("SELECT id FROM feed_outbox")]).toEqual([[5, 7, 5], [], []]);
    const [counted, live] = liveCounts(test);
    expect(counted).toEqual(live);
  });

  itWhole(
    "shows what its own row says where two others named it and now name something else, of which one was sent later",
    async () => {
      const test = await startGoods();
      test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (8, 'a', 9)");
      await test.minute();
      test.erp.exec("UPDATE goods SET quantity = 0 WHERE id = 1");
      await test.minute();
      test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (9, 'a', 7)");
      await test.minute();
      test.erp.exec("UPDATE goods SET article = 'd' || id WHERE id > 3");
      await test.minutes(15);
      expect(test.levels("a")).toEqual([5, 9, 0, 7, 0]);
    },
  );

  itWhole.each([
    ["an approval", true],
    ["the next full comparison", false],
  ])(
    "stays on sale where another row came that names it while the guard held its own until %s",
    async (_what, isApproved) => {
      const test = await startGoods({ guard: { percent: 30, from: 2 } });
      test.erp.exec("DELETE FROM goods WHERE id < 4");
      await test.minutes(15);
      expect(test.holds()).toEqual([{ area: "stocks", reason: "guard" }]);
      test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (11, 'a', 4), (12, 'b', 4)");
      await test.minutes(5);
      if (isApproved) test.bridge.store.write(() => approveGuarded(test.bridge.store, "stocks"));
      else await test.compare();
      await test.minutes(5);
      expect(["a", "b", "c"].map((sku) => test.levels(sku))).toEqual([
        [5, 4],
        [5, 4],
        [5, 0],
      ]);
      expect([test.rows("SELECT id FROM feed_outbox"), test.holds()]).toEqual([[], []]);
      const live = test.rows("SELECT count(*) AS live FROM feed_sent WHERE live = 1");
      expect(test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'")).toEqual(live);
    },
  );

  itWhole(
    "stays on sale where another row names it and the deleted one, given to others meanwhile, was in a request of unknown outcome",
    async () => {
      const test = await startGoods({ chunk: 1 });
      const fault = hold(test);
      reload(test, { b: 2 });
      await test.minute();
      expect(test.rows("SELECT k0 FROM feed_outbox WHERE doubt_record IS NOT NULL")).toEqual([{ k0: "11" }]);
      // Another row is tried first.
      test.erp.exec("UPDATE goods SET article = 'c'; INSERT INTO goods (id, article, quantity) VALUES (10, 'z', 0)");
      await test.minute();
      reload(test, { z: 0, b: 1 });
      test.sandbox.faults.remove(fault);
      test.bridge.store.write(() => test.bridge.store.prepare("DELETE FROM holds").run());
      await test.minutes(45);
      expect(["a", "b", "c"].map((sku) => test.level(sku))).toEqual([0, 1, 0]);
      expect(test.rows("SELECT id FROM feed_outbox")).toEqual([]);
    },
  );

  itWhole("stays on sale where another row names it while the deletion of its own is in quarantine", async () => {
    const test = await startGoods();
    const held = () => test.quarantined().filter(({ state }) => state === "held");
    const minutes = async (count: number) => {
      for (let passed = 0; passed < count; passed++) {
        test.erp.exec("UPDATE goods SET quantity = quantity + 1 WHERE id = 1");
        await test.minute();
      }
    };
    test.sandbox.service.setOptions({ reject: { skus: ["z"], how: "422" } });
    test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (8, 'z', 0)");
    // Refused once more, it may have been taken in part.
    await minutes(25);
    test.erp.exec("DELETE FROM goods WHERE id = 8");
    await minutes(12);
    expect(held()).toMatchObject([{ reference: "8" }]);
    test.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (9, 'z', 3)");
    await minutes(75);
    // Not even until the row that names it goes once more.
    expect([test.level("z"), test.levels("z").includes(0)]).toEqual([3, false]);
    expect([test.rows("SELECT id FROM feed_outbox"), held()]).toEqual([[], []]);
  });

  itWhole("stays on sale where a row that cannot be read names it while the guard holds its own", async () => {
    const test = await startGoods({ guard: { percent: 30, from: 2 } });
    test.erp.exec("DELETE FROM goods WHERE id < 4");
    await test.minutes(15);
    test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (11, 'a', NULL)");
    await test.minutes(5);
    test.bridge.store.write(() => approveGuarded(test.bridge.store, "stocks"));
    await test.minutes(5);
    expect(["a", "b", "c"].map((sku) => test.levels(sku))).toEqual([[5], [5, 0], [5, 0]]);
    test.erp.exec("UPDATE goods SET quantity = 3");
    await test.minutes(2);
    expect(test.levels("a")).toEqual([5, 3]);
  });

  describe.each([
    ["a table", {}],
    ["a query", { query: "SELECT * FROM goods" }],
  ])("of %s with on_delete: ignore", (_what, source) => {
    itSome(1)([
      ["is deleted", "DELETE FROM goods WHERE id > 3"],
      ["names another article", "UPDATE goods SET article = 'd' || id WHERE id > 3"],
    ])("shows what its own row says where another one named it and %s", async (_how, sql) => {
      const test = await startGoods({ ...source, on_delete: "ignore" });
      test.erp.exec("INSERT INTO goods (article, quantity) VALUES ('a', 9)");
      await test.minutes(2);
      test.erp.exec(sql);
      test.erp.exec("DELETE FROM goods WHERE article = 'b'");
      await test.minutes(2);
      await test.compare();
      await test.minutes(15);
      expect(["a", "b", "c"].map((sku) => test.levels(sku))).toEqual([[5, 9, 5], [5], [5]]);
      test.requests();
      await test.compare();
      await test.minutes(15);
      expect([test.requests(), test.rows("SELECT id FROM feed_outbox"), former(test)]).toEqual([[], [], []]);
      const live = test.rows("SELECT count(*) AS live FROM feed_sent WHERE live = 1");
      expect(test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'")).toEqual(live);
    });
  });

  itWhole.each([
    ["on_delete: ignore", { on_delete: "ignore" }],
    ["zeros", {}],
  ])(
    "shows what its own row says where another one named it in a request of unknown outcome, under %s",
    async (_what, how) => {
      for (const sql of ["UPDATE goods SET article = 'd' WHERE id = 9", "DELETE FROM goods WHERE id = 9"]) {
        const test = await startGoods(how);
        test.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
        test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (9, 'a', 7)");
        await test.run("stocks");
        expect(test.rows("SELECT k0 FROM feed_outbox WHERE doubt_record IS NOT NULL")).toEqual([{ k0: "9" }]);
        test.erp.exec(sql);
        await test.minutes(30);
        expect([test.levels("a"), former(test)]).toEqual([[5, 7, 5], []]);
        const live = test.rows("SELECT count(*) AS live FROM feed_sent WHERE live = 1");
        expect(test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'")).toEqual(live);
        await test.close();
      }
    },
  );

  itWhole(
    "shows what its own row says where another one named it and takes the place of a row that goes, with on_delete: ignore",
    async () => {
      const test = await startGoods({ on_delete: "ignore", delete_after: "0s" });
      test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (9, 'a', 7)");
      await test.minute();
      test.erp.exec("UPDATE goods SET quantity = 6 WHERE article = 'b'");
      await test.minute();
      test.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
      test.erp.exec("UPDATE goods SET article = 'b', quantity = 8 WHERE id = 9");
      await test.run("stocks");
      test.erp.exec("DELETE FROM goods WHERE id = 2");
      await test.minutes(30);
      expect([test.level("a"), test.level("b"), former(test)]).toEqual([5, 8, []]);
    },
  );

  itWhole("sends nothing more of a row that was sent after the one that goes", async () => {
    const test = await startGoods();
    test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (9, 'a', 7)");
    await test.minute();
    test.erp.exec("DELETE FROM goods WHERE id = 1");
    await test.minutes(15);
    expect(test.levels("a")).toEqual([5, 7]);
  });

  itWhole("is counted by the guard where the row that stays takes it off sale", async () => {
    const test = await startGoods();
    test.erp.exec("UPDATE goods SET quantity = 0");
    await test.minute();
    test.erp.exec("INSERT INTO goods (article, quantity) VALUES ('a', 9), ('b', 9), ('c', 9)");
    await test.minutes(70);
    await test.restart({ imports: { stocks: { ...GOODS, guard: { percent: 30, from: 2 } } } });
    test.erp.exec("DELETE FROM goods WHERE id > 3");
    await test.minutes(15);
    expect([test.holds(), ...["a", "b", "c"].map((sku) => test.level(sku))]).toEqual([
      [{ area: "stocks", reason: "guard" }],
      ...[9, 9, 9],
    ]);
  });

  itWhole("sends nothing of a deleted row at zero that no other one names", async () => {
    const test = await startGoods();
    test.erp.exec("UPDATE goods SET quantity = 0 WHERE article = 'a'");
    await test.minute();
    test.erp.exec("DELETE FROM goods WHERE article = 'a'");
    await test.minutes(15);
    expect([test.levels("a"), test.rows("SELECT id FROM feed_outbox")]).toEqual([[5, 0], []]);
  });

  itWhole("goes away each time where its row is given several one after the other", async () => {
    const test = await startGoods();
    for (const article of ["x", "y", "z"]) {
      test.erp.exec(`UPDATE goods SET article = '${article}' WHERE id = 1`);
      await test.minute();
    }
    await test.minutes(15);
    expect(["a", "x", "y", "z"].map((article) => test.level(article))).toEqual([0, 0, 0, 5]);
  });

  itWhole("is counted by the guard", async () => {
    const test = await startGoods({ guard: { percent: 30, from: 2 } });
    test.erp.exec("UPDATE goods SET article = article || '2'");
    await test.minutes(15);
    expect([test.holds(), test.level("a"), test.level("a2")]).toEqual([[{ area: "stocks", reason: "guard" }], 5, 5]);
  });

  itWhole("is not told by a name that is a value: another title of the same article sends nothing away", async () => {
    const test = await startFeeds({ settings: { imports: { catalog: { path: "/api/v1/import/catalog" } } } });
    test.erp.exec("CREATE TABLE wares (id INTEGER PRIMARY KEY, article, title, active DEFAULT 1)");
    test.erp.exec("INSERT INTO wares (article, title) VALUES ('a', 'A')");
    const record = { sku: "{article}", name: "{title}", active: "{active|bool}" };
    const catalog = { path: "/api/v1/import/catalog", delete_after: "1m", table: "wares", key: ["id"], record };
    await test.restart({ imports: { catalog } });
    await test.minute("catalog");
    test.erp.exec("UPDATE wares SET title = 'B'");
    for (let passed = 0; passed < 5; passed++) await test.minute("catalog");
    expect(test.site("catalog")["a"]).toMatchObject({ name: "B", active: true });
  });

  itWhole(
    "is told of another one by the record where the former column means something else in the new table",
    async () => {
      const test = await startGoods({ record: { sku: "A{id}", quantity: "{available}" } });
      test.erp.exec(`CREATE TABLE wares (id, code, quantity, reserved DEFAULT 0);
      INSERT INTO wares (id, code, quantity) VALUES (1, 'z', 9), (2, 'A2', 4)`);
      const record = { sku: "{code}", quantity: "{available}" };
      await test.restart({ imports: { stocks: { delete_after: "10m", table: "wares", key: ["code"], record } } });
      await test.minutes(15);
      expect(["A1", "A2", "A3", "z"].map((sku) => test.level(sku))).toEqual([0, 4, 0, 9]);
      expect([test.levels("A2"), former(test), conditions(test)]).toEqual([[5, 4], [], []]);
    },
  );

  const liveCounts = (test: PushedFeeds) => [
    test.rows("SELECT live_count AS live FROM feeds WHERE name = 'stocks'"),
    test.rows("SELECT count(*) AS live FROM feed_sent WHERE live = 1"),
  ];
  /** The ERP gives new ids each time; of an article alone, or with its number. */
  const reload = ({ erp }: PushedFeeds, rows: Record<string, number | null>) => {
    erp.exec(
      "BEGIN; CREATE TABLE IF NOT EXISTS ids (last); INSERT INTO ids SELECT 10 WHERE NOT EXISTS (SELECT 1 FROM ids); DELETE FROM goods",
    );
    for (const [article, quantity] of Object.entries(rows)) {
      erp.exec("UPDATE ids SET last = last + 1");
      erp.prepare("INSERT INTO goods (id, article, quantity) SELECT last, ?, ? FROM ids").run(article, quantity);
    }
    erp.exec("COMMIT");
  };
  const hold = ({ sandbox }: PushedFeeds) =>
    sandbox.faults.add({ match: { path: "import" }, do: { kind: "status", status: 402 } });

  describe.each([
    ["a table", {}],
    ["a query", { query: "SELECT * FROM goods" }],
  ])("of %s", (_source, source) => {
    itWhole.each([
      ["cannot be read", null],
      ["was refused", 6],
    ])("goes away with the row that names it and %s", async (_what, quantity) => {
      const test = await startGoods(source);
      test.sandbox.service.setOptions({ reject: { skus: ["a"], how: "422" } });
      reload(test, { a: quantity, b: 5 });
      await test.minutes(5);
      // By another row, sooner than the first is tried again.
      reload(test, { a: quantity, b: 5 });
      await test.minutes(8);
      expect([test.level("a"), test.level("b"), test.level("c")]).toEqual([5, 5, 0]);
      test.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
      reload(test, { b: 4 });
      await test.minutes(15);
      expect([test.level("a"), test.level("b"), test.rows("SELECT id FROM feed_outbox")]).toEqual([0, 4, []]);
      const [counted, live] = liveCounts(test);
      expect(counted).toEqual(live);
    });

    itWhole("goes away where the ERP fills its table anew several times while the feed is held", async () => {
      // Of the rows that wait one alone is in a request of unknown outcome.
      const test = await startGoods({ ...source, chunk: 1 });
      const fault = hold(test);
      for (const rows of [{ b: 5, a: 5, c: 5 }, { b: 5, a: 5 }, { b: 5, a: 5 }, { b: 3 }]) {
        reload(test, rows);
        await test.minutes(25);
      }
      test.sandbox.faults.remove(fault);
      await test.minutes(40);
      expect(["a", "b", "c"].map((sku) => test.level(sku))).toEqual([0, 3, 0]);
      const [counted, live] = liveCounts(test);
      expect(counted).toEqual(live);
    });

    itWhole(
      "counts once as on sale with on_delete: ignore, however often the ERP fills its table anew with other ids",
      async () => {
        const test = await startGoods({ ...source, on_delete: "ignore" });
        for (const quantity of [6, 5, 5, 7]) {
          reload(test, { a: quantity, b: quantity, c: quantity });
          await test.minutes(2);
          expect(liveCounts(test)).toEqual([[{ live: 3 }], [{ live: 3 }]]);
        }
        // What is kept does not grow with each time.
        expect(test.rows("SELECT count(*) AS rows FROM feed_sent WHERE feed_id = 1")).toEqual([{ rows: 3 }]);
        // A row that comes back as it was is not sent.
        test.erp.exec("CREATE TABLE aside AS SELECT * FROM goods; DELETE FROM goods");
        await test.minutes(2);
        test.requests();
        test.erp.exec("INSERT INTO goods SELECT * FROM aside");
        await test.minutes(2);
        await test.compare();
        await test.minutes(15);
        expect([test.requests(), liveCounts(test)]).toEqual([[], [[{ live: 3 }], [{ live: 3 }]]]);
      },
    );

    itWhole("counts once as on sale with on_delete: ignore where two rows had it that are deleted", async () => {
      const test = await startGoods({ ...source, on_delete: "ignore" });
      test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (8, 'a', 9)");
      await test.minutes(2);
      reload(test, { a: 4, b: 4, c: 4 });
      await test.minutes(2);
      expect(liveCounts(test)).toEqual([[{ live: 3 }], [{ live: 3 }]]);
    });

    it("counts as on sale with on_delete: ignore where both rows are deleted that named it in one request, one with 0", async () => {
      const test = await startGoods({ ...source, on_delete: "ignore" });
      test.erp.exec("INSERT INTO goods (id, article, quantity) VALUES (8, 'z', 0), (9, 'z', 7)");
      await test.minute();
      expect(test.level("z")).toBe(7);
      test.erp.exec("DELETE FROM goods WHERE article = 'z'");
      await test.minutes(15);
      expect(liveCounts(test)).toEqual([[{ live: 4 }], [{ live: 4 }]]);
    });

    itWhole.each([
      ["zeros", {}],
      ["on_delete: ignore", { on_delete: "ignore" }],
    ])(
      "is counted by the guard where the ERP fills its table anew with other ids and without numbers, under %s",
      async (_how, how) => {
        const test = await startGoods({ ...source, ...how, guard: { percent: 30, from: 2 } });
        reload(test, { a: 0, b: 0, c: 0, d: 0 });
        await test.minutes(15);
        expect([test.holds(), ...["a", "b", "c", "d"].map((sku) => test.level(sku))]).toEqual([
          [{ area: "stocks", reason: "guard" }],
          ...[5, 5, 5, 0],
        ]);
        test.bridge.store.write(() => approveGuarded(test.bridge.store, "stocks"));
        await test.minutes(2);
        expect(["a", "b", "c"].map((sku) => test.levels(sku))).toEqual([
          [5, 0],
          [5, 0],
          [5, 0],
        ]);
        const [counted, live] = liveCounts(test);
        expect(counted).toEqual(live);
      },
    );
  });

  itWhole(
    "is given with on_delete: ignore to the row that names it and cannot be sent, and nothing is kept aside of others",
    async () => {
      const test = await startGoods({
        query: "SELECT * FROM goods",
        on_delete: "ignore",
        guard: { percent: 30, from: 1 },
      });
      test.erp.exec("DELETE FROM goods");
      await test.minutes(30);
      hold(test);
      reload(test, { a: 0, d: 4 });
      await test.minutes(5);
      expect([former(test), liveCounts(test)]).toEqual([[], [[{ live: 3 }], [{ live: 3 }]]]);
      expect(test.holds()).toContainEqual({ area: "stocks", reason: "guard" });
    },
  );
});
