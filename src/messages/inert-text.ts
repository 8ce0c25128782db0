// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
const ACTIVE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Makes foreign text safe for a terminal without shortening it: control characters, escape sequences and bidirectional
 * marks become `\uXXXX`; line breaks stay. JSON text keeps its value.
 */
export function inertText(text: string): string {
  return text
    .toWellFormed()
    .replace(ACTIVE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const WORDS_MAX = 200;

/** A short preview of foreign text, safe for a terminal and a log: one line, without control characters, truncated. */
export function shortWords(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is what this is for
  const inert = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
  return inert.length > WORDS_MAX ? `${inert.slice(0, WORDS_MAX)}…` : inert;
}

const NAME_MAX = 80;

/** Like {@link shortWords}, for a name. */
export function plainName(text: string): string {
  return shortWords(text.toWellFormed()).slice(0, NAME_MAX);
}
