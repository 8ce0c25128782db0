import { describe, expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";

const DAY_MS = 86_400_000;

describe("keeping house", () => {
  it("removes history that is older than it is kept, and never gives a number of it again", async () => {
    const { bridge, clock, sandbox, run, rows } = await startTestBridge({
      settings: { retention: { runs: "30d", events: "90d" } },
    });
    createOrders({ sandbox }, 20);
    await run("orders");
    clock.advance(60 * DAY_MS);
    createOrders({ sandbox }, 5);
    await run("orders");
    expect(await bridge.runJob("upkeep")).toMatchObject({ error: null, counts: { runs: 1 } });
    expect(rows("SELECT count(*) AS n FROM order_events")).toEqual([{ n: 25 }]);
    clock.advance(40 * DAY_MS);
    const { counts } = await bridge.runJob("upkeep");
    expect(counts).toMatchObject({ events: 20 });
    expect(rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 25 }]);
    expect(rows("SELECT min(seq) AS n FROM order_events")).toEqual([{ n: 21 }]);
    clock.advance(365 * DAY_MS);
    await bridge.runJob("upkeep");
    expect(rows("SELECT * FROM order_events")).toEqual([]);
    createOrders({ sandbox }, 1);
    await run("orders");
    expect(rows("SELECT seq FROM order_events")).toEqual([{ seq: 26 }]);
  });

  it("removes much in small steps, and holds the write lock only for a moment", async () => {
    const { bridge, clock, rows } = await startTestBridge();
    bridge.store.db.exec(
      `INSERT INTO runs (job, started_at, finished_at, outcome)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
       SELECT 'orders', '2020-01-01T00:00:00.000Z', '2020-01-01T00:00:00.000Z', 'idle' FROM n`,
    );
    const result = await bridge.runJob("upkeep");
    expect(result).toMatchObject({ error: null, counts: { runs: 12_000 } });
    expect(rows("SELECT count(*) AS n FROM runs")).toEqual([{ n: 1 }]);
    expect(bridge.store.longestWriteMs).toBeLessThan(500);
    clock.advance(1_000);
    expect(await bridge.runJob("upkeep")).toMatchObject({ outcome: "idle" });
  });
});
