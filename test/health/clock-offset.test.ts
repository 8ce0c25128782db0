import { describe, expect, it } from "vitest";
import { clockOffsetS } from "../../src/health/clock-offset.ts";

const SERVICE = "Sun, 01 Mar 2026 12:00:00 GMT";
const at = (seconds: number) => Date.parse(SERVICE) + seconds * 1000;

describe("the distance to the service's clock", () => {
  it.each([
    [0, false, undefined],
    [299, false, undefined],
    [300, false, 300],
    [-300, false, -300],
    [94_608_000, false, 94_608_000],
    [299, true, 299],
    [240, true, 240],
    [239, true, undefined],
  ])("of %s s, told before: %s, is told as %s", (seconds, wasOff, told) => {
    expect(clockOffsetS(SERVICE, at(seconds), wasOff)).toBe(told);
  });

  it("is unknown without a time of the service's", () => {
    for (const none of [undefined, "", "soon"]) expect(clockOffsetS(none, at(1e6))).toBeUndefined();
  });
});
