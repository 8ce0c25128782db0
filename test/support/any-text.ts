import fc from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * Any character, for the `unit` of a text. fast-check's own "binary" first builds a table of all characters, which
 * takes a second in each process.
 */
export const ANY_CHARACTER = fc.nat(0x10ffff - SURROGATES.count).map(
  (at) => String.fromCodePoint(at < SURROGATES.from ? at : at + SURROGATES.count),
  (character) => {
    const code = typeof character === "string" ? character.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== character) throw new Error("not a character");
    if (code >= SURROGATES.from && code < SURROGATES.from + SURROGATES.count) throw new Error("half a character");
    return code < SURROGATES.from ? code : code - SURROGATES.count;
  },
);
