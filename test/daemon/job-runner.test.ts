import { beforeEach, describe, expect, it } from "vitest";
import { JobRunner } from "../../src/daemon/job-runner.ts";
import type { RunResult } from "../../src/daemon/run-job.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { FakeClock } from "../support/bridge.ts";
import { words } from "../support/messages.ts";

const SIGNAL = new AbortController().signal;
const idle: RunResult = { outcome: "idle", counts: {}, error: null };
const failed: RunResult = { outcome: "failed", counts: {}, error: new BridgeError("unreachable", words("away")) };
const done = (sent: number, outcome: "done" | "more" = "done"): RunResult => ({
  outcome,
  counts: { sent },
  error: null,
});

let clock: FakeClock;
let passes: PromiseWithResolvers<RunResult>[];
let isStopping: boolean;
let isHeld: boolean;
let seen: RunResult[];
let runner: JobRunner;

beforeEach(() => {
  clock = new FakeClock();
  passes = [];
  isStopping = false;
  isHeld = false;
  seen = [];
  runner = new JobRunner({
    name: "orders",
    clock,
    isStopping: () => isStopping,
    isHeld: () => isHeld,
    onResult: (result) => seen.push(result),
    run: () => {
      const pass = Promise.withResolvers<RunResult>();
      passes.push(pass);
      return pass.promise;
    },
  });
});

/** Ends the newest pass and lets everything that waits for it go on. */
async function end(result: RunResult): Promise<void> {
  passes.at(-1)?.resolve(result);
  await new Promise((resolve) => setImmediate(resolve));
}

describe("a job", () => {
  it("that fails with some of its work done waits no longer than before it", async () => {
    const waits: number[] = [];
    void runner.runNow(SIGNAL);
    for (const hasProgressed of [false, false, true, true, false]) {
      await end({ ...failed, hasProgressed } as RunResult);
      let waitedMs = 0;
      for (const before = passes.length; passes.length === before; waitedMs += 500) {
        clock.advance(500);
        runner.retryIfDue(SIGNAL);
      }
      waits.push(waitedMs);
    }
    expect(waits).toEqual([1_500, 3_000, 3_000, 3_000, 6_000]);
  });

  it("that a hold stopped comes back once none stands, and not before", async () => {
    void runner.runNow(SIGNAL);
    isHeld = true;
    await end({
      outcome: "held",
      counts: {},
      error: null,
      hold: {} as never,
      reason: words("held"),
      leftMs: undefined,
    });
    clock.advance(3_600_000);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(1);
    isHeld = false;
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(2);
    await end(idle);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(2);
  });

  it("comes back when what it left waiting is due, and not before", async () => {
    const first = runner.runNow(SIGNAL);
    await end({ ...done(1), dueInMs: 15_000 } as RunResult);
    expect(await first).toMatchObject({ dueInMs: 15_000 });
    clock.advance(14_000);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(1);
    // The schedule is not kept from it.
    runner.trigger(SIGNAL);
    expect(passes).toHaveLength(2);
    await end({ ...idle, dueInMs: 1_000 } as RunResult);
    clock.advance(1_000);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(3);
    await end(idle);
    clock.advance(3_600_000);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(3);
  });

  it("that was held comes back when its hold may be tried, and not before", async () => {
    isHeld = true;
    void runner.runNow(SIGNAL);
    const held = (leftMs: number | undefined) => ({ ...idle, outcome: "held", leftMs }) as unknown as RunResult;
    await end(held(30_000));
    clock.advance(29_000);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(1);
    clock.advance(1_000);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(2);
    // A person ends it.
    await end(held(undefined));
    clock.advance(86_400_000);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(2);
  });

  it("never has two passes at once; calls meanwhile are answered by one further pass", async () => {
    const first = runner.runNow(SIGNAL);
    const others = [runner.runNow(SIGNAL), runner.runNow(SIGNAL)];
    runner.trigger(SIGNAL);
    expect(passes).toHaveLength(1);
    await end(done(1));
    expect(passes).toHaveLength(2);
    await end(done(2));
    expect(passes).toHaveLength(2);
    // What was written before a call is seen: none is answered by the pass that was under way.
    for (const result of await Promise.all([first, ...others])) expect(result).toMatchObject({ counts: { sent: 3 } });
    expect(runner.isRunning).toBe(false);
  });

  it("is run again for a call that comes at the very end of a pass", async () => {
    const first = runner.runNow(SIGNAL);
    const second = first.then(() => runner.runNow(SIGNAL));
    await end(idle);
    expect(passes).toHaveLength(2);
    await end(done(1));
    expect(await second).toMatchObject({ outcome: "done" });
  });

  it("goes on at once while more waits, and tells of each pass and of their sum", async () => {
    const whole = runner.runNow(SIGNAL);
    await end(done(20, "more"));
    await end(done(20, "more"));
    await end(done(3));
    expect(await whole).toMatchObject({ outcome: "done", counts: { sent: 43 } });
    expect(seen.map(({ counts }) => counts["sent"])).toEqual([20, 20, 3]);
  });

  it("is not begun by its schedule while it backs off, but by the supervisor when the time has come", async () => {
    const first = runner.runNow(SIGNAL);
    await end(failed);
    await first;
    runner.trigger(SIGNAL);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(1);
    clock.advance(1_499);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(1);
    clock.advance(1);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(2);
    await end(failed);
    clock.advance(1_500);
    runner.retryIfDue(SIGNAL);
    expect(passes).toHaveLength(2);
    clock.advance(1_500);
    runner.trigger(SIGNAL);
    expect(passes).toHaveLength(3);
    // A success ends it.
    await end(idle);
    runner.trigger(SIGNAL);
    expect(passes).toHaveLength(4);
    await end(idle);
  });

  it("is begun by a person whatever the backoff says, and a wall clock that jumps changes no wait", async () => {
    void runner.runNow(SIGNAL);
    await end(failed);
    clock.jump(86_400_000);
    runner.trigger(SIGNAL);
    expect(passes).toHaveLength(1);
    void runner.runNow(SIGNAL);
    expect(passes).toHaveLength(2);
    await end(idle);
  });

  it("does not repeat a failed pass for those who asked meanwhile", async () => {
    const first = runner.runNow(SIGNAL);
    const second = runner.runNow(SIGNAL);
    await end(failed);
    expect(await Promise.all([first, second])).toMatchObject([{ outcome: "failed" }, { outcome: "failed" }]);
    expect(passes).toHaveLength(1);
  });

  it("begins nothing once the program is to end", async () => {
    const whole = runner.runNow(SIGNAL);
    isStopping = true;
    await end(done(1, "more"));
    expect(await whole).toMatchObject({ outcome: "more" });
    expect(await runner.runNow(SIGNAL)).toBeUndefined();
    await runner.whenIdle();
    expect(passes).toHaveLength(1);
  });

  it("is waited for as long as a pass runs, and no longer than is allowed", async () => {
    let ended = 0;
    const wait = (longestMs: number) => void runner.whenIdle({ longestMs, signal: SIGNAL }).then(() => ended++);
    wait(1_000);
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(1);
    void runner.runNow(SIGNAL);
    const began = clock.monotonicMs();
    wait(1_000);
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect([ended, clock.monotonicMs() - began]).toEqual([2, 1_000]);
    await end(failed);
  });

  it("lets a defect through, and can be run again after it", async () => {
    const broken = runner.runNow(SIGNAL);
    passes[0]?.reject(new TypeError("a defect"));
    await expect(broken).rejects.toThrow("a defect");
    void runner.runNow(SIGNAL);
    expect(passes).toHaveLength(2);
    await end(idle);
  });
});
