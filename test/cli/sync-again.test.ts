import { expect } from "vitest";
import { importKey } from "../../src/sandbox/imports.ts";
import { startShop } from "../support/shop.ts";
import { itSome, itWhole } from "../support/whole.ts";

itWhole("sync FEED --again sends every row once more, also one that is gone, and only then", async () => {
  const shop = await startShop({ settings: { imports: { stocks: { delete_after: "0s" } } } });
  await shop.command("sync", "stocks");
  const sent = (sku: string) => shop.sandbox.ledger.acceptedValues("stocks", importKey(sku, "")).length;
  shop.write("INSERT INTO stock (sku, quantity) VALUES ('A', 1), ('B', 2)");
  await shop.command("sync", "stocks");
  shop.write("DELETE FROM stock WHERE sku = 'B'");
  await shop.command("sync", "stocks");
  const before = { a: sent("A"), b: sent("B") };
  await shop.command("sync", "stocks");
  expect({ a: sent("A"), b: sent("B") }).toEqual(before);
  expect(await shop.command("sync", "stocks", "--again")).toMatchObject({ code: 0 });
  expect({ a: sent("A"), b: sent("B") }).toEqual({ a: before.a + 1, b: before.b + 1 });
  await shop.command("sync", "stocks");
  expect(sent("A")).toBe(before.a + 1);
});

itSome(1)([[], ["orders"], ["stocks", "--only", "A"], ["stocks", "--dry-run"]])(
  "--again is refused without the name of a feed, and with other ways of choosing: %s %s %s",
  async (...args) => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    expect(await shop.command("sync", ...args.filter(Boolean), "--again")).toMatchObject({ code: 64 });
  },
);
