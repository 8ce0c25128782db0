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
  ])("are a reason where the record cannot be stored: %s", (text, reason) => {
    expect(read(text)).toEqual({ reason: saying(reason) });
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

describe("paths that an answer must have", () => {
  it("are missed where no record has them, with what stands there instead", () => {
    expect(unmatched('[{"id":1,"state":"new","items":[]},{"items":[]}]').unmatched).toEqual([
      { field: "status", path: "$.state.name", found: m.orders.standsAt({ at: "$.state", found: m.answers.string }) },
    ]);
    expect(unmatched('[{"uuid":1,"состав":[]}]').unmatched.map(({ found }) => String(found))).toEqual(
      Array(3).fill("at $ stands an object of 2 keys: uuid, состав"),
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
