import { describe, expect, it } from "vitest";
import { isAdopted, NO_EMPTY, noteRecords, noteUnusual, type UsualEmpty } from "../../src/completeness/empty-form.ts";

const DAY_MS = 86_400_000;
const AT = "2026-03-01T12:00:00.000Z";
const BESIDE = [{ place: "message", says: "wait", counts: "always" }] as const;

function note(usual: UsualEmpty, times: number): UsualEmpty {
  return times === 0 ? usual : note(noteUnusual(usual, BESIDE, AT), times - 1);
}

describe("an unusual empty form", () => {
  it("is adopted once it was the only answer so often and for so long", () => {
    expect([5, 6].map((times) => isAdopted(note(NO_EMPTY, times), DAY_MS))).toEqual([false, true]);
    expect(isAdopted(note(NO_EMPTY, 6), DAY_MS - 1)).toBe(false);
  });

  it("is counted anew once records came in between", () => {
    const again = note(noteRecords(note(NO_EMPTY, 6)), 1);
    expect(isAdopted(again, DAY_MS)).toBe(false);
    expect(isAdopted(note(again, 5), DAY_MS)).toBe(true);
  });
});
