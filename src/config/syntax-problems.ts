import type { Document } from "yaml";
import type { DocumentProblem } from "./document.ts";

/** In our words, because the parser's quote the text, which may be a secret. */
const WORDS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "is indented with a tab; YAML takes spaces only",
  BAD_INDENT: "is not indented like the lines around it, or a bracket or brace above is not closed",
  BAD_ALIAS: "has an alias (*) that is not written correctly",
  BAD_DIRECTIVE: "has a line that begins with % and is no directive",
  BAD_DQ_ESCAPE: "has a backslash inside double quotes that starts no known escape",
  BAD_SCALAR_START: "has a value that begins with a reserved character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "has a nested value on one line; quote the value, or write it on lines of its own",
  BLOCK_IN_FLOW: "has an indented block inside { } or [ ]",
  IMPOSSIBLE: "is not YAML",
  KEY_OVER_1024_CHARS: "has a key of more than 1024 characters",
  MISSING_CHAR: "lacks a character here: a closing quote, bracket or brace, a comma, a colon or a space",
  MULTILINE_IMPLICIT_KEY: "has a key that goes over several lines; a colon may be missing",
  MULTIPLE_ANCHORS: "has two anchors (&) on one value",
  MULTIPLE_DOCS: "holds more than one document; remove what follows ---",
  MULTIPLE_TAGS: "has two tags (!) on one value",
  NON_STRING_KEY: "has a key that is no text",
  TAG_RESOLVE_FAILED: "has a tag (!) that is not known here",
  UNEXPECTED_TOKEN: "is not YAML from here on",
  BAD_COLLECTION_TYPE: "has a tag (!) that does not fit its value",
};

/** One at each place, the most telling: a character that is missing is the cause of what else is wrong there. */
export function syntaxProblems(document: Document): DocumentProblem[] {
  const byPlace = new Map<number, DocumentProblem>();
  for (const error of [...document.errors, ...document.warnings]) {
    const at = error.pos[0];
    if (!byPlace.has(at) || error.code === "MISSING_CHAR")
      byPlace.set(at, { path: [], at, problem: WORDS[error.code] ?? "is not YAML from here on" });
  }
  return [...byPlace.values()];
}
