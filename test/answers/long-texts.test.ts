import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { headOf, kindOf, memberOf, skipValue } from "../../src/answers/json-text.ts";
import { mendInSlices } from "../../src/answers/mend-json.ts";
import { scanInSlices, scanJson } from "../../src/answers/scan-json.ts";
import { atOnce, type Slices } from "../../src/answers/slices.ts";
import { readListInSlices } from "../../src/records/read-list.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { inWhole, itWhole, runs } from "../support/whole.ts";

const whole = inWhole("answers/long-texts");

const MIB = 1024 * 1024;

function countSlices(work: Slices<unknown>): number {
  let slices = 1;
  while (!work.next().done) slices++;
  return slices;
}

describe("a scan of one long value", () => {
  itWhole.each([
    ["a text", `"${"ю".repeat(4 * MIB)}"`],
    ["a text of escapes", `"${"\\u044e".repeat((8 * MIB) / 6)}"`],
    ["a text of quotes", `"${'\\"'.repeat(4 * MIB)}"`],
    ["a number", `-1${"7".repeat(8 * MIB)}`],
    ["a fraction", `0.${"7".repeat(8 * MIB)}`],
    ["an exponent", `1e+${"7".repeat(8 * MIB)}`],
    ["a key", `{"${"k".repeat(8 * MIB)}":1}`],
    ["a list of texts", `["${"a".repeat(4 * MIB)}","${"b".repeat(4 * MIB)}"]`],
  ])("is left about every megabyte, and says the same: %s", (_, text) => {
    const bytes = Buffer.from(text);
    expect(countSlices(scanInSlices(bytes))).toBeGreaterThanOrEqual(8);
    expect(scanJson(bytes)).toMatchObject({ start: 0, end: bytes.length, utf8: true, long: [] });
    for (const cut of [bytes.length - 1, bytes.length - MIB, MIB + 3])
      if (kindOf(bytes, { start: 0, end: 1 }) !== "number")
        expect(() => scanJson(bytes.subarray(0, cut))).toThrow(/the text ends/);
  });

  itWhole("finds bytes that are no UTF-8 wherever the walk was left", () => {
    for (let place = MIB - 4; place < MIB + 4; place++) {
      const bytes = Buffer.from(`"${"ю".repeat(2 * MIB)}"`);
      expect(scanJson(bytes).utf8).toBe(true);
      bytes[place * 2] = 0xff;
      expect(scanJson(bytes).utf8).toBe(false);
    }
    for (let shift = 0; shift < 8; shift++)
      expect(scanJson(Buffer.from(`"${"a".repeat(shift)}${"😀".repeat(MIB / 2)}"`)).utf8).toBe(true);
  });

  itWhole("steps over what it has found, and names what is longer than anything that is read", () => {
    const bytes = Buffer.from(`{"a":[{"b":"${'\\"'.repeat(9 * MIB)}","c":${"7".repeat(300_000)}}],"d":1}`);
    const root = scanJson(bytes);
    const [list] = [memberOf(bytes, root, "a")!];
    expect(root.ends.get(list.start)).toBe(list.end);
    expect(root.ends.get(11)).toBe(root.long[0]?.end);
    expect(root.long).toEqual([{ start: 11, end: 11 + 2 + 18 * MIB }]);
    expect(skipValue(bytes, 11, root.ends)).toBe(skipValue(bytes, 11));
    expect(memberOf(bytes, root, "d")).toMatchObject({ end: bytes.length - 1 });
  });

  it("ends where there is more white space in a row than it may step over, and nowhere else", () => {
    const limits = { valuesMax: 10, blanksMax: 8 };
    const blanks = " \n\t\r ".repeat(2);
    for (const text of [
      `${blanks}1`,
      `1${blanks}`,
      `[${blanks}1]`,
      `[1${blanks}]`,
      `{${blanks}"a":1}`,
      `{"a"${blanks}:1}`,
      `{"a":${blanks}1}`,
      `{"a":1,${blanks}"b":1}`,
    ]) {
      expect(() => atOnce(scanInSlices(Buffer.from(text), limits))).toThrow("blanks");
      expect(scanJson(Buffer.from(text)).utf8).toBe(true);
      expect(atOnce(scanInSlices(Buffer.from(text.replaceAll(blanks, " ".repeat(7))), limits)).utf8).toBe(true);
    }
  });
});

describe("the beginning of a text", () => {
  it("is what its decoded value begins with, whatever its letters", () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 60 }), fc.nat(60), fc.boolean(), (text, max, escaped) => {
        const literal = escaped
          ? `"${[...text].map((_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`
          : JSON.stringify(text);
        const bytes = Buffer.from(literal);
        const decoded = JSON.parse(bytes.toString()) as string;
        const head = headOf(bytes, { start: 0, end: bytes.length }, max);
        expect(decoded.startsWith(head)).toBe(true);
        // As much of it as fits, but for one character at the end.
        const used = Buffer.byteLength(JSON.stringify(head)) - 2;
        if (!escaped && head !== decoded) expect(used).toBeGreaterThanOrEqual(Math.min(max, bytes.length) - 6);
      }),
      { numRuns: runs(25, 500) },
    );
  });
});

describe("an answer of one long text", () => {
  it("is read in slices to its end", () => {
    const body = Buffer.from(`{"orders":[{"a":"${'\\"'.repeat(9 * MIB)}"}]}`);
    const limits = { valuesMax: 10, recordsMax: 10 };
    const work = readListInSlices({ status: 200, contentType: "", body, limits }, parsePath("$.orders"));
    expect(countSlices(work)).toBeGreaterThanOrEqual(18);
  });
});

whole.describe("mending an answer", () => {
  const broken = (more: string) => Buffer.from(`{"orders":[{"a":"\n"},${more}]}`);

  it("goes over no text of more than 16 MB, no white space without end, and copies no record", () => {
    expect(atOnce(mendInSlices(broken(`"${"x".repeat(17 * MIB)}"`), 2))).toEqual({ element: 2 });
    expect(atOnce(mendInSlices(broken(`${" ".repeat(2 * MIB)}1`), 2))).toEqual({ element: 2 });
    const bytes = broken('"\\u0430\\u00FF"');
    const mended = atOnce(mendInSlices(bytes, 2));
    const [record] = "broken" in mended ? [...mended.broken.values()] : [];
    expect([record?.raw.toString(), record?.raw.buffer === bytes.buffer]).toEqual(['{"a":"\n"}', true]);
    expect(atOnce(mendInSlices(broken('"\\u04g0"'), 2))).toHaveProperty("broken.size", 2);
  });

  itWhole("ends where more than 50,000 records are broken, and copies the text in slices", () => {
    const brokenTimes = (times: number) => Buffer.from(`[${"NaN,".repeat(times - 1)}NaN]`);
    expect(atOnce(mendInSlices(brokenTimes(50_000), 1))).toHaveProperty("broken.size", 50_000);
    expect(atOnce(mendInSlices(brokenTimes(50_001), 1))).toEqual({ element: 50_001 });
    expect(countSlices(mendInSlices(Buffer.from(`[${" ".repeat(40 * MIB)}`), 1))).toBeGreaterThanOrEqual(3);
  });
});
