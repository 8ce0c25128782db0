import { describe, expect, it } from "vitest";
import { NOTHING_LEARNED } from "../../../src/service/outcome/known-forms.ts";
import type { SentRecord } from "../../../src/service/outcome/named-records.ts";
import { readSaid } from "../../../src/service/outcome/record-reports.ts";
import { learnUsual } from "../../../src/service/outcome/usual-forms.ts";
import {
  findOdd,
  isUnusuallySaid,
  learnSaid,
  NOTHING_SAID,
  type UsuallySaid,
  wordsOf,
} from "../../../src/service/outcome/usual-reports.ts";

const record = (...key: string[]): SentRecord => ({
  key,
  record: JSON.stringify({ sku: key[0], quantity: 3, level: { left: 5 } }),
});
const SENT = [record("A-1"), record("B-2")];

function learned(usual: UsuallySaid, answer: unknown, sent: readonly SentRecord[]): UsuallySaid {
  const said = readSaid(answer, sent);
  return learnSaid(usual, wordsOf(said), said.ordinary);
}

/** What three answers of this kind have taught. */
function usualOf(answer: unknown, sent: readonly SentRecord[] = SENT): UsuallySaid {
  let usual = NOTHING_SAID;
  for (let times = 0; times < 3; times++) usual = learned(usual, answer, sent);
  return usual;
}

/** The same of an answer of each kind. */
function learnedOf(answers: readonly unknown[], sent: readonly SentRecord[]): UsuallySaid {
  let usual = NOTHING_SAID;
  for (const answer of [...answers, ...answers]) usual = learned(usual, answer, sent);
  return usual;
}

const oddKeys = (usual: unknown, answer: unknown, sent: readonly SentRecord[] = SENT) =>
  findOdd(usualOf(usual, sent), readSaid(answer, sent, usualOf(usual, sent))).map(({ index }) =>
    sent[index]?.key.join("/"),
  );

describe("what an answer says of one record of the request", () => {
  it.each<[usual: unknown, answer: unknown]>([
    [{ status: "ok" }, { status: "ok", unknown_skus: ["B-2"] }],
    [{ status: "ok" }, { status: "ok", warnings: [{ sku: "B-2", text: "not in the catalogue" }] }],
    [{ status: "ok" }, { status: "ok", message: "Saved, but B-2 is not in the catalogue" }],
    [
      { accepted: 2, not_found: [] },
      { accepted: 2, not_found: ["B-2"] },
    ],
    [{ updated: ["A-1", "B-2"] }, { updated: ["A-1"] }],
    [{ responses: both({ status: 200 }) }, { responses: [said("A-1", { status: 200 }), said("B-2", { status: 404 })] }],
    [
      { results: both({ status: "ok" }) },
      { results: [said("A-1", { status: "ok" }), said("B-2", { status: "skipped" })] },
    ],
    [
      { results: both({ result: { message: "saved" } }) },
      {
        results: [
          said("A-1", { result: { message: "saved" } }),
          said("B-2", { result: { message: "Article not found" } }),
        ],
      },
    ],
    [
      { data: { stocks: { items: both({ state: "saved" }) } } },
      { data: { stocks: { items: [said("A-1", { state: "saved" }), said("B-2", { state: "unknown article" })] } } },
    ],
    [
      { "A-1": 200, "B-2": 200 },
      { "A-1": 200, "B-2": 404 },
    ],
    [{ result: { "A-1": "OK", "B-2": "OK" } }, { result: { "A-1": "OK", "B-2": "NOT_FOUND" } }],
    [
      { result: { "A-1": { ok: true }, "B-2": { ok: true } } },
      { result: { "A-1": { ok: true }, "B-2": { ok: false } } },
    ],
    [{ stocks: ["A-1", "B-2"] }, { stocks: ["A-1"] }],
    [{ stocks: both({ quantity: 3 }) }, { stocks: [said("A-1", { quantity: 3 }), said("B-2", { quantity: 8 })] }],
    [{ stocks: both({ quantity: "3.0" }) }, { stocks: [said("A-1", { quantity: 3 }), said("B-2", { quantity: "8" })] }],
    [
      { stocks: both({ level: { left: 5 } }) },
      { stocks: [said("A-1", { level: { left: 5 } }), said("B-2", { level: { left: 8 } })] },
    ],
    ["OK", "OK, 1 warning: B-2 is unknown"],
    [{ items: both({ exists: true }) }, { items: [said("A-1", { exists: true }), said("B-2", { exists: false })] }],
    [
      { items: both({ product_id: 7 }) },
      { items: [said("A-1", { product_id: 7 }), said("B-2", { product_id: null })] },
    ],
    [{ items: both({ locked: false }) }, { items: [said("A-1", { locked: false }), said("B-2", { locked: true })] }],
    [{ items: both({ stock: 3 }) }, { items: [said("A-1", { stock: 3 }), said("B-2", { stock: 7 })] }],
    [{ items: both({ stock: 3 }) }, { items: [said("A-1", { stock: 3 }), said("B-2", { stock: null })] }],
    [{ items: both({ quantity: 3 }) }, { items: [said("A-1", { quantity: 3 }), said("B-2", {})] }],
    [{ items: both({ result: "ok" }) }, { items: [said("A-1", { result: "ok" }), said("B-2", { result: null })] }],
    [{ items: both({ result: "ok" }) }, { items: [said("A-1", { result: "saved" }), said("B-2", {})] }],
    [{ items: both({ level: { left: 5 } }) }, { items: [said("A-1", { level: { left: 5 } }), said("B-2", {})] }],
    // As many as were sent of it.
    [{ items: both({ status: 1 }) }, { items: [said("A-1", { status: 1 }), said("B-2", { status: 3 })] }],
    [{ items: both({ res: 0 }) }, { items: [said("A-1", { res: 0 }), said("B-2", { res: -1 })] }],
  ])("stands out where it is not what is usual: %j, %j", (usual, answer) => {
    expect(oddKeys(usual, answer)).toEqual(["B-2"]);
    expect(oddKeys(usual, usual)).toEqual([]);
  });

  it.each<[usual: unknown, answer: unknown]>([
    [
      { created: ["A-1", "B-2"], updated: [] },
      { created: ["B-2"], updated: ["A-1"] },
    ],
    [
      { items: both({ status: "created" }) },
      { items: [said("A-1", { status: "ok" }), said("B-2", { status: "created" })] },
    ],
    [{ items: both({ stock: 3, id: 17 }) }, { items: [said("A-1", { stock: 3 }), said("B-2", { stock: 0, id: 4 })] }],
    [{ items: both({ error: null }) }, { items: both({ error: "" }) }],
    [{ items: both({ updated: true }) }, { items: [said("A-1", { updated: true }), said("B-2", { created: true })] }],
    [{ items: both({ step: 1, number: 17 }) }, { items: [said("A-1", { step: 2, number: 4 }), said("B-2", {})] }],
    [{ items: both({ in_stock: true }) }, { items: both({ in_stock: false }) }],
    [{ items: both({ changed: true }) }, { items: both({ changed: false }) }],
    [{ items: both({ cached: false }) }, { items: both({ cached: true }) }],
    [{ items: both({ parent: 7 }) }, { items: both({ parent: null }) }],
    [
      { status: "ok", total: 2 },
      { status: "ok", total: 1 },
    ],
    [{ ids: [7, 8] }, { ids: [9] }],
    [{ ids: [7, null] }, { ids: [null, 8] }],
    [
      { "A-1": 3, "B-2": 3 },
      { "A-1": 3, "B-2": 3 },
    ],
  ])("is nothing new where it means the same: %j, %j", (usual, answer) => {
    expect(oddKeys(usual, answer)).toEqual([]);
  });

  it("is nothing new of a member with a name that is longer than a word, nor of one of a list below", () => {
    const long = { [`quantity_${"of_the_article_".repeat(5)}`]: 3 };
    expect(oddKeys({ items: both(long) }, { items: both(long) })).toEqual([]);
    const flat = { data: both({ quantity: 3 }) };
    const usual = learnedOf([{ data: [{ group: 1, items: both({ quantity: 3 }) }] }, flat], SENT);
    expect(findOdd(usual, readSaid(flat, SENT, usual))).toEqual([]);
  });

  it("is nothing new of a key that is no number, where those before were", () => {
    const numbered = [record("000042"), record("000043")];
    const usual = usualOf({ items: [{ sku: "000042" }, { sku: "000043" }] }, numbered);
    expect(findOdd(usual, readSaid({ items: both({}) }, SENT, usual))).toEqual([]);
  });

  it.each<[usual: unknown, answer: unknown]>([
    [{ results: ["ok", "ok"] }, { results: ["ok", "skipped"] }],
    [
      [true, true],
      [true, false],
    ],
    [
      [200, 200],
      [200, 404],
    ],
    [
      [1, 1],
      [1, 0],
    ],
    [
      { results: [{ status: "updated" }, { status: "updated" }] },
      { results: [{ status: "updated" }, { status: "skipped" }] },
    ],
    [
      { data: { items: [{ result: { state: "saved" } }, { result: { state: "saved" } }] } },
      { data: { items: [{ result: { state: "saved" } }, { result: { state: "unknown" } }] } },
    ],
    [{ stocks: [{ updated: true }, { updated: true }] }, { stocks: [{ updated: true }, { updated: false }] }],
    // As PHP writes a list.
    [{ rows: { 0: "ok", 1: "ok" } }, { rows: { 0: "ok", 1: "not found" } }],
    [{ rows: { 1: "ok", 2: "ok" } }, { rows: { 1: "ok", 2: "Нет такого товара" } }],
    [{ ids: [100, 101] }, { ids: [102, null] }],
  ])("is said by its place in a list that names none: %j, %j", (usual, answer) => {
    expect(oddKeys(usual, answer)).toEqual(["B-2"]);
    expect(oddKeys(usual, usual)).toEqual([]);
  });

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

  it("is told apart by all key columns where they stand beside the first", () => {
    const sent = [record("A-1", "north"), record("A-1", "south")];
    const of = (south: string) => [
      { sku: "A-1", warehouse: "north", status: "ok" },
      { sku: "A-1", warehouse: "south", status: south },
    ];
    expect(oddKeys(of("ok"), of("unknown"), sent)).toEqual(["A-1/south"]);
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

  it.each(["00042", "1000234", "Б 3", "x'4", "(2) red/blue", "a.b"])("is known by a key in a text: %s", (key) => {
    const sent = [record("A-1"), record(key)];
    expect(oddKeys({ note: "Saved." }, { note: `Saved. Unknown: ${key}.` }, sent)).toEqual([key]);
    expect(oddKeys({ note: "Saved." }, { note: `Saved${key}1.` }, sent)).toEqual([]);
  });

  it("is not that it was taken, in whatever words", () => {
    expect(oddKeys({ "A-1": "skipped", "B-2": "skipped" }, { "A-1": "OK", "B-2": "skipped" })).toEqual([]);
  });

  it("takes a number in a text for no key", () => {
    const sent = [record("3"), record("100")];
    expect(oddKeys({ message: "Saved: 2" }, { message: "Saved: 3 of 100" }, sent)).toEqual([]);
  });
});

function said(sku: string, more: object): object {
  return { sku, ...more };
}

function both(more: object): object[] {
  return [said("A-1", more), said("B-2", more)];
}

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

describe("a record whose key is a word of the usual answer", () => {
  const oddOf = (usual: unknown, key: string, answer: unknown = usual) => {
    const known = usualOf(usual);
    return findOdd(known, readSaid(answer, [record(key)], known)).map(({ words }) => words);
  };

  it.each<[key: string, usual: unknown]>([
    ["ok", { ok: true }],
    ["status", { status: "ok" }],
    ["result", { result: "success" }],
    ["200", { code: 200, ok: true }],
    ["7", { success: true, n: 6 }],
    ["data", { success: true, data: { updated: 6 } }],
    ["Accepted", { message: "Accepted" }],
    ["Accepted", { message: "Accepted 6 of 6" }],
    ["done", { log: ["done"] }],
    ["warehouse 1", { place: "warehouse 1" }],
  ])("is not named by it: %s", (key, usual) => {
    expect(oddOf(usual, key)).toEqual([]);
  });

  it.each<[key: string, usual: unknown, answer: unknown]>([
    ["ok", { ok: true }, { ok: true, unknown: ["ok"] }],
    ["200", { code: 200, ok: true }, { code: 200, ok: true, skipped: [200] }],
    ["Accepted", { message: "Accepted" }, { message: "Accepted", error: "unknown article Accepted" }],
    ["status", { status: "ok" }, { status: { status: "NOT_FOUND" } }],
  ])("is named where the answer names it elsewhere: %s", (key, usual, answer) => {
    expect(oddOf(usual, key, answer)).toHaveLength(1);
  });
});
