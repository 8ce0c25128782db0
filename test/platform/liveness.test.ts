import { describe, expect, it } from "vitest";
import { JobRunner } from "../../src/daemon/job-runner.ts";
import { Scheduler } from "../../src/daemon/scheduler.ts";
import { Liveness } from "../../src/platform/liveness.ts";
import type { Clock } from "../../src/platform/ports.ts";
import { collectingLog, FakeClock } from "../support/bridge.ts";

const SIGNAL = new AbortController().signal;
const LIMIT_MS = 600_000;
const LOOK_MS = 60_000;

/** A job whose pass does what it is told, step by step, and never ends. */
function endless(name: string, clock: Clock) {
  let next = Promise.withResolvers<() => unknown>();
  const runner = new JobRunner({
    name,
    clock,
    isStopping: () => false,
    run: async () => {
      for (;;) await (await next.promise)();
    },
  });
  const step = async (work: () => unknown) => {
    const { resolve } = next;
    next = Promise.withResolvers();
    resolve(work);
    await new Promise((done) => setImmediate(done));
  };
  return { runner, step };
}

/** The scheduler of a bridge, and one look a minute for so long: what hangs at its end. */
function schedule(clock: FakeClock, ...runners: JobRunner[]) {
  const entries = runners.map((runner) => ({ pattern: "* * * * *", runner }));
  const scheduler = new Scheduler(entries, { log: collectingLog([]), clock });
  return (ms: number, tick = () => scheduler.tick()) => {
    for (let leftMs = ms; leftMs > 0; leftMs -= LOOK_MS) {
      clock.advance(LOOK_MS);
      tick();
      scheduler.findStalled(LIMIT_MS);
    }
    return scheduler.findStalled(LIMIT_MS);
  };
}

describe("what hangs", () => {
  it("is a pass without a sign of life, not one that takes long", async () => {
    const clock = new FakeClock();
    const beating = Liveness.clock(clock);
    const orders = endless("orders", beating);
    const lookFor = schedule(clock, orders.runner);
    void orders.runner.runNow(SIGNAL);
    for (const work of [beating.nowMs, () => beating.sleep(1), beating.monotonicMs, Liveness.touch]) {
      expect(lookFor(LIMIT_MS - LOOK_MS)).toBeUndefined();
      await orders.step(work);
    }
    expect(lookFor(LIMIT_MS + 2 * LOOK_MS)).toBe("orders");
    await orders.step(Liveness.touch);
    expect(lookFor(LOOK_MS)).toBeUndefined();
  });

  it("is found although other passes get on, and although others use the clock", async () => {
    const clock = new FakeClock();
    const beating = Liveness.clock(clock);
    const orders = endless("orders", beating);
    const stocks = endless("stocks", beating);
    const lookFor = schedule(clock, stocks.runner, orders.runner);
    void orders.runner.runNow(SIGNAL);
    void stocks.runner.runNow(SIGNAL);
    lookFor(LIMIT_MS);
    await stocks.step(Liveness.touch);
    beating.nowMs();
    expect(lookFor(2 * LOOK_MS)).toBe("orders");
  });

  it("is the schedule itself where nobody looks any more", () => {
    const lookFor = schedule(new FakeClock());
    expect(lookFor(LIMIT_MS + LOOK_MS, () => {})).toBe("schedule");
  });

  it("is nothing where no pass is under way", () => {
    const clock = new FakeClock();
    const lookFor = schedule(clock, endless("updates", clock).runner);
    expect(lookFor(10 * LIMIT_MS)).toBeUndefined();
  });
});
