import { describe, expect, it } from "vitest";
import { elementsOf } from "../../src/answers/json-text.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { m } from "../../src/messages/messages.ts";
import {
  compileMapping,
  findUnmatched,
  type MappingOptions,
  readOrderValues,
  readRecordId,
  readTimestampText,
} from "../../src/records/order-mapping.ts";
import { saying } from "../support/messages.ts";

const FIELDS: MappingOptions["fields"] = {
  order_id: "$.id",
  number: "$.number",
  status: "$.state.name",
  created_at: "$.created",
  updated_at: "$.at",
  currency: "$.currency",
  total: "$.total",
  lines: "$.items",
};

function compile(options: Partial<MappingOptions> = {}) {
  const line = { sku: "$.sku", name: "$.name", quantity: "$.quantity", price: "$.price" };
  return compileMapping({ source: "batch", fields: FIELDS, line, isWritten: () => false, whole: true, ...options });
}

function read(text: string, mapping = compile()) {
  const bytes = Buffer.from(text);
  return readOrderValues(bytes, scanJson(bytes), mapping);
}

function unmatched(text: string, mapping = compile(), known: readonly string[] = []) {
  const bytes = Buffer.from(text);
  return findUnmatched(bytes, elementsOf(bytes, scanJson(bytes)), mapping, (field) => known.includes(field));
}

describe("the values of an order", () => {
  it("keep numbers and booleans as their literals and texts decoded", () => {
    const text = '{"number":00,"state":{}}'.replace("00", "17");
    expect(
      read(text.replace('"state":{}', '"state":{"name":true},"items":[],"total":1.10,"currency":"\\u20bd"')),
    ).toMatchObject({
      values: { number: "17", status: "true", total: "1.10", currency: "₽", lines: [] },
    });
  });

  it("are null where an optional field is null or absent", () => {
    expect(read('{"state":{"name":null},"items":null,"number":null}')).toEqual({
      values: { number: null, status: null, createdAt: null, updatedAt: null, currency: null, total: null, lines: [] },
    });
  });

  it.each([
    ['{"items":[]}', "$.state.name (status) is missing"],
    ['{"state":{"name":"x"}}', "$.items (lines) is missing"],
    ['{"state":{"name":["x"]},"items":[]}', "$.state.name is an array (status)"],
    ['{"state":{"name":"x"},"items":[],"total":{}}', "$.total is an object (total)"],
    ['{"state":{"name":"x"},"items":{}}', "$.items (lines) is no list"],
    ['{"state":{"name":"x"},"items":[null]}', "line 1 of $.items is null (lines)"],
    ['{"state":{"name":"x"},"items":[{},{"price":{}}]}', "line 2: $.price is an object (price)"],
    ['{"state":{"name":"x"},"items":[{},[{"sku":"A"}]]}', "line 2 of $.items is an array (lines)"],
    ['{"state":{"name":"x"},"items":[[]]}', "line 1 of $.items is an array (lines)"],
    [
      '{"state":{"name":"x"},"items":[],"number":1,"number":2}',
      "$.number stands more than once, with different values (number)",
    ],
    [
      '{"state":{"name":"x","name":"y"},"items":[]}',
      "$.state.name stands more than once, with different values (status)",
    ],
    [
      '{"state":{"name":"x"},"items":[],"state":{"name":"y"}}',
      "$.state stands more than once, with different values (status)",
    ],
    ['{"state":{"name":"x"},"items":[],"items":[{}]}', "$.items stands more than once, with different values (lines)"],
    [
      '{"state":{"name":"x"},"items":[{},{"sku":"A","price":1,"price":"1"}]}',
      "line 2: $.price stands more than once, with different values (price)",
    ],
  ])("are a reason where the record cannot be stored: %s", (text, reason) => {
    expect(read(text)).toEqual({ reason: saying(reason) });
  });

  it.each([
    ['{"state":{"name":"x"},"items":[],"customer":{"phone":1,"phone":2}}', "$.customer.phone", "(phone)"],
    ['{"state":{"name":"x"},"items":[],"customer":{},"customer":{"phone":2}}', "$.customer", "(phone)"],
    ['{"state":{"name":"x"},"items":[{"color":"a","color":"b"}]}', "line 1: $.color", "(color)"],
  ])("are a reason as well at the path of an extra column: %s", (text, place, field) => {
    const mapping = compile({ extra: { phone: "$.customer.phone" }, lineExtra: { color: "$.color" } });
    expect(read(text, mapping)).toEqual({
      reason: saying(`${place} stands more than once, with different values ${field}`),
    });
    expect(read(text)).toHaveProperty("values");
  });

  it("may be anything at the path of an extra column", () => {
    const mapping = compile({ extra: { phone: "$.phones" }, lineExtra: { color: "$.color", sku2: "$[0]" } });
    const text = '{"state":{"name":"x"},"items":[{"color":{"a":1}}],"phones":[1,2],"phones":[1,2]}';
    expect(read(text, mapping)).toMatchObject({ values: { status: "x", lines: [{ sku: null }] } });
    expect(read('{"state":{"name":"x"},"items":[["A"]]}', mapping)).toEqual({
      reason: saying("line 1 of $.items is an array (lines)"),
    });
  });

  it("may stand twice where they are equal, and what no path uses may differ", () => {
    const line = '{"sku":"A","x":1,"sku":"A","x":2}';
    const text = `{"x":1,"state":{"name":"x","x":1},"items":[${line}],"x":2,"state":{"name":"x","x":1}}`;
    expect(read(text)).toMatchObject({ values: { status: "x", lines: [{ sku: "A" }] } });
  });

  it("take lists as lines where a path begins with an index and leads somewhere", () => {
    const mapping = compile({ line: { sku: "$[0]", name: "$[1]", quantity: "$[2]", price: "$[3]" } });
    expect(read('{"state":{"name":"x"},"items":[["A","B"],[null]]}', mapping)).toMatchObject({
      values: { lines: [{ sku: "A", name: "B", quantity: null }, { sku: null }] },
    });
    expect(read('{"state":{"name":"x"},"items":[["A"],[]]}', mapping)).toEqual({
      reason: saying("line 2 of $.items is an array (lines)"),
    });
  });

  it("take objects without any of the fields as lines", () => {
    expect(read('{"state":{"name":"x"},"items":[{},{"gift":1}]}')).toMatchObject({
      values: { lines: [{ sku: null }, { sku: null, payload: '{"gift":1}' }] },
    });
  });

  it("take plain values as lines where the path says so", () => {
    const mapping = compile({ line: { sku: "$", name: "$.name", quantity: "$.quantity", price: "$.price" } });
    expect(read('{"state":{"name":"x"},"items":["A","B"]}', mapping)).toMatchObject({
      values: { lines: [{ sku: "A", name: null, payload: '"A"' }, { sku: "B" }] },
    });
  });
});

describe("the id of an order", () => {
  it("is in lower case for the database, as written for requests, and a literal for confirms", () => {
    const bytes = Buffer.from('{"id":"ABCDEF00-2222-4333-8444-55555555555\\u0035"}');
    expect(readRecordId(bytes, scanJson(bytes), compile())).toEqual({
      orderId: "abcdef00-2222-4333-8444-555555555555",
      serviceId: "ABCDEF00-2222-4333-8444-555555555555",
      idLiteral: '"ABCDEF00-2222-4333-8444-55555555555\\u0035"',
    });
  });
});

describe("an id that stands twice", () => {
  const A = "11111111-2222-4333-8444-555555555555";
  const B = "66666666-7777-4888-8999-000000000000";
  const idOf = (text: string) => {
    const bytes = Buffer.from(text);
    return readRecordId(bytes, scanJson(bytes), compile());
  };

  it("is none where it differs, and none that a confirm may name", () => {
    expect(idOf(`{"id":"${A}","x":1,"id":"${B}"}`)).toEqual({
      reason: saying("$.id (order id) stands more than once, with different values"),
      reference: null,
      idLiteral: null,
    });
  });

  it("is one where it is equal", () => {
    expect(idOf(`{"id":"${A}","x":1,"id":"${A}"}`)).toMatchObject({ orderId: A, idLiteral: `"${A}"` });
  });
});

describe("a timestamp that stands twice", () => {
  it("is none where it differs", () => {
    const stampOf = (text: string) => {
      const bytes = Buffer.from(text);
      return readTimestampText(bytes, scanJson(bytes), compile());
    };
    expect(stampOf('{"at":"1","at":"2"}')).toBeNull();
    expect(stampOf('{"at":"1","x":{},"at":"1"}')).toBe("1");
  });
});

describe("paths that an answer must have", () => {
  it("are missed where no record has them, with what stands there instead", () => {
    expect(unmatched('[{"id":1,"state":"new","items":[]},{"items":[]}]').unmatched).toEqual([
      { field: "status", path: "$.state.name", found: m.orders.standsAt({ at: "$.state", found: m.answers.string }) },
    ]);
    expect(unmatched('[{"uuid":1,"состав":[]}]').unmatched.map(({ found }) => String(found))).toEqual(
      Array(3).fill("an object of 2 keys was found at $: uuid, состав"),
    );
  });

  it("match where one record has them, null included, and are then known", () => {
    const text = '[{"id":1},{"id":2,"state":null,"items":null}]';
    expect(unmatched(text)).toEqual({ unmatched: [], matched: ["order_id", "status", "lines"] });
    expect(unmatched("[{}]", compile(), ["order_id", "status", "lines"])).toEqual({ unmatched: [], matched: [] });
  });

  it("are also those that somebody wrote down; of changes only the id and the timestamp", () => {
    const isWritten = (field: string) => field === "number" || field === "updated_at";
    expect(compile({ isWritten }).mustMatch).toEqual(["order_id", "number", "status", "updated_at", "lines"]);
    expect(compile({ isWritten, whole: false, source: "update" }).mustMatch).toEqual(["order_id", "updated_at"]);
  });

  it("show no more keys than a person can read, without control characters", () => {
    const keys = Array.from({ length: 50 }, (_, index) => `"key\\u0007${"x".repeat(30)}${index}":1`).join(",");
    const [miss] = unmatched(`[{${keys}}]`).unmatched;
    const found = String(miss?.found);
    expect(found.length).toBeLessThan(300);
    expect(found).not.toContain("\u0007");
  });
});
