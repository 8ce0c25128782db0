import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  depthOf,
  elementsOf,
  isUtf8Span,
  JsonSyntaxError,
  kindOf,
  memberOf,
  membersOf,
  skipValue,
  stringOf,
  textOf,
} from "../../src/answers/json-text.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { itWhole, runs } from "../support/whole.ts";

function isAccepted(bytes: Buffer): boolean {
  try {
    scanJson(bytes);
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function offsetOf(text: string): number {
  try {
    scanJson(Buffer.from(text));
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.offset;
  }
  throw new Error("was accepted");
}

describe("scanJson", () => {
  it.each([
    ["an empty text", "", 0],
    ["blanks alone", "  \n", 3],
    ["a cut object", '{"a": 1', 7],
    ["a cut string", '["abc', 5],
    ["a cut literal", "tru", 3],
    ["a cut escape", '"\\u00', 5],
    ["a comma too many in a list", "[1,]", 3],
    ["a comma too many in an object", '{"a":1,}', 7],
    ["a missing comma", "[1 2]", 3],
    ["a missing colon", '{"a" 1}', 5],
    ["an unquoted key", "{a:1}", 1],
    ["the wrong bracket", '{"a":[1}', 7],
    ["a leading zero", "01", 1],
    ["a leading plus", "+1", 0],
    ["a bare dot", "1.", 2],
    ["a missing exponent", "1e+", 3],
    ["NaN", "NaN", 0],
    ["a tab inside a string", '"a\tb"', 2],
    ["an unknown escape", '"\\x41"', 2],
    ["two values", "{} {}", 3],
    ["HTML", "<html>", 0],
    ["single quotes", "{'a':1}", 1],
    ["a no-break space", "\u00a0[]", 0],
  ])("refuses %s and names the byte", (_name, text, offset) => {
    expect(offsetOf(text)).toBe(offset);
  });

  it("counts the offset in bytes, not characters", () => {
    expect(offsetOf('{"цена": x}')).toBe(13);
  });

  it("takes a byte order mark and white space around the value", () => {
    expect(scanJson(Buffer.from('\ufeff \r\n\t{"a":1} \n'))).toMatchObject({
      start: 7,
      end: 14,
      utf8: true,
      depth: 1,
      values: 2,
    });
  });

  it("refuses every raw control character inside a string, and nothing else", () => {
    for (let code = 0; code < 0x100; code++) {
      const text = JSON.stringify(String.fromCharCode(code));
      const raw = `"${String.fromCharCode(code)}"`;
      expect(isAccepted(Buffer.from(raw)), raw).toBe(text === raw);
    }
  });

  it("refuses a byte order mark anywhere else", () => {
    expect(isAccepted(Buffer.from("\ufeff\ufeff[]"))).toBe(false);
    expect(isAccepted(Buffer.from("[\ufeff]"))).toBe(false);
  });

  itWhole("takes 200,000 levels of nesting and notices one missing bracket", () => {
    const deep = Buffer.from("[".repeat(200_000) + "]".repeat(200_000));
    const span = scanJson(deep);
    expect(depthOf(deep, span)).toBe(200_000);
    expect(skipValue(deep, 0)).toBe(deep.length);
    expect(isAccepted(deep.subarray(0, -1))).toBe(false);
    const objects = Buffer.from(`${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`);
    expect(depthOf(objects, scanJson(objects))).toBe(200_000);
  });

  it("says so where a string is not UTF-8, without hiding the other records", () => {
    const bytes = Buffer.concat([Buffer.from('[{"a":"\u0436"},"'), Buffer.from([0xd0]), Buffer.from('"]')]);
    const root = scanJson(bytes);
    expect(root.utf8).toBe(false);
    expect(elementsOf(bytes, root).map((span) => isUtf8Span(bytes, span))).toEqual([true, false]);
  });

  it("takes and refuses what JSON.parse does, for damaged text too", () => {
    const piece = fc.constantFrom(
      ...["{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "0", "1", "-", "+", ".", "e", "E", "true", "nul", "null"],
      ...['"a"', '"\\n"', '"\\ud83d"', " ", "\n", "\u0001", "\u007f", "ж", "😀", "a", "F", "/"],
    );
    const pieces = fc.array(piece, { maxLength: 12 }).map((list) => list.join(""));
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.nat(3), pieces)
      .map(
        ([text, at, cut, put]) =>
          text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + cut),
      )
      .filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.oneof(pieces, damaged, fc.json()), (text) => {
        expect(isAccepted(Buffer.from(text))).toBe(isJson(text));
      }),
      { numRuns: runs(100, 3_000) },
    );
  });
});

describe("the parts of a value", () => {
  const read = (text: string) => {
    const bytes = Buffer.from(text);
    return { bytes, root: scanJson(bytes) };
  };

  it.each([
    ["{}", "object", 1],
    [" [ ] ", "array", 1],
    ['"x"', "string", 0],
    ["-1", "number", 0],
    ["true", "boolean", 0],
    ["false", "boolean", 0],
    ["null", "null", 0],
    ['[{"a":"]"}, 1]', "array", 2],
  ])("knows kind and depth of %s", (text, kind, depth) => {
    const { bytes, root } = read(text);
    expect([kindOf(bytes, root), depthOf(bytes, root)]).toEqual([kind, depth]);
  });

  it("keeps number literals and spacing exactly as sent", () => {
    const { bytes, root } = read('[ 1234567890.10 ,0.250, 9007199254740993,-0 , {"a" : 1e400} ]');
    const texts = elementsOf(bytes, root).map((span) => textOf(bytes, span));
    expect(texts).toEqual(["1234567890.10", "0.250", "9007199254740993", "-0", '{"a" : 1e400}']);
  });

  it("keeps members in order with duplicates, and finds the first", () => {
    const { bytes, root } = read('{"a":1,"\\u0061":2,"ключ":{"b":[]},"__proto__":3,"":4}');
    expect(membersOf(bytes, root).map(({ key }) => key)).toEqual(["a", "a", "ключ", "__proto__", ""]);
    const text = (key: string) => {
      const span = memberOf(bytes, root, key);
      return span === undefined ? undefined : textOf(bytes, span);
    };
    expect(["a", "ключ", "__proto__", "", "b", "к", "constructor"].map(text)).toEqual([
      "1",
      '{"b":[]}',
      "3",
      "4",
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("never reads a wrong kind as an empty one", () => {
    const { bytes, root } = read('{"a":1}');
    expect(() => elementsOf(bytes, root)).toThrow(TypeError);
    expect(() => stringOf(bytes, root)).toThrow(TypeError);
    const list = read("[1]");
    expect(() => membersOf(list.bytes, list.root)).toThrow(TypeError);
    expect(memberOf(list.bytes, list.root, "a")).toBeUndefined();
  });

  it("decodes strings, long ones with escaped quotes and lone surrogates too", () => {
    for (const value of ["", "\ud83d", "a\u0000b", `${"x".repeat(100)}\\"${"\\".repeat(51)}`, "😀".repeat(40)]) {
      const { bytes, root } = read(`[${JSON.stringify(value)},1]`);
      const [first] = elementsOf(bytes, root);
      expect(first === undefined ? undefined : stringOf(bytes, first)).toBe(value);
      expect(elementsOf(bytes, root)).toHaveLength(2);
    }
  });

  itWhole("walks any document to the same value as JSON.parse", () => {
    const rebuild = (bytes: Buffer, span: { start: number; end: number }): unknown => {
      const kind = kindOf(bytes, span);
      if (kind === "array") return elementsOf(bytes, span).map((item) => rebuild(bytes, item));
      if (kind === "object") {
        return Object.fromEntries(membersOf(bytes, span).map(({ key, value }) => [key, rebuild(bytes, value)]));
      }
      return kind === "string" ? stringOf(bytes, span) : JSON.parse(textOf(bytes, span));
    };
    const longString = fc.string({ unit: ANY_CHARACTER, maxLength: 120 });
    const value = fc.oneof(fc.jsonValue(), fc.jsonValue({ stringUnit: ANY_CHARACTER }), fc.array(longString));
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, 3), (input, indent) => {
        const { bytes, root } = read(JSON.stringify(input, null, indent));
        expect(rebuild(bytes, root)).toEqual(JSON.parse(JSON.stringify(input)));
        expect(skipValue(bytes, root.start)).toBe(root.end);
      }),
      { numRuns: runs(25, 500) },
    );
  });
});
