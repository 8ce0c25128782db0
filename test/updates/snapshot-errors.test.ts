import { describe, expect } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

describe("an answer for one order that reports an error beside the order", () => {
  itWhole.each<[string, string, (text: string) => string, isLasting?: true]>([
    ["in the order itself, for a while", "$", (text) => text.replace("{", '{"error":"card declined",'), true],
    [
      "in the order itself, without its fields",
      "$",
      (text) => `{"error":"no lines","order_id":${/"order_id":("[^"]*")/.exec(text)?.[1]}}`,
    ],
    [
      "in an order that the answer wraps, for a while",
      "$.data",
      (text) => `{"data":${text.replace("{", '{"error":"database is down",')}}`,
      true,
    ],
    ["with a flag, for a while", "$", (text) => text.replace("{", '{"success":false,'), true],
    ["around the order", "$.order", (text) => `{"error":"database is down","order":${text}}`],
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
    if (isLasting) {
      for (let polls = 0; polls < 40; polls++) await test.poll();
      expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
      return;
    }
    for (let polls = 0; polls < 40; polls++) await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    test.ill.set(id, raw(wrap(newest(id))));
    await test.poll(HOUR_MS);
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
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
