import { describe, expect, it } from "vitest";
import { exitCodeOfAll, listConditions, measureAges } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { fillStock, IMPORT_TIMEOUT_MS, startFeeds } from "../support/pushed.ts";
import { itWhole, size } from "../support/whole.ts";

/** A service with a defect: it answers 500 to every request that has this record. */
const FAILS_AT = { reject: { skus: ["S-17"], how: "500" } } as const;

async function startWithRows(count: number) {
  const feeds = await startFeeds();
  feeds.erp.exec("INSERT INTO stock (sku, quantity) VALUES ('FIRST', 1)");
  await feeds.run("stocks");
  feeds.sandbox.service.setOptions(FAILS_AT);
  fillStock(feeds.erp, count);
  return feeds;
}

/** Passes as they follow each other while requests fail: once each time the last one can no longer arrive. */
async function passes(
  feeds: Awaited<ReturnType<typeof startWithRows>>,
  count: number,
  before = () => Promise.resolve(),
): Promise<void> {
  for (let pass = 0; pass < count; pass++) {
    await before();
    feeds.clock.advance(IMPORT_TIMEOUT_MS + 1_000);
    await feeds.run("stocks").catch(() => {});
  }
}

describe("a record that the service fails at", () => {
  it("does not keep the others of its chunk from the site", async () => {
    const feeds = await startWithRows(200);
    await passes(feeds, 20);
    expect(Object.keys(feeds.site())).toHaveLength(200);
    expect(feeds.level("S-17")).toBeUndefined();
    expect(feeds.rows("SELECT k0, refusal, tries > 0 AS isTried, last_error FROM feed_outbox")).toEqual([
      { k0: "S-17", refusal: "passing", isTried: 1, last_error: expect.stringContaining("500") },
    ]);
    expect(feeds.quarantined()).toEqual([]);
    expect(feeds.holds()).toEqual([]);
    expect(feeds.rows("SELECT refused FROM sync_status WHERE flow = 'stocks'")).toEqual([{ refused: 1 }]);
  });

  itWhole("does not where each pass is a process of its own", async () => {
    const feeds = await startWithRows(200);
    await passes(feeds, 30, () => feeds.restart());
    expect(Object.keys(feeds.site())).toHaveLength(200);
    expect(feeds.level("S-17")).toBeUndefined();
  });

  itWhole("goes by itself from then on, ever more seldom, and fails no pass", async () => {
    const feeds = await startWithRows(50);
    await passes(feeds, 20);
    feeds.requests();
    let failed = 0;
    const minutes = size(90, 180);
    for (let minute = 0; minute < minutes; minute++) {
      feeds.erp.exec(`UPDATE stock SET quantity = ${minute + 100} WHERE sku IN ('S-1', 'S-2')`);
      feeds.clock.advance(60_000);
      await feeds.run("stocks").catch(() => failed++);
    }
    expect(failed).toBe(0);
    const tried = feeds.requests().filter(({ status }) => status === 500);
    expect(tried.length).toBeGreaterThan(1);
    expect(tried.length).toBeLessThan(15);
    expect(tried.every(({ records }) => records.length === 1 && records[0]?.["sku"] === "S-17")).toBe(true);
    expect(feeds.level("S-1")).toBe(minutes + 99);
  });

  itWhole("arrives once the service takes it", async () => {
    const feeds = await startWithRows(50);
    await passes(feeds, 20);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    for (let minute = 0; minute < 70; minute++) await feeds.minute();
    expect(feeds.level("S-17")).toBe(10);
    expect(feeds.rows("SELECT 1 FROM feed_outbox")).toEqual([]);
  });

  itWhole("goes with its newest value as soon as that is another", async () => {
    const feeds = await startWithRows(50);
    await passes(feeds, 20);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    feeds.erp.exec("UPDATE stock SET quantity = 3 WHERE sku = 'S-17'");
    await passes(feeds, 1);
    expect(feeds.level("S-17")).toBe(3);
  });
});

describe("a record that the service fails at, beside changes of others", () => {
  const FAILING = "S-17";

  async function startBusy(count: number) {
    const feeds = await startFeeds();
    fillStock(feeds.erp, count);
    await feeds.minute();
    feeds.sandbox.service.setOptions(FAILS_AT);
    feeds.requests();
    return feeds;
  }

  const conditionsOf = ({ bridge, clock }: Awaited<ReturnType<typeof startBusy>>) => {
    const now = { nowMs: clock.nowMs(), startedAtMs: clock.nowMs() };
    return listConditions(
      measureAges(loadFacts(bridge.store), now),
      { ...now, isRunning: true },
      { erpReadWithinMs: 1e12 },
    );
  };

  /** Every minute some other articles change, and this one goes to zero. */
  async function sell(feeds: Awaited<ReturnType<typeof startBusy>>, minutes: number) {
    const waits: number[] = [];
    const changed = new Map<string, { level: number; minute: number }>();
    feeds.erp.exec(`UPDATE stock SET quantity = 0 WHERE sku = '${FAILING}'`);
    for (let minute = 0; minute < minutes; minute++) {
      for (let sale = 0; sale < 10; sale++) {
        const sku = `S-${20 + ((minute * 10 + sale) % 100)}`;
        feeds.erp.exec(`UPDATE stock SET quantity = quantity - 1 WHERE sku = '${sku}'`);
        const level =
          feeds.erp.prepare<[string], number>("SELECT quantity FROM stock WHERE sku = ?").pluck().get(sku) ?? 0;
        changed.set(sku, { level, minute: changed.get(sku)?.minute ?? minute });
      }
      await feeds.minute().catch(() => {});
      for (const [sku, { level, minute: since }] of changed)
        if (feeds.level(sku) === level && changed.delete(sku)) waits.push(minute - since);
    }
    return Math.max(...waits, ...[...changed.values()].map(({ minute }) => minutes - minute));
  }

  itWhole("delays each of them by one failed request at most, and is sent with none of them again", async () => {
    const feeds = await startBusy(200);
    expect(await sell(feeds, 15)).toBeLessThanOrEqual(3);
    const failed = feeds.requests().filter(({ status }) => status === 500);
    expect(failed.map(({ records }) => records.length).slice(0, 3)).toEqual([11, 1, 1]);
    expect(feeds.level(FAILING)).toBe(10);
    expect([feeds.quarantined(), feeds.holds()]).toEqual([[], []]);
  });

  itWhole("is found among all rows of the table", async () => {
    const feeds = await startBusy(600);
    feeds.erp.exec("UPDATE stock SET quantity = quantity + 1");
    await feeds.minutes(10).catch(() => {});
    for (let minute = 0; minute < 10; minute++) await feeds.minute().catch(() => {});
    const sizes = feeds.requests().flatMap(({ status, records }) => (status === 500 ? [records.length] : []));
    expect(sizes.slice(0, 3)).toEqual([500, 20, 1]);
    expect([feeds.level(FAILING), feeds.level("S-1"), feeds.level("S-600")]).toEqual([10, 11, 11]);
    expect(feeds.rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: FAILING }]);
  });

  it("is a condition as soon as it waits for minutes, whatever is accepted beside it", async () => {
    const feeds = await startBusy(30);
    feeds.erp.exec("UPDATE stock SET quantity = 9 WHERE sku IN ('S-17', 'S-18')");
    await feeds.minute().catch(() => {});
    expect(conditionsOf(feeds).filter(({ code }) => code === "refused_rows")).toEqual([]);
    feeds.clock.advance(5 * 60_000);
    // Another article is accepted while both wait for the end of their request.
    feeds.rows("UPDATE feed_outbox SET doubt_until_ms = doubt_until_ms + 600000 RETURNING 1");
    feeds.erp.exec("UPDATE stock SET quantity = 9 WHERE sku = 'S-19'");
    await feeds.minute();
    expect(feeds.level("S-19")).toBe(9);
    const found = conditionsOf(feeds).filter(({ subject }) => subject === "stocks");
    expect(found).toMatchObject([{ code: "refused_rows", params: { count: 2 } }]);
    expect(exitCodeOfAll(found)).not.toBe(0);
  });
});

describe("a service that fails at everything", () => {
  it("is asked only a few times while the rows of a failed request are sent one by one", async () => {
    const feeds = await startWithRows(200);
    await passes(feeds, 10);
    feeds.erp.exec("UPDATE stock SET quantity = 11 WHERE sku LIKE 'S-2_'");
    feeds.sandbox.service.setOptions({ reject: { skus: "all", how: "500" } });
    await passes(feeds, 1);
    feeds.erp.exec("UPDATE stock SET quantity = 11 WHERE sku = 'S-1'");
    const { service } = feeds.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      service.setOptions({ reject: { skus: request.body.includes('"S-1"') ? [] : "all", how: "500" } });
      return handle(request);
    };
    feeds.requests();
    await passes(feeds, 1);
    const statuses = feeds.requests().map(({ status }) => status);
    expect(statuses[0]).toBe(200);
    expect(statuses.length).toBeLessThan(8);
  });

  itWhole("gets whole chunks when it is well, also where each pass is a process of its own", async () => {
    const feeds = await startWithRows(200);
    feeds.sandbox.service.setOptions({ reject: { skus: "all", how: "500" } });
    await passes(feeds, 6, () => feeds.restart());
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    feeds.requests();
    await passes(feeds, 4, () => feeds.restart());
    expect(Object.keys(feeds.site())).toHaveLength(201);
    expect(feeds.requests().length).toBeLessThan(20);
  });

  itWhole("sets no record aside, and gets whole chunks again when it is well", async () => {
    const feeds = await startWithRows(200);
    feeds.sandbox.service.setOptions({ reject: { skus: "all", how: "500" } });
    await passes(feeds, 20);
    expect(feeds.rows("SELECT 1 FROM feed_outbox WHERE refusal IS NOT NULL")).toEqual([]);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    feeds.requests();
    await passes(feeds, 4);
    expect(Object.keys(feeds.site())).toHaveLength(201);
    expect(feeds.requests().length).toBeLessThan(20);
    feeds.erp.exec("UPDATE stock SET quantity = 11");
    await passes(feeds, 1);
    feeds.requests();
    feeds.erp.exec("UPDATE stock SET quantity = 12");
    await passes(feeds, 1);
    expect(feeds.requests().map(({ records }) => records.length)).toEqual([201]);
  });
});
