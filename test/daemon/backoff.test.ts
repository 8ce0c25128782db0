import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { passBackoffMs } from "../../src/daemon/backoff.ts";

const ALMOST_ONE = 1 - 2 ** -53;

describe("the wait after failures", () => {
  it.each([
    [1, 1_000, 2_000],
    [2, 2_000, 4_000],
    [3, 4_000, 8_000],
    [5, 16_000, 32_000],
    [8, 128_000, 256_000],
    [9, 150_000, 300_000],
    [60, 150_000, 300_000],
    [5_000, 150_000, 300_000],
  ])("after %i in a row lies between %i and %i ms, by chance", (failures, least, most) => {
    expect(passBackoffMs(failures, 0)).toBe(least);
    expect(passBackoffMs(failures, ALMOST_ONE)).toBeCloseTo(most, 3);
  });

  it("is bounded, never shrinks while failures go on, and is never half of what it was", () => {
    const failures = fc.integer({ min: 1, max: 10_000 });
    const random = fc.double({ min: 0, max: ALMOST_ONE, noNaN: true });
    fc.assert(
      fc.property(failures, random, random, (count, first, second) => {
        const wait = passBackoffMs(count, first);
        expect(wait).toBeGreaterThanOrEqual(1_000);
        expect(wait).toBeLessThanOrEqual(300_000);
        expect(passBackoffMs(count + 1, first)).toBeGreaterThanOrEqual(wait);
        expect(passBackoffMs(count, second)).toBeGreaterThanOrEqual(wait / 2);
      }),
    );
  });
});
