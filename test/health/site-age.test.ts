import { describe, expect, it } from "vitest";
import { longestAges } from "../../src/health/site-age.ts";

const at = (...minutes: number[]) => minutes.map((minute) => minute * 60_000);
const span = { fromMs: 0, toMs: 3 * 600_000, spanMs: 600_000 };
const minutes = (ages: (number | null)[]) => ages.map((age) => (age === null ? null : age / 60));

describe("how old the stock on the site grew", () => {
  it("is as old as the longest pause that ends or stands in each span", () => {
    expect(minutes(longestAges(at(-1, 1, 4, 9, 12, 28), span))).toEqual([5, 8, 16]);
  });

  it("counts a pause over several spans in each of them, as far as it has come", () => {
    expect(minutes(longestAges(at(-2), span))).toEqual([12, 22, 32]);
  });

  it("knows nothing before the first success", () => {
    expect(minutes(longestAges(at(15), span))).toEqual([null, 5, 15]);
    expect(longestAges([], span)).toEqual([null, null, null]);
  });

  it("ends now, and not with the span that is under way", () => {
    expect(minutes(longestAges(at(-1, 19), { ...span, toMs: 21 * 60_000 }))).toEqual([11, 20, 2]);
  });
});
