import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addMark, idAsOldAs, type Mark } from "../../src/daemon/history-marks.ts";

const DAY_MS = 86_400_000;

describe("marks of history", () => {
  it("know the largest number of a time at most a hundredth of the span too late, and stay few", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 400 }), (steps) => {
        const keptMs = 365 * DAY_MS;
        let marks: Mark[] = [];
        let id = 0;
        const all: Mark[] = [];
        let atMs = 0;
        for (const days of steps) {
          atMs += days * DAY_MS;
          id += 7;
          all.push({ atMs, id });
          marks = addMark(marks, { atMs, id }, keptMs);
          const oldest = idAsOldAs(marks, atMs - keptMs);
          expect(oldest).toBeLessThanOrEqual(idAsOldAs(all, atMs - keptMs));
          expect(oldest).toBeGreaterThanOrEqual(idAsOldAs(all, atMs - keptMs * 1.01));
        }
        expect(marks.length).toBeLessThanOrEqual(300);
      }),
    );
  });

  it("of a clock that has jumped date nothing back", () => {
    const ahead = addMark([], { atMs: 1000 * DAY_MS, id: 5 }, 10 * DAY_MS);
    const right = addMark(ahead, { atMs: 100 * DAY_MS, id: 9 }, 10 * DAY_MS);
    expect(idAsOldAs(right, 99 * DAY_MS)).toBe(0);
    expect(idAsOldAs(right, 100 * DAY_MS)).toBe(9);
  });
});
