import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addAnchor, judgePage, mayLackOldest, mergeAnchors, type Wider } from "../../src/updates/page-cover.ts";

const page = (...stamps: (number | undefined)[]) =>
  stamps.map((stamp) => (stamp === undefined ? undefined : { instantNs: BigInt(stamp) }));

describe("whether a page may lack its oldest changes", () => {
  it.each([
    ["it falls and stops above what is covered", [9, 8, 7], true],
    ["in any order, above it", [8, 9, 7], true],
    ["all of one time", [9, 9, 9], true],
    ["one change", [9], true],
    ["it falls down to it", [9, 8, 5], false],
    ["it falls down below it", [9, 8, 4], false],
    ["it rises: the limit has cut the newest", [7, 8, 9], false],
    ["it rises, several of one time", [7, 7, 9], false],
    ["it falls, and some have no time", [9, undefined, 8], true],
    ["none has a time", [undefined], false],
    ["nothing in it", [], false],
  ] as const)("%s: %j", (_, stamps, expected) => {
    expect(mayLackOldest(page(...stamps), 5n)).toBe(expected);
  });
});

describe("what a wider answer says of such a page", () => {
  const anchors = [{ orderId: "a", ns: 5n }];
  const wider: Wider = {
    size: 20,
    isLevel: false,
    isReached: false,
    anchors,
    isMet: () => true,
    nowNs: 9n,
    cutSize: undefined,
  };
  it.each<[string, Partial<Wider>, string]>([
    ["it reaches down", { isReached: true, isMet: () => false }, "whole"],
    ["a change that is known is in neither", { isMet: () => false }, "cut"],
    ["a change that is known from long ago is in neither", { isMet: () => false, nowNs: 10n ** 15n }, "unsure"],
    ["it proves nothing", {}, "unsure"],
    ["nothing is known yet", { anchors: [] }, "unsure"],
    ["all of one time, and it proves nothing", { isLevel: true }, "whole"],
    ["few changes, and it proves nothing", { size: 9 }, "whole"],
    ["few changes, and as few were cut before", { size: 9, cutSize: 9 }, "cut"],
  ])("%s", (_, more, expected) => {
    expect(judgePage({ ...wider, ...more })).toBe(expected);
  });
});

it("keeps the newest change of each of the newest orders, none beyond the position", () => {
  const anchor = fc.record({ orderId: fc.constantFrom(..."abcdefghijklmnopq"), ns: fc.bigInt({ min: 1n, max: 99n }) });
  fc.assert(
    fc.property(fc.array(anchor), fc.array(anchor), fc.bigInt({ min: 1n, max: 99n }), (known, served, upTo) => {
      const merged = mergeAnchors(known, served, upTo);
      expect(new Set(merged.map(({ orderId }) => orderId)).size).toBe(merged.length);
      expect(merged.every(({ ns }) => ns <= upTo)).toBe(true);
      const newest = [...known, ...served].map(({ ns }) => ns).filter((ns) => ns <= upTo);
      if (newest.length > 0) expect(merged[0]?.ns).toBe(newest.reduce((a, b) => (a > b ? a : b)));
    }),
  );
  const list: { orderId: string; ns: bigint }[] = [];
  for (let ns = 1n; ns <= 50n; ns++) addAnchor(list, { orderId: String(ns), ns: (ns * 7n) % 53n });
  expect(list.map(({ ns }) => Number(ns))).toEqual([52, 51, 50, 49, 48, 47, 45, 44, 43, 42].slice(0, list.length));
});
