import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { fillStock, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { inWhole, itWhole, some } from "../support/whole.ts";

const whole = inWhole("feeds/push-two-holds");

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const FEEDS = {
  imports: {
    prices: {
      path: "/api/v1/import/prices",
      record: { sku: "{sku}", price_type: "{price_type}", price: "{price|number}" },
    },
  },
};
const UNPAID: FaultAction = { kind: "status", status: 402 };
const REFUSED: FaultAction = { kind: "status", status: 401 };
const WAIT: FaultAction = { kind: "status", status: 429, headers: { "retry-after": "2400" } };

/** Both feeds have something to send, and stocks are refused while the prices are under way. */
async function startRefused(stocks: FaultAction, prices: FaultAction): Promise<PushedFeeds> {
  let holdPrices: Promise<void> | undefined;
  const arrived = Promise.withResolvers<void>();
  const onRequest = async ({ path }: { path: string }) => {
    if (!path.endsWith("/prices")) return;
    arrived.resolve();
    await holdPrices;
  };
  const feeds = await startFeeds({ settings: FEEDS, arm: ["stocks", "prices", "orders"], sandbox: { onRequest } });
  const { erp, run, sandbox } = feeds;
  sandbox.faults.add({ match: { feed: "stocks" }, do: stocks });
  sandbox.faults.add({ match: { feed: "prices" }, do: prices });
  const stocksDone = Promise.withResolvers<void>();
  holdPrices = stocksDone.promise;
  erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
  const running = run("prices");
  await arrived.promise;
  fillStock(erp, 3);
  await run("stocks");
  stocksDone.resolve();
  await running;
  return feeds;
}

/** The minutes until both feeds are on the site; `undefined` where that takes longer than `limit`. */
async function minutesUntilDrained(feeds: PushedFeeds, limit: number): Promise<number | undefined> {
  for (let minutes = 1; minutes <= limit; minutes++) {
    await feeds.minute("orders", "stocks", "prices");
    const owed = feeds.rows<{ n: number }>("SELECT count(*) AS n FROM feed_outbox")[0]?.n;
    if (owed === 0) return minutes;
  }
  return undefined;
}

const COMBINATIONS: [string, FaultAction, FaultAction, string[], number][] = [
  ["unpaid and asked to wait", UNPAID, WAIT, ["payment", "rate limit"], 40],
  ["asked to wait and unpaid", WAIT, UNPAID, ["payment", "rate limit"], 40],
  ["refused and unpaid", REFUSED, UNPAID, ["credentials", "payment"], 30],
];

whole.describe("imports that are held for two reasons", () => {
  it.each(some(COMBINATIONS, 1))(
    "drain as soon as the longer wait is over: %s",
    async (_, stocks, prices, reasons, minutes) => {
      const feeds = await startRefused(stocks, prices);
      expect(feeds.holds()).toEqual(reasons.map((reason) => ({ area: "imports", reason })));
      expect(await minutesUntilDrained(feeds, 60)).toBe(minutes);
      expect([feeds.holds(), feeds.level("S-3"), Object.keys(feeds.site("prices"))]).toEqual([[], 10, ["A"]]);
    },
  );

  itWhole.each(some(COMBINATIONS, 1))(
    "drain at the same time after a restart: %s",
    async (_, stocks, prices, __, minutes) => {
      const feeds = await startRefused(stocks, prices);
      feeds.clock.advance(5 * MINUTE_MS);
      await feeds.restart();
      expect(await minutesUntilDrained(feeds, 60)).toBe(minutes - 5);
      expect(feeds.holds()).toEqual([]);
    },
  );

  itWhole.each(some(COMBINATIONS, 1))(
    "wait as long as the longer one at most where the clock was set back meanwhile: %s",
    async (...of) => {
      const [, stocks, prices, , minutes] = of;
      const feeds = await startRefused(stocks, prices);
      feeds.clock.jump(-DAY_MS);
      await feeds.restart();
      await feeds.run("orders");
      expect(await minutesUntilDrained(feeds, 61)).toBe(minutes);
      expect(feeds.holds()).toEqual([]);
    },
  );

  itWhole("count the wait from the restart, also where they have nothing to send until it is over", async () => {
    const feeds = await startRefused(UNPAID, WAIT);
    const { erp, clock, run, holds } = feeds;
    erp.exec("DELETE FROM prices; DELETE FROM stock");
    clock.jump(-DAY_MS);
    await feeds.restart();
    await feeds.run("orders");
    for (let minutes = 0; minutes < 60; minutes++) await feeds.minute("orders");
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('NEW', 7)");
    await run("stocks");
    expect([feeds.level("NEW"), holds()]).toEqual([7, []]);
  });

  itWhole("drain after the payment and after refusals of every record, without a person", async () => {
    const feeds = await startFeeds({ settings: FEEDS, arm: ["stocks", "prices"] });
    const { erp, run, sandbox, holds, level, site } = feeds;
    sandbox.service.setOptions({ reject: { skus: "all", how: "422" } });
    fillStock(erp, 4);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: [] } });
    sandbox.faults.add({ match: { feed: "prices" }, do: UNPAID });
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    await run("prices");
    expect(holds()).toEqual([
      { area: "imports", reason: "payment" },
      { area: "stocks", reason: "refused" },
    ]);
    await feeds.restart();
    for (let minutes = 0; minutes < 35; minutes++) await feeds.minute("stocks", "prices");
    expect([Object.keys(site("prices")), level("S-4"), holds()]).toEqual([["A"], 10, []]);
  });
});

describe("a wait that the service asked for, where nothing waits to be sent", () => {
  it("is over when its time is", async () => {
    const { erp, run, clock, holds, sandbox } = await startFeeds();
    sandbox.faults.add({
      match: { path: "import" },
      do: { kind: "status", status: 429, headers: { "retry-after": "90" } },
    });
    fillStock(erp, 2);
    await run("stocks");
    // Another program takes what waited out of the file; the source no longer has it.
    erp.exec("DELETE FROM stock; DELETE FROM feed_outbox; DELETE FROM feed_dirty");
    await run("stocks");
    clock.advance(60_000);
    await run("stocks");
    expect(holds()).toEqual([{ area: "imports", reason: "rate limit" }]);
    clock.advance(31_000);
    await run("stocks");
    expect(holds()).toEqual([]);
    expect(sandbox.ledger.ofKind("import")).toHaveLength(1);
  });
});
