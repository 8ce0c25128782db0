import { describe, expect, it } from "vitest";
import { startWebBridge } from "../support/web.ts";

/** Tables that grow for ever, or for weeks; `r` stands for runs. */
const LONG = "orders|order_line_rows|order_event_rows|batches|runs|r|feed_sent|erp_orders|seen_changes|status_requests";
const WALK = new RegExp(`^SCAN (${LONG})( |$)`);
/** Indexes of what waits or was refused. */
const SHORT_INDEX =
  /USING (COVERING )?INDEX (batches_stored|batches_unread|batches_refused|status_requests_open|status_requests_refused)/;
const NEWEST_ONLY = /FROM (batches|status_requests|orders) [^;]*ORDER BY (id|order_key) DESC LIMIT \d+/;

describe("what an answer reads", () => {
  it("never walks through a table that grows, but for the newest batches and orders, of which it takes a bounded number", async () => {
    const t = await startWebBridge();
    t.sandbox.service.createOrder();
    for (const job of ["orders", "updates", "stocks"] as const) await t.run(job);
    const { store } = t.bridge;
    const texts = new Set<string>();
    const prepare = store.prepare.bind(store);
    store.prepare = ((sql: string) => {
      texts.add(sql);
      return prepare(sql);
    }) as never;
    t.clock.advance(60_000);
    for (const path of ["/", "/health", "/metrics"]) expect((await t.ask(path)).status).toBe(200);
    const scans = [...texts].flatMap((sql) => {
      const values = [...sql.matchAll(/\?/g)].map(() => 1);
      const named = Object.fromEntries([...sql.matchAll(/[@:]([a-z]\w*)/gi)].map(([, name]) => [name, 1]));
      const bound = Object.keys(named).length === 0 ? values : [...values, named];
      const plan = store.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...bound) as { detail: string }[];
      return plan
        .filter(({ detail }) => WALK.test(detail) && !SHORT_INDEX.test(detail))
        .filter(() => !NEWEST_ONLY.test(sql))
        .map(({ detail }) => `${detail}: ${sql}`);
    });
    expect(scans).toEqual([]);
    expect(texts.size).toBeGreaterThan(15);
  });
});
