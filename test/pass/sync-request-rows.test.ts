import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import {
  cancelSyncRequest,
  closeSyncRequests,
  markSyncTaken,
  saveSyncRequest,
  saveSyncResult,
} from "../../src/pass/sync-request-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

describe("a daemon that leaves a request untaken", () => {
  const at = (t: TestBridge) => new Date(t.clock.nowMs()).toISOString();
  const ask = (t: TestBridge) => saveSyncRequest(t.bridge.store, { jobs: ["orders"], at: at(t) });
  const said = (t: TestBridge, isRunning = true) =>
    describeStatus(
      { ...loadFacts(t.bridge.store), flows: [] }, // their ages are by the real clock
      { nowMs: t.clock.nowMs(), isRunning },
      { erpReadWithinMs: 86_400_000 },
    );
  const NOT_ANSWERING = expect.stringContaining("The daemon runs and does not answer since");

  it("is told to do so after some seconds, also once the command has given up", async () => {
    const t = await startTestBridge();
    await t.run("orders");
    t.clock.advance(1_000);
    const id = ask(t);
    expect(said(t).exitCode).toBe(0);
    t.clock.advance(6_000);
    expect(said(t)).toMatchObject({ sentence: NOT_ANSWERING, exitCode: 2 });
    expect(said(t, false).sentence).toContain("The daemon is not running.");
    cancelSyncRequest(t.bridge.store, id, at(t));
    t.clock.advance(60_000);
    expect(said(t).sentence).toEqual(NOT_ANSWERING);
  });

  itWhole("is not, where it shows another sign of life, works on another request, or is another one", async () => {
    const t = await startTestBridge();
    await t.run("orders");
    const first = ask(t);
    t.clock.advance(10_000);
    await t.run("orders");
    expect(said(t).attention).toEqual([]);
    markSyncTaken(t.bridge.store, first, at(t));
    const second = ask(t);
    t.clock.advance(10_000);
    expect(said(t).attention).toEqual([]);
    saveSyncResult(t.bridge.store, first, [], at(t));
    expect(said(t).attention).toEqual([NOT_ANSWERING]);
    cancelSyncRequest(t.bridge.store, second, at(t));
    closeSyncRequests(t.bridge.store, at(t));
    expect(said(t).attention).toEqual([]);
  });
});
