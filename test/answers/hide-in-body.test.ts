import { describe, expect, it } from "vitest";
import { withoutCutSecret, withoutSecretsInSlices } from "../../src/answers/hide-in-body.ts";
import { atOnce } from "../../src/answers/slices.ts";
import { secretFilter } from "../../src/platform/secrets.ts";
import { itWhole } from "../support/whole.ts";

const SECRET = "s3cr3t+value/0123456789";
const SLICE = 256 * 1024;
const hide = secretFilter("shop", SECRET);
const shown = (text: string) => atOnce(withoutSecretsInSlices(Buffer.from(text), hide)).toString("utf8");

describe("a secret in a body", () => {
  itWhole("is hidden wherever a slice ends, in any writing", () => {
    const written = [SECRET, encodeURIComponent(SECRET), Buffer.from(`shop:${SECRET}`).toString("base64")];
    const escaped = [...SECRET].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
    for (const text of [...written, escaped]) {
      for (const before of [0, SLICE - 1, SLICE - 7, SLICE, SLICE + 64 * 1024 - 5, 2 * SLICE - 11]) {
        const body = `${"ж".repeat(before >> 1)}${"x".repeat(before & 1)}"${text}"${"😀".repeat(100_000)}`;
        expect(shown(body)).toBe(hide(body));
        expect(shown(body)).not.toContain(text.slice(4));
      }
    }
  });

  it("leaves a body without one as it came, to the byte", () => {
    for (const body of [Buffer.alloc(0), Buffer.from("ж".repeat(SLICE)), Buffer.alloc(3 * SLICE, 0xff)])
      expect(atOnce(withoutSecretsInSlices(body, hide))).toBe(body);
  });

  it("is hidden where the body ends inside it, and nothing else", () => {
    const end = (text: string) => withoutCutSecret(Buffer.from(text), hide).toString("utf8");
    for (const before of ['{"by":{"', "ж".repeat(5_000), "x".repeat(4_095), ""])
      for (let length = 4; length <= SECRET.length; length++)
        expect(end(before + SECRET.slice(0, length))).toBe(`${before}***`);
    for (const text of ["", "OK", "s3c", "accepted s3cr3t!", `{"by":"${SECRET.slice(0, 9)}"}`, "[1]", "a…"])
      expect(end(text)).toBe(text);
    const whole = Buffer.alloc(9_000, 0xff);
    expect(withoutCutSecret(whole, hide)).toBe(whole);
  });
});
