import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanJson } from "../../../src/answers/scan-json.ts";
import { Answer } from "../../../src/service/outcome/answer.ts";
import {
  countsBeside,
  findFewChanges,
  findShortCount,
  readCounts,
  unknownByCount,
} from "../../../src/service/outcome/answer-counts.ts";
import {
  countsChanges,
  findShortSince,
  type LearnedCounts,
  learnCountOfChanges,
  learnCountOfTaken,
  learnCounts,
  learnLack,
} from "../../../src/service/outcome/usual-counts.ts";

const countsOf = (answer: unknown) => {
  const body = Buffer.from(typeof answer === "string" ? answer : JSON.stringify(answer));
  return readCounts(new Answer(body, typeof answer === "string" ? undefined : scanJson(body)));
};
const learned = (...answers: [number, unknown][]) =>
  answers.reduce<LearnedCounts>((known, [size, answer]) => learnCounts(known, countsOf(answer), size), {});
const shortOf = (known: LearnedCounts, answer: unknown, size: number, isPart = false) =>
  findShortCount(known, countsOf(answer), { size, isPart })?.name;

it("is the same number again, and counts where it was another one since", () => {
  const known = learned(...Array.from({ length: 5 }, (): [number, unknown] => [1, 1]));
  const of = (counting: ReadonlySet<string>) => findShortCount(known, countsOf(1), { size: 2, isPart: true, counting });
  expect([of(new Set())?.taken, of(new Set(["#"]))?.taken]).toEqual([undefined, 1]);
});

describe("a count that is smaller than the number of records", () => {
  it.each<[string, [number, unknown][], unknown, string]>([
    ["is called updated and followed one number", [[6, { updated: 6 }]], { updated: 100 }, "updated"],
    ["is called imported", [], { status: "ok", imported: 100 }, "imported"],
    ["is called saved, beside one that is not smaller", [], { success: true, received: 250, saved: 100 }, "saved"],
    ["is of what was left out", [], { success: true, processed: 250, skipped: 150 }, "skipped"],
    ["is of what was left out, in Russian", [], { всего: 250, "не найдено": 1 }, "не найдено"],
    [
      "is of what was left out, below",
      [],
      { data: { stats: { records_unmatched: 3 } } },
      "data.stats.records_unmatched",
    ],
    [
      "was one of what was left out of an acceptance, and then of none",
      [
        [9, { skipped: 1 }],
        [9, { skipped: 0 }],
      ],
      { skipped: 1 },
      "skipped",
    ],
    ["is of good ones beside all", [], { status: "ok", total: 250, ok: 100 }, "ok"],
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

describe("a count of any name", () => {
  const same = (count: (size: number) => unknown, ...sizes: number[]) =>
    sizes.map((size): [number, unknown] => [size, count(size)]);
  const rows = (count: number) => ({ success: true, rows: count });
  const text = (count: number) => `Загружено строк: ${count}`;
  it.each<[string, [number, unknown][], unknown, number, string | undefined]>([
    ["is a number alone", same((size) => size, 4, 5), 2, 3, "2 of 3"],
    ["stands in a text", same(text, 4, 5), text(2), 3, "2 of 3"],
    [
      "stands in a message",
      same((n) => ({ ok: true, message: text(n) }), 4, 5),
      { ok: true, message: text(2) },
      3,
      "message: 2 of 3",
    ],
    [
      "stands in a text of what was changed",
      same((n) => `Updated ${n} records`, 4),
      "Updated 2 records",
      3,
      "updated: 2 of 3",
    ],
    [
      "is one of two in a text",
      same((n) => `Создано: 0, обновлено: ${n}`, 4, 5),
      "Создано: 1, обновлено: 1",
      3,
      "updated: 2 of 3",
    ],
    [
      "says all in two of a text",
      same((n) => `Создано: 0, обновлено: ${n}`, 4, 5),
      "Создано: 1, обновлено: 2",
      3,
      undefined,
    ],
    [
      "is repeated in a text",
      same((n) => ({ accepted: n, message: `Updated ${n}` }), 4, 5),
      { accepted: 2, message: "Updated 2" },
      3,
      "accepted: 2 of 3",
    ],
    ["is 0 of one, and was 1 of one several times", same(rows, 1, 1, 1, 1, 1), rows(0), 1, "rows: 0 of 1"],
    ["is 0 of one, and was 1 of one seldom", same(rows, 1, 1, 1, 1), rows(0), 1, undefined],
    ["is less than all, and was 1 of one", same(rows, 1, 1, 1, 1, 1), rows(2), 3, "rows: 2 of 3"],
    ["is 1 again, and is called so", same(rows, 1, 1, 1, 1, 1), rows(1), 3, "rows: 1 of 3"],
    ["is 1 again, and may be anything", same(() => 1, 1, 1, 1, 1, 1), 1, 3, undefined],
    [
      "is the number of an order",
      [
        [1, "Order 4711 updated"],
        [1, "Order 4712 updated"],
      ],
      "Order 1 updated",
      3,
      undefined,
    ],
    ["is a time", same((n) => `2026-11-23 08:00:0${n} ok`, 4, 5), "2026-11-23 08:00:01 ok", 3, undefined],
  ])("that %s", (_name, before, answer, size, expected) => {
    const known = learned(...before);
    const short = findShortCount(known, countsOf(answer), { size, isPart: false });
    expect(short && `${unknownByCount(short).words} of ${size}`).toBe(expected);
    expect(short?.mayBeSame).toBe(short?.count === 0 ? true : undefined);
    if (short === undefined) return;
    const taken = learnCountOfTaken(known, short.name);
    expect(findShortCount(taken, countsOf(answer), { size, isPart: false })?.mayBeSame).toBeUndefined();
    expect(shortOf(learnCountOfChanges(known, short.name), answer, size)).toBeUndefined();
  });
});

describe("a count of none", () => {
  const both = (count: number) => ({ received: count, accepted: count });
  it.each<[string, [number, unknown][], unknown, string]>([
    ["was all that came, of one record", [[1, both(1)]], { received: 3, accepted: 0 }, "accepted"],
    [
      "stands inside an object",
      [[2, { ok: true, stats: both(2) }]],
      { ok: true, stats: { received: 3, accepted: 0 } },
      "stats.accepted",
    ],
    [
      "two levels down",
      [[2, { data: { stats: both(2) } }]],
      { data: { stats: { received: 3, accepted: 0 } } },
      "data.stats.accepted",
    ],
    ["is called stored", [[2, { total: 2, stored: 2 }]], { total: 3, stored: 0 }, "stored"],
    [
      "has any name, beside another of any name",
      [
        [2, { in: 2, out: 2 }],
        [4, { in: 4, out: 4 }],
      ],
      { in: 3, out: 0 },
      "out",
    ],
    ["is of what was left out, which was 0", [[1, { ok: true, ignored: 0 }]], { ok: true, ignored: 3 }, "ignored"],
    [
      "is of a part that was left out",
      [[5, { ok: true, skipped_count: 0 }]],
      { ok: true, skipped_count: 1 },
      "skipped_count",
    ],
    ["is of what was not found", [[5, { result: { notFound: 0 } }]], { result: { notFound: 1 } }, "result.notFound"],
  ])("speaks against an acceptance where it %s", (_name, before, answer, name) => {
    expect(shortOf(learned(...before), answer, 3)).toBe(name);
  });

  it.each<[string, [number, unknown][], unknown]>([
    [
      "counts changes by its name",
      [
        [1, { received: 1, updated: 1 }],
        [2, { received: 2, updated: 2 }],
      ],
      { received: 3, updated: 0 },
    ],
    [
      "stands beside what was the same",
      [[2, { received: 2, accepted: 2 }]],
      { received: 3, accepted: 0, unchanged: 3 },
    ],
    ["stands beside what was changed", [[2, { received: 2, imported: 2 }]], { received: 3, imported: 0, updated: 3 }],
    ["was one before", [[2, { received: 2, queued: 2, processed: 0 }]], { received: 3, queued: 3, processed: 0 }],
    ["is of what was created", [[2, { received: 2, created: 2, updated: 0 }]], { received: 3, created: 0, updated: 3 }],
    ["is of what was left out, and none was", [[2, { ok: true, ignored: 0 }]], { ok: true, ignored: 0 }],
    ["is of what was left out, also where all were taken", [[2, { ok: true, ignored: 5 }]], { ok: true, ignored: 5 }],
    [
      "is of what was left out, beside all others",
      [[2, { updated: 2, skipped: 0 }]],
      { updated: 1, unchanged: 2, skipped: 2 },
    ],
    ["is of what was left out, and larger than the request", [], { ok: true, ignored: 4 }],
    ["is beside all that came, and may be a flag", [], { total: 3, success: 1 }],
  ])("says nothing where it %s", (_name, before, answer) => {
    expect(shortOf(learned(...before), answer, 3)).toBeUndefined();
  });

  it("of what was left out counts what was the same where changes alone are counted", () => {
    const known = learned([2, { updated: 2, skipped: 0, rejected: 0 }], [3, { updated: 3, skipped: 0, rejected: 0 }]);
    const ofChanges = learnCountOfChanges(known, "updated");
    expect(shortOf(ofChanges, { updated: 0, skipped: 3, rejected: 0 }, 3, true)).toBeUndefined();
    expect(shortOf(ofChanges, { updated: 0, skipped: 3, rejected: 1 }, 3)).toBe("rejected");
    expect([countsChanges(known), countsChanges(ofChanges)]).toEqual([false, true]);
  });

  it("of what was left out is the first that says anything", () => {
    const first = (answer: unknown, isPart: boolean) => findShortCount({}, countsOf(answer), { size: 3, isPart });
    expect(first({ ok: true, skipped: 3 }, false)).toMatchObject({ taken: 0, isFirst: true });
    expect(first({ ok: true, skipped: 3 }, true)?.isFirst).toBeUndefined();
    expect(first({ ok: true, skipped: 1 }, false)?.isFirst).toBeUndefined();
  });

  it("of good ones may be a flag where nothing else is a yes", () => {
    const short = (isYes: boolean) =>
      findShortCount({}, countsOf({ total: 2, ok: 1 }), { size: 2, isPart: false, isYes })?.name;
    expect([short(true), short(false)]).toEqual(["ok", undefined]);
  });

  it("of what was left out does not count what is refused by name", () => {
    expect(countsBeside({ total: 4, skipped: 1, ok: 3 }, 1)).toEqual({ total: 4, skipped: 0, ok: 3 });
  });

  it("stays one where others were left out of an acceptance", () => {
    const known = learned([7, { accepted: 5, skipped: 2 }], [7, { accepted: 7, skipped: 0 }]);
    expect(countsChanges(known)).toBe(false);
  });

  it("of what was left out is learned anew where it was taken for a count of something else", () => {
    const former: LearnedCounts = { ignored: { sizes: [], of: "else" } };
    const known = learnCounts(former, { ignored: 0 }, 1);
    expect(shortOf(known, { ignored: 1 }, 1)).toBe("ignored");
  });
});

describe("a count that was smaller than accepted requests while its meaning was unknown", () => {
  /** Since which of the answers the outcome of acceptances is unknown. */
  const since = (...answers: [number, unknown][]) => {
    let known: LearnedCounts = {};
    for (const [at, [size, answer]] of answers.entries()) {
      const before = known;
      known = learnCounts(before, countsOf(answer), size, `${at}`);
      const found = findShortSince(before, known);
      if (found !== undefined) return [Number(found), at];
    }
    return undefined;
  };
  const taken = (say: (count: number) => unknown, most: number, ...sizes: number[]) =>
    sizes.map((size): [number, unknown] => [size, say(Math.min(size, most))]);
  const ones = [1, 1, 1, 1, 1];
  const oneOf = (first: number, ...sizes: number[]): [number, unknown][] => [
    [first, { success: true, rows: 1 }],
    ...sizes.map((rows): [number, unknown] => [rows, { success: true, rows }]),
  ];

  it.each<[string, [number, unknown][], [number, number]]>([
    ["the same twice, then all", taken((count) => ({ ok: true, count }), 100, 500, 500, 20), [0, 2]],
    ["the same twice, after others", taken((result) => ({ result }), 100, 3, 500, 500, 4), [1, 3]],
    ["once, under a name", taken((rows) => ({ ok: true, rows }), 100, 500, ...ones), [0, 5]],
    ["once, as changes", taken((affected) => ({ ok: true, affected }), 100, 500, ...ones), [0, 5]],
    ["1 of several, which may be a flag, and then equal to other sizes", oneOf(3, 4, 1, 2, 1, 2, 4, 2), [0, 7]],
    ["once, in a text", taken((count) => `OK ${count}`, 100, 500, ...ones), [0, 5]],
    ["once, and then equal to two sizes", taken((n) => ({ n }), 100, 500, 1, 1, 2, 1, 2), [0, 5]],
    [
      "in two ways",
      [...taken((count) => ({ count }), 100, 500), ...taken((count) => ({ count }), 90, 500, ...ones)],
      [0, 6],
    ],
  ])("is of records: %s", (_name, answers, expected) => {
    expect(since(...answers)).toEqual(expected);
  });

  it.each<[string, [number, unknown][]]>([
    ["equal to one size", taken((n) => ({ n }), 100, 500, ...ones, ...ones)],
    ["a version", [500, 500, 2, 3, 2, 2, 2, 2, 2].map((size): [number, unknown] => [size, { count: 2 }])],
    ["a flag", [500, 500, 1, 1, 1, 1, 1, 1].map((size): [number, unknown] => [size, { updated: 1 }])],
    ["1 of several, and equal to requests of one record", oneOf(3, ...ones, ...ones)],
    ["a running number", [500, 20, 3, 4, 5, 6].map((size, at): [number, unknown] => [size, { batch: 2 + at }])],
    ["a number per day", [500, 500, 20, 1, 1, 1, 1].map((size): [number, unknown] => [size, { limit: 100 }])],
    [
      "of changes alone",
      [
        [500, { updated: 300 }],
        [6, { updated: 5 }],
        [4, { updated: 2 }],
        [3, { updated: 3 }],
      ],
    ],
  ])("is not known to be: %s", (_name, answers) => {
    expect(since(...answers)).toBeUndefined();
  });
});

describe("a count of changes", () => {
  const known = (say: (count: number) => unknown, times = 5) =>
    learned(...Array.from({ length: times }, (_, at): [number, unknown] => [at + 1, say(at + 1)]));
  const few = (learnt: LearnedCounts, answer: unknown, size = 3) => findFewChanges(learnt, countsOf(answer), size);
  const updated = (count: number) => ({ received: count, updated: count });

  it.each<[string, unknown, number]>([
    ["alone", { updated: 0 }, 0],
    ["of two", { updated: 2, created: 0 }, 2],
    ["beside what was created", { updated: 1, created: 1 }, 2],
    ["beside what was found", { matched: 3, updated: 1 }, 1],
    ["repeated in a text", { updated: 1, message: "Updated 1" }, 1],
    ["beside what is the same", { updated: 0, unchanged: 2 }, 2],
  ])("is smaller than the request: %s", (_name, answer, taken) => {
    expect(few(known(updated), answer)).toMatchObject({ name: "updated", taken, isSure: true });
  });

  it("is not where the others are the same, nor where a site may have changed by itself", () => {
    expect(few(known(updated), { updated: 1, unchanged: 2 })).toBeUndefined();
    expect(few(known(updated), { updated: 3 })).toBeUndefined();
    expect(few(learnLack(known(updated), "updated"), { updated: 0 })).toBeUndefined();
    expect(few(known(updated, 4), { updated: 0 })).toMatchObject({ isSure: false });
  });

  it("is known by any name once it has not counted an unchanged record", () => {
    const rows = known((count) => ({ rows: count }));
    expect(few(rows, { rows: 0 })).toBeUndefined();
    expect(few(learnCountOfChanges(rows, "rows"), { rows: 0 })).toMatchObject({ isSure: true });
    const later = learnCountOfChanges(
      known((count) => ({ rows: count }), 2),
      "rows",
    );
    const often = [1, 2, 3].reduce((all, each) => learnCounts(all, { rows: each }, each), later);
    expect([few(later, { rows: 0 })?.isSure, few(often, { rows: 0 })?.isSure]).toEqual([false, true]);
    expect(countsChanges(learnCounts(learnCountOfChanges({}, "imported"), { imported: 2 }, 2))).toBe(true);
  });
});

const size = fc.integer({ min: 1, max: 500 });
const place = fc.constantFrom("", "stats", "summary", "report");
const within = (above: string, counts: object) => (above === "" ? counts : { ok: true, [above]: counts });
const CAME = fc.constantFrom("received", "total", "total_count", "records");
const TAKEN = fc.constantFrom("accepted", "imported", "saved", "stored", "applied", "succeeded");
const LEFT_OUT = fc.constantFrom("ignored", "skipped", "rejected", "failed", "not_found", "skippedCount", "dropped");
const CHANGES = fc.constantFrom("updated", "created", "changed", "num_updated", "inserted");

describe("after answers in which all records were taken", () => {
  it("one by which none was, or fewer were, accepts nothing, and one like those before it all", () => {
    fc.assert(
      fc.property(
        place,
        CAME,
        TAKEN,
        fc.array(size, { minLength: 1, maxLength: 6 }),
        size,
        fc.nat(499),
        (above, came, taken, sizes, now, part) => {
          const answer = (all: number, count: number) => within(above, { [came]: all, [taken]: count });
          const known = learned(...sizes.map((all): [number, unknown] => [all, answer(all, all)]));
          expect(shortOf(known, answer(now, 0), now)).toContain(taken);
          if (part < now) expect(shortOf(known, answer(now, part), now)).toContain(taken);
          expect(shortOf(known, answer(now, now), now)).toBeUndefined();
        },
      ),
    );
  });

  it("one that leaves out some accepts nothing, unless others were the same", () => {
    fc.assert(
      fc.property(
        place,
        LEFT_OUT,
        fc.array(size, { minLength: 1, maxLength: 6 }),
        size,
        size,
        (above, name, sizes, now, left) => {
          const known = learned(
            ...sizes.map((all): [number, unknown] => [all, within(above, { [name]: 0, unchanged: 0 })]),
          );
          const answer = (count: number, same: number) => within(above, { [name]: count, unchanged: same });
          expect(shortOf(known, answer(left, 0), now)).toContain(name);
          expect(shortOf(known, answer(0, 0), now)).toBeUndefined();
          expect(shortOf(known, answer(left, now), now)).toBeUndefined();
        },
      ),
    );
  });

  it("one that has changed nothing is no less an acceptance", () => {
    fc.assert(
      fc.property(place, CAME, CHANGES, fc.array(size, { maxLength: 6 }), size, (above, came, name, sizes, now) => {
        const answer = (all: number, count: number) => within(above, { [came]: all, [name]: count });
        const known = learned(...sizes.map((all): [number, unknown] => [all, answer(all, all)]));
        expect(shortOf(known, answer(now, 0), now)).toBeUndefined();
      }),
    );
  });
});

it.each<[string, [number, unknown][], unknown, string | undefined]>([
  [
    "what was left out counts once it was 0 for two numbers",
    [
      [1, { ok: true, ignored: 0 }],
      [6, { ok: true, ignored: 0 }],
    ],
    { ok: true, ignored: 1 },
    "ignored",
  ],
  ["and not before", [[6, { ok: true, ignored: 0 }]], { ok: true, ignored: 1 }, undefined],
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
