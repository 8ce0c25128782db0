import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { SET_BACK } from "../../src/updates/times/learned-rows.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

describe("a replica that answers with an order's former content", () => {
  itSome(1)(["changes", "whole"] as const)("neither ends the read nor replaces what is newer: %s", async (carry) => {
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
    // However often it is said: nothing shows that the answers are not behind the change.
    for (let polls = 0; polls < 30; polls++) await test.poll();
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
    expect(["paid", "packed"]).toContain(test.statusOf(id).status);
    expect(test.snapshots(id)).toBeLessThan(20);
    test.ill.clear();
    await test.poll(HOUR_MS);
    expect(test.statusOf(id).status).toBe("packed");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  itSome(1)(["cancelled", "paid"])(
    "is asked again after a minute where a change of one time says %s",
    async (status) => {
      const test = await startWithIll(2);
      const [id] = test.ids as [string];
      const old = test.sandbox.service.newestText(id)!;
      test.ill.set(id, raw(old));
      test.change(id, { status, keepTimestamp: true });
      for (let polls = 0; polls < 5; polls++) await test.poll(5_000);
      expect(test.statusOf(id).status).toBe("new");
      test.ill.clear();
      await test.poll(60_000);
      expect(test.statusOf(id)).toEqual({ status, revision: 2 });
    },
  );

  it.each([
    ["a batch", "status"],
    ["a batch", "lines"],
    ["a whole change", "lines"],
  ])("is asked again where %s has the order with another value of its %s and the same time", async (place, field) => {
    const test = await startWithIll(2, {
      service: { updates: { carry: "whole" } },
      settings: { updates: { carry: "whole" } },
    });
    const [id] = test.ids as [string];
    const old = test.sandbox.service.newestText(id)!;
    const other =
      field === "status"
        ? old.replace('"status":"new"', '"status":"cancelled"')
        : old.replace(/"quantity":\s*\d+/, '"quantity":77');
    expect(other).not.toBe(old);
    test.ill.set(id, raw(old));
    const isBatch = place === "a batch";
    test.sandbox.faults.add({
      match: { path: isBatch ? "orders" : "updates" },
      times: isBatch ? 1 : "forever",
      do: raw(isBatch ? `{"batch_id":"again","orders":[${other}]}` : `{"updates":[${other}]}`),
    });
    if (isBatch) await test.run("orders");
    for (let polls = 0; polls < 3; polls++) await test.poll(5_000);
    expect(test.statusOf(id).revision).toBe(1);
    test.ill.set(id, raw(other));
    await test.poll(60_000);
    expect(test.statusOf(id).revision).toBe(2);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  it("keeps a status waiting where a change of one time says cancelled", async () => {
    const test = await startWithIll(2, { settings: { statuses: { path: STATUS_PATH } } });
    const [id] = test.ids as [string];
    test.ill.set(id, raw(test.sandbox.service.newestText(id)!));
    test.change(id, { status: "cancelled", keepTimestamp: true });
    for (let polls = 0; polls < 3; polls++) await test.poll(5_000);
    test.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'packed')").run(id);
    await test.run("statuses");
    expect(test.rows("SELECT state FROM status_requests")).toEqual([{ state: "pending" }]);
    test.ill.clear();
    await test.poll(60_000);
    await test.run("statuses");
    expect(test.statusOf(id).status).toBe("cancelled");
    expect(test.sandbox.ledger.effects("status")).toEqual([]);
  });

  it("is asked again where the changes have times to the second, and the orders to the millisecond", async () => {
    const test = await startWithIll(2);
    const [id] = test.ids as [string];
    const old = JSON.parse(test.sandbox.service.newestText(id)!) as { updated_at: string };
    const second = old.updated_at.slice(0, 19);
    test.ill.set(id, raw(JSON.stringify({ ...old, updated_at: `${second}.851Z` })));
    test.change(id, { status: "cancelled", keepTimestamp: true });
    const listed = { ...JSON.parse(test.sandbox.service.newestText(id)!), updated_at: `${second}Z` };
    test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: raw(JSON.stringify({ updates: [listed] })),
    });
    for (let polls = 0; polls < 3; polls++) await test.poll(5_000);
    expect(test.statusOf(id).status).toBe("new");
    expect(test.rows("SELECT order_id FROM owed_reads WHERE attempts > 0")).toEqual([{ order_id: id }]);
  });

  itWhole("keeps the read where it has nothing newer than what is stored, and not yet the change", async () => {
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

  itWhole("of all orders replaces nothing for as long as it lasts, and nothing is left of it", async () => {
    const test = await startWithIll(4);
    const old = test.ids.map((id) => test.sandbox.service.newestText(id)!);
    for (const id of test.ids.slice(0, 3)) test.change(id, { status: "paid" });
    await test.poll();
    for (const [index, id] of test.ids.entries()) test.ill.set(id, raw(old[index]!));
    await test.run("reconcile");
    for (let polls = 0; polls < 30; polls++) await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid", "new"]);
    test.ill.clear();
    await test.poll(HOUR_MS);
    expect(test.rows("SELECT kind FROM order_events WHERE source = 'snapshot' AND new_status = 'new'")).toEqual([]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  itWhole("counts once the changes go on without it, and is read again later all the same", async () => {
    const test = await startWithIll(3);
    const [id, other] = test.ids as [string, string];
    const old = test.sandbox.service.newestText(id)!;
    test.change(id, { status: "paid" });
    await test.poll();
    test.ill.set(id, raw(old));
    await test.run("reconcile");
    for (let polls = 0; polls < 6; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
    test.change(other, { status: "paid" });
    for (let polls = 0; polls < 20; polls++) await test.poll();
    // Another order is answered as it is now, and the changes still list the newer version of this one.
    expect(test.statusOf(id).status).toBe("paid");
    test.unlisted.add(id);
    for (let polls = 0; polls < 100 && test.statusOf(id).status === "paid"; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("new");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    // It was a cache of this order alone.
    test.ill.clear();
    const before = test.snapshots(id);
    await test.poll(50 * 60_000);
    expect(test.snapshots(id)).toBe(before);
    await test.poll(11 * 60_000);
    expect(test.statusOf(id).status).toBe("paid");
    for (let hours = 0; hours < 48; hours++) await test.poll(HOUR_MS);
    expect(test.snapshots(id) - before).toBe(5);
    expect(test.rows("SELECT * FROM later_reads")).toEqual([]);
  });

  itWhole("is looked for among the changes, and what they say of another order counts", async () => {
    const test = await startWithIll(3);
    const [id, other, third] = test.ids as [string, string, string];
    const old = test.sandbox.service.newestText(id)!;
    test.change(id, { status: "paid" });
    await test.poll();
    await test.poll(3 * HOUR_MS);
    test.change(third, { status: "paid" });
    await test.poll();
    // So late that following does not ask for it.
    test.change(other, { status: "cancelled", lateByMs: 2 * HOUR_MS });
    await test.poll();
    expect(test.statusOf(other).status).toBe("new");
    test.ill.set(id, raw(old));
    test.ill.set(other, { kind: "status", status: 500 });
    await test.run("reconcile");
    test.ill.delete(other);
    expect(test.statusOf(other).status).toBe("new");
    for (let polls = 0; polls < 8; polls++) await test.poll();
    expect(test.statusOf(other).status).toBe("cancelled");
    expect(test.statusOf(id).status).toBe("paid");
  });

  itWhole("counts after a day in which nothing showed whether it lags", async () => {
    const test = await startWithIll(1);
    const [id] = test.ids as [string];
    const old = test.sandbox.service.newestText(id)!;
    test.change(id, { status: "paid" });
    await test.poll();
    test.ill.set(id, raw(old));
    test.unlisted.add(id);
    await test.run("reconcile");
    for (let hours = 0; hours < 20; hours++) await test.poll(HOUR_MS);
    expect(test.statusOf(id).status).toBe("paid");
    for (let hours = 0; hours < 20; hours++) await test.poll(HOUR_MS);
    expect(test.statusOf(id).status).toBe("new");
    expect(test.rows("SELECT order_id FROM later_reads")).toEqual([{ order_id: id }]);
  });

  const before = { from: "before the order was made", behindMs: 24 * HOUR_MS };
  itWhole.each([
    { ...before, listed: "both", updates: {} },
    // So far back no page reaches.
    { ...before, listed: "the other one", updates: { order: "descending", keeps: "newest", pageLimit: 1 } },
    { from: "since then", behindMs: 30_000, listed: "both", updates: {} },
  ] as const)("counts after a day where it has a time from $from and the changes list $listed", async (each) => {
    // Without a `Date` no sweep is due, which would bring the change itself.
    const service = { dateHeader: false, updates: { history: "log", ...each.updates } } as const;
    const test = await startWithIll(2, { service, settings: { updates: { overlap: "0s" } } });
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" }, HOUR_MS / 2);
    await test.poll();
    // The service's clock was behind as it was made.
    const timestamp = test.clock.nowMs() - HOUR_MS / 2 - each.behindMs;
    test.sandbox.service.changeOrder(id, { status: "packed", timestamp });
    await test.run("reconcile");
    for (let hours = 0; hours < 20; hours++) await test.poll(HOUR_MS);
    expect(test.statusOf(id).status).toBe("paid");
    for (let hours = 0; hours < 20; hours++) await test.poll(HOUR_MS);
    expect(test.statusOf(id).status).toBe("packed");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(SET_BACK.load(test.bridge.store)).toEqual({ lost: [] });
  });

  itWhole.each(["the order", "the changes"])(
    "counts after a day also where %s could not be asked at the last try",
    async (what) => {
      const test = await startWithIll(1);
      const [id] = test.ids as [string];
      const old = test.sandbox.service.newestText(id)!;
      test.change(id, { status: "paid" });
      await test.poll();
      test.ill.set(id, raw(old));
      test.unlisted.add(id);
      await test.run("reconcile");
      const tries = () => test.rows<{ attempts: number }>("SELECT attempts FROM owed_reads")[0]?.attempts;
      for (let hours = 0; tries() !== 29 && hours < 60; hours++) await test.poll(HOUR_MS);
      let reads = 0;
      const busy: FaultAction = { kind: "status", status: 429, body: '{"error":"busy"}' };
      test.ill.get = (key) => {
        if (key !== id) return undefined;
        reads += 1;
        // They are asked between the two reads of the order.
        if (what === "the changes" && reads === 1) test.sandbox.faults.add({ match: { path: "updates" }, do: busy });
        return what === "the order" && reads === 2 ? busy : raw(old);
      };
      test.clock.advance(HOUR_MS);
      await test.run("updates");
      expect(reads).toBeGreaterThan(0);
      expect(test.statusOf(id).status).toBe("paid");
      for (let hours = 0; hours < 3; hours++) await test.poll(HOUR_MS);
      expect(test.statusOf(id).status).toBe("new");
      expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    },
  );

  itWhole("is no reason to ask for ever where changes bear other times than their orders", async () => {
    const test = await startWithIll(8);
    const ids = test.ids;
    const later = (n: number) => `2026-03-01T13:00:0${n}.000Z`;
    const news = ids.map((id, n) => `{"order_id":"${id}","updated_at":"${later(n)}"}`);
    test.clock.advance(2 * HOUR_MS);
    test.sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${news.slice(0, 4).join()}]}`) });
    for (let hours = 0; hours < 40; hours++) await test.poll(HOUR_MS);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    // So few changes are looked at once more in a page that reaches further back, which has those that are known.
    const all = raw(`{"updates":[${news.join()}]}`);
    test.sandbox.faults.add({ match: { path: "updates" }, times: 2, do: all });
    const before = test.snapshots();
    await test.poll(HOUR_MS);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(test.snapshots() - before).toBe(4);
  });
});
