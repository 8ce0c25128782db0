import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { elementsInSlices } from "../../src/answers/json-text.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { atOnce } from "../../src/answers/slices.ts";
import { findLacks, ignoreLacks, learnWhole } from "../../src/completeness/lacks.ts";
import { acceptDoubted, type LearnedMetadata } from "../../src/completeness/learned-metadata.ts";
import { countEmptyRecords, readMetadataInSlices } from "../../src/completeness/list-metadata.ts";
import { NOTHING_LEARNED } from "../../src/completeness/list-rows.ts";
import { describeFields } from "../../src/completeness/metadata-fields.ts";
import { findContradictions, findMoreAfterEnd, learnMetadata } from "../../src/completeness/plan-completeness.ts";
import { noteEmptyRecords } from "../../src/completeness/shortfall.ts";
import { compileMapping, LINE_FIELDS, ORDER_FIELDS } from "../../src/records/order-mapping.ts";

const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `$.${name}`]));
const mapping = compileMapping({
  source: "batch",
  fields: named(ORDER_FIELDS) as never,
  line: named(LINE_FIELDS) as never,
  isWritten: () => false,
  whole: true,
});
const list = parsePath("$.orders");
const order = (n: number) => ({
  order_id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
  status: "new",
  updated_at: "2026-03-01T12:00:00Z",
});

function metadataOf(answer: object) {
  const bytes = Buffer.from(JSON.stringify(answer));
  const { orders } = answer as { orders?: unknown[] | null };
  return atOnce(
    readMetadataInSlices(
      bytes,
      { root: scanJson(bytes), size: orders?.length ?? 0 },
      { list, mapping, ignored: [], head: [], hideSecrets: (text) => text.replaceAll("s3cret", "***") },
    ),
  );
}

it("keeps no secret of what an empty list says of itself", () => {
  const { besideEmpty } = metadataOf({ orders: [], message: "Signed s3cret in", s3cret: { status: "S3CRET s3cret" } });
  expect(JSON.stringify(besideEmpty).toLowerCase()).not.toContain("s3cret");
  expect(besideEmpty).toHaveLength(4);
});

const learned = (...answers: object[]) =>
  answers.reduce<LearnedMetadata>((known, answer) => learnMetadata(known, metadataOf(answer)), NOTHING_LEARNED);
const contradicts = (before: object[], answer: object) =>
  describeFields(findContradictions(learned(...before), metadataOf(answer)));

const QUIET = [{ orders: [order(1)] }, { orders: [] }];
const NESTED = { orders: [], result: { page: [{ rows: [order(2)] }] } };

describe("an empty list", () => {
  it.each<[string, object[], object, string]>([
    ["records under another name", QUIET, { orders: [], data: [order(2)] }, "data [{…}]"],
    ["records beside null", QUIET, { orders: null, data: { orders: [order(2)] } }, "data.orders [{…}]"],
    ["records several levels down", QUIET, NESTED, "result.page.rows [{…}]"],
    ["records by their ids", QUIET, { orders: [], data: { [order(2).order_id]: order(2) } }, "data.* [{…}]"],
    ["one record", QUIET, { orders: [], order: order(2) }, "order [{…}]"],
    ["ids alone, after other answers", QUIET, { orders: [], ids: [{ order_id: order(2).order_id }] }, "ids [{…}]"],
    [
      "most of the fields without an id",
      QUIET,
      {
        orders: [],
        list: [{ id: 1, number: "1", status: "new", currency: "RUB", total: 1, lines: [], created_at: "" }],
      },
      "list [{…}]",
    ],
    ["records at first contact", [], { orders: [], data: [order(2)] }, "data [{…}]"],
    ["a count at first contact", [], { orders: [], count: 2 }, "count = 2"],
    ["a count as a text", QUIET, { orders: [], Count: "2" }, "Count = 2"],
    ["a new total", QUIET, { orders: [], meta: { total: 2 } }, "meta.total = 2"],
    [
      "a total that was 0",
      [...QUIET, { orders: [order(1)], total: 1 }, { orders: [], total: 0 }],
      { orders: [], total: 2 },
      "total = 2",
    ],
    ["has_more", QUIET, { orders: [], has_more: true }, "has_more"],
    ["a next page", QUIET, { orders: [], next_page: "/?page=2" }, "next_page"],
    [
      "a list that moves",
      [...QUIET, { orders: [order(1)], data: [order(1)] }],
      { orders: [], data: [order(2)] },
      "data [{…}]",
    ],
  ])("is contradicted by %s", (_name, before, answer, told) => {
    expect(contradicts(before, answer)).toBe(told);
  });

  it.each<[string, object[], object]>([
    ["nothing", QUIET, { orders: [], count: 0, has_more: false, next: null, data: [] }],
    ["a total of the whole shop from the first answer on", [{ orders: [], total: 5123 }], { orders: [], total: 5124 }],
    ["such a total that was 0 in a new shop", [{ orders: [], total: 0 }], { orders: [], batch_id: null }],
    [
      "a new total that lists with records have shown to count everything",
      [...QUIET, { orders: [], total: 5123 }, { orders: [order(1)], total: 5124 }],
      { orders: [], total: 5124 },
    ],
    ["a cursor that is always named", [{ orders: [], next: "c1" }], { orders: [], next: "c2" }],
    ["a list of something else", QUIET, { orders: [], warehouses: [{ id: order(1).order_id, name: "A" }] }],
    [
      "records that stand beside other records too",
      [{ orders: [order(1)], cancelled: [order(7)] }],
      { orders: [], cancelled: [order(8)] },
    ],
    ["numbers of other names", QUIET, { orders: [], version: 2, limit: 100, page: 1, took_ms: 4 }],
  ])("is not contradicted by %s", (_name, before, answer) => {
    expect(contradicts(before, answer)).toBe("");
  });

  it("stays contradicted by the same answer until a person says that it means nothing", () => {
    const answer = { orders: [], has_more: true };
    const known = learned(...QUIET, answer, answer, { orders: [order(1)], has_more: true }, answer);
    expect(findContradictions(known, metadataOf(answer))).toHaveLength(1);
    expect(findContradictions(acceptDoubted(known), metadataOf(answer))).toEqual([]);
  });

  it("teaches nothing more once its form is known", () => {
    const answers = [...QUIET, { orders: [order(1)], count: 1, next: "c" }, { orders: [], count: 0 }];
    const known = learned(...answers);
    expect(answers.reduce((now, answer) => learnMetadata(now, metadataOf(answer)), known)).toBe(known);
  });
});

describe("a last page that says that there is more", () => {
  const last = (...answers: object[]) =>
    answers.reduce<LearnedMetadata>((known, answer) => learnMetadata(known, metadataOf(answer), true), NOTHING_LEARNED);

  it("is another answer than former last pages were", () => {
    const known = last({ orders: [order(1)], has_more: false });
    expect(describeFields(findMoreAfterEnd(known, metadataOf({ orders: [order(1)], has_more: true })))).toBe(
      "has_more",
    );
  });

  it("says nothing where last pages always say so, or none was read", () => {
    const more = { orders: [order(1)], has_more: true };
    expect(findMoreAfterEnd(NOTHING_LEARNED, metadataOf(more))).toEqual([]);
    expect(findMoreAfterEnd(last(more), metadataOf(more))).toEqual([]);
  });
});

describe("what says that a page of changes is not whole", () => {
  const two = { orders: [order(1), order(2)] };
  const one = { orders: [order(1)] };
  const wholes = (...answers: object[]) =>
    answers.reduce<LearnedMetadata>((known, answer) => learnWhole(known, metadataOf(answer)), NOTHING_LEARNED);
  it.each<[string, object[], object, { atLeast: number; isTrusted: boolean }[]]>([
    ["a number that is larger", [], { ...two, total: 5 }, [{ atLeast: 5, isTrusted: false }]],
    [
      "one that was that of the records",
      [{ ...one, total: 1 }],
      { ...two, total: 5 },
      [{ atLeast: 5, isTrusted: true }],
    ],
    ["one that was another one", [{ ...one, total: 7 }], { ...two, total: 5 }, []],
    [
      "one that was both",
      [
        { ...one, total: 1 },
        { ...one, total: 7 },
      ],
      { ...two, total: 5 },
      [],
    ],
    ["as many as there are", [], { ...two, total: 2 }, []],
    ["pages", [], { ...two, page: 1, pages: 3 }, [{ atLeast: 5, isTrusted: false }]],
    [
      "pages, of which one was all",
      [{ ...one, meta: { pages: 1 } }],
      { ...two, meta: { pages: 3 } },
      [{ atLeast: 5, isTrusted: true }],
    ],
    ["one page", [], { ...two, totalPages: 1 }, []],
    ["a flag of a part", [], { ...two, partial: true }, [{ atLeast: 3, isTrusted: true }]],
    ["a flag that says no", [], { ...two, partial: false }, []],
    ["a next page", [], { ...two, next: "/orders/updates?page=2" }, [{ atLeast: 3, isTrusted: false }]],
    ["no next page", [], { ...two, next: null }, []],
    ["more", [], { ...two, has_more: true }, [{ atLeast: 3, isTrusted: false }]],
    ["the rest under a standard name", [], { ...two, "@odata.nextLink": "u" }, [{ atLeast: 3, isTrusted: false }]],
    ["a next page beside the last one as well", [{ ...one, next: "/a" }], { ...two, next: "/b" }, []],
    ["nothing in the list", [], { orders: [], total: 5 }, []],
  ])("%s", (_, known, answer, expected) => {
    expect(findLacks(wholes(...known), metadataOf(answer))).toMatchObject(expected);
    expect(findLacks(wholes(...known), metadataOf(answer))).toHaveLength(expected.length);
  });

  it("is nothing once it said so and nothing was missing", () => {
    const answer = metadataOf({ ...two, total: 5, pages: 3, partial: true });
    const keys = findLacks(NOTHING_LEARNED, answer).map(({ key }) => key);
    expect(keys).toHaveLength(3);
    expect(findLacks(ignoreLacks(NOTHING_LEARNED, keys), answer)).toEqual([]);
    // What was missing may have been known.
    expect(findLacks(ignoreLacks(wholes({ ...one, total: 1 }), keys), answer)).toMatchObject([{ atLeast: 5 }]);
  });

  it("is sure where a last page said that none follows", () => {
    const known = learnMetadata(NOTHING_LEARNED, metadataOf({ ...one, next: null }), true);
    expect(findLacks(known, metadataOf({ ...two, next: "/b" }))).toMatchObject([{ isTrusted: true }]);
  });
});

describe("records that hold nothing", () => {
  const note = (batch: string, hasEmpty: boolean, at: string) => ({ batch, hasEmpty, at });

  it("are null, an empty object, list or text, and nothing that has a value", () => {
    const bytes = Buffer.from('[null, {}, { }, [], [\n], "", 0, false, " ", {"a":null}, [null]]');
    expect(countEmptyRecords(bytes, atOnce(elementsInSlices(bytes, scanJson(bytes))))).toBe(6);
  });

  it("are timed by batch, and as a whole until a batch comes without them", () => {
    const first = noteEmptyRecords(NOTHING_LEARNED, note("a", true, "1"));
    expect(first.emptySince).toEqual({ a: "1", any: "1" });
    expect(noteEmptyRecords(first, note("a", true, "2"))).toBe(first);
    const second = noteEmptyRecords(first, note("b", true, "3"));
    expect(second.emptySince).toEqual({ a: "1", b: "3", any: "1" });
    const whole = noteEmptyRecords(second, note("b", false, "4"));
    expect(whole.emptySince).toEqual({ a: "1" });
    expect(noteEmptyRecords(whole, note("c", false, "5"))).toBe(whole);
    expect(noteEmptyRecords(whole, note("a", true, "6")).emptySince).toEqual({ a: "1", any: "6" });
  });

  it("fill no store, whatever the batches are called", () => {
    const names = Array.from({ length: 100 }, (_, n) => `batch ${n}`);
    const learned = names.reduce((known, name) => noteEmptyRecords(known, note(name, true, name)), NOTHING_LEARNED);
    expect(Object.keys(learned.emptySince ?? {})).toHaveLength(21);
    expect(learned.emptySince).toMatchObject({ any: "batch 0", "batch 99": "batch 99" });
  });
});

describe("a count beside a page of changes", () => {
  const change = (n: number, ...quantities: unknown[]) => ({
    ...order(n),
    lines: quantities.map((quantity, index) => ({ sku: `A-${index}`, quantity })),
  });
  const ONE = { orders: [change(1, 1)], total: 1 };
  const lacks = (before: object[], answer: object) =>
    findLacks(
      before.reduce<LearnedMetadata>((known, each) => learnWhole(known, metadataOf(each)), NOTHING_LEARNED),
      metadataOf(answer),
    ).map(({ key }) => key);

  it.each<[string, object[], object, string[]]>([
    ["is that of its pieces", [ONE, ONE], { orders: [change(1, 3)], total: 3 }, []],
    ["is that of its pieces, as texts", [ONE], { orders: [change(1, "1.000", "1,00")], count: "2" }, []],
    ["is that of its lines", [ONE], { orders: [change(1, 2, 9)], total: 2 }, []],
    ["is no sum over them", [ONE], { orders: [change(1, 2)], total: 3 }, ["count total"]],
    ["is one more than its lines", [ONE], { orders: [change(1, 2, 2)], total: 3 }, ["count total"]],
    ["names what it counts", [ONE], { orders: [change(1, 3)], orders_count: 3 }, ["count orders_count"]],
    [
      "was that of changes with more lines",
      [1, 2, 3].map((n) => ({ orders: [change(n, 2, 2)], total: 1 })),
      { orders: [change(1, 3)], total: 3 },
      ["count total"],
    ],
    ["is that of changes without lines", [ONE], { orders: [order(1)], total: 2 }, ["count total"]],
  ])("%s", (_, before, answer, expected) => {
    expect(lacks(before, answer)).toEqual(expected);
  });

  it("is not learned from where it is that of pieces", () => {
    const learned = learnWhole(NOTHING_LEARNED, metadataOf({ orders: [change(1, 3)], total: 3 }));
    expect(findLacks(learned, metadataOf({ orders: [order(1)], total: 2 }))).toHaveLength(1);
  });
});
