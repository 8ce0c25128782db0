import { Buffer } from "node:buffer";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { JsonSyntaxError } from "../../src/answers/json-text.ts";
import { canonicalJson, DEPTH_MAX, diffJson, JsonDepthError, withoutPaths } from "../../src/answers/json-value.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { itWhole } from "../support/whole.ts";

const db = new Database(":memory:");
const valid = db.prepare<[string], { valid: number }>("select json_valid(?) as valid");
const arrow = db.prepare<[string, string], { found: string | null }>("select ? -> ? as found");
afterAll(() => db.close());

function canonical(text: string): string {
  const bytes = Buffer.from(text);
  return canonicalJson(bytes, scanJson(bytes));
}

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** The same value, keys shuffled (here: reversed) and spaced out. */
function rewritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewritten);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, rewritten(inner)]),
  );
}

describe("canonicalJson", () => {
  it.each([
    ['{"b":1, "a" : [ 2 , {"d":0,"c":0} ]}', '{"a":[2,{"c":0,"d":0}],"b":1}'],
    ["[1.0,1,1e2,-0,9007199254740993,0.250]", "[1.0,1,1e2,-0,9007199254740993,0.250]"],
    ['"\\u0436\\/\\ud83d\\ude00\\u0000\\n"', '"ж/😀\\u0000\\n"'],
    ['"\\uD83D"', '"\\ud83d"'],
    ['{"a":1,"\\u0061":2,"A":3}', '{"A":3,"a":1,"a":2}'],
    ['{"__proto__":1,"10":2,"9":3}', '{"10":2,"9":3,"__proto__":1}'],
    [" {} ", "{}"],
  ])("writes %s as %s", (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it("keeps the order of equal keys, since it decides which one counts", () => {
    expect(canonical('{"b":0,"a":1,"a":2}')).not.toBe(canonical('{"a":2,"a":1,"b":0}'));
  });

  itWhole("goes as deep as SQLite and no deeper", () => {
    expect(valid.get(nested(DEPTH_MAX))?.valid).toBe(1);
    expect(valid.get(nested(DEPTH_MAX + 1))?.valid).toBe(0);
    expect(canonical(nested(DEPTH_MAX))).toBe(nested(DEPTH_MAX));
    expect(() => canonical(nested(DEPTH_MAX + 1))).toThrow(JsonDepthError);
    expect(() => canonical(nested(200_000))).toThrow(RangeError);
    expect(() => diffJson("[]", nested(200_000))).toThrow(JsonDepthError);
  });

  it("is the same for the same value and keeps it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: ANY_CHARACTER }), fc.constantFrom(0, 2), (value, indent) => {
        const text = canonical(JSON.stringify(value));
        expect(canonical(JSON.stringify(rewritten(value), null, indent))).toBe(text);
        expect(canonical(text)).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("diffJson", () => {
  it("names what was and what is, by SQLite's paths", () => {
    const before = '{"total":"10.00","цена":1.0,"items":[{"sku":"a"},{"sku":"b"}],"gone":null,"a b":1}';
    const after = '{"items":[{"sku":"a"},{"sku":"c"},5],"a b":{"x":[1]},"цена":1,"total":"10.00"}';
    expect(diffJson(before, after)).toEqual([
      { path: '$."a b"', was: "1", is: '{"x":[1]}' },
      { path: "$.gone", was: "null", is: null },
      { path: "$.items[1].sku", was: '"b"', is: '"c"' },
      { path: "$.items[2]", was: null, is: "5" },
      { path: "$.цена", was: "1.0", is: "1" },
    ]);
  });

  it("compares equal keys pairwise", () => {
    expect(diffJson('{"a":1,"a":2,"b":0}', '{"a":1,"b":0,"a":3,"a":4}')).toEqual([
      { path: "$.a", was: "2", is: "3" },
      { path: "$.a", was: null, is: "4" },
    ]);
  });

  it("names the root where the kinds differ", () => {
    expect(diffJson("[]", "{}")).toEqual([{ path: "$", was: "[]", is: "{}" }]);
  });

  it("lets the last entry stand for all that a limit cuts off", () => {
    const lines = (n: number) => JSON.stringify({ a: n, b: { items: [n, n, n, { x: n }] } });
    const all = diffJson(lines(1), lines(2));
    expect(all).toHaveLength(5);
    expect(diffJson(lines(1), lines(2), { limit: 5 })).toEqual(all);
    expect(diffJson(lines(1), lines(2), { limit: 3 })).toEqual([
      ...all.slice(0, 2),
      { path: "$.b.items", was: '[1,1,1,{"x":1}]', is: '[2,2,2,{"x":2}]' },
    ]);
    expect(diffJson(lines(1), lines(2), { limit: 1 }).map(({ path }) => path)).toEqual(["$"]);
  });

  it("never lets the entry for the rest hide behind the first of equal keys", () => {
    const found = diffJson('{"a":{"x":1},"a":1}', '{"a":{"x":1,"y":1},"a":2}', { limit: 1 });
    expect(found.map(({ path }) => path)).toEqual(["$"]);
  });

  it("stays bounded for thousands of differences", () => {
    const list = (n: number) => JSON.stringify(Array.from({ length: 5000 }, () => n));
    const found = diffJson(list(1), list(2));
    expect(found).toHaveLength(200);
    expect(found.at(-1)?.path).toBe("$");
  });

  it("leaves ignored places out before the limit counts", () => {
    const text = (n: number) => JSON.stringify({ log: Array.from({ length: 500 }, () => n), z: n });
    const found = diffJson(text(1), text(2), { limit: 10, ignore: [parsePath("$.log")] });
    expect(found).toEqual([{ path: "$.z", was: "1", is: "2" }]);
    expect(diffJson(text(1), text(2), { ignore: [parsePath("$")] })).toEqual([]);
  });

  it("refuses text that is not JSON", () => {
    expect(() => diffJson("{", "{}")).toThrow(JsonSyntaxError);
  });

  it("is empty exactly where the canonical forms are equal, and each entry is what SQLite finds there", () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const changed = fc.tuple(value, value).map(
      ([a, b]) =>
        [
          { k: a, same: [b] },
          { same: [b], k: b },
        ] as const,
    );
    fc.assert(
      fc.property(fc.oneof(fc.tuple(value, value), changed), fc.integer({ min: 1, max: 4 }), ([a, b], limit) => {
        const [before, after] = [JSON.stringify(a), JSON.stringify(b)];
        const found = diffJson(before, after, { limit });
        expect(found.length).toBeLessThanOrEqual(limit);
        expect(found.length === 0).toBe(canonical(before) === canonical(after));
        for (const { path, was, is } of found) {
          const at = (text: string) => arrow.get(text, path)?.found ?? null;
          const [left, right] = [at(before), at(after)];
          expect(left === null ? null : canonical(left)).toBe(was);
          expect(right === null ? null : canonical(right)).toBe(is);
        }
      }),
    );
  });
});

describe("withoutPaths", () => {
  const difference = (path: string) => ({ path, was: null, is: "1" });
  it("drops what lies at or below an ignored path, and nothing above or beside it", () => {
    const all = ["$.a", "$.a.b", "$.a[0]", "$.ab", "$", '$."a.b"', "$.c[1].d", "$.c[10]"].map(difference);
    const kept = withoutPaths(all, [parsePath('$."a"'), parsePath("$.c[1]")]);
    expect(kept.map(({ path }) => path)).toEqual(["$.ab", "$", '$."a.b"', "$.c[10]"]);
    expect(withoutPaths(all, [])).toEqual(all);
    expect(withoutPaths(all, [parsePath("$")])).toEqual([]);
  });
});
