// Control characters, line separators and marks that change the direction of text.
const OF_DIRECTION = "\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069";
const ACTIVE = new RegExp(`[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f${OF_DIRECTION}]`, "g");
const NOT_WORDS = new RegExp(`[\\u0000-\\u001f\\u007f-\\u009f${OF_DIRECTION}]+`, "g");

/**
 * Makes foreign text safe for a terminal without shortening it: control characters, escape sequences and bidirectional
 * marks become `\uXXXX`; line breaks stay. JSON text keeps its value.
 */
export function inertText(text: string): string {
  return text.toWellFormed().replace(ACTIVE, escaped);
}

/** The same for a part of a line: line breaks become `\u000a` too, so that what stands behind them is no line of its own. */
export function inertLine(text: string): string {
  return inertText(text).replaceAll("\n", escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const WORDS_MAX = 200;

/** A short preview of foreign text, safe for a terminal and a log: one line, without control characters, truncated. */
export function shortWords(text: string): string {
  const inert = text.replace(NOT_WORDS, " ").trim();
  return inert.length > WORDS_MAX ? `${inert.slice(0, WORDS_MAX)}…` : inert;
}

const NAME_MAX = 80;

/** Like {@link shortWords}, for a name. */
export function plainName(text: string): string {
  return shortWords(text.toWellFormed()).slice(0, NAME_MAX);
}
