import { describe, expect, it } from "vitest";
import type { ColumnValue, FeedRules } from "../../src/feeds/feed.ts";
import { planRow } from "../../src/feeds/plan-feed.ts";
import { UnreadableKeys } from "../../src/feeds/unreadable-keys.ts";

const keysOf = (rows: readonly (readonly ColumnValue[])[], columns = 1): UnreadableKeys => {
  const keys = ["k", "part"].slice(0, columns);
  const unreadable = new UnreadableKeys({ keys } as unknown as FeedRules);
  for (const row of rows) unreadable.add(Object.fromEntries(keys.map((key, index) => [key, row[index] ?? null])));
  return unreadable;
};
const bytes = (hex: string) => Buffer.from(hex, "hex");

describe("a row whose key cannot be read", () => {
  it.each([
    ["bytes that are a key", [Buffer.from("Größe")], ["Größe"], true],
    ["bytes that are another key", [Buffer.from("Größe")], ["Größe 1"], false],
    ["the bytes of a key in UTF-16le", [Buffer.from("Größe", "utf16le")], ["Größe"], true],
    ["the bytes of a key in UTF-16be", [Buffer.from("Größe", "utf16le").swap16()], ["Größe"], true],
    ["a key in an encoding of one byte each", [Buffer.from("Größe", "latin1")], ["Größe"], true],
    ["another such key", [Buffer.from("Größe", "latin1")], ["Grüße 2"], false],
    ["a key that is cut within a character", [bytes("41f09f98")], ["A😀 and more"], true],
    ["a key that begins otherwise", [bytes("41f09f98")], ["B😀"], false],
    ["a key of which nothing can be read", [bytes("cff0e8")], ["Чай"], true],
    ["several pieces that are all there", [bytes("41ff42ff43")], ["A-B-C"], true],
    ["pieces in another order", [bytes("41ff42ff43")], ["A-C-B-C-D"], false],
    ["pieces that would have to share a letter", [bytes("41ff41")], ["A"], false],
    ["a number that is none", [Number.POSITIVE_INFINITY], ["9"], true],
    ["NULL", [null], ["A"], false],
    ["NULL, which is no empty key", [null], [""], false],
  ])("%s", (_, row, key, expected) => {
    expect(keysOf([row]).mayBe(key)).toBe(expected);
  });

  it.each([
    [[bytes("ff"), "north"], ["A", "north"], true],
    [[bytes("ff"), "north"], ["A", "south"], false],
    [[bytes("ff"), null], ["A", ""], true],
    [[bytes("ff"), null], ["A", "north"], false],
    [["A", bytes("6eff")], ["A", "north"], true],
    [["A", bytes("6eff")], ["B", "north"], false],
  ])("of two columns %j may be %j: %s", (row, key, expected) => {
    expect(keysOf([row], 2).mayBe(key)).toBe(expected);
  });

  it("may be any key where there are more than a hundred of them", () => {
    const rows = (count: number) => Array.from({ length: count }, (_, i) => [Buffer.from(`X-${i}`)]);
    expect(keysOf(rows(100)).mayBe(["A"])).toBe(false);
    expect(keysOf([...rows(100), ...rows(100)]).mayBe(["A"])).toBe(false);
    expect(keysOf(rows(101)).mayBe(["A"])).toBe(true);
  });
});

describe("what comes of a missing key that such a row may be", () => {
  const sent = { record: "{}", gone: false, live: true, current: true };
  const gone = { record: "{}", gone: true, state: "waiting" as const, doubtRecord: null, lastError: null };
  it.each([
    ["nothing where it is acknowledged", { sent, outbox: undefined }, "keep"],
    ["what waits as gone waits no more", { sent, outbox: gone }, "settled"],
    ["what has left as gone stays in doubt", { sent, outbox: { ...gone, doubtRecord: "{}" } }, "keep"],
    ["what is gone for long stays gone", { sent: { ...sent, gone: true }, outbox: gone }, "keep"],
    ["what waits as present goes on", { sent, outbox: { ...gone, gone: false } }, "keep"],
  ])("%s", (_, known, kind) => {
    expect(planRow({} as unknown as FeedRules, { kind: "unclear" }, known)).toEqual({ kind });
  });
});
