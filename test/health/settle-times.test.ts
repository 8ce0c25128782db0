import { describe, expect, it } from "vitest";
import { ClockSegments } from "../../src/health/clock-segments.ts";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { startTestBridge } from "../support/bridge.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const YEARS_MS = 800 * DAY_MS;
const RIGHT_MS = Date.UTC(2026, 2, 1, 12);

/** A bridge whose machine's clock is off at first; the service's is right. */
async function startOff(offMs: number) {
  let elapsedMs = 0;
  const t = await startTestBridge({ sandbox: { now: () => RIGHT_MS + elapsedMs } });
  t.clock.jump(offMs);
  await t.restart();
  const pass = (ms: number) => {
    elapsedMs += ms;
    t.clock.advance(ms);
  };
  return {
    t,
    pass,
    untaken: () =>
      listConditions(
        loadFacts(t.bridge.store),
        { nowMs: t.clock.nowMs(), isRunning: true },
        { erpReadWithinMs: HOUR_MS },
      )
        .filter(({ code }) => code === "orders_untaken")
        .map(({ params }) => (params as { ageS: number }).ageS),
    queued: () => t.rows<{ since: string }>("SELECT since FROM erp_queue ORDER BY order_key").map(({ since }) => since),
    success: () => t.rows<{ at: string }>("SELECT last_success_at AS at FROM flows WHERE flow = 'orders'")[0]?.at,
  };
}

describe("an order that came under a clock that was years off", () => {
  itSome(1)([
    ["ahead", YEARS_MS],
    ["behind", -YEARS_MS],
  ])("(%s) has its real age once the clock is right", async (_, offMs) => {
    const { t, pass, untaken, queued, success } = await startOff(offMs);
    t.sandbox.service.createOrder();
    await t.run("orders");
    await t.bridge.watch.look();
    pass(10 * 60_000);
    t.sandbox.service.createOrder();
    await t.run("orders");
    await t.bridge.watch.look();
    t.clock.jump(-offMs);
    await t.run("orders");
    await t.bridge.watch.look();
    // A restart takes some seconds of the test's clock.
    expect(queued().map((since) => since.slice(0, 16))).toEqual(["2026-03-01T12:00", "2026-03-01T12:10"]);
    expect([success()?.slice(0, 16), untaken()]).toEqual(["2026-03-01T12:10", []]);
    pass(65 * 60_000);
    expect(untaken()).toEqual([75 * 60]);
    await t.run("orders");
    await t.bridge.watch.look();
    expect(untaken()).toEqual([75 * 60]);
  });

  itWhole("and an earlier process counts from the first moment at which the clock is known to be right", async () => {
    const { t, pass, untaken, queued } = await startOff(YEARS_MS);
    t.sandbox.service.createOrder();
    await t.run("orders");
    t.clock.jump(-YEARS_MS);
    await t.restart();
    await t.bridge.watch.look();
    expect(queued()[0]).toContain("2028-");
    await t.run("orders");
    await t.bridge.watch.look();
    expect(queued()[0]).toContain("2026-03-01T12:00");
    pass(2 * HOUR_MS);
    expect(untaken()).toEqual([7_200]);
  });
});

describe("segments of a clock", () => {
  const look = (segments: ClockSegments, nowMs: number, monotonicMs: number, isRight: boolean | undefined) =>
    segments.look({ nowMs, monotonicMs, isRight });

  it("of which the service confirmed one are not moved: a machine that slept looks the same", () => {
    const segments = new ClockSegments();
    expect(look(segments, RIGHT_MS, 0, true)).toEqual([]);
    expect(look(segments, RIGHT_MS + 5_000, 5_000, true)).toBeUndefined();
    expect(look(segments, RIGHT_MS + 8 * HOUR_MS, 10_000, true)).toEqual([]);
  });

  it("that nobody knew anything of are left alone, and those that were wrong are moved once", () => {
    const segments = new ClockSegments();
    expect(look(segments, 1_000_000, 0, undefined)).toBeUndefined();
    expect(look(segments, 2 * YEARS_MS, 5_000, false)).toBeUndefined();
    expect(look(segments, 2 * YEARS_MS + 5_000, 10_000, false)).toBeUndefined();
    expect(look(segments, RIGHT_MS, 15_000, true)).toEqual([
      { fromMs: 2 * YEARS_MS, toMs: 2 * YEARS_MS + 10_000, byMs: RIGHT_MS - (2 * YEARS_MS + 10_000) },
    ]);
    expect(look(segments, RIGHT_MS + 5_000, 20_000, true)).toBeUndefined();
  });
});
