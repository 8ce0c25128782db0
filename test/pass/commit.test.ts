import { describe, expect, it, onTestFinished } from "vitest";
import { commit } from "../../src/pass/commit.ts";
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
