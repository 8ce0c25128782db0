import { describe, expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const DAY_MS = 86_400_000;

describe("keeping house", () => {
  itWhole("removes history that is older than it is kept, and never gives a number of it again", async () => {
    const { bridge, clock, sandbox, run, rows } = await startTestBridge({
      settings: { retention: { runs: "30d", events: "90d" } },
    });
    createOrders({ sandbox }, 20);
    await run("orders");
    await run("upkeep");
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
    clock.advance(300 * DAY_MS);
    await bridge.runJob("upkeep");
    expect(rows("SELECT * FROM order_events")).toEqual([]);
    createOrders({ sandbox }, 1);
    await run("orders");
    expect(rows("SELECT seq FROM order_events")).toEqual([{ seq: 26 }]);
  });

  itWhole("removes much in small steps, and holds the write lock only for a moment", async () => {
    const { bridge, clock, rows, run } = await startTestBridge();
    await run("orders");
    bridge.store.db.exec(
      `INSERT INTO runs (job, started_at, finished_at, outcome)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
       SELECT 'orders', '2020-01-01T00:00:00.000Z', '2020-01-01T00:00:00.000Z', 'idle' FROM n`,
    );
    await run("upkeep");
    clock.advance(40 * DAY_MS);
    await run("orders");
    const result = await bridge.runJob("upkeep");
    expect(result).toMatchObject({ error: null, counts: { runs: 12_001 } });
    expect(rows("SELECT count(*) AS n FROM runs")).toEqual([{ n: 3 }]);
    expect(bridge.store.longestWriteMs).toBeLessThan(500);
    clock.advance(1_000);
    expect(await bridge.runJob("upkeep")).toMatchObject({ outcome: "idle" });
  });

  itWhole.each([
    ["ahead", 3 * 365 * DAY_MS],
    ["behind", -3 * 365 * DAY_MS],
    ["behind, and shows a year before 1970", -90 * 365 * DAY_MS],
  ])("removes nothing while the clock is years %s, or nobody has told the time", async (_name, offMs) => {
    let serviceMs = Date.UTC(2026, 2, 1, 12);
    const { clock, run, rows, sandbox, restart } = await startTestBridge({
      sandbox: { now: () => serviceMs },
    });
    createOrders({ sandbox }, 5);
    await run("orders");
    const history = () => rows("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM order_events) AS n")[0];
    await restart();
    clock.jump(offMs);
    expect(await run("upkeep")).toMatchObject({ outcome: "idle", error: null });
    await run("orders");
    const before = history();
    expect(await run("upkeep")).toMatchObject({ outcome: "idle", error: null });
    expect(Number(history()?.["n"])).toBeGreaterThanOrEqual(Number(before?.["n"]));
    expect(rows("SELECT count(*) AS n FROM order_events")).toEqual([{ n: 5 }]);
    // Both agree, and what was written under the wrong clock is as young as it is.
    clock.jump(serviceMs - clock.nowMs());
    await run("orders");
    expect(await run("upkeep")).toMatchObject({ outcome: "idle", error: null });
    // Four years on.
    clock.jump(serviceMs - clock.nowMs() + 4 * 365 * DAY_MS);
    serviceMs = clock.nowMs();
    await run("orders");
    await run("upkeep");
    expect(rows("SELECT count(*) AS n FROM order_events")).toEqual([{ n: 0 }]);
  });

  itSome(1)([
    ["behind", -8 * 365 * DAY_MS],
    ["ahead", 8 * 365 * DAY_MS],
  ])("keeps what was written while the clock was years %s as long as everything else", async (_name, offMs) => {
    let serviceMs = Date.UTC(2026, 2, 1, 12);
    const { clock, run, rows, sandbox } = await startTestBridge({ sandbox: { now: () => serviceMs } });
    const events = () => rows("SELECT count(*) AS n FROM order_events");
    const pass = async (days: number) => {
      serviceMs += days * DAY_MS;
      clock.jump(serviceMs - clock.nowMs());
      await run("orders");
      await run("upkeep");
    };
    clock.jump(serviceMs + offMs - clock.nowMs());
    createOrders({ sandbox }, 5);
    await run("orders");
    await run("upkeep");
    for (const days of [0, 1, 300, 300]) await pass(days);
    expect(events()).toEqual([{ n: 5 }]);
    await pass(131);
    expect(events()).toEqual([{ n: 0 }]);
  });

  itWhole("removes confirmed batches and sent requests, and never what was refused, waits or came last", async () => {
    const { bridge, clock, run, rows, sandbox } = await startTestBridge();
    createOrders({ sandbox }, 2);
    await run("orders");
    const old = "2020-01-01T00:00:00.000Z";
    const { db } = bridge.store;
    for (const state of ["confirmed", "refused", "stored"])
      db.prepare(
        "INSERT INTO batches (fingerprint, received_at, order_count, state, confirmed_at, order_ids) VALUES (?, ?, 1, ?, ?, '[]')",
      ).run(state, old, state, state === "confirmed" ? old : null);
    for (const state of ["sent", "refused", "pending"])
      db.prepare("INSERT INTO status_requests (order_id, status, state, answered_at) VALUES ('x', 'paid', ?, ?)").run(
        state,
        old,
      );
    db.prepare("UPDATE batches SET confirmed_at = ? WHERE id = 1").run(old);
    expect(await run("upkeep")).toMatchObject({ outcome: "idle" });
    clock.advance(370 * DAY_MS);
    await run("orders");
    expect(await run("upkeep")).toMatchObject({ counts: { batches: 2, requests: 1 } });
    expect(rows("SELECT fingerprint FROM batches WHERE state <> 'confirmed'")).toEqual([
      { fingerprint: "refused" },
      { fingerprint: "stored" },
    ]);
    expect(rows("SELECT state FROM status_requests ORDER BY id")).toEqual([{ state: "refused" }, { state: "pending" }]);
  });

  describe("where the service's answers have no Date", () => {
    const old = "2020-01-01T00:00:00.000Z";

    async function start() {
      const t = await startTestBridge({ sandbox: { options: { dateHeader: false } } });
      await t.run("orders");
      expect(t.bridge.client.serviceNow).toBeUndefined();
      return t;
    }

    it("goes by the timestamps of the newest orders and the time since then, never by this machine's clock", async () => {
      const t = await start();
      createOrders(t, 5);
      await t.run("orders");
      const events = () => t.rows<{ n: number }>("SELECT count(*) AS n FROM order_event_rows")[0]?.n;
      t.clock.jump(40 * 365 * DAY_MS);
      await t.run("upkeep");
      expect(events()).toBe(5);
      t.clock.jump(-40 * 365 * DAY_MS);
      await t.run("upkeep");
      t.bridge.store.db.prepare("UPDATE order_event_rows SET at = ? WHERE seq <= 2").run(old);
      await t.run("upkeep");
      expect(events()).toBe(5);
      // Nothing comes any more, and the daemon runs on.
      t.clock.advance(800 * DAY_MS);
      expect(await t.run("upkeep")).toMatchObject({ counts: { events: 5 } });
    });

    itWhole("bounds the number of runs where there are no orders either", async () => {
      const t = await start();
      const insert = t.bridge.store.db.prepare(
        "INSERT INTO runs (id, job, started_at, finished_at, outcome) VALUES (?, 'orders', ?, ?, 'idle')",
      );
      for (const id of [10, 2_000_010, 2_000_011]) insert.run(id, old, old);
      expect(await t.run("upkeep")).toMatchObject({ error: null });
      expect(t.rows("SELECT id FROM runs WHERE id <= 2000011 AND id > 5")).toEqual([
        { id: 2_000_010 },
        { id: 2_000_011 },
      ]);
    });
  });
});
