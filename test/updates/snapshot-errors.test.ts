import { describe, expect } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

const idOf = (text: string) => /"order_id":("[^"]*")/.exec(text)?.[1];
const withOwn = (own: object) => (text: string) => text.replace("{", `{${JSON.stringify(own).slice(1, -1)},`);

describe("an answer for one order that reports an error beside the order", () => {
  itWhole.each<[string, string, (text: string) => string, isLasting?: true]>([
    ["that repeats its id", "$", (text) => `{"error":"not found","order_id":${idOf(text)}}`],
    [
      "that repeats its id, with a state of the answer",
      "$",
      (text) => `{"order_id":${idOf(text)},"status":"error","message":"Database is down"}`,
    ],
    ["with its state, without its lines", "$", (text) => `{"success":false,"order_id":${idOf(text)},"status":"new"}`],
    [
      "in the order itself, which has lost its lines, for a while",
      "$",
      (text) => withOwn({ error: "lines: time-out" })(text).replace(/"items":\[.*\]/s, '"items":[]'),
      true,
    ],
    ["around the order", "$.order", (text) => `{"error":"database is down","order":${text}}`],
    ["in its envelope", "$.data", (text) => `{"ok":false,"data":${text}}`],
    ["by its state, around the order", "$.order", (text) => `{"status":"error","order":${text}}`],
    ["by two orders", "$.order", (text) => `{"order":${text},"order":{}}`],
  ])("is not stored, and is asked for again: %s", async (_, snapshot, spoil, isLasting) => {
    const test = await startWithIll(3, { settings: { updates: { snapshot } } });
    const [id, other] = test.ids as [string, string];
    const wrap = (text: string) => (snapshot === "$" ? text : `{"${snapshot.slice(2)}":${text}}`);
    const newest = (each: string) => test.sandbox.service.newestText(each)!;
    test.change(id, { status: "paid" });
    test.change(other, { status: "paid" });
    for (const each of test.ids) test.ill.set(each, raw(wrap(newest(each))));
    test.ill.set(id, raw(spoil(newest(id))));
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    expect(test.statusOf(other)).toEqual({ status: "paid", revision: 2 });
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
    expect(test.rows("SELECT * FROM quarantine")).toEqual([]);
    for (let polls = 0; polls < 40; polls++) await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    // Then it is judged as an order that has lost its lines.
    const held = isLasting ? [{ kind: "snapshot" }, { kind: "change" }] : [];
    expect(test.rows("SELECT kind FROM quarantine WHERE state = 'held' ORDER BY kind DESC")).toEqual(held);
    test.ill.set(id, raw(wrap(newest(id))));
    await test.poll(HOUR_MS);
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
  });

  itSome(2)<[string, string, (text: string) => string]>([
    ["the words of a declined payment", "$", withOwn({ error: "card declined" })],
    ["a message", "$", withOwn({ error_message: "Карта отклонена банком" })],
    ["a list of them", "$", withOwn({ errors: ["address not found"] })],
    ["a flag", "$", withOwn({ success: false })],
    ["another flag", "$", withOwn({ ok: false, has_errors: true })],
    ["an object, in an envelope", "$.data", (text) => `{"ok":true,"data":${withOwn({ error: { code: 51 } })(text)}}`],
    ["those of a list", "$[0]", (text) => `[${withOwn({ fault: "address" })(text)}]`],
  ])("is that order where its own fields report one: %s", async (_, snapshot, spoil) => {
    const test = await startWithIll(2, { settings: { updates: { snapshot } } });
    const [id] = test.ids as [string];
    test.change(id, { status: "failed", lines: [{ sku: "A", quantity: "7", price: "100.00" }] });
    test.ill.set(id, raw(spoil(test.sandbox.service.newestText(id)!)));
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "failed", revision: 2 });
    expect(test.rows("SELECT sku, quantity FROM order_lines WHERE order_id = ?", id)).toEqual([
      { sku: "A", quantity: "7" },
    ]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  itWhole("is that order where it had no lines before either", async () => {
    const test = await startFollowed(0);
    const { service } = test.sandbox;
    const id = service.createOrder({ lines: [], extra: { error: '"card declined"' } });
    await test.run("orders");
    test.clock.advance(60_000);
    test.change(id, { status: "paid" });
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
  });

  itWhole.each([
    ["in a batch and in the changes", {}, {}],
    [
      "in lists that are the whole answer",
      { orders: { batch: { orders: "$" } }, updates: { changes: "$" } },
      { batch: [], updates: [] },
    ],
  ])("is no error of the list that the order is in: %s", async (_, settings, shape) => {
    const test = await startFollowed(0, { settings, service: { shape, updates: { carry: "whole" } } });
    const { service } = test.sandbox;
    const own = { error: '"card declined"', errors: '["address"]', success: "false", ok: "false" };
    const id = service.createOrder({ extra: own });
    await test.run("orders");
    test.clock.advance(60_000);
    test.change(id, { status: "paid" });
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
    expect(test.rows("SELECT * FROM quarantine")).toEqual([]);
  });

  itSome(1)<[string, (text: string) => string]>([
    ["$.data", (text) => `{"data":${text}}`],
    ["$.response.data", (text) => `{"status":"ok","response":{"data":${text}}}`],
    ["$", (text) => text],
  ])("is stored where states and messages are the order's own: %s", async (snapshot, wrap) => {
    const test = await startWithIll(2, { settings: { updates: { snapshot } } });
    const [id] = test.ids as [string];
    test.change(id, { status: "failed" });
    const text = test.sandbox.service.newestText(id)!.replace("{", '{"message":"Error in the address","errors":[],');
    for (const each of test.ids) test.ill.set(each, raw(wrap(test.sandbox.service.newestText(each)!)));
    test.ill.set(id, raw(wrap(text)));
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "failed", revision: 2 });
  });
});
