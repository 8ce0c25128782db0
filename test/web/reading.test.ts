import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { TtlCache } from "../../src/platform/ttl-cache.ts";
import { LoopWatch } from "../../src/web/event-loop.ts";
import { FakeClock } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

function spin(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** So long of this thread's own time, however busy the machine is. */
function spinThread(ms: number): void {
  const before = process.threadCpuUsage();
  const spent = () => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  while (spent() < ms);
}

describe("one look for everybody", () => {
  it("is remembered for a second by the clock that never jumps", () => {
    const clock = new FakeClock();
    let looks = 0;
    const remembered = new TtlCache(clock, () => ++looks);
    expect([remembered.get(), remembered.get()]).toEqual([1, 1]);
    clock.jump(3_600_000);
    clock.advance(999);
    expect(remembered.get()).toBe(1);
    clock.advance(1);
    expect(remembered.get()).toBe(2);
  });

  itWhole("rests fifty times as long as it took, so that askers cannot take the event loop", () => {
    const clock = new FakeClock();
    let looks = 0;
    const remembered = new TtlCache(clock, () => {
      spinThread(60);
      return ++looks;
    });
    remembered.get();
    clock.advance(2_900);
    expect(remembered.get()).toBe(1);
    clock.advance(10_000);
    expect(remembered.get()).toBe(2);
  });

  it("is not remembered where it failed", () => {
    let looks = 0;
    const remembered = new TtlCache(new FakeClock(), () => {
      if (++looks === 1) throw new Error("busy");
      return looks;
    });
    expect(() => remembered.get()).toThrow("busy");
    expect(remembered.get()).toBe(2);
  });
});

describe("the delay of the event loop", () => {
  it("is what comes on top of waiting, and shows a stop", async () => {
    const loop = new LoopWatch();
    loop.start();
    // The histogram's own timer has to come round before and after the stop: this is what is measured.
    await wait(30);
    spin(120);
    await wait(30);
    const { maxS, p99S } = loop.read();
    loop.stop();
    expect(maxS).toBeGreaterThan(0.08);
    expect(maxS).toBeLessThan(5);
    expect(p99S).toBeLessThanOrEqual(maxS);
  });
});
