import { describe, expect, it } from "vitest";
import {
  describeShape,
  findOrderRoot,
  guessLineFields,
  guessOrderFields,
  guessRecordList,
} from "../../src/probe/guess-fields.ts";
import { LINE_PATHS, ORDER_PATHS } from "../support/rules.ts";

const ID = "6f1e9b7e-1c2d-4e3f-8a9b-000000000001";

const foreign = {
  id: ID,
  Номер: "А-17",
  state: { code: "paid", changed: "2026-03-01T12:00:00Z" },
  date: "2026-03-01T11:00:00Z",
  modified_at: "2026-03-01T12:00:00Z",
  currency: "RUB",
  price: { total: "10.50" },
  customer: { id: "6f1e9b7e-1c2d-4e3f-8a9b-00000000000c", name: "Ivanova" },
  positions: [{ product_id: 1, article: "A-1", title: "Tea", qty: 2, cost: 5.25 }],
};

describe("guesses about an unknown service", () => {
  it("find the list of records among other lists, and say nothing where none has ids", () => {
    expect(guessRecordList({ meta: { tags: [] }, data: { orders: [{ id: ID }] } })?.path).toBe("$.data.orders");
    expect(guessRecordList([{ id: ID }])?.path).toBe("$");
    expect(guessRecordList({ changes: [] })?.path).toBe("$.changes");
    expect(guessRecordList({ a: [], b: [] })).toBeUndefined();
    expect(guessRecordList({ error: "no" })).toBeUndefined();
  });

  it("find where an answer keeps the order that was asked for, in any spelling of its id", () => {
    expect(findOrderRoot({ order_id: ID }, ID, "$.order_id")).toBe("$");
    expect(findOrderRoot({ data: { order: { order_id: ID.toUpperCase() } } }, ID, "$.order_id")).toBe("$.data.order");
    expect(findOrderRoot({ data: [{ order_id: ID }] }, ID, "$.order_id")).toBe("$.data[0]");
    expect(findOrderRoot({ order_id: "another" }, ID, "$.order_id")).toBeUndefined();
  });

  it("leave alone what matches and name one candidate for what does not", () => {
    const guesses = guessOrderFields([foreign], ORDER_PATHS);
    expect(guesses).toEqual({
      order_id: { state: "guess", path: "$.id" },
      number: { state: "guess", path: "$.Номер" },
      status: { state: "guess", path: expect.stringMatching(/^\$\.state/) },
      created_at: { state: "guess", path: "$.date" },
      updated_at: { state: "guess", path: "$.modified_at" },
      currency: { state: "fits" },
      total: { state: "guess", path: "$.price.total" },
      lines: { state: "guess", path: "$.positions" },
    });
    expect(guessLineFields(foreign.positions, LINE_PATHS)).toEqual({
      sku: { state: "guess", path: "$.article" },
      name: { state: "guess", path: "$.title" },
      quantity: { state: "guess", path: "$.qty" },
      price: { state: "guess", path: "$.cost" },
    });
  });

  it("do not choose where two candidates are as likely", () => {
    const guess = guessOrderFields([{ a_status: "x", b_status: "y" }], ORDER_PATHS).status;
    expect(guess).toEqual({ state: "unknown", candidates: ["$.a_status", "$.b_status"] });
  });

  it("describe answers by names and types, never by values, whatever stands in them", () => {
    expect(String(describeShape(foreign))).not.toMatch(/Ivanova|А-17|6f1e/);
    const hostile = JSON.parse('{"__proto__": {"a": 1}, "constructor": [{"id": null}], "x": "\\u0000"}');
    expect(String(describeShape(hostile))).toBe("an object with __proto__ (object), constructor (list), x (string)");
    expect(guessRecordList(hostile)?.path).toBeUndefined();
  });
});
