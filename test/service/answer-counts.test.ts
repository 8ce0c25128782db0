import { describe, expect, it } from "vitest";
import { scanJson } from "../../src/answers/scan-json.ts";
import {
  countsChanges,
  findShortCount,
  type LearnedCounts,
  learnCountOfChanges,
  learnCounts,
  readCounts,
} from "../../src/service/answer-counts.ts";

const countsOf = (answer: unknown) => {
  const body = Buffer.from(JSON.stringify(answer));
  return readCounts(body, scanJson(body));
};
const learned = (...answers: [number, unknown][]) =>
  answers.reduce<LearnedCounts>((known, [size, answer]) => learnCounts(known, countsOf(answer), size), {});
const shortOf = (known: LearnedCounts, answer: unknown, size: number, isPart = false) =>
  findShortCount(known, countsOf(answer), { size, isPart })?.name;

describe("a count that is smaller than the number of records", () => {
  it.each<[string, [number, unknown][], unknown, string]>([
    ["is called updated and followed one number", [[6, { updated: 6 }]], { updated: 100 }, "updated"],
    ["is called imported", [], { status: "ok", imported: 100 }, "imported"],
    ["is called saved, beside one that is not smaller", [], { success: true, received: 250, saved: 100 }, "saved"],
    ["stands one level down, as a text", [], { data: { processed_count: "100" } }, "data.processed_count"],
    [
      "followed two different numbers",
      [
        [6, { updated: 6 }],
        [7, { updated: 7 }],
      ],
      { updated: 100 },
      "updated",
    ],
    [
      "has any name",
      [
        [6, { ok: 6 }],
        [7, { ok: 7 }],
      ],
      { ok: 249 },
      "ok",
    ],
  ])("speaks against an acceptance where it %s", (_name, before, answer, name) => {
    expect(shortOf(learned(...before), answer, 250)).toBe(name);
  });

  it.each<[string, [number, unknown][], unknown]>([
    [
      "followed one number only",
      [
        [6, { rows: 6 }],
        [6, { rows: 6 }],
      ],
      { rows: 100 },
    ],
    ["is one of several", [[6, { created: 6, updated: 0 }]], { created: 100, updated: 150 }],
    ["stands beside what was the same", [], { imported: 12, unchanged: 238 }],
    [
      "was something else before",
      [
        [6, { updated: 6 }],
        [7, { updated: 2 }],
        [8, { updated: 8 }],
      ],
      { updated: 100 },
    ],
    [
      "is a version",
      [
        [1, { v: 1 }],
        [1, { v: 1 }],
      ],
      { v: 1 },
    ],
    [
      "grows with all requests",
      [
        [6, { imported: 6 }],
        [6, { imported: 12 }],
      ],
      { imported: 18 },
    ],
    [
      "is 0: then nothing was taken, or nothing has changed",
      [
        [6, { updated: 6 }],
        [7, { updated: 7 }],
      ],
      { updated: 0 },
    ],
    ["is none", [], { status: "ok", code: 0 }],
  ])("says nothing where it %s", (_name, before, answer) => {
    expect(shortOf(learned(...before), answer, 250)).toBeUndefined();
  });

  it("may be 0 for a part of what was counted short, unless it counts changes", () => {
    const known = learned([6, { imported: 6 }]);
    expect(shortOf(known, { imported: 0 }, 1, true)).toBe("imported");
    const ofChanges = learnCountOfChanges(known, "imported");
    expect(shortOf(ofChanges, { imported: 0 }, 1, true)).toBeUndefined();
    expect([countsChanges(known), countsChanges(ofChanges)]).toEqual([false, true]);
  });
});

it.each<[string, [number, unknown][], unknown, string | undefined]>([
  ["no name says enough", [[6, { imported: 6 }]], { imported: 2 }, undefined],
  [
    "one that was equal twice does",
    [
      [1, { imported: 1 }],
      [6, { imported: 6 }],
    ],
    { imported: 2 },
    "imported",
  ],
  [
    "0 is smaller as well",
    [
      [1, { confirmed: 1 }],
      [6, { confirmed: 6 }],
    ],
    { confirmed: 0 },
    "confirmed",
  ],
  [
    "another count may say what became of the rest",
    [
      [1, { confirmed: 1 }],
      [6, { confirmed: 6 }],
    ],
    { confirmed: 2, already_confirmed: 7 },
    undefined,
  ],
])("where proof is needed, %s", (_name, before, answer, expected) => {
  const known = before.reduce<LearnedCounts>((learned, [size, body]) => learnCounts(learned, countsOf(body), size), {});
  const short = findShortCount(known, countsOf(answer), { size: 9, isPart: true, needs: "two sizes" });
  expect(short?.name).toBe(expected);
});
