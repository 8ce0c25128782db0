import { describe, expect, it } from "vitest";
import { orderRulesOf } from "../../src/daemon/build-jobs.ts";
import { loadQuarantined } from "../../src/pass/held-rows.ts";
import { retryHeld } from "../../src/quarantine/retry-held.ts";
import { retryQuarantined } from "../../src/quarantine/retry-quarantined.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { collectingLog, configFor } from "../support/bridge.ts";
import { type IllOrders, startWithIll } from "../support/ill-orders.ts";
import { itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

const held = ({ rows }: IllOrders) =>
  rows<{ kind: string; reference: string; reason: string; payload: string }>(
    "SELECT kind, reference, reason, payload FROM quarantine WHERE state = 'held' ORDER BY kind",
  );
const numberOf = ({ rows }: IllOrders, id: string) =>
  rows<{ number: string; revision: number }>("SELECT number, revision FROM orders WHERE order_id = ?", id)[0];

/** One batch of these records; its confirm is answered, and the orders stay as they are at the service. */
async function serve(test: IllOrders, records: readonly string[]): Promise<void> {
  test.sandbox.faults.add({ match: { path: "orders" }, do: raw(`{"orders":[${records.join()}]}`) });
  test.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 200 } });
  expect(await test.run("orders")).toMatchObject({ error: null });
}

/** The order's text with another number, time of creation and line. */
function otherOf(test: IllOrders, id: string, number: string): string {
  const { items, ...order } = JSON.parse(test.sandbox.service.newestText(id)!);
  const at = new Date(test.clock.nowMs()).toISOString();
  const lines = [{ ...items[0], sku: `OF-${number}`, quantity: 7 }];
  return JSON.stringify({ ...order, number, created_at: at, updated_at: at, items: lines });
}

describe("an order under whose id another one is stored", () => {
  itWhole("is stored within half an hour where the service was wrong for one batch", async () => {
    const test = await startWithIll(3);
    const { service } = test.sandbox;
    const p = service.createOrder({ lines: [{ sku: "P", quantity: 3 }] });
    test.clock.advance(30 * MINUTE_MS);
    const q = service.createOrder({ lines: [{ sku: "Q", quantity: 5 }] });
    await serve(test, [service.newestText(p)!.replaceAll(p, q)]);
    const { number } = JSON.parse(service.newestText(q)!);
    const { number: wrong } = JSON.parse(service.newestText(p)!);
    expect(numberOf(test, q)).toMatchObject({ number: wrong });
    test.clock.advance(MINUTE_MS);
    await test.run("orders");
    await test.poll();
    expect(numberOf(test, q)).toMatchObject({ number: wrong, revision: 1 });
    for (let minutes = 0; minutes < 30; minutes++) await test.poll();
    expect(numberOf(test, q)).toEqual({ number, revision: 2 });
    expect(numberOf(test, p)).toEqual({ number: wrong, revision: 1 });
    expect(held(test)).toEqual([]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(test.snapshots(q)).toBeLessThan(12);
  });

  itWhole("stays held where the order itself is answered as either in turn, and is read at most hourly", async () => {
    const test = await startWithIll(2);
    const [id] = test.ids as [string];
    const before = numberOf(test, id);
    const others = ["A-1", "A-2"].map((number) => {
      test.clock.advance(MINUTE_MS);
      return otherOf(test, id, number);
    });
    await serve(test, others);
    // Two others and the stored one in turn, or the two others alone for an hour.
    let passes = 0;
    for (let minutes = 0; minutes < 240; minutes++) {
      const of = passes % (minutes < 120 ? 3 : 2);
      test.ill.delete(id);
      if (others[of] !== undefined) test.ill.set(id, raw(others[of]));
      const had = test.snapshots(id);
      await test.poll();
      if (test.snapshots(id) > had) passes++;
      expect(numberOf(test, id)).toEqual(before);
    }
    expect(held(test)).toContainEqual(expect.objectContaining({ kind: "order", payload: others[0] }));
    expect(held(test)).toContainEqual(expect.objectContaining({ kind: "order", payload: others[1] }));
    expect(passes).toBeLessThan(30);
  });

  itWhole(
    "replaces the stored one once where the order itself is always this one, and the former is held",
    async () => {
      const test = await startWithIll(3);
      const [id] = test.ids as [string];
      const former = test.rows<{ number: string; payload: string }>(
        "SELECT number, payload FROM orders WHERE order_id = ?",
        id,
      )[0]!;
      const other = otherOf(test, id, "A-1");
      await serve(test, [other]);
      test.ill.set(id, raw(other));
      for (let minutes = 0; minutes < 30; minutes++) await test.poll();
      expect(numberOf(test, id)).toEqual({ number: "A-1", revision: 2 });
      const reason = expect.stringContaining("this is what was stored under its id before");
      const kept = { kind: "order", reference: former.number, payload: former.payload };
      expect(held(test)).toEqual([{ ...kept, reason }]);
      await serve(test, [former.payload]);
      for (let hours = 0; hours < 30; hours++) await test.poll(HOUR_MS);
      expect(numberOf(test, id)).toEqual({ number: "A-1", revision: 2 });
      expect(held(test)).toMatchObject([kept]);
    },
  );

  itWhole("is stored although its timestamp is before that of the stored one, found by reconcile alone", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    test.clock.advance(HOUR_MS);
    const old = otherOf(test, id, "A-1");
    test.clock.advance(HOUR_MS);
    test.change(id, { status: "paid" });
    await test.poll();
    test.ill.set(id, raw(old));
    test.clock.advance(25 * HOUR_MS);
    expect((await test.run("reconcile")).counts).toMatchObject({ quarantined: 1 });
    expect((await test.run("reconcile")).counts).toMatchObject({ quarantined: 1 });
    for (let minutes = 0; minutes < 30; minutes++) await test.poll();
    expect(numberOf(test, id)).toMatchObject({ number: "A-1" });
  });

  itWhole(
    "is not believed while the service answers for each order with another one, and all is well afterwards",
    async () => {
      const test = await startWithIll(1);
      const { sandbox } = test;
      for (let n = 0; n < 40; n++) {
        test.clock.advance(MINUTE_MS);
        sandbox.service.createOrder({ lines: [{ sku: `S-${n}`, quantity: n + 1 }] });
      }
      await test.run("orders");
      const ids = test.rows<{ id: string }>("SELECT order_id AS id FROM orders").map(({ id }) => id);
      const before = ids.map((id) => numberOf(test, id));
      for (const [i, id] of ids.entries()) {
        const of = ids[(i + 1) % ids.length]!;
        test.ill.set(id, raw(sandbox.service.newestText(of)!.replaceAll(of, id)));
      }
      test.change(ids[0]!, { status: "paid" });
      for (let minutes = 0; minutes < 40; minutes++) await test.poll();
      expect(ids.map((id) => numberOf(test, id))).toEqual(before);
      expect((await test.run("reconcile")).counts).toMatchObject({ quarantined: 41 });
      for (let minutes = 0; minutes < 60; minutes++) await test.poll();
      await test.run("reconcile");
      expect(ids.map((id) => numberOf(test, id))).toEqual(before);
      test.ill.clear();
      for (let minutes = 0; minutes < 70; minutes++) await test.poll();
      expect(ids.map((id) => numberOf(test, id)?.number)).toEqual(before.map((order) => order?.number));
      expect(held(test)).toEqual([]);
      expect(test.rows("SELECT order_id FROM owed_reads UNION ALL SELECT order_id FROM first_looks")).toEqual([]);
    },
  );

  itWhole("is back within hours where the service was wrong about it alone for an hour", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    const { number } = numberOf(test, id)!;
    test.ill.set(id, raw(otherOf(test, id, "A-1")));
    await test.run("reconcile");
    for (let minutes = 0; minutes < 60; minutes++) await test.poll();
    expect(numberOf(test, id)).toMatchObject({ number: "A-1" });
    test.ill.clear();
    for (let minutes = 0; minutes < 180; minutes++) await test.poll();
    expect(numberOf(test, id)).toMatchObject({ number });
  });

  itWhole("is not believed where the order was answered as itself in between", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    const before = numberOf(test, id);
    const other = otherOf(test, id, "A-1");
    for (let times = 0; times < 4; times++) {
      test.ill.set(id, raw(other));
      await test.run("reconcile");
      await test.poll();
      expect(numberOf(test, id)).toEqual(before);
      test.ill.delete(id);
      for (let minutes = 0; minutes < 12; minutes++) await test.poll();
      expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    }
  });

  it("is stored also where a person has dropped the held record", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    const other = otherOf(test, id, "A-1");
    test.ill.set(id, raw(other));
    await serve(test, [other]);
    await test.poll();
    test.bridge.store.db.exec("UPDATE quarantine SET state = 'dropped' WHERE state = 'held'");
    expect((await test.run("reconcile")).counts).toMatchObject({ quarantined: 1 });
    for (let minutes = 0; minutes < 30; minutes++) await test.poll();
    expect(numberOf(test, id)).toMatchObject({ number: "A-1" });
  });

  itWhole.each([
    ["goes ahead by an hour", HOUR_MS],
    ["goes back by a year", -365 * 24 * HOUR_MS],
  ])("is stored after ten minutes, and not before, where this machine's clock %s", async (_name, ms) => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    const before = numberOf(test, id);
    const other = otherOf(test, id, "A-1");
    test.ill.set(id, raw(other));
    await serve(test, [other]);
    await test.poll();
    test.clock.jump(ms);
    for (let minutes = 0; minutes < 5; minutes++) await test.poll();
    expect(numberOf(test, id)).toEqual(before);
    for (let minutes = 0; minutes < 60; minutes++) await test.poll();
    expect(numberOf(test, id)).toMatchObject({ number: "A-1" });
  });

  it("is not released by a retry, which asks for a read", async () => {
    const test = await startWithIll(2);
    const [id] = test.ids as [string];
    const other = otherOf(test, id, "A-1");
    test.ill.set(id, raw(other));
    await serve(test, [other]);
    await test.poll();
    const { store } = test.bridge;
    const rules = orderRulesOf(configFor(test.sandbox, "/nowhere"));
    const ids = test.rows<{ id: number }>("SELECT id FROM quarantine WHERE state = 'held'");
    expect(ids).toHaveLength(2);
    const at = new Date(test.clock.nowMs()).toISOString();
    const options = { store, rules, feeds: new Map(), at, machineMs: test.clock.monotonicMs() };
    const retried = ids.map(({ id: row }) => retryQuarantined(options, loadQuarantined(store, row)!).outcome);
    expect(retried).toEqual(["held", "held"]);
    const context = { store, clock: test.clock, log: collectingLog([]) };
    const counts = await retryHeld(context, { ...options, dryRun: false }, new AbortController().signal);
    expect(counts).toEqual({ released: 0, held: 2 });
    expect(held(test)).toHaveLength(2);
    expect(test.rows("SELECT order_id, due_at FROM owed_reads")).toEqual([{ order_id: id, due_at: null }]);
  });
});
