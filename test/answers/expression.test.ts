import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExpressionValueError, parseExpression } from "../../src/answers/expression.ts";
import { TextSyntaxError } from "../../src/answers/text-syntax-error.ts";
import { itWhole } from "../support/whole.ts";

function evaluate(text: string, row: Record<string, string>): string {
  return parseExpression(text).evaluate((name) => row[name] ?? "");
}

describe("parseExpression", () => {
  it.each([
    ["quantity - reserved", { quantity: "10", reserved: "3" }, "7"],
    ["quantity-reserved", { quantity: "0.3", reserved: "0.1" }, "0.2"],
    ["a - (b - c) + 1.5", { a: "1", b: "2", c: "3" }, "3.5"],
    ["-a", { a: "5" }, "-5"],
    ["-(a + b) - (-1)", { a: "1", b: "2" }, "-2"],
    ['остаток + "на складе" - "a""b"', { остаток: "1", "на складе": "2", 'a"b': "3" }, "0"],
    ["quantity", { quantity: " +1.50" }, "1.50"],
    ["(quantity)", { quantity: "1e2" }, "1e2"],
    ["quantity - 0", { quantity: "1.50" }, "1.5"],
    ["9007199254740993 + a", { a: "0.001" }, "9007199254740993.001"],
    ["a - a", { a: "-0" }, "0"],
  ])("evaluates %s", (text, row, expected) => {
    expect(evaluate(text, row)).toBe(expected);
  });

  it("names each column once, in order", () => {
    expect(parseExpression('b - a + b - "a"').columns).toEqual(["b", "a"]);
  });

  it.each([
    ["", 1],
    ["  ", 3],
    ["a -", 4],
    ["a b", 3],
    ["a - * b", 5],
    ["(a", 3],
    ["a)", 2],
    ["a * b", 3],
    ["2x", 2],
    ['"a', 1],
    ["a; drop", 2],
    ["1.", 2],
    ["a - -b", 5],
  ])("refuses %j at column %i", (text, column) => {
    expect(() => parseExpression(text)).toThrow(expect.objectContaining({ name: "TextSyntaxError", column }));
  });

  itWhole("does not overflow on parentheses without end", () => {
    expect(() => parseExpression("(".repeat(100_000))).toThrow(TextSyntaxError);
  });

  it.each(["", "abc", "NaN", "1,5", "1e400"])("names the column that holds %j", (bad) => {
    for (const text of ["a - b", "b"]) {
      expect(() => evaluate(text, { a: "1", b: bad })).toThrow(new ExpressionValueError("b"));
    }
  });

  it("agrees with integer arithmetic", () => {
    const tree = fc.letrec<{ sum: [string, bigint] }>((tie) => ({
      sum: fc.oneof(
        { maxDepth: 5 },
        fc.nat().map((n): [string, bigint] => [String(n), BigInt(n)]),
        fc.tuple(tie("sum"), fc.boolean(), tie("sum")).map(([[x, a], plus, [y, b]]): [string, bigint] => {
          return plus ? [`${x}+${y}`, a + b] : [`${x} - (${y})`, a - b];
        }),
      ),
    })).sum;
    fc.assert(
      fc.property(tree, ([text, expected]) => {
        expect(evaluate(`x + ${text}`, { x: "0" })).toBe(String(expected));
      }),
    );
  });
});
