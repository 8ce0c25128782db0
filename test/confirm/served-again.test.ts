import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import { m } from "../../src/messages/messages.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders, expectComplete } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TOLD = { code: "answer_unknown", hint: m.orders.servedAgainHint };
const SAVED = "SELECT value FROM meta WHERE key = 'served_again'";

/** A service that accepts confirms and does not carry them out. Returns the function that mends it. */
async function startWithoutEffect(): Promise<{ t: TestBridge; mend: () => void }> {
  const t = await startTestBridge();
  const rule = t.sandbox.faults.add({
    match: { path: "confirm" },
    times: "forever",
    do: { kind: "raw", body: '{"ok":true}', contentType: "application/json" },
  });
  createOrders(t, 1);
  await t.run("orders");
  return { t, mend: () => t.sandbox.faults.remove(rule) };
}

/** Each pass is a process of its own, as `sync` in a timer is. */
async function syncEvery(t: TestBridge, ms: number, times: number): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (let at = 0; at < times; at++) {
    t.clock.advance(ms);
    await t.restart();
    errors.push((await t.run("orders")).error);
  }
  return errors;
}

function status(t: TestBridge) {
  const now = { nowMs: t.clock.nowMs(), isRunning: true };
  return describeStatus(loadFacts(t.bridge.store), now, { erpReadWithinMs: 10 * 365 * 24 * HOUR_MS });
}

describe("a confirmed batch that is served again to one process after another", () => {
  it("is told as a confirm without effect, until another batch comes", async () => {
    const { t, mend } = await startWithoutEffect();
    expect((await syncEvery(t, MINUTE_MS, 27)).every((error) => error === null)).toBe(true);
    expect((await syncEvery(t, MINUTE_MS, 6)).at(-1)).toMatchObject(TOLD);
    expect(status(t).exitCode).toBe(2);
    expect(status(t).attention.join()).toContain("serves it again all the same");
    mend();
    createOrders(t, 1);
    await syncEvery(t, MINUTE_MS, 2);
    expect(await syncEvery(t, MINUTE_MS, 2)).toEqual([null, null]);
    expect(t.rows(SAVED)).toEqual([]);
    expectComplete(t);
  });

  itWhole("is told where a pass runs once in an hour, and counted anew with another body of the confirm", async () => {
    const { t } = await startWithoutEffect();
    const errors = await syncEvery(t, HOUR_MS, 6);
    expect(errors.slice(0, 4)).toEqual([null, null, null, null]);
    expect(errors.at(-1)).toMatchObject(TOLD);
    await t.restart({ orders: { confirm: { body: { ids: "{order_ids}" } } } });
    expect((await t.run("orders")).error).toBeNull();
  });

  itWhole("is none while it comes a few times only, whatever the clock says", async () => {
    const { t, mend } = await startWithoutEffect();
    expect(await syncEvery(t, 20 * MINUTE_MS, 1)).toEqual([null]);
    expect(await syncEvery(t, 10_000, 2)).toEqual([null, null]);
    expect(await syncEvery(t, 400 * 24 * HOUR_MS, 1)).toEqual([null]);
    mend();
    await syncEvery(t, MINUTE_MS, 2);
    expect(t.rows(SAVED)).toEqual([]);
  });

  itWhole("is told where the clock was far ahead at first", async () => {
    const { t } = await startWithoutEffect();
    await syncEvery(t, MINUTE_MS, 16);
    t.bridge.store.db
      .prepare(`UPDATE meta SET value = replace(value, '"since":"2026', '"since":"2066') WHERE key = 'served_again'`)
      .run();
    expect((await syncEvery(t, MINUTE_MS, 17)).at(-1)).toMatchObject(TOLD);
  });

  itWhole("is written a few times only", async () => {
    const { t } = await startWithoutEffect();
    await syncEvery(t, MINUTE_MS, 11);
    expect(t.rows(SAVED)).toEqual([]);
    await syncEvery(t, MINUTE_MS, 10);
    const before = t.rows(SAVED);
    expect(before).toHaveLength(1);
    await syncEvery(t, MINUTE_MS, 6);
    expect(t.rows(SAVED)).toEqual(before);
  });
});
