import type { Document } from "yaml";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { DocumentProblem } from "./document.ts";

/** In our words, because the parser's quote the text, which may be a secret. */
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

/** A value that begins with `*`, as schedules do: YAML reads an alias there. */
const BARE_STAR = /^[^#"']*?:[ \t]+\*/;

/** One in each line, the most telling: a character that is missing is the cause of what else is wrong there. */
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
