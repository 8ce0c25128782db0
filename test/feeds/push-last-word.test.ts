import { describe, expect, it } from "vitest";
import { ALL_FEEDS, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { itWhole } from "../support/whole.ts";

const FEEDS = ["stocks", "prices", "catalog"] as const;
const MINUTE_MS = 60_000;
/** A deleted article is off sale, and a deleted price has no value. */
const SHOP = {
  imports: {
    prices: { ...ALL_FEEDS.imports.prices, on_delete: { price: null } },
    catalog: { ...ALL_FEEDS.imports.catalog, on_delete: { active: false } },
  },
};

async function pass(shop: PushedFeeds, times = 1): Promise<void> {
  for (let passed = 0; passed < times; passed++) {
    shop.clock.advance(MINUTE_MS);
    for (const feed of FEEDS) await shop.run(feed);
  }
}

/** What a service has that ignores case, outer blanks and warehouses, in the order in which the records came. */
function site(shop: PushedFeeds): Record<string, unknown> {
  const records = shop.requests().flatMap(({ feed, records }) => records.map((record) => ({ feed, record })));
  return Object.fromEntries(
    records.map(({ feed, record: { sku, quantity, price_type, price, active = true } }) => [
      [feed, String(sku).trim().toLowerCase(), price_type]
        .filter((part) => part !== undefined && part !== "")
        .join(" "),
      feed === "stocks" ? quantity : feed === "prices" ? price : active,
    ]),
  );
}

const sent = (shop: PushedFeeds) =>
  shop.requests().map(({ records }) => records.map(({ sku, warehouse, quantity }) => `${sku}${warehouse} ${quantity}`));

describe("the last word about an article", () => {
  it("is what the ERP has where it respells the article", async () => {
    const shop = await startFeeds({ settings: SHOP, arm: [...FEEDS] });
    shop.erp.exec(`INSERT INTO stock (sku, quantity) VALUES ('a-17 ', 5), ('чайник', 7), ('C', 1);
      INSERT INTO products (sku, name) SELECT sku, 'p' FROM stock`);
    await pass(shop);
    shop.erp.exec("UPDATE stock SET sku = CASE sku WHEN 'a-17 ' THEN 'A-17' WHEN 'чайник' THEN 'Чайник' ELSE sku END");
    shop.erp.exec(
      "UPDATE products SET sku = CASE sku WHEN 'a-17 ' THEN 'A-17' WHEN 'чайник' THEN 'Чайник' ELSE sku END",
    );
    await pass(shop, 6);
    expect(shop.level("a-17 ")).toBe(0);
    for (const feed of FEEDS) await shop.compare(feed);
    expect(site(shop)).toMatchObject({
      ...{ "stocks a-17": 5, "stocks чайник": 7, "stocks c": 1 },
      ...{ "catalog a-17": true, "catalog чайник": true, "catalog c": true },
    });
    await pass(shop, 3);
    expect(shop.requests()).toEqual([]);
    expect(shop.rows("SELECT count(*) AS n FROM feed_drops WHERE feed_id = 1")).toEqual([{ n: 1 }]);
  });

  it("is what the ERP has where it begins to fill the warehouse, and the zero goes just before it", async () => {
    const shop = await startFeeds();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5), ('B', 7)");
    await shop.minute();
    shop.erp.exec("UPDATE stock SET warehouse = 'main'");
    await shop.minutes(3);
    expect(sent(shop)).toEqual([
      ["A 5", "B 7"],
      ["Amain 5", "Bmain 7"],
      ["A 0", "B 0"],
      ["Amain 5", "Bmain 7"],
    ]);
  });

  itWhole("repeats no row where another one of the article sells out: the site may have sold of it", async () => {
    const shop = await startFeeds();
    shop.erp.exec(
      "INSERT INTO stock (sku, warehouse, quantity) VALUES ('A', 'east', 5), ('A', 'west', 7), ('a', 'north', 0)",
    );
    await shop.minute();
    sent(shop);
    shop.erp.exec("UPDATE stock SET quantity = 0 WHERE warehouse = 'east'");
    await shop.minutes(2);
    expect(sent(shop)).toEqual([["Aeast 0"]]);
  });

  it("is what the ERP has where it deletes a row that has sold out last, unless the other went after it", async () => {
    const shop = await startFeeds();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('a', 5), ('b', 7)");
    await shop.minute();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5), ('B', 7)");
    await shop.minute();
    shop.erp.exec("UPDATE stock SET quantity = 0 WHERE sku IN ('a', 'b')");
    await shop.minute();
    shop.erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 'B'");
    await shop.minute();
    sent(shop);
    shop.erp.exec("DELETE FROM stock WHERE sku IN ('a', 'b')");
    await shop.minutes(4);
    expect(sent(shop)).toEqual([["a 0"], ["A 5"]]);
    await shop.compare("stocks");
    await shop.minutes(3);
    expect(sent(shop)).toEqual([]);
    expect(shop.rows("SELECT sum(count) AS n FROM feed_drops WHERE feed_id = 1")).toEqual([{ n: 2 }]);
  });

  it("is not said by a row that is sent only to find out whether the service accepts anything", async () => {
    const shop = await startFeeds();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('a', 0), ('b', 0)");
    await shop.minute();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    await shop.minute();
    sent(shop);
    shop.sandbox.faults.add({ match: { path: "import" }, when: "before", do: { kind: "reset" } });
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('D', 1)");
    await shop.minutes(4);
    expect(new Set(sent(shop).flat())).toEqual(new Set(["D 1", "b 0"]));
  });

  itWhole("stays where such a row comes back in time", async () => {
    const shop = await startFeeds();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    await shop.minute();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('a', 0)");
    await shop.minute();
    sent(shop);
    shop.erp.exec("DELETE FROM stock WHERE sku = 'a'");
    await shop.minute();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('a', 0)");
    await shop.minutes(4);
    expect(sent(shop)).toEqual([]);
  });

  itWhole("is sent where the ERP changes it and takes that back before", async () => {
    const shop = await startFeeds();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('a', 5), ('A', 5)");
    await shop.minute();
    sent(shop);
    shop.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    shop.erp.exec("DELETE FROM stock WHERE sku = 'a'");
    await shop.minutes(3);
    shop.erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 'A'");
    shop.erp.exec("UPDATE stock SET quantity = 5 WHERE sku = 'A'");
    await shop.minutes(4);
    expect(sent(shop).flat().at(-1)).toBe("A 5");
  });

  itWhole("is not repeated for other articles, other kinds of prices, or rows that are at zero", async () => {
    const shop = await startFeeds({ settings: SHOP, arm: [...FEEDS] });
    shop.erp.exec(`INSERT INTO stock (sku, warehouse, quantity) VALUES ('A', '', 5), ('A', 'x', 0), ('AB', '', 3), ('A B', '', 3);
      INSERT INTO prices (sku, price_type, price) VALUES ('A', 'one', 1), ('A', 'two', 2), ('A', 'ONE', 3)`);
    await pass(shop);
    shop.requests();
    shop.erp.exec("DELETE FROM stock WHERE sku = 'A' AND warehouse = ''; DELETE FROM prices WHERE price_type = 'one'");
    await pass(shop, 5);
    expect(shop.requests().map(({ records }) => records)).toEqual([
      [{ sku: "A", warehouse: "", quantity: 0 }],
      [{ sku: "A", price_type: "one", price: null }],
      [{ sku: "A", price_type: "ONE", price: 3 }],
    ]);
  });

  itWhole("is repeated for rows of an earlier version", async () => {
    const shop = await startFeeds();
    shop.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('a', 5), ('A', 5)");
    await shop.minute();
    shop.erp.exec("UPDATE feed_sent SET article = NULL; UPDATE feeds SET articles_of = NULL; DROP VIEW stock_sent");
    sent(shop);
    shop.erp.exec("DELETE FROM stock WHERE sku = 'A'");
    await shop.minutes(3);
    expect(sent(shop)).toEqual([["A 0"], ["a 5"]]);
  });
});
