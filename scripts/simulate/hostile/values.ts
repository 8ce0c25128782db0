/* Values at the limits of their types, for any field of an order in an answer. */
import { readJson } from "../../../src/sandbox/json-text.ts";
import { NEAR_JSON, NO_UTF8 } from "./lies.ts";

/** JSON texts, by name. */
export const EXTREMES: Readonly<Record<string, string>> = {
  "year 0": '"0000-01-01T00:00:00Z"',
  "year 1": '"0001-01-01T00:00:00Z"',
  "year 9999": '"9999-12-31T23:59:59Z"',
  "year 275760": '"+275760-09-13T00:00:00.000Z"',
  "year -1": '"-000001-01-01T00:00:00Z"',
  "no date": '"2026-13-45T99:99:99Z"',
  "1e400": "1e400",
  "-1e400": "-1e400",
  "1e-400": "1e-400",
  "2^63": "9223372036854775808",
  "-2^63-1": "-9223372036854775809",
  "beyond a date": "8640000000000001",
  "0": "0",
  "-1": "-1",
  "a fraction": "0.1000000000000000055511151231257827",
  "no text": '""',
  space: '" "',
  NaN: '"NaN"',
  true: "true",
  false: "false",
  null: "null",
  object: '{"is":{"deep":[1]}}',
  array: "[]",
  nested: `${"[".repeat(90)}${"]".repeat(90)}`,
  long: `"${"a".repeat(20_000)}"`,
  "U+0000": '"a\\u0000b"',
  surrogate: '"\\ud800"',
  "no UTF-8": `"${NO_UTF8}"`,
  prototype: '{"__proto__":{"x":1}}',
  formula: '"=cmd()|\\u001b[31m"',
  ...NEAR_JSON,
};

export const FIELDS = [
  ...["updated_at", "updated_at", "updated_at", "created_at", "status", "number", "currency", "total", "items"],
  ...["comment", "customer", "sku", "quantity", "price", "name"],
] as const;

const OF_LINE = new Set(["sku", "quantity", "price", "name"]);

/** The record with another value in one field; for a field of a line, in the first line. */
export function withValue(record: string, field: string, value: string): string {
  const root = readJson(record);
  if (root.kind !== "object") return record;
  const members = root.entries.map(([key, node]) => {
    if (key === field) return `${JSON.stringify(key)}:${value}`;
    const [first, ...others] = key === "items" && node.kind === "array" ? node.items : [];
    if (!OF_LINE.has(field) || first?.kind !== "object") return `${JSON.stringify(key)}:${node.text}`;
    const line = first.entries.map(([name, each]) => `${JSON.stringify(name)}:${name === field ? value : each.text}`);
    return `"items":[${[`{${line.join(",")}}`, ...others.map(({ text }) => text)].join(",")}]`;
  });
  return `{${members.join(",")}}`;
}
