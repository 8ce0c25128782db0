import { describe, expect, it } from "vitest";
import type { SentRecord } from "../../../src/service/outcome/named-records.ts";
import { readSaid } from "../../../src/service/outcome/record-reports.ts";
import { findOdd } from "../../../src/service/outcome/usual-reports.ts";
import { both, learnedOf, record, SENT, said, usualOf } from "./support.ts";

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

  it("is told apart by all key columns where they stand beside the first", () => {
    const sent = [record("A-1", "north"), record("A-1", "south")];
    const of = (south: string) => [
      { sku: "A-1", warehouse: "north", status: "ok" },
      { sku: "A-1", warehouse: "south", status: south },
    ];
    expect(oddKeys(of("ok"), of("unknown"), sent)).toEqual(["A-1/south"]);
  });

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

describe("what an answer to an import says of a record that may be there already", () => {
  const UPDATED = both({ status: "updated" });
  const sentAs = (mayBeThere?: boolean): SentRecord[] =>
    SENT.map((each) => ({ ...each, ...(mayBeThere !== undefined && { mayBeThere: () => mayBeThere }) }));
  const oddOf = (answer: unknown, sent: readonly SentRecord[], usual: unknown = { results: UPDATED }) =>
    findOdd(usualOf(usual, sent), readSaid(answer, sent, usualOf(usual, sent))).length;

  it.each([
    "unchanged",
    "UNCHANGED",
    "not_modified",
    "no changes",
    "already up to date",
    "same",
    "без изменений",
    "не изменён",
  ])("is an acceptance where it says that nothing differs: %s", (status) => {
    const answer = { results: [said("A-1", { status: "updated" }), said("B-2", { status })] };
    expect(oddOf(answer, sentAs(false))).toBe(0);
    expect(oddOf(answer, sentAs())).toBe(1);
    const inOrder = { results: ["updated", status] };
    expect(oddOf(inOrder, sentAs(false), { results: ["updated", "updated"] })).toBe(0);
  });

  it.each(["skipped", "not changed: locked", "no", "none", "not_found", "already", "exists"])(
    "is none where it says something else: %s",
    (status) => {
      const answer = { results: [said("A-1", { status: "updated" }), said("B-2", { status })] };
      expect(oddOf(answer, sentAs(true))).toBe(1);
    },
  );

  it("is an acceptance where it was not changed, if it may be there", () => {
    const usual = { results: both({ updated: true }) };
    const answer = { results: [said("A-1", { updated: true }), said("B-2", { updated: false })] };
    expect([true, false].map((mayBeThere) => oddOf(answer, sentAs(mayBeThere), usual))).toEqual([0, 1]);
  });
});
