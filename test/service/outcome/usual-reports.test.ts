import { describe, expect, it } from "vitest";
import { NOTHING_LEARNED } from "../../../src/service/outcome/compare-forms.ts";
import { readSaid } from "../../../src/service/outcome/record-reports.ts";
import { learnUsual } from "../../../src/service/outcome/usual-forms.ts";
import {
  findOdd,
  hasSettled,
  isUnusuallySaid,
  learnSaid,
  NOTHING_SAID,
  type UsuallySaid,
  wordsOf,
} from "../../../src/service/outcome/usual-reports.ts";
import { learnedOf, record, SENT, usualOf } from "./support.ts";

describe("what members of an answer repeat of the records", () => {
  const sent = (quantity: number) => [{ key: ["A-1"], record: JSON.stringify({ sku: "A-1", quantity }) }];
  const learn = (quantities: readonly number[]) =>
    quantities.reduce((learned, quantity) => {
      const said = readSaid({ items: [{ sku: "A-1", quantity }] }, sent(quantity), learned);
      return learnSaid(learned, wordsOf(said), said.ordinary);
    }, NOTHING_SAID);

  it.each([[[7, 8, 9]], [[1, 0, 1, 7, 8, 9]]])(
    "is missed once numbers have shown it that are not small: %j",
    (quantities) => {
      const learned = learn(quantities);
      const odd = (answer: object) => findOdd(learned, readSaid(answer, sent(5), learned));
      expect(odd({ items: [{ sku: "A-1", quantity: 5 }] })).toEqual([]);
      expect(odd({ items: [{ sku: "A-1" }] })).toMatchObject([{ index: 0 }]);
    },
  );

  describe("where several records have the name", () => {
    const inBoth = (amounts: readonly [number, number]) =>
      amounts.map((quantity, at) => ({ key: ["A-1", `${at}`], record: JSON.stringify({ sku: "A-1", quantity }) }));
    const answerOf = (amounts: readonly number[]) => ({ items: amounts.map((stock) => ({ sku: "A-1", stock })) });
    const learned = [[6, 5] as const, [8, 9] as const, [7, 4] as const].reduce((usual, [one, other]) => {
      const said = readSaid(answerOf([one, other]), inBoth([one, other]), usual);
      return learnSaid(usual, wordsOf(said), said.ordinary);
    }, NOTHING_SAID);
    const odd = (answer: object) => findOdd(learned, readSaid(answer, inBoth([3, 2]), learned));

    it("is compared with all of them", () => {
      expect(odd(answerOf([3, 2]))).toEqual([]);
      expect(odd(answerOf([2, 3]))).toEqual([]);
    });

    it("is missed where a later record has nothing there, or what none of them has", () => {
      expect(odd({ items: [{ sku: "A-1" }, { sku: "A-1", stock: 2 }] })).not.toEqual([]);
      expect(odd(answerOf([11, 2]))).not.toEqual([]);
      expect(findOdd(learned, readSaid({ items: [{ sku: "A-1" }] }, sent(15), learned))).toMatchObject([{ index: 0 }]);
    });
  });

  type Rows = readonly { quantity: number; element: object }[];
  const ask = (rows: Rows, usual: UsuallySaid) => {
    const all = rows.map(({ quantity }, at) => ({
      key: [`A-${at}`],
      record: JSON.stringify({ sku: `A-${at}`, quantity }),
    }));
    const items = rows.map(({ element }, at) => ({ sku: `A-${at}`, ...element }));
    return readSaid({ items }, all, usual);
  };
  const learnAll = (answers: readonly Rows[]) =>
    answers.reduce<UsuallySaid>((usual, rows) => {
      const said = ask(rows, usual);
      return learnSaid(usual, wordsOf(said), said.ordinary);
    }, NOTHING_SAID);
  const one = (quantity: number, element: object): Rows => [{ quantity, element }];
  const times = (count: number, rows: Rows) => Array.from({ length: count }, () => rows);

  it.each<[what: string, answers: Rows[], later: Rows]>([
    [
      "an id that was larger before it was equal",
      [one(1, { id: 7 }), one(4, { id: 7 }), one(7, { id: 7 }), ...times(9, one(12, { id: 7 }))],
      one(0, { id: 7 }),
    ],
    [
      "an id that is equal at first, and later smaller",
      [one(7, { id: 7 }), ...times(11, one(12, { id: 7 }))],
      one(0, { id: 7 }),
    ],
    [
      "numbers of lines, of which one is equal",
      [one(30, { line: 1 }), one(2, { line: 2 }), ...times(12, one(50, { line: 3 }))],
      one(1, { line: 4 }),
    ],
    [
      "an id beside a number that is repeated",
      [7, 8, 9].map((quantity) => one(quantity, { quantity, id: 8 })),
      one(3, { quantity: 3, id: 11 }),
    ],
    [
      "ids of many records, of which some are equal",
      [
        [2, 2, 9, 30].map((quantity, at) => ({ quantity, element: { id: at + 1 } })),
        one(4, { id: 4 }),
        ...times(10, one(50, { id: 4 })),
      ],
      one(1, { id: 4 }),
    ],
  ])("is nothing where numbers differ as well: %s", (_what, answers, later) => {
    const learned = learnAll(answers);
    expect(hasSettled(learned)).toBe(true);
    expect(findOdd(learned, ask(later, learned))).toEqual([]);
  });

  it.each<[what: string, answers: Rows[], later: Rows]>([
    [
      "beside an id",
      [7, 8, 9].map((quantity) => one(quantity, { quantity, id: 8 })),
      one(3, { quantity: null, id: 11 }),
    ],
    ["as texts", [7, 8, 9].map((quantity) => one(quantity, { quantity: `${quantity}` })), one(3, { quantity: "9" })],
    ["in an object", [7, 8, 9].map((quantity) => one(quantity, { now: { quantity } })), one(3, { now: {} })],
    ["after an id was equal", [one(7, { id: 7 }), ...[7, 8, 9].map((n) => one(n, { level: n }))], one(3, { id: 7 })],
    [
      "where some were sold meanwhile",
      times(
        3,
        [7, 8, 9].map((quantity, at) => ({ quantity, element: { quantity: at === 1 ? 6 : quantity } })),
      ).concat([4, 5, 6].map((quantity) => one(quantity, { quantity }))),
      one(3, {}),
    ],
  ])("is missed where numbers are repeated: %s", (_what, answers, later) => {
    const learned = learnAll(answers);
    expect(findOdd(learned, ask(later, learned))).toMatchObject([{ index: 0 }]);
  });

  it("is nothing once ten answers have repeated nothing", () => {
    const learned = Array.from({ length: 12 }).reduce<UsuallySaid>((usual) => {
      const said = readSaid({ items: [{ sku: "A-1" }] }, sent(5), usual);
      return learnSaid(usual, wordsOf(said), said.ordinary);
    }, NOTHING_SAID);
    expect(hasSettled(learned)).toBe(true);
  });
});

describe("what an answer says of one record beside what is usual", () => {
  it.each<[usual: unknown, answer: unknown]>([
    [
      { status: "ok", details: [] },
      { status: "ok", details: [{ line: 2, reason: "unknown sku" }] },
    ],
    [
      { ok: true, warnings: [] },
      { ok: true, warnings: ["Строка 2: нет такого товара"] },
    ],
    [{ results: ["ok", "ok"] }, { results: ["skipped"] }],
    [{ results: [{ status: "updated" }, { status: "updated" }] }, { results: [{ status: "updated" }] }],
    [[0, 0], [0]],
    [
      [0, 0],
      [0, 17],
    ],
    [{ rows: { 1: "ok", 2: "ok" } }, { rows: { 1: "ok", 2: "error" } }],
    [{ status: "ok" }, { status: "ok", rows: { 2: "Not found" } }],
    [{ complete: true }, { complete: false }],
    [{ import: { whole: true, quick: false } }, { import: { whole: false, quick: false } }],
  ])(
    "is said of some by a list that was empty, or had one for each, by a word, or by a flag: %j, %j",
    (usual, answer) => {
      const learned = usualOf(usual);
      for (const sent of [SENT, [...SENT, record("C-3")]])
        expect(isUnusuallySaid(learned, wordsOf(readSaid(answer, sent)))).toBe(true);
    },
  );

  it.each<[usual: readonly unknown[], answer: unknown]>([
    // One verdict of the whole request, whatever its size.
    [[{ results: [{ status: "updated" }] }], { results: [{ status: "updated" }] }],
    [[{ messages: ["Import finished"] }], { messages: ["Import finished"] }],
    [[{ ids: [17, 18] }], { ids: [19] }],
    [[{ ids: ["a1f", "b2e"] }], { ids: ["c3d", "d4c"] }],
    [[{ shards: ["main", "spare"] }, { shards: ["main", "spare", "third"] }], { shards: ["main", "other"] }],
    [[{ updated: [{ id: 1 }, { id: 2 }], created: [] }], { updated: [{ id: 1 }], created: [{ id: 2 }] }],
    [[{ whole: true }, { whole: false }], { whole: false }],
    [[{ quick: false }], { quick: true }],
    [[{ changed: true }], { changed: false }],
    [[{ before: "error" }], { before: "error" }],
    [[{ items: [{ new: true }] }], { items: [{ new: false }] }],
    [[{ totals: { 2026: 4, 2027: 1 } }], { totals: { 2026: 5, 2028: 1 } }],
  ])("is not said by a list of something else: %j, %j", (usual, answer) => {
    const requests = [SENT.slice(0, 1), SENT, [...SENT, record("C-3")]];
    for (const sent of usual.length === 1 ? requests : [SENT]) {
      const learned = usual.length > 1 ? learnedOf(usual, sent) : usualOf(usual[0], sent);
      for (const other of requests) expect(isUnusuallySaid(learned, wordsOf(readSaid(answer, other)))).toBe(false);
    }
  });

  it("says nothing as long as little is known of the endpoint", () => {
    expect(findOdd(NOTHING_SAID, readSaid({ listed: ["B-2"] }, SENT))).toEqual([]);
  });

  it.each([{ ignored: ["B-2"] }, { data: { notFound: [{ sku: "B-2", status: 5 }] } }, { unknown_skus: "B-2, D-4" }])(
    "says of one that it was left out from the first answer on: %j",
    (answer) => {
      expect(findOdd(NOTHING_SAID, readSaid(answer, SENT)).map(({ index }) => index)).toEqual([1]);
    },
  );
});

describe("what is known of records", () => {
  it("stays known where the form of the answers becomes usual later", () => {
    const said = wordsOf(readSaid({ "A-1": "OK", "B-2": "OK" }, SENT));
    const forms = ["a", "b", "a", "b", "a"].map((name) => ({
      ...{ kind: "object" as const, names: [`${name} string`], verdicts: [], doubt: null, said },
    }));
    let learned = NOTHING_LEARNED;
    for (const form of forms) learned = learnUsual(learned, form, { at: "2026-03-01T12:00:00Z", endsDoubt: false });
    expect(learned.since).not.toBeNull();
    expect(learned.records).toMatchObject({ times: 3 });
  });
});
