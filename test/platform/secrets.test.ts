import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { secretFilter } from "../../src/platform/secrets.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { itSome } from "../support/whole.ts";

const hexOf = (character: string) => character.charCodeAt(0).toString(16).padStart(2, "0");
const each = (write: (character: string) => string) => (text: string) => [...text].map(write).join("");
const base64At = (offset: number, after: number) => (text: string) =>
  Buffer.concat([Buffer.alloc(offset, "x"), Buffer.from(text), Buffer.alloc(after, "y")]).toString("base64");
const inUrl = (text: string) => text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** What a service, a proxy or a framework may make of the secret. */
const FORMS: Record<string, (secret: string) => string> = {
  "as it is": (secret) => secret,
  hex: (secret) => Buffer.from(secret).toString("hex"),
  "upper hex": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  ...Object.fromEntries(
    [0, 1, 2].flatMap((offset) =>
      [0, 1, 2].flatMap((after) => [
        [`base64 after ${offset} and before ${after}`, base64At(offset, after)],
        [`base64url after ${offset} and before ${after}`, (secret: string) => inUrl(base64At(offset, after)(secret))],
      ]),
    ),
  ),
};

/** How characters of that may be written. */
const WRITINGS: Record<string, (text: string) => string> = {
  plainly: (text) => text,
  "URL-encoded": encodeURIComponent,
  "URL-encoded in small letters": (text) => encodeURIComponent(text).replace(/%../g, (part) => part.toLowerCase()),
  "URL-encoded to the last character": each((character) => `%${hexOf(character).toUpperCase()}`),
  "URL-encoded twice": (text) => encodeURIComponent(encodeURIComponent(text)),
  "as a form": (text) => new URLSearchParams({ a: text }).toString().slice(2),
  "JSON-escaped": (text) => JSON.stringify(text).slice(1, -1),
  "JSON-escaped, slashes too": (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/"),
  "JSON-escaped to the last character": each((character) => `\\u00${hexOf(character)}`),
  "JSON in JSON": (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  "a form in JSON": (text) => JSON.stringify(new URLSearchParams({ a: text }).toString().slice(2)).slice(1, -1),
  "as HTML": each((character) => ({ "&": "&amp;", "<": "&lt;", '"': "&quot;", "'": "&#39;" })[character] ?? character),
  "as numbers of HTML": each((character) => `&#x${hexOf(character)};`),
};

const secrets = fc
  .array(fc.constantFrom(...Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n))), {
    minLength: 8,
    maxLength: 60,
  })
  .map((characters) => characters.join(""))
  .filter((secret) => secret.trim() === secret);
/** Nothing that could be one with what is beside it. */
const around = fc.stringMatching(/^[ #,;:()ёж]{0,20}$/);

describe("the secret in foreign text", () => {
  itSome(22)(Object.keys(FORMS).flatMap((form) => Object.keys(WRITINGS).map((writing) => [form, writing] as const)))(
    "is hidden %s, written %s, wherever it stands",
    (form, writing) => {
      fc.assert(
        fc.property(secrets, around, around, (secret, before, after) => {
          const written = WRITINGS[writing]!(FORMS[form]!(secret));
          const shown = secretFilter("shop", secret)(`${before}${written}${after}`);
          // Of base64 the characters that it shares with its neighbours may stay.
          const rest = shown.slice(before.length, shown.length - after.length);
          expect(rest).toContain("***");
          expect(rest.length).toBeLessThanOrEqual("***".length + 2 * 6 * 4);
          expect(shown.startsWith(before)).toBe(true);
          expect(shown.endsWith(after)).toBe(true);
          expect(rest).not.toContain(written);
        }),
        { numRuns: 30 },
      );
    },
  );

  it("leaves text alone that holds none of it", () => {
    const hide = secretFilter("shop", "s3cr3t-value-0123456789");
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 200 }), (text) => {
        expect(hide(text)).toBe(text);
      }),
    );
  });

  it("is hidden several times, in several forms, and nothing between is lost", () => {
    const secret = 'a/b+c d%e\\f"g&h';
    const hide = secretFilter("shop", secret);
    expect(hide(`${secret}|${encodeURIComponent(secret)}|${JSON.stringify(secret)}|${secret}${secret}.`)).toBe(
      '***|***|"***"|***.',
    );
  });

  it("takes the client id of a Basic header along", () => {
    const secret = "s3cr3t-value";
    const header = Buffer.from(`shop-1:${secret}`).toString("base64");
    expect(secretFilter("shop-1", secret)(`Authorization: Basic ${header}; next`)).toBe(
      "Authorization: Basic ***; next",
    );
  });

  it("is hidden where a preview was cut in its middle, in every form", () => {
    // Of a length that base64 needs no padding for, of which a beginning may stay.
    const secret = "s3cr3t/?>~ +=&-values";
    const hide = secretFilter("shop", secret);
    for (const form of ["as it is", "hex", "upper hex", "base64 after 0 and before 0"]) {
      for (const [writing, write] of Object.entries(WRITINGS)) {
        const written = write(FORMS[form]!(secret));
        for (let length = Math.ceil(written.length / 2); length < written.length; length++) {
          const shown = hide(`He said: ${written.slice(0, length)}…`);
          expect(shown, `${form}, ${writing}, ${length}`).toMatch(/^He said: \*\*\*…$/);
        }
      }
    }
  });

  it("costs no more than the length of the text, whatever text and secret repeat", () => {
    for (const piece of ["\\", "%", "%25", "&amp;", "\\\\u005c", "aaaa", "%61"]) {
      const hide = secretFilter("shop", piece.repeat(200).slice(0, 400));
      const text = `${piece.repeat(20_000)}x…`;
      const startedMs = performance.now();
      hide(text);
      expect(performance.now() - startedMs, piece).toBeLessThan(2_000);
    }
  });
});
