import { describe, expect, it } from "vitest";
import { addLoss, isLossOver, isRepeating, repeatedAfter } from "../../src/confirm/plan-loss.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

describe("a lost answer of GET /orders", () => {
  it.each([
    ["at once", 0, 0, 0, false],
    ["after many polls within the hour", 59, 59 * MINUTE_MS, 59 * MINUTE_MS, false],
    ["after an hour without enough polls", 9, HOUR_MS, HOUR_MS, false],
    ["after ten polls and an hour", 10, HOUR_MS, HOUR_MS, true],
    ["while answers are lost again and again", 10, 23 * HOUR_MS, MINUTE_MS, false],
    ["a day after the first of them", 1, 24 * HOUR_MS, MINUTE_MS, true],
    ["a day after the first of them, without an answer", 0, 24 * HOUR_MS, HOUR_MS, false],
  ])("keeps confirms waiting: %s", (_name, polls, firstMs, lastMs, isOver) => {
    expect(isLossOver({ polls }, { firstMs, lastMs })).toBe(isOver);
  });

  it.each([
    ["of the one batch that is not confirmed", [9], [9], 10, true],
    ["too few times", [9], [9], 9, false],
    ["of a batch that is confirmed", [9], [], 10, false],
    ["beside one that is not served any more", [9], [7, 9], 10, false],
    ["of two in turn", [7, 9], [7, 9], 10, false],
    ["of none", [], [9], 10, false],
  ])("lets names count again after repetitions: %s", (_name, served, open, times, isOver) => {
    let repeated: ReturnType<typeof repeatedAfter>;
    for (let poll = 0; poll < times; poll++) repeated = repeatedAfter({ repeated }, { served: new Set(served), open });
    expect(isRepeating({ repeated })).toBe(isOver);
    const other = repeatedAfter({ repeated }, { served: new Set([10]), open: [10] });
    expect(isRepeating({ repeated: other })).toBe(isOver);
    expect(isRepeating(addLoss({ upTo: 0, since: "1", at: "1", polls: 0, repeated }, { upTo: 0, at: "2" }))).toBe(
      false,
    );
  });

  it("begins anew with each one, but for when the first was", () => {
    const first = addLoss(undefined, { upTo: 3, at: "1" });
    expect(first).toEqual({ upTo: 3, since: "1", at: "1", polls: 0 });
    expect(addLoss({ ...first, polls: 7 }, { upTo: 2, at: "2" })).toEqual({ upTo: 3, since: "1", at: "2", polls: 0 });
  });
});
