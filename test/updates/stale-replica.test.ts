import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { startWithIll } from "../support/ill-orders.ts";

const HOUR_MS = 3_600_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

describe("a replica that answers with an order's former content", () => {
  it.each(["changes", "whole"] as const)("neither ends the read nor replaces what is newer: %s", async (carry) => {
    const test = await startWithIll(2, { service: { updates: { carry } }, settings: { updates: { carry } } });
    const [id, other] = test.ids as [string, string];
    const [old, oldOther] = test.ids.map((each) => test.sandbox.service.newestText(each)!);
    test.change(id, { status: "paid" });
    test.change(other, { status: "paid" });
    await test.poll();
    const watermark = test.watermark();
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
    // The order is older than what is stored, and so is a record of another one in the updates.
    test.ill.set(id, raw(old!));
    test.sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${oldOther}]}`) });
    await test.poll();
    await test.run("reconcile");
    for (const each of test.ids) expect(test.statusOf(each)).toEqual({ status: "paid", revision: 2 });
    expect(test.watermark()).toBe(watermark);
    test.change(id, { status: "packed" });
    await test.poll();
    expect(["paid", "packed"]).toContain(test.statusOf(id).status);
    expect(test.rows("SELECT last_error FROM owed_reads")).toEqual([
      { last_error: expect.stringContaining("older than what is stored") },
    ]);
    // Insisted on, it counts; the change that it does not show keeps the read.
    for (let polls = 0; polls < 10; polls++) await test.poll();
    const waits = carry === "changes" ? [{ order_id: id }] : [];
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual(waits);
    expect(test.snapshots(id)).toBeLessThan(20);
    test.ill.clear();
    await test.poll(HOUR_MS);
    // Where the change itself was whole and counted before, nothing but the nightly comparison asks again.
    if (carry === "whole") await test.run("reconcile");
    expect(test.statusOf(id).status).toBe("packed");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  it("keeps the read where it has nothing newer than what is stored, and not yet the change", async () => {
    const test = await startWithIll(2);
    const [id] = test.ids as [string];
    test.ill.set(id, raw(test.sandbox.service.newestText(id)!));
    test.change(id, { status: "paid" });
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    expect(test.rows("SELECT attempts FROM owed_reads")).toEqual([{ attempts: expect.any(Number) }]);
    test.ill.clear();
    await test.poll(HOUR_MS);
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
  });

  it("counts once it was answered several times: then it is the service's word", async () => {
    const test = await startWithIll(2);
    const [id] = test.ids as [string];
    const old = test.sandbox.service.newestText(id)!;
    test.change(id, { status: "paid" });
    await test.poll();
    test.ill.set(id, raw(old));
    await test.run("reconcile");
    await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
    for (let polls = 0; polls < 6; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("new");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  it("is no reason to ask for ever where changes bear other times than their orders", async () => {
    const test = await startWithIll(8);
    const ids = test.ids;
    const later = (n: number) => `2026-03-01T13:00:0${n}.000Z`;
    const news = ids.map((id, n) => `{"order_id":"${id}","updated_at":"${later(n)}"}`);
    test.clock.advance(2 * HOUR_MS);
    test.sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${news.slice(0, 4).join()}]}`) });
    for (let hours = 0; hours < 40; hours++) await test.poll(HOUR_MS);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    test.sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${news.slice(4).join()}]}`) });
    const before = test.snapshots();
    await test.poll(HOUR_MS);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(test.snapshots() - before).toBe(4);
  });
});
