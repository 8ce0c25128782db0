import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addDecimals,
  compareDecimals,
  type Decimal,
  formatDecimal,
  normalizeDecimal,
  numberLiteral,
  parseDecimal,
  sameNumber,
  shortestDecimal,
  subtractDecimals,
} from "../../src/answers/decimal.ts";

function decimal(text: string): Decimal {
  const parsed = parseDecimal(text);
  if (parsed === undefined) throw new Error(`${text} is no number`);
  return parsed;
}

describe("normalizeDecimal", () => {
  it.each([
    ["1", "1"],
    ["1.0", "1"],
    ["1e2", "100"],
    ["1.5E+1", "15"],
    ["25e-3", "0.025"],
    ["-0", "0"],
    ["-0.00", "0"],
    ["0.250", "0.25"],
    ["+7", "7"],
    ["007", "7"],
    ["\t -1.10 \n", "-1.1"],
    ["0e999999999", "0"],
    ["9007199254740993", "9007199254740993"],
    ["1234567890.10", "1234567890.1"],
    ["1e399", `1${"0".repeat(399)}`],
    ["1e-400", `0.${"0".repeat(399)}1`],
  ])("writes %j as %s", (text, expected) => {
    expect(normalizeDecimal(text)).toBe(expected);
  });

  it.each([
    ...["", " ", ".", ".5", "5.", "1,5", "1 000", "0x10", "NaN", "Infinity", "1e", "--1", "1e1.5", "٣", "1_000", "abc"],
    ...["1e400", "1e-401", "1e999999999999999999999", "9".repeat(401)],
  ])("does not take %j", (text) => {
    expect(normalizeDecimal(text)).toBeUndefined();
    expect(numberLiteral(text)).toBeUndefined();
  });
});

describe("numberLiteral", () => {
  it.each([
    [" +1.50 ", "1.50"],
    ["007", "7"],
    ["-00.10", "-0.10"],
    ["00", "0"],
    ["-0", "-0"],
    ["1E5", "1E5"],
    ["0.250", "0.250"],
  ])("makes %j fit for JSON as %s", (text, expected) => {
    expect(numberLiteral(text)).toBe(expected);
  });
});

describe("decimals", () => {
  const text = fc.stringMatching(/^-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,12})?(e-?[0-9]{1,2})?$/);

  it("adds what floats cannot", () => {
    expect(formatDecimal(addDecimals(decimal("0.1"), decimal("0.2")))).toBe("0.3");
    expect(formatDecimal(subtractDecimals(decimal("9007199254740993"), decimal("0.001")))).toBe("9007199254740992.999");
    expect(formatDecimal(subtractDecimals(decimal("1.5"), decimal("2")))).toBe("-0.5");
  });

  it("compare and agree by value", () => {
    expect(compareDecimals(decimal("1.10"), decimal("1.1"))).toBe(0);
    expect(compareDecimals(decimal("-2"), decimal("1e-9"))).toBe(-1);
    expect(compareDecimals(decimal("10"), decimal("9.99"))).toBe(1);
    expect(sameNumber("1e2", " +100.00")).toBe(true);
    expect(sameNumber("9007199254740993", "9007199254740992")).toBe(false);
    expect(sameNumber("1e999", "1e999")).toBe(true);
    expect(sameNumber("1e999", "1e1000")).toBe(false);
    expect(sameNumber("1", "one")).toBe(false);
  });

  it("come back from their own text, and sums can be undone", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [x, y] = [decimal(a), decimal(b)];
        expect(normalizeDecimal(formatDecimal(x))).toBe(formatDecimal(x));
        expect(sameNumber(a, formatDecimal(x))).toBe(true);
        expect(Number(formatDecimal(x)) + 0).toBe(Number(a) + 0);
        expect(compareDecimals(subtractDecimals(addDecimals(x, y), y), x)).toBe(0);
        expect(compareDecimals(x, y)).toBe(0 - compareDecimals(y, x));
        const literal = numberLiteral(a);
        expect(JSON.parse(literal ?? "")).toBe(Number(a));
      }),
    );
  });
});

describe("shortestDecimal", () => {
  it.each([
    [0.1, "0.1"],
    [10.5, "10.5"],
    [-0, "0"],
    [1e21, "1000000000000000000000"],
    [1.5e-7, "0.00000015"],
    [1e38, `1${"0".repeat(38)}`],
    [1e39, "1e+39"],
    [5e-324, "5e-324"],
    [Number.MAX_VALUE, "1.7976931348623157e+308"],
  ])("writes %d as %s", (value, expected) => {
    expect(shortestDecimal(value)).toBe(expected);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])("has no text for %d", (value) => {
    expect(shortestDecimal(value)).toBeUndefined();
  });

  it("is a JSON number that reads back as the same real", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(JSON.parse(shortestDecimal(value) ?? "")).toBe(value + 0);
      }),
    );
  });
});
