import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { confirmBodies, createOrders } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });
const FLAWS: readonly (readonly [string, string])[] = [
  ["a raw line break", '"comment":"at\nthe door"'],
  ["a raw tab", '"comment":"at\tthe door"'],
  ["NaN", '"weight":NaN'],
  ["undefined", '"weight":undefined'],
  ["a number with zeros before it", '"weight":007'],
  ["an escape of JavaScript", '"comment":"it\\\'s"'],
  ["a comma before a brace", '"tags":{"a":1,}'],
];
const spoil = (text: string, flaw: string) => text.replace("{", `{${flaw},`);

describe("a batch of which one order is no JSON", () => {
  itSome(1)(FLAWS)("has the others stored, that one quarantined and read by its id: %s", async (_, flaw) => {
    const t = await startTestBridge();
    const [first, second, third] = createOrders(t, 3) as [string, string, string];
    const texts = [first, second, third].map((id) => t.sandbox.service.newestText(id)!);
    const bad = spoil(texts[1]!, flaw);
    const batch = JSON.stringify("B1");
    t.sandbox.faults.add({
      match: { path: "orders" },
      do: raw(`{"batch_id":${batch},"orders":[${texts[0]},${bad},${texts[2]}]}`),
    });
    t.sandbox.faults.add({ match: { path: "orders" }, times: 9, do: raw('{"orders":[]}') });
    expect((await t.run("orders")).error).toBeNull();
    expect(t.rows("SELECT order_id FROM orders ORDER BY order_key")).toEqual([
      { order_id: first },
      { order_id: third },
    ]);
    expect(t.rows("SELECT kind, reference, payload, reason FROM quarantine")).toEqual([
      { kind: "order", reference: second, payload: bad, reason: expect.stringContaining("the record is no JSON: ") },
    ]);
    expect(JSON.parse(confirmBodies(t)[0]!)).toEqual({ batch_id: "B1" });
    await t.run("updates");
    expect(t.rows("SELECT order_id FROM orders WHERE order_id = ?", second)).toHaveLength(1);
    expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "released" }]);
  });

  itWhole("is confirmed with the id of the broken one where confirms name orders", async () => {
    const t = await startTestBridge({ settings: { orders: { confirm: { body: { order_ids: "{order_ids}" } } } } });
    const ids = createOrders(t, 2);
    const texts = ids.map((id) => t.sandbox.service.newestText(id)!);
    t.sandbox.faults.add({
      match: { path: "orders" },
      do: raw(`{"orders":[${texts[0]},${spoil(texts[1]!, '"weight":NaN')}]}`),
    });
    await t.run("orders");
    expect(JSON.parse(confirmBodies(t)[0]!)).toEqual({ order_ids: ids });
  });
});

describe("a page of changes of which one is no JSON", () => {
  itSome(1)(FLAWS)("has the others followed, and that order is read by itself: %s", async (_, flaw) => {
    const test = await startWithIll(3, { settings: { updates: { carry: "whole" } } });
    for (const id of test.ids) test.change(id, { status: "paid" });
    const texts = test.ids.map((id) => test.sandbox.service.newestText(id)!);
    const page = `{"updates":[${texts[0]},${spoil(texts[1]!, flaw)},${texts[2]}]}`;
    test.sandbox.faults.add({ match: { path: "updates" }, times: 3, do: raw(page) });
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid"]);
    expect(test.snapshots(test.ids[1])).toBe(1);
    expect(test.rows("SELECT kind, payload FROM quarantine")).toEqual([
      { kind: "change", payload: spoil(texts[1]!, flaw) },
    ]);
  });
});

describe("an order whose own answer is no JSON", () => {
  itWhole.each(["$", "$.order"])("is quarantined and asked for seldom, until it is right: at %s", async (snapshot) => {
    const wrap = (text: string) => (snapshot === "$" ? text : `{"order":${text}}`);
    const test = await startWithIll(2, { settings: { updates: { snapshot } } });
    const [id, other] = test.ids as [string, string];
    const newest = (each: string) => test.sandbox.service.newestText(each)!;
    test.change(id, { status: "paid" });
    test.change(other, { status: "paid" });
    for (const each of test.ids) test.ill.set(each, raw(wrap(newest(each))));
    const bad = spoil(newest(id), '"weight":NaN');
    test.ill.set(id, raw(wrap(bad)));
    await test.poll();
    expect(test.statusOf(id).status).toBe("new");
    expect(test.statusOf(other).status).toBe("paid");
    expect(test.rows("SELECT kind, payload FROM quarantine WHERE kind = 'snapshot'")).toEqual([
      { kind: "snapshot", payload: bad },
    ]);
    const before = test.snapshots(id);
    for (let polls = 0; polls < 20; polls++) await test.poll(1_000);
    expect(test.snapshots(id) - before).toBeLessThanOrEqual(1);
    test.ill.set(id, raw(wrap(newest(id))));
    await test.poll(2 * HOUR_MS);
    expect(test.statusOf(id).status).toBe("paid");
    expect(test.rows("SELECT 1 FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  it("is unreadable where it is broken around the order", async () => {
    const test = await startWithIll(2, { settings: { updates: { snapshot: "$.order" } } });
    const [id, other] = test.ids as [string, string];
    test.change(id, { status: "paid" });
    test.ill.set(other, raw(`{"order":${test.sandbox.service.newestText(other)}}`));
    test.ill.set(id, raw(`{"time":NaN,"order":${test.sandbox.service.newestText(id)}}`));
    await test.poll();
    expect(test.statusOf(id).status).toBe("new");
    expect(test.rows("SELECT 1 FROM quarantine")).toEqual([]);
    expect(test.rows("SELECT last_error FROM owed_reads")).toEqual([
      { last_error: expect.stringContaining("no complete JSON") },
    ]);
  });
});
