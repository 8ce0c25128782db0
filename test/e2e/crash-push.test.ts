import { expect, it } from "vitest";
import { crashOnce } from "../support/crash.ts";
import { expectNothingLost } from "../support/ledger.ts";
import { PATIENT } from "../support/program.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { inWhole } from "../support/whole.ts";

/** The lost request may still arrive: nothing is sent that it could overwrite. Then its time-out passes. */
async function waitOut(shop: Shop): Promise<void> {
  const { ledger } = shop.sandbox;
  const before = ledger.ofKind("import").length;
  expect((await shop.start("sync", "stocks").exited).code).toBe(0);
  expect(ledger.ofKind("import").length).toBe(before);
  shop.write("UPDATE feed_outbox SET doubt_until_ms = 0 WHERE doubt_record IS NOT NULL");
}

inWhole("feeds/push-doubt", "feeds/push-model").describe("a kill during a push", PATIENT, () => {
  it.each([
    { at: "request", name: "before the service has acted" },
    { at: "answer", name: "after the service has acted" },
  ] as const)("sends the newest value $name", async ({ at }) => {
    const shop = await startShop();
    await shop.start("sync", "stocks").exited;
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('A', 5), ('B', 7), ('C', 1)");
    await crashOnce(shop, { kind: "import", at }, ["sync", "stocks"], () => {});
    expect(shop.rows("SELECT count(*) AS n FROM feed_outbox WHERE doubt_record IS NOT NULL")).toEqual([{ n: 3 }]);
    // While the bridge is down the ERP goes on: one value moves on, one goes back to what was sent, one goes away and returns.
    shop.write("UPDATE stock SET quantity = 4 WHERE sku = 'A'");
    shop.write("UPDATE stock SET quantity = 6 WHERE sku = 'B'");
    shop.write("UPDATE stock SET quantity = 7 WHERE sku = 'B'");
    shop.write("DELETE FROM stock WHERE sku = 'C'");
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('C', 2)");
    await waitOut(shop);
    // And once more, now in the recovery.
    await crashOnce(shop, { kind: "import", at }, ["sync", "stocks"], () => {});
    await waitOut(shop);
    expect((await shop.start("sync", "stocks").exited).code).toBe(0);

    const newest = [...shop.sandbox.service.imported("stocks").values()].map(
      (text) => JSON.parse(text) as { sku: string },
    );
    expect(newest.sort((a, b) => a.sku.localeCompare(b.sku))).toEqual([
      { sku: "A", warehouse: "", quantity: 4 },
      { sku: "B", warehouse: "", quantity: 7 },
      { sku: "C", warehouse: "", quantity: 2 },
    ]);
    expect(shop.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
    expect(shop.rows("SELECT count(*) AS n FROM feed_sent")).toEqual([{ n: 3 }]);
    expectNothingLost(shop);
  });
});
