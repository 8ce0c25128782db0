import { describe, expect, it } from "vitest";
import { fillStock, type PushedFeeds, startFeeds } from "../support/pushed.ts";

const MINUTE_MS = 60_000;

/** Answers 429 where what is asked for is more than is left of what the service grants in `perMs`. */
function limit(feeds: PushedFeeds, grant: number, { of, perMs }: { of: "records" | "requests"; perMs: number }): void {
  const { clock, sandbox } = feeds;
  const { service } = sandbox;
  const handle = service.handle.bind(service);
  let [left, sinceMs] = [grant, clock.nowMs()];
  service.handle = (request) => {
    if (!request.path.includes("/import/")) return handle(request);
    if (clock.nowMs() - sinceMs >= perMs) [left, sinceMs] = [grant, clock.nowMs()];
    const { stocks } = JSON.parse(request.body.toString()) as { stocks: unknown[] };
    const cost = of === "records" ? stocks.length : 1;
    const isGranted = cost <= left;
    if (isGranted) left -= cost;
    if (isGranted) return handle(request);
    const answer = handle({ ...request, path: "/nowhere" });
    return { ...answer, status: 429, headers: { ...answer.headers, "retry-after": "10" } };
  };
}

async function passes(feeds: PushedFeeds, count: number, before = () => Promise.resolve()): Promise<void> {
  for (let pass = 0; pass < count; pass++) {
    await before();
    feeds.clock.advance(11_000);
    await feeds.run("stocks");
  }
}

const sizes = (feeds: PushedFeeds) => feeds.requests().map(({ records }) => records.length);

describe("a service that grants so many records at a time, and answers 429 to more", () => {
  it.each([
    ["", () => Promise.resolve()],
    [", where each pass is a process of its own", (feeds: PushedFeeds) => feeds.restart()],
  ])("gets smaller requests until it takes them, what is sold out first%s", async (_, before) => {
    const feeds = await startFeeds();
    fillStock(feeds.erp, 300);
    await feeds.run("stocks");
    limit(feeds, 100, { of: "records", perMs: 10_000 });
    feeds.erp.exec("UPDATE stock SET quantity = 5");
    feeds.erp.exec("UPDATE stock SET quantity = 0 WHERE sku IN ('S-100', 'S-200', 'S-300')");
    // As many were accepted at once before: that is outgrown after half an hour.
    for (let minute = 0; minute < 40; minute++) {
      feeds.clock.advance(MINUTE_MS);
      await feeds.run("stocks");
    }
    await passes(feeds, 30, async () => void (await before(feeds)));
    expect(["S-100", "S-200", "S-300", "S-1"].map((sku) => feeds.level(sku))).toEqual([0, 0, 0, 5]);
    expect([feeds.rows("SELECT 1 FROM feed_outbox"), feeds.holds()]).toEqual([[], []]);
  });

  it("gets them within a minute where it has never taken as many", async () => {
    const feeds = await startFeeds();
    fillStock(feeds.erp, 20);
    await feeds.run("stocks");
    limit(feeds, 100, { of: "records", perMs: 10_000 });
    feeds.erp.exec("DELETE FROM stock");
    fillStock(feeds.erp, 300, 5);
    feeds.requests();
    await passes(feeds, 6);
    expect(sizes(feeds).filter((size) => size <= 100).length).toBeGreaterThan(0);
    await passes(feeds, 20);
    expect(Object.keys(feeds.site())).toHaveLength(300);
  });
});

describe("a service that grants so many requests at a time", () => {
  it("gets no smaller ones, although it asks for shorter waits than are needed", async () => {
    const feeds = await startFeeds({ settings: { imports: { stocks: { chunk: 50 } } } });
    fillStock(feeds.erp, 50);
    await feeds.run("stocks");
    limit(feeds, 2, { of: "requests", perMs: 10 * MINUTE_MS });
    feeds.erp.exec("DELETE FROM stock");
    fillStock(feeds.erp, 300, 5);
    feeds.requests();
    await passes(feeds, 250);
    expect(new Set(sizes(feeds))).toEqual(new Set([50]));
    expect([feeds.rows("SELECT 1 FROM feed_outbox"), Object.keys(feeds.site())]).toEqual([
      [],
      expect.objectContaining({ length: 300 }),
    ]);
  });
});
