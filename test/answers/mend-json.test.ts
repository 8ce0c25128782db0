import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { textOf } from "../../src/answers/json-text.ts";
import { mendInSlices } from "../../src/answers/mend-json.ts";
import { atOnce } from "../../src/answers/slices.ts";
import { readListInSlices } from "../../src/records/read-list.ts";
import { readRecords } from "../../src/records/read-records.ts";
import { saying } from "../support/messages.ts";
import { batchMapping } from "../support/rules.ts";
import { itSome, itWhole, runs } from "../support/whole.ts";

const mapping = batchMapping();

const idOf = (nth: number) => `0f8c1e2a-0000-4000-8000-00000000000${nth}`;
const good = (nth: number) => `{"order_id":"${idOf(nth)}","status":"new","items":[]}`;
const bad = (nth: number, flaw: string) => `{"order_id":"${idOf(nth)}",${flaw},"items":[{"sku":"[x]"}]}`;
const around = (records: readonly string[]) => `{"batch_id":"B1","orders":[${records.join(",")}],"more":[1,2]}`;

function read(text: string, path = "$.orders") {
  const body = Buffer.from(text);
  const list = atOnce(readListInSlices({ status: 200, contentType: "application/json", body }, parsePath(path)));
  const bytes = list.mended?.bytes ?? body;
  return readRecords(bytes, { ...list, elements: list.elements ?? [] }, mapping).map((record) => ({
    ...record,
    text: record.ok ? textOf(bytes, record.span) : (record.broken?.raw.toString() ?? textOf(bytes, record.span)),
  }));
}

const FLAWS: readonly (readonly [string, string, string])[] = [
  ["a raw line break", '"comment":"at\nthe door"', "a raw line break in a text, at byte 64"],
  ["a raw tab", '"comment":"at\tthe door"', "a raw tab in a text"],
  ["a raw control character", '"comment":"at\u0001the door"', "a raw control character in a text"],
  ["an escape of JavaScript", '"comment":"it\\\'s"', "an unknown escape in a text"],
  ["an escape that is none", '"comment":"C:\\users"', "an unknown escape in a text"],
  ["a backslash before a line break", '"comment":"a\\\nb"', "an unknown escape in a text"],
  ["NaN", '"total":NaN', "a value that is no JSON"],
  ["-Infinity", '"total":-Infinity', "a value that is no JSON"],
  ["undefined", '"total":undefined', "a value that is no JSON"],
  ["a number with zeros before it", '"total":007', "a value that is no JSON"],
  ["a number without a digit before its point", '"total":.5', "a value that is no JSON"],
  ["a comma before a brace", '"tags":{"a":1,}', "a comma before the end of a list or an object"],
  ["a comma before a bracket", '"tags":[1,]', "a comma before the end of a list or an object"],
  ["a raw tab in a key", '"com\tment":1', "a raw tab in a text"],
  ["several at once", '"total":NaN,"comment":"a\tb"', "a value that is no JSON"],
];

describe("a list of which one record is no JSON", () => {
  it.each(FLAWS)("has the others as they are, and that one by its id: %s", (_, flaw, reason) => {
    const records = [good(1), bad(2, flaw), good(3)];
    const [first, second, third] = read(around(records));
    expect([first?.text, second?.text, third?.text]).toEqual(records);
    expect([first?.ok, third?.ok]).toEqual([true, true]);
    expect(second).toMatchObject({
      ok: false,
      reason: saying(`the record is no JSON: ${reason}`),
      reference: idOf(2),
      idLiteral: `"${idOf(2)}"`,
    });
  });

  it("may be the answer itself, or lie deeper", () => {
    expect(read(`[${good(1)},${bad(2, '"total":NaN')}]`, "$").map(({ ok }) => ok)).toEqual([true, false]);
    const deep = read(`{"data":{"list":[${bad(1, '"total":NaN')},${good(2)}]}}`, "$.data.list");
    expect(deep.map(({ ok }) => ok)).toEqual([false, true]);
  });

  it("names no id where the id itself is broken", () => {
    const [record] = read(around([`{"order_id":007,"status":"new","items":[]}`]));
    expect(record).toMatchObject({ ok: false, reference: null, idLiteral: null });
    const [other] = read(around([`{"order_id":"${idOf(1)}\t","status":"new","items":[]}`]));
    expect(other).toMatchObject({ ok: false, reference: null, idLiteral: null });
    const [value] = read(around(["NaN"]));
    expect(value).toMatchObject({ ok: false, reference: null, idLiteral: null, text: "NaN" });
  });
});

describe("what is not the fault of single records stays unreadable", () => {
  it.each([
    [
      "a text without its end",
      around([good(1), bad(2, '"comment":"abc'), good(3)]),
      "record 2: an unexpected character",
    ],
    ["a quote within a text", around([bad(1, '"comment":"he said "hi" to us"'), good(2)]), "record 1"],
    ["two quotes within texts", around([bad(1, '"a":"5" x"'), bad(2, '"a":"7" y"'), good(3)]), "record 1"],
    ["a bracket that is missing", around([bad(1, '"tags":[1'), good(2)]), "record 1"],
    ["a brace too many", around([`${good(1)}}`, good(2)]), "record 1"],
    ["a value that is missing", around([bad(1, '"total":'), good(2)]), "record 1"],
    ["a raw line break outside of the records", around([good(1)]).replace("B1", "B\n1"), "a raw line break"],
    ["a comma after the last record", around([good(1), ""]), "an unexpected character"],
    ["NaN beside the list", around([good(1)]).replace("[1,2]", "NaN"), "an unexpected character"],
    ["records of another list", `{"orders":[${good(1)}],"more":[{"a":NaN}]}`, "a"],
    ["something after it", `${around([bad(1, '"total":NaN')])}x`, "at byte"],
  ])("%s", (_, text, words) => {
    expect(() => read(text)).toThrow(/no complete JSON/);
    expect(() => read(text)).toThrow(words);
  });

  it("is no page of HTML either", () => {
    expect(() => read("<html>\n</html>")).toThrow(/web page/);
  });
});

itSome(1)([
  [50_000, 50_000],
  [50_001, undefined],
])("is no list of broken records where %s are", (count, broken) => {
  const steps = mendInSlices(Buffer.from(`[${"NaN,".repeat(count - 1)}NaN]`), 1);
  for (;;) {
    const { done, value } = steps.next();
    if (done !== true) continue;
    expect("broken" in value ? value.broken.size : undefined).toBe(broken);
    return;
  }
});

itWhole("never takes a text that was cut for a whole one", () => {
  const text = around([good(1), bad(2, '"comment":"a\tb","total":NaN'), good(3)]);
  for (let end = 1; end < text.length; end++) expect(() => read(text.slice(0, end))).toThrow(/no complete JSON/);
});

it("leaves every other record as it is, whatever stands in the broken ones", () => {
  const flaw = fc.constantFrom(...FLAWS.map(([, text]) => text));
  const comment = fc.string({ unit: "grapheme-ascii" }).map((text) => `"comment":${JSON.stringify(text)}`);
  fc.assert(
    fc.property(fc.array(fc.tuple(comment, fc.option(flaw)), { minLength: 1, maxLength: 9 }), (drawn) => {
      const texts = drawn.map(([text, what], nth) => bad(nth, what === null ? text : `${text},${what}`));
      const records = read(around(texts));
      expect(records.map(({ text }) => text)).toEqual(texts);
      expect(records.map(({ ok }) => ok)).toEqual(drawn.map(([, what]) => what === null));
    }),
  );
});

it("is never entered by accident: what is mended has every record's bytes where they were", () => {
  const junk = fc.string({ unit: fc.constantFrom(...'"\\,:{}[]\t\nNaN01'), maxLength: 12 });
  fc.assert(
    fc.property(junk, (text) => {
      const texts = [good(1), `{"order_id":"${idOf(2)}","x":${text}}`, good(3)];
      let records: ReturnType<typeof read>;
      try {
        records = read(around(texts));
      } catch {
        return;
      }
      // Whoever may have been swallowed: the first and the last record are there.
      expect(records.at(0)?.text).toBe(texts[0]);
      expect(records.at(-1)?.text).toBe(texts[2]);
      expect(records.map((record) => record.text).join(",")).toBe(texts.join(","));
    }),
    { numRuns: runs(80, 2_000) },
  );
});
