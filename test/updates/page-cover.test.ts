import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTimestamp } from "../../src/answers/timestamp.ts";
import {
  addAnchor,
  type FewWhole,
  fallsTo,
  isRising,
  judgePage,
  mayBeLimit,
  mayLackAny,
  mayLackOldest,
  mergeAnchors,
  noteFewWhole,
  type PageSizes,
  planNarrower,
  showsHole,
  type Wider,
  withoutEarlier,
} from "../../src/updates/pages/page-cover.ts";

const page = (...timestamps: (number | undefined)[]) =>
  timestamps.map((timestamp) => (timestamp === undefined ? undefined : { instantNs: BigInt(timestamp) }));

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
  ] as const)("%s: %j", (_, timestamps, expected) => {
    expect(mayLackOldest(page(...timestamps), 5n)).toBe(expected);
  });

  it.each([
    ["it rises above what is covered, which may be chance", [7, 8, 9], true],
    ["it rises from there", [5, 8, 9], false],
  ] as const)("of a few: %s: %j", (_, timestamps, expected) => {
    expect(mayLackOldest(page(...timestamps), 5n, true)).toBe(expected);
  });
});

describe("changes from before what was asked for", () => {
  const served = (...texts: (string | null)[]) => texts.map((text) => readTimestamp(text, "UTC"));
  const asked = readTimestamp("2026-03-01T12:00:30Z", "UTC")!.instantNs;
  it.each<[string, (string | null)[], (string | null)[]]>([
    ["one is left out", ["2026-03-01T12:00:29Z", "2026-03-01T12:01:00Z"], [null, "2026-03-01T12:01:00Z"]],
    ["the minute in which it was asked is not over", ["2026-03-01T12:00Z"], ["2026-03-01T12:00Z"]],
    ["none is", ["2026-03-01T12:00:30Z", null], ["2026-03-01T12:00:30Z", null]],
    ["all are: each counts", ["2026-03-01T12:00:10Z", null], ["2026-03-01T12:00:10Z", null]],
  ])("%s", (_, texts, expected) => {
    expect(withoutEarlier(served(...texts), asked).map((each) => each?.text ?? null)).toEqual(expected);
  });
});

describe("the order of a page", () => {
  const ten = [9, 1, 8, 2, 7, 3, 6, 4, 5, 5];
  it.each<[string, readonly (number | undefined)[], number, { isRising: boolean; mayLackAny: boolean }]>([
    ["oldest first", [7, 8, 9], 3, { isRising: true, mayLackAny: false }],
    ["newest first", [9, 8, 7], 3, { isRising: false, mayLackAny: false }],
    ["one time", [9, 9, 9], 3, { isRising: false, mayLackAny: false }],
    ["one change", [9], 1, { isRising: true, mayLackAny: false }],
    ["another order, as full as pages get", [8, 9, 7], 3, { isRising: false, mayLackAny: true }],
    ["another order, and pages were fuller", [8, 9, 7], 4, { isRising: false, mayLackAny: false }],
    ["another order, and many", ten, 99, { isRising: false, mayLackAny: true }],
    ["another order, some without a time", [8, undefined, 9, 7], 4, { isRising: false, mayLackAny: true }],
    ["nothing", [], 0, { isRising: false, mayLackAny: false }],
  ])("%s", (_, timestamps, pageMax, expected) => {
    const served = page(...timestamps);
    expect({ isRising: isRising(served), mayLackAny: mayLackAny(served, pageMax) }).toEqual(expected);
  });
});

describe("a narrower answer", () => {
  it.each<[string, readonly (number | undefined)[], bigint | undefined]>([
    ["leaves out the oldest", [8, 9, 7], 7n],
    ["leaves out all of the oldest time", [7, 7, 7, 9], 7n],
    ["there is none", [7, undefined, 7], undefined],
  ])("%s", (_, timestamps, behind) => {
    expect(planNarrower(page(...timestamps))).toBe(behind);
  });

  it("leaves out as large a share as is wanted", () => {
    const timestamps = page(...Array(20).keys());
    expect([0.3, 0.8, 0.99].map((share) => planNarrower(timestamps, share))).toEqual([6n, 16n, undefined]);
  });

  it.each<[string, readonly (number | undefined)[], readonly (number | undefined)[], boolean]>([
    ["the same", [7, 9, 8], [9, 8], false],
    ["one has changed meanwhile", [7, 9, 8], [9, 12], false],
    ["something between that the page lacked", [3, 9, 5], [9, 5, 7], true],
    ["as many, and another one", [3, 9, 5], [9, 7], true],
    ["one more of the same time", [3, 9, 5], [5, 5, 9], true],
    ["something newer than the page", [3, 9, 5], [5, 9, 9, 10], false],
    ["something right behind what was left out", [3, 9, 6], [9, 5, 6], true],
    ["something older than was asked for", [3, 9, 5], [1, 5, 9], false],
  ])("%s", (_, whole, narrower, expected) => {
    expect(showsHole(page(...whole), page(...narrower), 4n)).toBe(expected);
  });

  it("shows a hole wherever a page was cut in another order, and in no whole page", () => {
    const change = fc.record({ ns: fc.integer({ min: 1, max: 60 }), rank: fc.nat() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (feed, limit) => {
        const answer = (from: number) =>
          feed
            .filter(({ ns }) => ns >= from)
            .sort((a, b) => a.rank - b.rank)
            .slice(0, limit);
        const served = answer(0);
        const timestamps = page(...served.map(({ ns }) => ns));
        const behind = planNarrower(timestamps);
        if (behind === undefined) return;
        const from = Number(behind) + 1;
        const newest = Math.max(...served.map(({ ns }) => ns));
        const hidden = feed.filter((each) => !served.includes(each) && each.ns >= from && each.ns < newest);
        const shown = showsHole(timestamps, page(...answer(from).map(({ ns }) => ns)), behind);
        // What the narrower answer fills its room with may also be newer than the page.
        const first = feed.filter(({ ns }) => ns >= from).sort((a, b) => a.rank - b.rank);
        const room = first.slice(0, limit).filter((each) => !served.includes(each));
        expect(shown).toBe(room.some((each) => hidden.includes(each)));
        if (served.length === feed.length) expect(shown).toBe(false);
      }),
    );
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
    isFull: true,
  };
  it.each<[string, Partial<Wider>, string]>([
    ["it reaches down", { isReached: true, isMet: () => false }, "whole"],
    ["a change that is known is in neither", { isMet: () => false }, "cut"],
    ["a change that is known from long ago is in neither", { isMet: () => false, nowNs: 10n ** 15n }, "unsure"],
    ["it proves nothing", {}, "unsure"],
    ["nothing is known yet", { anchors: [] }, "unsure"],
    ["all of one time, and it proves nothing", { isLevel: true }, "whole"],
    ["fewer than the service answers, and it proves nothing", { size: 9, isFull: false }, "whole"],
    ["few changes, and it never answered more", { size: 9 }, "unsure"],
    ["few changes, and as few were cut before", { size: 9, cutSize: 9 }, "cut"],
  ])("%s", (_, more, expected) => {
    expect(judgePage({ ...wider, ...more })).toBe(expected);
  });
});

describe("whether a page may be as full as the limit", () => {
  it.each<[string, number, PageSizes, boolean]>([
    ["ten or more always", 10, { pageMax: 100 }, true],
    ["a few, and it never answered more", 3, { pageMax: 3 }, true],
    ["a few, and it has answered more", 3, { pageMax: 4 }, false],
    ["two are in some order by chance", 2, { pageMax: 2 }, false],
    ["larger searches found nothing", 4, { pageMax: 4, fewWhole: { size: 5, times: 1 } }, false],
    ["two such searches found nothing", 4, { pageMax: 4, fewWhole: { size: 4, times: 2 } }, true],
    ["three such searches found nothing", 4, { pageMax: 4, fewWhole: { size: 4, times: 3 } }, false],
    ["smaller searches found nothing", 4, { pageMax: 4, fewWhole: { size: 3, times: 3 } }, true],
  ])("%s", (_, size, sizes, expected) => {
    expect(mayBeLimit(size, sizes)).toBe(expected);
  });

  it("counts the searches for the largest page", () => {
    const noted = [3, 4, 3, 4].reduce<FewWhole | undefined>((known, size) => noteFewWhole(known, size), undefined);
    expect(noted).toEqual({ size: 4, times: 2 });
  });
});

describe("a page that falls to what is covered", () => {
  it.each([
    ["it does", [9, 8, 5], true],
    ["it does not reach it", [9, 8, 7], false],
    ["it rises in between", [9, 4, 8], false],
    ["two fall by chance", [9, 5], false],
    ["some have no time", [9, undefined, 5], true],
  ] as const)("%s: %j", (_, timestamps, expected) => {
    expect(fallsTo(page(...timestamps), 5n)).toBe(expected);
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
