import { describe, expect, it } from "vitest";
import {
  findUnusual,
  isAdopted,
  learnEmpty,
  NO_EMPTY,
  noteRecords,
  noteUnusual,
  type UsualEmpty,
} from "../../src/completeness/empty-form.ts";

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

  it("of another kind as a whole is not adopted by time", () => {
    const kind = [{ place: "$", says: "null", counts: "before" }] as const;
    let usual = NO_EMPTY;
    for (let times = 0; times < 10; times++) usual = noteUnusual(usual, kind, AT);
    expect(isAdopted(usual, 30 * DAY_MS)).toBe(false);
    for (let times = 0; times < 3; times++) usual = noteUnusual(noteRecords(usual), kind, AT);
    expect(isAdopted(usual, 0)).toBe(true);
  });

  it("of 204 is adopted by time, because a service may answer so from some day on", () => {
    const kind = [{ place: "$", says: "204", counts: "before" }] as const;
    expect(findUnusual({ times: 3, known: { $: ["object"] } }, kind)).toEqual(kind);
    let usual = NO_EMPTY;
    for (let times = 0; times < 6; times++) usual = noteUnusual(usual, kind, AT);
    expect([isAdopted(usual, DAY_MS - 1), isAdopted(usual, DAY_MS)]).toEqual([false, true]);
  });

  it("of another kind is one only where former ones were noted with their kind", () => {
    const kind = [{ place: "$", says: "null", counts: "before" }] as const;
    const object = [{ place: "$", says: "object", counts: "never" }] as const;
    const former = { times: 3, known: { batch_id: [] } };
    expect(findUnusual(former, kind)).toEqual([]);
    expect(findUnusual(learnEmpty(former, kind), object)).toEqual([]);
    expect(findUnusual(learnEmpty(former, object), kind)).toEqual(kind);
  });

  it.each<[string, UsualEmpty, boolean, boolean]>([
    ["of the first empty answer", NO_EMPTY, true, true],
    ["of the first empty answer, where none must list anything", NO_EMPTY, false, false],
    ["of the second", { times: 1, known: { $: ["object"] } }, true, true],
    ["that has come before", { times: 1, known: { $: ["null"] } }, true, false],
    ["of former ones that were noted without", { times: 3, known: { batch_id: [] } }, true, true],
  ])("of an answer that must list something is unusual by its kind: %s", (_name, usual, mustList, expected) => {
    const beside = [
      { place: "$", says: "null", counts: "before" },
      { place: "code", says: "false", counts: "before" },
    ] as const;
    expect(findUnusual(usual, beside, { mustList })).toEqual(expected ? beside.slice(0, 1) : []);
  });

  it("is counted anew once records came in between", () => {
    const again = note(noteRecords(note(NO_EMPTY, 6)), 1);
    expect(isAdopted(again, DAY_MS)).toBe(false);
    expect(isAdopted(note(again, 5), DAY_MS)).toBe(true);
  });
});
