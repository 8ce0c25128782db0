import { Buffer } from "node:buffer";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import {
  allPlacesOf,
  compilePathSet,
  findRepeated,
  formatPath,
  parsePath,
  resolvePath,
  resolvePaths,
  resolveSingle,
} from "../../src/answers/json-path.ts";
import { textOf } from "../../src/answers/json-text.ts";
import { canonicalJson } from "../../src/answers/json-value.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { TextSyntaxError } from "../../src/answers/text-syntax-error.ts";
import { m } from "../../src/messages/messages.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { runs } from "../support/whole.ts";

const db = new Database(":memory:");
const arrow = db.prepare<[string, string], { found: string | null }>("select json(?) -> ? as found");
afterAll(() => db.close());

function canonical(text: string): string {
  const bytes = Buffer.from(text);
  return canonicalJson(bytes, scanJson(bytes));
}

/** What `->` gives: canonical JSON, `null` for nothing, `error` for a path that SQLite refuses. */
function bySqlite(json: string, path: string): string | null {
  try {
    const found = arrow.get(json, path)?.found ?? null;
    return found === null ? null : canonical(found);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("bad JSON path")) return "error";
    throw error;
  }
}

function byUs(json: string, path: string): string | null {
  const bytes = Buffer.from(json);
  const root = scanJson(bytes);
  const parsed = parsePath(path);
  const found = resolvePath(bytes, root, parsed);
  if (found.state === "value") return canonicalJson(bytes, found.span);
  return found.state === "null" && found.at === formatPath(parsed.steps) ? "null" : null;
}

describe("parsePath", () => {
  it.each([
    ["$", []],
    ["$.a", ["a"]],
    ["$.заказ.номер", ["заказ", "номер"]],
    ["$.a b[0].c", ["a b", 0, "c"]],
    ['$."a.b[0]"[12]', ["a.b[0]", 12]],
    ['$.""', [""]],
    ['$."say \\"hi\\""', ['say "hi"']],
    ['$."a\\u0062"', ["ab"]],
    ["$.a\\u0062", ["a\\u0062"]],
    ["$[#-1]", [-1]],
    ["$[007]", [7]],
  ])("reads %s", (text, steps) => {
    expect(parsePath(text)).toEqual({ text, steps });
  });

  it.each([
    ["", 1],
    ["a", 1],
    ["$a", 2],
    ["$.", 3],
    ["$.a.", 5],
    ["$..a", 3],
    ["$[]", 3],
    ["$[-1]", 3],
    ["$[ 1]", 3],
    ["$[#]", 3],
    ["$[#-0]", 2],
    ["$[0]a", 5],
    ['$."a', 3],
    ['$."a"b', 6],
    ['$."\\x41"', 3],
    ["$.a\0b", 1],
  ])("refuses %j at column %i", (text, column) => {
    expect(() => parsePath(text)).toThrow(expect.objectContaining({ name: "TextSyntaxError", column }));
  });
});

describe("resolvePath", () => {
  const resolve = (json: string, path: string) => {
    const bytes = Buffer.from(json);
    return resolvePath(bytes, scanJson(bytes), parsePath(path));
  };

  it("tells a null at the end or on the way from a key that is not there", () => {
    expect(resolve('{"data":{"batch":null}}', "$.data.batch")).toEqual({ state: "null", at: "$.data.batch" });
    expect(resolve('{"data":null}', "$.data.batch.orders")).toEqual({ state: "null", at: "$.data" });
    expect(resolve("null", "$")).toEqual({ state: "null", at: "$" });
    expect(resolve('{"data":{"a b":1,"c":2}}', "$.data.batch.orders")).toEqual({
      state: "absent",
      at: "$.data",
      keysSeen: ["a b", "c"],
      found: m.answers.objectOf({ count: 2 }),
    });
  });

  it.each([
    ['{"a":[1,2,3]}', "$.a.b", "$.a", m.answers.listOf({ count: 3 })],
    ['{"a":[1,2,3]}', "$.a[3]", "$.a", m.answers.listOf({ count: 3 })],
    ['{"a":"x"}', "$.a.b", "$.a", m.answers.string],
    ["5", "$[0]", "$", m.answers.number],
    ['{"a b":{"c":1}}', '$."a b".d', '$."a b"', m.answers.objectOf({ count: 1 })],
  ])("says what stands where %s ends before %s", (json, path, at, found) => {
    expect(resolve(json, path)).toMatchObject({ state: "absent", at, found });
  });

  it("names at most twenty keys", () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, i])));
    const found = resolve(many, "$.orders");
    expect(found.state === "absent" ? found.keysSeen.length : 0).toBe(20);
  });

  it.each([
    ['{"a":1,"a":2}', "$.a"],
    ['{"a":null,"a":{"b":1}}', "$.a.b"],
    ['{"\\u0061":1,"a":2}', "$.a"],
    ["[1,2,3]", "$[99999999999999999999]"],
    ["[1,2,3]", "$[4294967297]"],
    ['{"\\ud83d\\ude00":1}', "$.😀"],
    ['{"a\\"b":1}', '$.a"b'],
    ['{"a\\n":1}', '$."a\n"'],
    ['{"1":1}', "$[1]"],
  ])("agrees with SQLite on %s -> %s", (json, path) => {
    expect(byUs(json, path)).toBe(bySqlite(json, path));
  });
});

describe("resolveSingle", () => {
  const resolve = (json: string, path: string) => {
    const bytes = Buffer.from(json);
    const found = resolveSingle(bytes, scanJson(bytes), parsePath(path));
    return found.state === "value" ? textOf(bytes, found.span) : found;
  };

  it.each([
    ['{"a":1,"a":2}', "$.a", "$.a"],
    ['{"a":1,"b":0,"\\u0061":"1"}', "$.a", "$.a"],
    ['{"a":null,"a":1}', "$.a", "$.a"],
    ['{"a":1,"a":1.0}', "$.a", "$.a"],
    ['{"a":{"b":1},"a":{"b":2}}', "$.a.b", "$.a"],
    ['{"a":[{"b":1,"b":2}]}', "$.a[0].b", "$.a[0].b"],
  ])("finds nothing in %s at %s, where %s stands with different values", (json, path, at) => {
    expect(resolve(json, path)).toEqual({ state: "repeated", at });
  });

  it.each([
    ['{"a":1,"a":1}', "$.a", "1"],
    ['{"a":"x","a":"\\u0078"}', "$.a", '"x"'],
    ['{"b":1,"a":{"b":1},"b":2,"a":{"b":1}}', "$.a.b", "1"],
    ['{"a":{"b":1},"c":{"b":2,"b":3}}', "$.a.b", "1"],
  ])("finds in %s at %s: %s", (json, path, text) => {
    expect(resolve(json, path)).toBe(text);
  });
});

describe("allPlacesOf", () => {
  it("has each place to which the path leads", () => {
    const bytes = Buffer.from('{"a":{"b":1,"c":0,"b":2},"a":[],"a":{"\\u0062":3}}');
    const places = allPlacesOf(bytes, scanJson(bytes), parsePath("$.a.b"));
    expect(places.map((span) => textOf(bytes, span))).toEqual(["1", "2", "3"]);
  });
});

/** A small vocabulary, so that random paths often find something; written in several ways, with duplicates. */
const KEYS = ["a", "b", "ключ", "a b", "a.b", "[0]", '"', "\\", "", "😀", "é", "\n", "#", "$", "/", "__proto__"];

function spelled(key: string, style: number): string {
  if (style === 0) return JSON.stringify(key);
  const units = [...Array(key.length).keys()].map((i) => key.charCodeAt(i).toString(16).padStart(4, "0"));
  return `"${units.map((unit) => `\\u${unit}`).join("")}"`;
}

const jsonText = fc.letrec<{ value: string }>((tie) => {
  const blank = fc.constantFrom("", "", " ", "\n\t");
  const list = fc
    .tuple(fc.array(tie("value"), { maxLength: 4 }), blank)
    .map(([items, gap]) => `[${gap}${items.join(`${gap},`)}]`);
  const member = fc
    .tuple(fc.constantFrom(...KEYS), fc.nat(1), blank, tie("value"))
    .map(([key, style, gap, value]) => `${gap}${spelled(key, style)}${gap}:${gap}${value}`);
  const object = fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(",")}}`);
  const scalar = fc.constantFrom("1", "null", "true", '"x"', "1.10", "-0", "9007199254740993", '"\\u00e9"', '"]}"');
  return { value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, object, object, list) };
}).value;

const stepText = fc.oneof(
  fc.nat(3).map((n) => `[${n}]`),
  fc.integer({ min: 1, max: 4 }).map((n) => `[#-${n}]`),
  fc.constantFrom(...KEYS).map((key) => `.${JSON.stringify(key)}`),
  fc.constantFrom(...KEYS).map((key) => `.${key}`),
);

/** A path that mostly follows the document, so that most of it exists, and sometimes leaves it. */
function walk(json: string, choices: readonly number[]): string {
  let value: unknown = JSON.parse(json);
  let path = "$";
  for (const choice of choices) {
    if (typeof value !== "object" || value === null) break;
    const keys = Object.keys(value);
    const key = keys[choice % (keys.length + 1)];
    if (key === undefined) break;
    const fromEnd = choice % 2 === 0 ? `[#-${keys.length - Number(key)}]` : `[${key}]`;
    path += Array.isArray(value) ? fromEnd : `.${JSON.stringify(key)}`;
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return path;
}

const search = fc
  .tuple(jsonText, fc.array(fc.nat(), { maxLength: 5 }), fc.array(stepText, { maxLength: 2 }))
  .map(([json, choices, steps]) => ({ json, path: walk(json, choices) + steps.join("") }));

describe("a path", () => {
  it("finds what SQLite's -> finds, in any document", () => {
    let hits = 0;
    fc.assert(
      fc.property(search, ({ json, path }) => {
        const expected = bySqlite(json, path);
        let found: string | null;
        try {
          found = byUs(json, path);
        } catch (error) {
          expect(error).toBeInstanceOf(TextSyntaxError);
          // SQLite reads a path only as far as it finds something, so it may not have reached the error.
          expect(["error", null]).toContain(expected);
          return;
        }
        expect(found).toBe(expected);
        if (found !== null && path !== "$") hits++;
      }),
      { numRuns: runs(130, 4_000) },
    );
    expect(hits).toBeGreaterThan(runs(8, 400));
  });

  it("is found together with others where it is found alone", () => {
    fc.assert(
      fc.property(jsonText, fc.array(fc.array(fc.nat(), { maxLength: 4 }), { maxLength: 6 }), (json, walks) => {
        const bytes = Buffer.from(json);
        const root = scanJson(bytes);
        const paths = walks.map((choices) => parsePath(walk(json, choices))).concat(parsePath("$.a"), parsePath("$"));
        const alone = paths.map((path) => {
          const found = resolveSingle(bytes, root, path);
          if (findRepeated(bytes, root, path) === undefined) expect(found).toEqual(resolvePath(bytes, root, path));
          return found.state === "value" ? found.span : found.state;
        });
        expect(resolvePaths(bytes, root, compilePathSet(paths))).toEqual(alone);
      }),
      { numRuns: runs(50, 1_000) },
    );
  });

  it("is written so that it reads back to the same steps, and SQLite takes it", () => {
    const step = fc.oneof(
      fc.integer({ min: -5, max: 5 }),
      fc.constantFrom(...KEYS),
      fc.string({ unit: ANY_CHARACTER }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), (steps) => {
        const usable = steps.map((one) => (Object.is(one, -0) ? 0 : one));
        const text = formatPath(usable);
        expect(parsePath(text).steps).toEqual(usable);
        expect(bySqlite("{}", text)).not.toBe("error");
      }),
    );
  });
});
