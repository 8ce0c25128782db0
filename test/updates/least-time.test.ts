import fc from "fast-check";
import { expect, it } from "vitest";
import { planSearch } from "../../src/updates/times/least-time.ts";

const MINUTE_NS = 60_000_000_000n;
const DAY = 1_440;

it("finds the earliest since that is answered, and never asks from more than a step after it once it is known", () => {
  const minutes = fc.integer({ min: 1, max: 4_000 * DAY });
  fc.assert(
    fc.property(minutes, fc.integer({ min: 16, max: 90 * DAY }), (behindMinutes, limitMinutes) => {
      const now = BigInt(Date.parse("2026-03-20T12:00:00Z")) * 1_000_000n;
      const begin = now - BigInt(limitMinutes + behindMinutes) * MINUTE_NS;
      const earliest = now - BigInt(limitMinutes) * MINUTE_NS;
      let refused = begin;
      let answered: bigint | undefined;
      let asked = 0;
      for (; asked < 60; asked++) {
        const next = planSearch({ begin, refused, answered, stops: [], until: now });
        if (next === undefined) break;
        expect(next <= now).toBe(true);
        if (next >= earliest) answered = next;
        else refused = next;
      }
      expect(asked).toBeLessThan(50);
      expect(answered !== undefined && answered - earliest <= 5n * MINUTE_NS).toBe(true);
    }),
  );
});

it("ends at this machine's time where everything is refused", () => {
  const begin = 0n;
  let refused = begin;
  const asked: bigint[] = [];
  for (;;) {
    const next = planSearch({ begin, refused, answered: undefined, stops: [], until: 100n * MINUTE_NS });
    if (next === undefined) break;
    asked.push(next / MINUTE_NS);
    refused = next;
  }
  expect(asked).toEqual([5n, 10n, 20n, 40n, 80n, 100n]);
});
