import { describe, expect, it } from "vitest";
import { foldArticle } from "../../src/database/same-name.ts";
import type { Store } from "../../src/database/store.ts";
import { compileFeed, type FeedRules, linkFeeds } from "../../src/feeds/feed.ts";
import { loadSendable, saveAcknowledged } from "../../src/feeds/feed-outbox.ts";
import { saveQueued } from "../../src/feeds/feed-rows.ts";
import { markInFlight } from "../../src/feeds/send/flight-rows.ts";
import { mergeSettings } from "../support/bridge.ts";
import { openNewStore } from "../support/new-store.ts";
import { ALL_FEEDS, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { stockSettings } from "../support/rules.ts";
import { itWhole } from "../support/whole.ts";

const FEEDS = ["stocks", "prices", "catalog"] as const;
const MINUTE_MS = 60_000;

type Start = NonNullable<Parameters<typeof startFeeds>[0]>["settings"];

const startShop = (settings: Start = ALL_FEEDS) => startFeeds({ settings, arm: [...FEEDS] });

/** The ERP puts articles on sale and takes them off. */
const SWITCHED = mergeSettings(ALL_FEEDS, {
  imports: { catalog: { record: { sku: "{sku}", name: "{name}", active: "{active|bool}" } } },
});

/** The records sent since the last call, as `stocks A 4`, without the names of their properties. */
function sent(shop: PushedFeeds): string[] {
  return shop
    .requests()
    .flatMap(({ feed, records }) =>
      records.map((record) => [feed, ...Object.values(record)].filter((v) => v !== "").join(" ")),
    );
}

async function pass(shop: PushedFeeds, times = 1): Promise<void> {
  for (let passed = 0; passed < times; passed++) {
    shop.clock.advance(MINUTE_MS);
    for (const feed of FEEDS) await shop.run(feed);
  }
}

const NEW = `BEGIN; INSERT INTO products (sku, name) VALUES ('A', 'a'); INSERT INTO prices (sku, price) VALUES ('A', '9.50');
  INSERT INTO stock (sku, quantity) VALUES ('A', 4); COMMIT`;

describe("stock and prices of an article that the service accepts for the first time", () => {
  it("go once more after it, and only then", async () => {
    const shop = await startShop();
    shop.erp.exec(NEW);
    await shop.run("stocks");
    await shop.run("prices");
    await shop.minute();
    expect(sent(shop)).toEqual(["stocks A 4", "prices A 9.5"]);
    await shop.run("catalog");
    await pass(shop);
    expect(sent(shop)).toEqual(["catalog A a", "stocks A 4", "prices A 9.5"]);
    shop.erp.exec("UPDATE products SET name = 'b'");
    await pass(shop, 2);
    for (const feed of FEEDS) await shop.compare(feed);
    expect(sent(shop)).toEqual(["catalog A b"]);
    expect(shop.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
  });

  itWhole("go no more often where they were sent after it", async () => {
    const shop = await startShop();
    shop.erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'a')");
    await shop.run("catalog");
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 4)");
    await pass(shop, 3);
    expect(sent(shop)).toEqual(["catalog A a", "stocks A 4"]);
  });

  it("do not keep the other articles waiting", async () => {
    const shop = await startShop(mergeSettings(ALL_FEEDS, { imports: { catalog: { chunk: 2 } } }));
    shop.erp.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
      INSERT INTO stock (sku, quantity) SELECT 'S-' || i, 5 FROM n`);
    await shop.run("stocks");
    shop.erp.exec("INSERT INTO products (sku, name) SELECT sku, 'p' FROM stock");
    for (let passed = 0; passed < 3; passed++) await shop.run("catalog");
    expect(Object.keys(shop.site("catalog"))).toHaveLength(100);
  });

  itWhole("go once more where the article was deleted and comes back", async () => {
    const shop = await startShop();
    shop.erp.exec(NEW);
    await pass(shop, 2);
    shop.erp.exec("DELETE FROM products");
    await pass(shop, 4);
    sent(shop);
    shop.erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'a'); UPDATE stock SET quantity = 5");
    await pass(shop, 3);
    expect(sent(shop)).toEqual(["stocks A 5", "catalog A a", "stocks A 5", "prices A 9.5"]);
  });

  it.each([["errors"], ["said"]] as const)(
    "go at once after it where the service refused them: %s",
    async (unknownArticles) => {
      const shop = await startShop();
      shop.erp.exec("INSERT INTO products (sku, name) VALUES ('B', 'b')");
      await shop.run("catalog");
      shop.sandbox.service.setOptions({ unknownArticles });
      shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 4), ('B', 5)");
      await pass(shop, 2);
      expect(shop.rows("SELECT k0 FROM feed_outbox WHERE retry_ms IS NOT NULL")).toEqual([{ k0: "A" }]);
      sent(shop);
      shop.erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'a')");
      await pass(shop, 2);
      expect(new Set(sent(shop))).toEqual(new Set(["catalog A a", "stocks A 4"]));
      expect(shop.quarantined().filter(({ state }) => state === "held")).toEqual([]);
      expect(shop.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
    },
  );

  const query = (columns: string, key: string) => ({
    query: `SELECT ${columns}, warehouse, quantity FROM stock`,
    key: [key],
    available: "quantity",
    record: { sku: "{sku}", quantity: "{available|number}" },
    on_delete: { quantity: 0 },
  });

  it.each([
    ["is of the ERP's rows", query("'row ' || sku AS id, sku", "id")],
    ["begins with another column", { key: ["warehouse", "sku"] }],
    ["spells the article otherwise", query("lower(sku) AS sku", "sku")],
  ])("go at once after it where the service refused them and their key %s", async (_what, stocks) => {
    const shop = await startShop(mergeSettings(ALL_FEEDS, { imports: { stocks } }));
    shop.erp.exec("INSERT INTO products (sku, name) VALUES ('B', 'b'), ('b', 'b')");
    await shop.run("catalog");
    shop.sandbox.service.setOptions({ unknownArticles: "said" });
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 4), ('B', 5), ('C', 6)");
    await pass(shop, 2);
    const waiting = "SELECT count(*) AS n FROM feed_outbox WHERE retry_ms IS NOT NULL";
    expect(shop.rows(waiting)).toEqual([{ n: 2 }]);
    sent(shop);
    shop.erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'a')");
    await shop.run("catalog");
    // The row of the other article waits for its time.
    expect(shop.rows(waiting)).toEqual([{ n: 1 }]);
    await pass(shop);
    expect(new Set(sent(shop).map((record) => record.toUpperCase()))).toEqual(new Set(["CATALOG A A", "STOCKS A 4"]));
  });

  it.each([
    ["is lost", "reset"],
    ["says nothing", "status"],
  ] as const)(
    "go once more where the article was deleted, the answer to that %s, and it comes back",
    async (_what, kind) => {
      const shop = await startShop();
      shop.erp.exec(NEW);
      await pass(shop, 2);
      shop.sandbox.service.setOptions({ unknownArticles: "silent", inactiveLeave: true });
      shop.erp.exec("DELETE FROM products");
      const action = kind === "reset" ? { kind } : ({ kind, status: 503 } as const);
      shop.sandbox.service.faults.add({ match: { path: "import" }, times: 1, when: "after", do: action });
      await pass(shop, 3);
      sent(shop);
      shop.erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'a')");
      await pass(shop, 6);
      expect(Object.keys(shop.site("stocks"))).toEqual(["A"]);
      expect(Object.keys(shop.site("prices"))).toEqual(["A"]);
    },
  );

  it.each([
    ["keeps what they had", false],
    ["forgets them", true],
  ])("go once more where the ERP puts an article on sale again, and the service %s", async (_what, inactiveLeave) => {
    const shop = await startShop(SWITCHED);
    shop.erp.exec(`${NEW}; UPDATE products SET active = 1`);
    await pass(shop, 2);
    shop.sandbox.service.setOptions({ unknownArticles: "silent", inactiveLeave });
    shop.erp.exec("UPDATE products SET active = 0");
    await pass(shop, 2);
    shop.erp.exec("UPDATE stock SET quantity = 0; UPDATE prices SET price = 9");
    await pass(shop, 2);
    sent(shop);
    shop.erp.exec("UPDATE products SET name = 'b'");
    await pass(shop, 2);
    expect(sent(shop)).toEqual(["catalog A b false"]);
    shop.erp.exec("BEGIN; UPDATE products SET active = 1; UPDATE stock SET quantity = 2; COMMIT");
    await pass(shop, 3);
    expect([shop.level("A"), shop.site("prices")]).toEqual([2, { A: expect.objectContaining({ price: 9 }) }]);
    sent(shop);
    shop.erp.exec("UPDATE products SET name = 'c'");
    await pass(shop, 2);
    expect(sent(shop)).toEqual(["catalog A c true"]);
  });

  it("go once more where a draft is published", async () => {
    const shop = await startShop(SWITCHED);
    shop.sandbox.service.setOptions({ unknownArticles: "silent", inactiveLeave: true });
    shop.erp.exec(`${NEW}; UPDATE products SET active = 0`);
    await pass(shop, 3);
    shop.erp.exec("UPDATE products SET active = 1");
    await pass(shop, 3);
    expect([Object.keys(shop.site("stocks")), Object.keys(shop.site("prices"))]).toEqual([["A"], ["A"]]);
    expect(shop.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
  });

  itWhole("go once more where the service refused the article at first", async () => {
    const shop = await startShop();
    shop.sandbox.service.setOptions({ reject: { skus: ["A"], how: "said", feed: "catalog" } });
    shop.erp.exec(`${NEW}; INSERT INTO products (sku, name) VALUES ('B', 'b')`);
    await pass(shop, 2);
    shop.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    sent(shop);
    for (let hour = 0; hour < 3; hour++) {
      shop.clock.advance(60 * MINUTE_MS);
      await pass(shop, 2);
    }
    expect(sent(shop)).toEqual(["catalog A a", "stocks A 4", "prices A 9.5"]);
  });

  itWhole("go once more where the ERP changes them and takes that back meanwhile", async () => {
    const shop = await startShop();
    shop.erp.exec(NEW);
    await shop.run("stocks");
    await shop.run("catalog");
    const hold = "INSERT INTO holds (area, reason, since, next_probe_at) VALUES ('stocks', 'refused', ?, ?)";
    shop.erp.prepare(hold).run("2026-03-01T00:00:00Z", "2100-01-01T00:00:00Z");
    sent(shop);
    shop.erp.exec("UPDATE stock SET quantity = 5");
    await shop.minute();
    shop.erp.exec("UPDATE stock SET quantity = '4.0'");
    await shop.minute();
    expect(sent(shop)).toEqual([]);
    shop.erp.exec("DELETE FROM holds");
    await shop.minutes(2);
    expect(sent(shop)).toEqual(["stocks A 4"]);
  });

  itWhole("are no changes for the guard, whatever they are", async () => {
    const shop = await startShop();
    shop.erp.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
      INSERT INTO stock (sku, quantity) SELECT 'S-' || i, i % 2 FROM n`);
    await shop.run("stocks");
    shop.erp.exec("INSERT INTO products (sku, name) SELECT sku, 'p' FROM stock");
    await pass(shop, 3);
    expect(sent(shop).filter((text) => text.startsWith("stocks"))).toHaveLength(120);
    expect(shop.rows("SELECT count(*) AS n FROM feed_drops")).toEqual([{ n: 0 }]);
    expect(shop.rows("SELECT live_count AS n FROM feeds WHERE name = 'stocks'")).toEqual([{ n: 30 }]);
    expect(shop.holds()).toEqual([]);
  });

  itWhole("go once more from a query as well, whose article is the second column of the key", async () => {
    const stocks = {
      query: "SELECT warehouse AS depot, sku AS code, quantity FROM stock",
      key: ["depot", "code"],
      available: "quantity",
      record: { depot: "{depot}", code: "{code}", quantity: "{available|number}" },
      on_delete: { quantity: 0 },
    };
    const catalog = {
      query: "SELECT sku AS code, name FROM products",
      path: "/api/v1/import/catalog",
      key: ["code"],
      record: { code: "{code}", name: "{name}" },
      on_delete: "ignore",
    };
    const keys = { stocks: { key: ["depot", "code"] }, catalog: { key: ["code"] } };
    const shop = await startFeeds({
      settings: { imports: { stocks, catalog } },
      sandbox: { options: { imports: keys } },
      arm: ["stocks", "catalog"],
    });
    shop.erp.exec("INSERT INTO stock (sku, warehouse, quantity) VALUES ('A', 'main', 4), ('B', 'main', 5)");
    await shop.run("stocks");
    shop.erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'a')");
    await shop.run("catalog");
    await shop.minutes(3);
    expect(sent(shop)).toEqual(["stocks main A 4", "stocks main B 5", "catalog A a", "stocks main A 4"]);
  });
});

function rulesOf(changes: Partial<Parameters<typeof compileFeed>[1]> = {}): Record<"stocks" | "catalog", FeedRules> {
  const [stocks, catalog] = linkFeeds([
    compileFeed("stocks", stockSettings(changes)),
    compileFeed(
      "catalog",
      stockSettings({ table: "products", record: { sku: "{sku}", name: "{name}" }, available: null }),
    ),
  ]);
  if (stocks === undefined || catalog === undefined) throw new Error("no feeds");
  return { stocks, catalog };
}

const AT = "2026-03-01T12:00:00.000Z";
const LIMITS = { nowMs: 1_000, awayBeforeMs: 1_000, dropRound: Number.MAX_SAFE_INTEGER };

function mark(store: Store, rules: FeedRules, sku: string, record: object) {
  const row = { key: [sku], record: JSON.stringify(record), parent: null, gone: false, isDrop: false, priority: 2 };
  saveQueued(store, rules, [row], { at: AT, nowMs: 1_000, droppedAt: AT });
  const rows = loadSendable(store, rules, LIMITS, -1).map((one) => ({ ...one, live: true }));
  markInFlight(store, rows);
  return rows;
}

describe("a request in flight", () => {
  it("that left before the service had the article does not count; the next one does", () => {
    const { store } = openNewStore();
    const { stocks, catalog } = rulesOf();
    store.write(() => {
      const early = mark(store, stocks, "A", { sku: "A", quantity: 4 });
      saveAcknowledged(store, catalog, mark(store, catalog, "A", { sku: "A", name: "a" }), AT);
      saveAcknowledged(store, stocks, early, AT);
      const [again, ...others] = loadSendable(store, stocks, LIMITS, -1);
      expect([again?.key, others]).toEqual([["A"], []]);
      if (again === undefined) return;
      markInFlight(store, [again]);
      saveAcknowledged(store, stocks, [{ ...again, live: true }], AT);
      expect(loadSendable(store, stocks, LIMITS, -1)).toEqual([]);
    });
  });

  it("with which an article went to zero has counted for the guard, although it goes again", () => {
    const { store } = openNewStore();
    const { stocks, catalog } = rulesOf();
    const drops = () => store.prepare("SELECT drop_round, dropped_at FROM feed_outbox").all();
    store.write(() => {
      const early = mark(store, stocks, "A", { sku: "A", quantity: 0 });
      store.prepare("UPDATE feed_outbox SET drop_round = 0, dropped_at = ?").run(AT);
      saveAcknowledged(store, catalog, mark(store, catalog, "A", { sku: "A", name: "a" }), AT);
      expect(drops()).toEqual([{ drop_round: 0, dropped_at: AT }]);
      saveAcknowledged(store, stocks, early, AT);
    });
    expect(drops()).toEqual([{ drop_round: null, dropped_at: null }]);
  });
});

describe("foldArticle", () => {
  it.each([
    ["A-17", "A-17"],
    [" a-17 ", "A-17"],
    ["A B", "A B"],
    ["чайник-ё", "ЧАИНИК-Е"],
    ["ß", "SS"],
    ["p1\u200B", "P1"],
    ["\u200Ep\u00AD2\u2060", "P2"],
    ["łøæđœ", "LOAEDOE"],
    ["a  b\t\u00A0c", "A B C"],
    ["A  B", "A B"],
    ["\u200B", ""],
    ["", ""],
    ["007", "007"],
  ])("makes %j %j", (text, folded) => {
    expect([foldArticle(text), foldArticle(folded)]).toEqual([folded, folded]);
  });
});

describe("linkFeeds", () => {
  const articleOf = (changes: Parameters<typeof rulesOf>[0]) => rulesOf(changes).stocks.article;

  it("finds the article beside a warehouse", () => {
    const key = ["sku", "warehouse"];
    expect(articleOf({ key, record: { sku: "{sku}", warehouse: "{warehouse}", quantity: 1 } })).toEqual([["sku"]]);
    expect(articleOf({ key: ["depot", "sku"], record: { depot: "{depot}", id: "{sku}", quantity: 1 } })).toEqual([
      ["id"],
    ]);
    expect(articleOf({ key: ["depot", "no"], record: { depot: "{depot}", no: "{no}", quantity: 1 } })).toEqual([
      ["depot"],
      ["no"],
    ]);
  });
});
