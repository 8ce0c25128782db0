import { hash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ChangeKey,
  changeKey,
  isSeen,
  readSeen,
  rememberChanges,
  writeSeen,
} from "../../src/pass/seen-changes.ts";

const key = (timestamp: number | undefined, content: string, nth = 0) =>
  changeKey(timestamp === undefined ? undefined : BigInt(timestamp), hash("sha256", content, "buffer"), nth);

/** What a pass does with one order: whether its telling is news, and what is remembered then. */
function tell(seen: ChangeKey[], served: ChangeKey[], isWhole = true): { isNews: boolean; seen: ChangeKey[] } {
  const isNews =
    served.some((each) => !isSeen(seen, each)) || (isWhole && seen.length > 0 && !served.includes(seen.at(-1)!));
  return { isNews, seen: isNews ? rememberChanges(seen, new Set(served), isWhole) : seen };
}

function news(...tellings: ChangeKey[][]): boolean[] {
  let seen: ChangeKey[] = [];
  return tellings.map((served) => {
    const told = tell(seen, served);
    seen = told.seen;
    return told.isNews;
  });
}

describe("changes that were told before", () => {
  it("are no news in any order, nor when the older ones leave the window and come back with a sweep", () => {
    const [a, b, c] = [key(1, "a"), key(2, "b"), key(3, "c")];
    expect(news([a], [b, a], [b], [c, b], [c], [b, a, c], [c])).toEqual([true, true, false, true, false, false, false]);
  });

  it("are news where one appears late, whatever its timestamp", () => {
    const [a, b, late] = [key(1, "a"), key(3, "b"), key(2, "late")];
    expect(news([a, b], [a, late, b], [late, b], [b])).toEqual([true, true, false, false]);
  });

  it("are news where the newest was replaced by one that was told before", () => {
    const [paid, packed] = [key(1, "paid"), key(1, "packed")];
    expect(news([paid], [packed], [paid], [paid], [packed])).toEqual([true, true, true, false, true]);
    const later = key(2, "packed");
    expect(news([paid], [later], [paid], [paid], [later])).toEqual([true, true, true, false, true]);
  });

  it("are news where a state without a timestamp, or under the same one, comes again", () => {
    for (const timestamp of [undefined, 5]) {
      const [paid, packed, again] = [key(timestamp, "paid"), key(timestamp, "packed"), key(timestamp, "paid", 1)];
      expect(news([paid], [paid, packed], [paid, packed, again], [again, packed, paid])).toEqual([
        true,
        true,
        true,
        false,
      ]);
      expect(news([paid], [packed], [packed, paid], [paid])).toEqual([true, true, true, false]);
    }
  });

  it("are no news where one without a timestamp never leaves the window, and the others come back with a sweep", () => {
    const [late, a, b, undated] = [key(1, "late"), key(2, "a"), key(3, "b"), key(undefined, "undated")];
    expect(news([a, b], [b, undated], [undated], [a, b, undated])).toEqual([true, true, false, false]);
    const narrow = tell(tell([], [a, b]).seen, [b, undated]);
    const wide = [late, a, b, undated];
    expect(wide.filter((each) => !isSeen(narrow.seen, each))).toEqual([late]);
    const { seen } = tell(narrow.seen, wide);
    expect(tell(seen, [undated]).isNews).toBe(false);
    expect(tell(seen, wide).isNews).toBe(false);
  });

  it("are no news for being missing in a telling that was cut short", () => {
    const [a, b] = [key(1, "a"), key(2, "b")];
    const { seen } = tell([], [a, b]);
    expect(tell(seen, [a], false).isNews).toBe(false);
    const added = tell(seen, [key(undefined, "c")], false);
    expect(added.isNews).toBe(true);
    expect(tell(added.seen, [a, b, key(undefined, "c")]).isNews).toBe(false);
  });

  it("are kept bounded, and what is older than all that is kept is no news", () => {
    const many = Array.from({ length: 100 }, (_, at) => key(at + 1, `state ${at}`));
    const { seen } = tell([], many);
    expect(seen).toHaveLength(64);
    expect(tell(seen, many).isNews).toBe(false);
    expect(tell(seen, [...many, key(101, "new")]).isNews).toBe(true);
  });

  it("survive being written", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.option(fc.nat(), { nil: undefined }), fc.string(), fc.nat(300))), (parts) => {
        const keys = parts.map(([timestamp, content, nth]) => key(timestamp, content, nth));
        expect(readSeen(writeSeen(keys).toString("hex"))).toEqual(keys);
      }),
    );
    expect(readSeen("")).toEqual([]);
  });

  it("are never missed and settle, in any log of changes with timestamps of their own, late ones too", () => {
    const step = fc.record({ advance: fc.nat(20), late: fc.nat(30), window: fc.integer({ min: 1, max: 60 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let now = 100;
        let seen: ChangeKey[] = [];
        const log: { timestamp: number; key: ChangeKey }[] = [];
        for (const [index, { advance, late, window }] of steps.entries()) {
          now += advance;
          const timestamp = Math.max(1, now - late);
          log.push({ timestamp, key: key(timestamp, `state ${index}`) });
          const served = log.filter((entry) => entry.timestamp >= now - window).map((entry) => entry.key);
          const told = tell(seen, served);
          if (served.includes(log.at(-1)!.key)) expect(told.isNews).toBe(true);
          if (served.length > 0) seen = told.seen;
          if (served.length > 0) expect(tell(seen, served).isNews).toBe(false);
        }
      }),
    );
  });
});
