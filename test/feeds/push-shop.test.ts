import { describe, expect, it } from "vitest";
import type { Feed } from "../../src/sandbox/messages.ts";
import { startFeeds } from "../support/pushed.ts";
import { size } from "../support/whole.ts";

const PRODUCTS = size(600, 10_000);
const PRICES = 3;
const IMAGES = 2;
const FEEDS = ["stocks", "prices", "catalog", "images"] as const;
const on = (feed: string) => ({ path: `/api/v1/import/${feed}` });

describe(`a shop of ${PRODUCTS} products with 3 prices and 2 images each`, () => {
  it("is pushed whole and exactly, stock and prices once more after their articles; then a changed price goes alone", {
    timeout: 180_000,
  }, async () => {
    const shop = await startFeeds({
      settings: { imports: { prices: on("prices"), catalog: on("catalog"), images: on("images") } },
      arm: [...FEEDS],
    });
    const { erp, run, sandbox } = shop;
    const numbers = `WITH RECURSIVE
      n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${PRODUCTS}),
      m (j) AS (VALUES (1), (2), (3))`;
    erp.exec(`BEGIN;
      INSERT INTO stock (sku, quantity) ${numbers} SELECT 'S-' || i, i % 50 FROM n;
      INSERT INTO products (sku, name, vat) ${numbers} SELECT 'S-' || i, 'Product ' || i, 20 FROM n;
      INSERT INTO prices (sku, price_type, price, currency) ${numbers}
        SELECT 'S-' || i, 'type-' || j, (i * 10 + j) || '.' || printf('%02d', i % 100), 'EUR' FROM n, m;
      INSERT INTO images (sku, position, source) ${numbers}
        SELECT 'S-' || i, j, 'https://shop.example/' || i || '-' || j || '.jpg' FROM n, m WHERE j <= ${IMAGES};
      COMMIT`);
    for (const feed of [...FEEDS, ...FEEDS]) expect(await run(feed)).toMatchObject({ error: null });

    const accepted = (feed: Feed, since = 0) =>
      sandbox.ledger.entries.flatMap(({ seq, effect }) =>
        seq > since && effect?.kind === "import" && effect.feed === feed ? effect.accepted : [],
      );
    const counts = { stocks: PRODUCTS, catalog: PRODUCTS, prices: PRODUCTS * PRICES, images: PRODUCTS * IMAGES };
    for (const feed of FEEDS) {
      const times = feed === "stocks" || feed === "prices" ? 2 : 1;
      expect(sandbox.service.imported(feed).size).toBe(counts[feed]);
      expect(accepted(feed)).toHaveLength(counts[feed] * times);
    }
    const prices = erp.prepare("SELECT sku, price_type AS type, price FROM prices").all() as Record<string, string>[];
    const shown = sandbox.service.imported("prices");
    const wrong = prices.filter(
      ({ sku, type, price }) => !shown.get(JSON.stringify([sku, type]))?.includes(`"price":${price},`),
    );
    expect(wrong).toEqual([]);
    expect(shop.quarantined()).toEqual([]);
    expect(shop.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);

    const before = sandbox.ledger.entries.length;
    erp.exec("UPDATE prices SET price = '9.90' WHERE sku = 'S-500' AND price_type = 'type-2'");
    // As an ERP does that writes everything again each night.
    erp.exec(
      "UPDATE products SET name = name; UPDATE images SET source = source; UPDATE stock SET quantity = quantity",
    );
    for (const feed of FEEDS) await run(feed);
    const [request, ...others] = sandbox.ledger.entries.slice(before);
    expect(others).toEqual([]);
    expect(request?.path).toBe("/api/v1/import/prices");
    const price = '{"sku":"S-500","price_type":"type-2","price":9.90,"old_price":null,"currency":"EUR"}';
    expect(request?.requestBody).toBe(`{"prices":[${price}]}`);
  });
});
