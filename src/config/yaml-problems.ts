/*
 * Why a text cannot be read as YAML: limits that are checked before parsing, and the parser's errors.
 */

import { type Document, Lexer } from "yaml";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { DocumentProblem } from "./document.ts";

/** One level of a configuration takes one or two of these: its own, and one for the value of a key. */
const LEVELS_MAX = 100;
/** Far above any configuration; the parser takes seconds for so many. */
const TOKENS_MAX = 80_000;
/** Of one token; the parser takes a tenth of a second for ten times as many. */
const TOKEN_CHARS_MAX = 65_536;

/**
 * Finds what would keep the parser busy for long: too many levels or tokens. Runs only the lexer and stops at the first
 * excess; null where the text may be parsed.
 */
export function excessIn(text: string): { at: number; problem: Message } | null {
  const levels = new Levels();
  let at = 0;
  let tokens = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > TOKENS_MAX) return { at, problem: m.config.tooManyTokens({ tokensMax: TOKENS_MAX }) };
    if (token.length > TOKEN_CHARS_MAX) return { at, problem: m.config.textTooLong({ charsMax: TOKEN_CHARS_MAX }) };
    if (levels.depthAfter(token) > LEVELS_MAX) return { at, problem: m.config.tooDeep };
    // A control token of the lexer does not occur in the text.
    if (!isOwnSign(token)) at += token.length;
  }
  return null;
}

/** The lexer's control tokens: byte order mark, document, end of flow, scalar. */
function isOwnSign(token: string): boolean {
  return token === "\u0002" || token === "\u0018" || token === "\u001f";
}

/** Tracks nesting: open brackets, and the columns at which nested blocks begin. */
class Levels {
  #flow = 0;
  readonly #columns: number[] = [];
  #column = 0;
  /** Whether the next token starts a block: at the start of a line, and after `-`, `?` and `:`. */
  #isBlockNext = true;

  depthAfter(token: string): number {
    const first = token[0] ?? "";
    if (isOwnSign(token)) return this.#depth;
    if (first === "\n" || first === "\r") {
      this.#column = 0;
      this.#isBlockNext = true;
      return this.#depth;
    }
    if (first !== " " && first !== "\t" && first !== "#") {
      if (this.#isBlockNext && this.#flow === 0) this.#beginBlock();
      this.#isBlockNext = token === "-" || token === "?" || token === ":";
      if (token === "[" || token === "{") this.#flow += 1;
      if (token === "]" || token === "}") this.#flow = Math.max(0, this.#flow - 1);
    }
    const line = token.lastIndexOf("\n");
    this.#column = line < 0 ? this.#column + token.length : token.length - line - 1;
    return this.#depth;
  }

  get #depth(): number {
    return this.#flow + this.#columns.length;
  }

  #beginBlock(): void {
    while (this.#columns.length > 0 && (this.#columns.at(-1) ?? 0) >= this.#column) this.#columns.pop();
    this.#columns.push(this.#column);
  }
}

/** Our own messages, because the parser's quote the text, which may be a secret. */
const WORDS: Readonly<Record<string, Message>> = {
  TAB_AS_INDENT: m.config.tabIndent,
  BAD_INDENT: m.config.badIndent,
  BAD_ALIAS: m.config.badAlias,
  BAD_DIRECTIVE: m.config.badDirective,
  BAD_DQ_ESCAPE: m.config.badEscape,
  BAD_SCALAR_START: m.config.reservedCharacter,
  BLOCK_AS_IMPLICIT_KEY: m.config.nestedOnOneLine,
  BLOCK_IN_FLOW: m.config.blockInFlow,
  IMPOSSIBLE: m.config.notYaml,
  KEY_OVER_1024_CHARS: m.config.keyTooLong,
  MISSING_CHAR: m.config.characterMissing,
  MULTILINE_IMPLICIT_KEY: m.config.keyOverLines,
  MULTIPLE_ANCHORS: m.config.twoAnchors,
  MULTIPLE_DOCS: m.config.twoDocuments,
  MULTIPLE_TAGS: m.config.twoTags,
  NON_STRING_KEY: m.config.oddKey,
  TAG_RESOLVE_FAILED: m.config.unknownTag,
  UNEXPECTED_TOKEN: m.config.notYamlFromHere,
  BAD_COLLECTION_TYPE: m.config.misfitTag,
};

/** A value that begins with `*`, as cron schedules do; YAML reads an alias there. */
const BARE_STAR = /^[^#"']*?:[ \t]+\*/;

/** One problem per line. A missing character wins, because it causes the others on its line. */
export function syntaxProblems(document: Document, text: string): DocumentProblem[] {
  const byLine = new Map<number, DocumentProblem>();
  for (const { pos, code } of [...document.errors, ...document.warnings]) {
    const [at] = pos;
    const start = text.lastIndexOf("\n", at - 1) + 1;
    if (byLine.has(start) && code !== "MISSING_CHAR") continue;
    const [line = ""] = text.slice(start).split("\n", 1);
    const isStar = BARE_STAR.test(line);
    byLine.set(start, {
      path: [],
      at,
      problem: isStar ? m.config.bareStar : (WORDS[code] ?? m.config.notYamlFromHere),
    });
  }
  return [...byLine.values()];
}
