import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { commit, commitEnd } from "../../src/pass/commit.ts";
import { FakeClock, startTestBridge } from "../support/bridge.ts";

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function startCommits() {
  const { bridge } = await startTestBridge();
  onTestFinished(() => bridge.stop());
  const clock = new FakeClock();
  let turns = 0;
  clock.onSleep = () => {
    turns += 1;
  };
  const context = { store: bridge.store, clock, log };
  const run = (ms: number, signal = new AbortController().signal) => commit(context, signal, () => clock.advance(ms));
  return { run, turns: () => turns };
}

describe("transactions that follow each other", () => {
  it("leave the event loop a turn once they have run for ten milliseconds together", async () => {
    const { run, turns } = await startCommits();
    await run(1);
    const before = turns();
    for (let n = 0; n < 10; n++) await run(1);
    expect(turns() - before).toBe(0);
    for (let n = 0; n < 11; n++) await run(6);
    expect(turns() - before).toBe(6);
  });

  it("say that they are committed also where a stop is asked for meanwhile", async () => {
    const { run, turns } = await startCommits();
    const stop = new AbortController();
    stop.abort(new Error("stopped"));
    await expect(run(100, stop.signal)).resolves.toBeUndefined();
    expect(turns()).toBe(1);
  });
});

describe("outcomes that a stop leaves to be written", () => {
  it("wait for the lock together, and no longer than until the daemon closes the database", async () => {
    const { bridge } = await startTestBridge();
    onTestFinished(() => bridge.stop());
    bridge.store.db.pragma("busy_timeout = 0");
    const erp = new Database(bridge.store.path);
    onTestFinished(() => void erp.close());
    erp.exec("BEGIN IMMEDIATE");
    const clock = new FakeClock();
    const ends: number[] = [];
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      const end = new AbortController();
      ends.push(clock.monotonicMs() + ms);
      clock.onSleep = () => void (clock.monotonicMs() >= ends.at(-1)! && end.abort());
      return end.signal;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const stop = AbortSignal.abort(new Error("stopped"));
    const startedMs = clock.monotonicMs();
    const write = () => commitEnd({ store: bridge.store, clock, log }, stop, () => "written");
    await expect(write()).rejects.toThrow();
    await expect(write()).rejects.toThrow();
    expect(ends).toHaveLength(1);
    expect(ends[0]! - startedMs).toBeLessThan(2_000);
    erp.exec("ROLLBACK");
    await expect(write()).resolves.toBe("written");
  });
});
