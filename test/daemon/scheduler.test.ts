import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { JobRunner } from "../../src/daemon/job-runner.ts";
import type { PlannedWork } from "../../src/daemon/planned-work.ts";
import { type ScheduleEntry, Scheduler } from "../../src/daemon/scheduler.ts";
import type { Clock } from "../../src/platform/ports.ts";
import { collectingLog, type LogLine } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Of the fake timers: the wall clock, which `vi.setSystemTime` moves, and the one that no jump touches. */
const clock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: () => Promise.resolve(),
  random: () => 0,
};

interface Recorded {
  entry: ScheduleEntry;
  /** Monotonic times at which passes began. */
  starts: number[];
}

function recorded(pattern: string, before?: () => Promise<void>): Recorded {
  const starts: number[] = [];
  const runner = new JobRunner({
    name: "orders",
    clock,
    isStopping: () => false,
    run: async () => {
      starts.push(performance.now());
      return { outcome: "idle", counts: {}, error: null };
    },
  });
  return { entry: { pattern, runner, before }, starts };
}

function start(...entries: ScheduleEntry[]): { scheduler: Scheduler; logs: LogLine[] } {
  const logs: LogLine[] = [];
  const scheduler = new Scheduler(entries, { log: collectingLog(logs), clock });
  onTestFinished(() => scheduler.abort());
  scheduler.start();
  return { scheduler, logs };
}

function gaps(starts: readonly number[], untilMs = performance.now()): number[] {
  return [...starts.slice(1), untilMs].map((at, index) => at - (starts[index] ?? at));
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  vi.setSystemTime(Date.UTC(2026, 5, 1, 12, 0, 30));
});
afterEach(() => void vi.useRealTimers());

describe("the scheduler", () => {
  it("follows a pattern in the zone that it is given", async () => {
    const { entry, starts } = recorded("30 15 * * *");
    const scheduler = new Scheduler([entry], { log: collectingLog([]), clock, zone: "Europe/Moscow" });
    onTestFinished(() => scheduler.abort());
    scheduler.start();
    const before = performance.now();
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(starts.map((at) => Math.floor((at - before) / MINUTE_MS))).toEqual([0, 29]);
  });

  it("runs every job once at the start and then by its pattern", async () => {
    const { entry, starts } = recorded("*/5 * * * *");
    const before = performance.now();
    start(entry);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(starts[0]).toBe(before);
    expect(starts).toHaveLength(13);
    expect(Math.max(...gaps(starts))).toBeLessThanOrEqual(5 * MINUTE_MS + 1_000);
  });

  itWhole.each([-DAY_MS, -HOUR_MS, HOUR_MS, DAY_MS, -10 * 365 * DAY_MS])(
    "begins a job within twice its interval when the wall clock jumps by %i ms",
    async (jumpMs) => {
      const { entry, starts } = recorded("* * * * *");
      start(entry);
      await vi.advanceTimersByTimeAsync(3 * MINUTE_MS);
      vi.setSystemTime(Date.now() + jumpMs);
      await vi.advanceTimersByTimeAsync(2 * HOUR_MS);
      expect(Math.max(...gaps(starts))).toBeLessThanOrEqual(2 * MINUTE_MS);
    },
  );

  itWhole("does not forget a sweep or a comparison either when the clock is set back by a month", async () => {
    const job = recorded("* * * * *");
    const sweeps: number[] = [];
    const sweep = {
      pattern: "17 3 * * *",
      runner: job.entry.runner,
      before: async () => void sweeps.push(performance.now()),
    };
    start(job.entry, sweep);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    vi.setSystemTime(Date.now() - 30 * DAY_MS);
    await vi.advanceTimersByTimeAsync(2 * DAY_MS);
    expect(sweeps.length).toBeGreaterThanOrEqual(1);
  });

  itWhole("works on through the hour that a zone with summer time has twice", async () => {
    const zone = process.env["TZ"];
    process.env["TZ"] = "Europe/Berlin";
    onTestFinished(() => {
      if (zone === undefined) delete process.env["TZ"];
      else process.env["TZ"] = zone;
    });
    vi.setSystemTime(Date.UTC(2026, 9, 24, 23, 30));
    const minutely = recorded("* * * * *");
    const nightly = recorded("30 2 * * *");
    start(minutely.entry, nightly.entry);
    await vi.advanceTimersByTimeAsync(4 * HOUR_MS);
    expect(Math.max(...gaps(minutely.starts))).toBeLessThanOrEqual(MINUTE_MS + 1_000);
    // Once at the start, and once at half past two in UTC.
    expect(nightly.starts).toHaveLength(2);
  });

  it("makes up at its start for what was due while the program did not run, and for nothing else", async () => {
    const prepared: string[] = [];
    const settled: string[] = [];
    const nightly = (name: string) => recorded("17 3 * * *", async () => void prepared.push(name)).entry;
    const [missed, other] = [nightly("missed"), nightly("other")];
    const planned: Pick<PlannedWork, "due" | "settle"> = {
      due: async (entries) => entries.filter((entry) => entry === missed),
      settle: async (entry) => void settled.push(entry === missed ? "missed" : "other"),
    };
    const options = { log: collectingLog([]), clock, planned: planned as PlannedWork };
    const scheduler = new Scheduler([missed, other], options);
    onTestFinished(() => scheduler.abort());
    scheduler.start();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(prepared).toEqual(["missed"]);
    expect(settled).toEqual(["missed"]);
  });

  it("says before a pass what the pass is for, and runs it even where that fails", async () => {
    const { entry, starts } = recorded("0 * * * *", () => Promise.reject(new Error("the disk is full")));
    const { logs } = start(entry);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(starts).toHaveLength(1);
    expect(logs).toMatchObject([{ level: "warn", message: "orders: could not be prepared." }]);
  });

  it("begins nothing after it was paused", async () => {
    const { entry, starts } = recorded("* * * * *");
    const { scheduler } = start(entry);
    await vi.advanceTimersByTimeAsync(0);
    scheduler.pause();
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(starts).toHaveLength(1);
    expect(scheduler.signal.aborted).toBe(false);
    scheduler.abort();
    expect(scheduler.signal.aborted).toBe(true);
  });

  itWhole.each([
    ["* * * * *", MINUTE_MS],
    ["*/5 * * * * *", 5_000],
    ["17 3 * * *", DAY_MS],
    ["0 * * * *", HOUR_MS],
    ["* 3 * * *", 23 * HOUR_MS + MINUTE_MS],
    ["0 8-18 * * 1-5", 62 * HOUR_MS],
    ["*/10 * 1 * *", 30 * DAY_MS + 10 * MINUTE_MS],
    ["0 0 1 1 *", 366 * DAY_MS],
  ])("knows how long %s pauses at most", (pattern, ms) => {
    const { entry } = recorded(pattern);
    const scheduler = new Scheduler([entry], { log: collectingLog([]), clock });
    onTestFinished(() => scheduler.abort());
    expect(scheduler.intervals.get(entry.runner)).toBe(ms);
  });
});
