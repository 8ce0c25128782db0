import { describe, expect, it } from "vitest";
import { compileFeed } from "../../src/feeds/feed.ts";
import { isSameRecord, levelOf, renderDeletion, renderRow } from "../../src/feeds/feed-record.ts";
import { referenceOf } from "../../src/feeds/row-reference.ts";
import { saying } from "../support/messages.ts";
import { stockSettings } from "../support/rules.ts";

const STOCKS = stockSettings({
  key: ["sku", "warehouse"],
  available: "quantity - reserved",
  record: { sku: "{sku}", warehouse: "{warehouse}", quantity: "{available|number}" },
});
const stocks = compileFeed("stocks", STOCKS);

describe("a row rendered as a record", () => {
  const row = { sku: "007", warehouse: "", quantity: 10.5, reserved: 2n };

  it("keeps leading zeros and the exact number", () => {
    expect(renderRow(stocks, row)).toEqual({ record: '{"sku":"007","warehouse":"","quantity":8.5}' });
  });

  it("writes the bridge's own key columns as text, in whatever type and case the table has them", () => {
    const rules = compileFeed("stocks", { ...STOCKS, table: "Stock" });
    expect(renderRow(rules, { ...row, sku: 7n })).toEqual({ record: '{"sku":"7","warehouse":"","quantity":8.5}' });
  });

  it("keeps the type of another table's key", () => {
    const rules = compileFeed("stocks", { ...STOCKS, table: "goods" });
    expect(renderRow(rules, { ...row, sku: 7n })).toEqual({ record: '{"sku":7,"warehouse":"","quantity":8.5}' });
  });

  it("names the column that cannot be sent", () => {
    expect(renderRow(stocks, { ...row, quantity: null })).toEqual({ reason: saying("quantity: is NULL") });
    expect(renderRow(stocks, { ...row, reserved: Buffer.from("1") })).toEqual({
      reason: saying("reserved"),
    });
  });
});

describe("the record of a deleted row", () => {
  it("is the last one with the properties of on_delete replaced, the others as they were", () => {
    expect(renderDeletion(stocks, '{"sku":"A","price":1.10,"quantity":5}')).toBe(
      '{"sku":"A","price":1.10,"quantity":0}',
    );
  });

  it("gains the properties that it lacked", () => {
    expect(renderDeletion(stocks, '{"sku":"A"}')).toBe('{"sku":"A","quantity":0}');
  });

  it("is nothing where deletions are ignored, and absence where the table is sent whole", () => {
    expect(renderDeletion(compileFeed("stocks", { ...STOCKS, on_delete: "ignore" }), "{}")).toBeUndefined();
    expect(renderDeletion(compileFeed("stocks", { ...STOCKS, scope: "whole" }), '{"a":1}')).toBe('{"a":1}');
  });
});

describe("two records", () => {
  it.each([
    ['{"q":10}', '{"q":10.0}', true],
    ['{"q":10}', '{"q":1e1}', true],
    ['{"a":1,"q":10}', '{"q":10,"a":1}', true],
    ['{"q":10}', '{"q":"10"}', false],
    ['{"q":10}', '{"q":10.001}', false],
    ['{"q":9007199254740993}', '{"q":9007199254740992}', false],
    ['{"q":null}', "{}", false],
    ['{"s":"1.0"}', '{"s":"1"}', false],
  ])("%s and %s are the same: %s", (a, b, same) => {
    expect(isSameRecord(a, b)).toBe(same);
  });
});

describe("the name of a row in quarantine", () => {
  it("is its key, without the empty rest", () => {
    expect(referenceOf(["A-1", ""])).toBe("A-1");
    expect(referenceOf(["A-1", "west"])).toBe("A-1/west");
  });

  it("is never shared by two keys", () => {
    const keys = [
      ["a/b", "c"],
      ["a", "b/c"],
      ["a", "b", "c"],
      ["a/b/c"],
      ["", "a"],
      ["/a"],
      ["a", ""],
      ['["a/b","c"]'],
      ["", ""],
    ];
    expect(new Set(keys.map(referenceOf)).size).toBe(keys.length);
  });
});

describe("the number that can be sold", () => {
  it("is read from the record, written as a number or as text", () => {
    expect(levelOf(stocks, '{"quantity":8.5}')).toBe("8.5");
    expect(levelOf(stocks, '{"quantity":"8.5"}')).toBe("8.5");
    expect(
      levelOf(compileFeed("catalog", { ...STOCKS, available: null, record: { sku: "{sku}" } }), '{"quantity":1}'),
    ).toBeUndefined();
  });
});
