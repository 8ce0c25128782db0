import { describe, expect, it } from "vitest";
import { compileMapping } from "../../src/records/order-mapping.ts";
import { isSameContent } from "../../src/records/same-order.ts";
import { LINE_PATHS, ORDER_PATHS } from "../support/rules.ts";

const ID = "2f1b7a52-7a52-4d25-8b9e-6a1f5d3c9e01";
const mapping = compileMapping({
  ...{ source: "update", fields: ORDER_PATHS, line: LINE_PATHS, whole: true },
  isWritten: () => false,
});
const ORDER = {
  ...{ order_id: ID, number: "A-17", status: "paid", created_at: 1_772_366_401, updated_at: 1_772_392_233 },
  ...{ total: "20.00", currency: "RUB", items: [{ sku: "S-1", quantity: "2", price: "10.00" }] },
};
const record = (order: object) => ({ text: JSON.stringify(order), mapping });
const { order_id, ...WITHOUT_ID } = ORDER;

describe("two records of an order", () => {
  it.each([
    { what: "its id under another name", order: { id: ID, ...WITHOUT_ID } },
    { what: "another member in place of its id", order: { kind: "order", ...WITHOUT_ID } },
    { what: "no number, and all else", order: { ...ORDER, number: undefined } },
  ])("have one content: $what", ({ order }) => {
    expect(isSameContent(record(order), record(ORDER), ID, "UTC")).toBe(true);
  });

  it.each([
    { what: "another status", order: { status: "new" } },
    { what: "another time", order: { updated_at: 1_772_392_234 } },
    { what: "another total", order: { total: "21.00" } },
    { what: "other lines", order: { items: [{ sku: "S-1", quantity: "3", price: "10.00" }] } },
    { what: "another price", order: { items: [{ sku: "S-1", quantity: "2", price: "11.00" }] } },
    { what: "another number", order: { number: "A-18" } },
  ])("have two: $what", ({ order }) => {
    expect(isSameContent(record({ kind: "order", ...WITHOUT_ID, ...order }), record(ORDER), ID, "UTC")).toBe(false);
  });
});
