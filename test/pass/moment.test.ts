import { describe, expect, it } from "vitest";
import { hasPassed, leastAgoMs } from "../../src/pass/moment.ts";

const TEN = 600_000;
const date = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1000).toUTCString();

describe("how long ago a time of the monotonic clock was at least", () => {
  it.each([
    ["within one run of the machine", 5, 65, 60],
    ["at once", 5, 5, 0],
    ["before the machine's last start", 100, 30, 30],
  ])("%s", (_name, then, now, ago) => {
    expect(leastAgoMs(then, now)).toBe(ago);
  });
});

describe("the time between two looks", () => {
  it.each<[string, Parameters<typeof hasPassed>, boolean]>([
    [
      "this process's clock",
      [{ monotonicMs: 1, serviceDate: null }, { monotonicMs: TEN + 1, serviceDate: null }, TEN],
      true,
    ],
    ["a little less", [{ monotonicMs: 1, serviceDate: null }, { monotonicMs: TEN, serviceDate: null }, TEN], false],
    [
      "counts before a Date that jumps",
      [{ monotonicMs: 1, serviceDate: date(0) }, { monotonicMs: 2, serviceDate: date(1e8) }, TEN],
      false,
    ],
    [
      "the service's Date where another process looked first",
      [{ monotonicMs: undefined, serviceDate: date(0) }, { monotonicMs: 5, serviceDate: date(600) }, TEN],
      true,
    ],
    [
      "a little less by it",
      [{ monotonicMs: undefined, serviceDate: date(0) }, { monotonicMs: 5, serviceDate: date(599) }, TEN],
      false,
    ],
    [
      "a Date that went back",
      [{ monotonicMs: undefined, serviceDate: date(900) }, { monotonicMs: 5, serviceDate: date(0) }, TEN],
      false,
    ],
    [
      "no Date then",
      [{ monotonicMs: undefined, serviceDate: null }, { monotonicMs: 5, serviceDate: date(0) }, TEN],
      false,
    ],
    [
      "no Date now",
      [{ monotonicMs: undefined, serviceDate: date(0) }, { monotonicMs: 5, serviceDate: null }, TEN],
      false,
    ],
    [
      "a Date that is none",
      [{ monotonicMs: undefined, serviceDate: "soon" }, { monotonicMs: 5, serviceDate: date(0) }, TEN],
      false,
    ],
  ])("%s", (_name, [first, now, ms], expected) => {
    expect(hasPassed(first, now, ms)).toBe(expected);
  });
});
