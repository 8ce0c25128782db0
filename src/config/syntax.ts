import { parseExpression } from "../answers/expression.ts";
import { parsePath } from "../answers/json-path.ts";
import { parseTemplate, placeholdersOf } from "../answers/template.ts";
import { TextSyntaxError } from "../answers/text-syntax-error.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type LevelSettings, levelProblem } from "./feed-level.ts";

/** The small languages inside values. Gives what is wrong, or null; the words may quote the value, which must be no secret. */

export function pathProblem(text: string): Message | null {
  return wordsOf(() => parsePath(text));
}

export function expressionProblem(text: string): Message | null {
  return wordsOf(() => parseExpression(text));
}

/** `names`: the only placeholders that mean something here; undefined where any column may be named. */
export function templateProblem(text: string, names: readonly string[] | undefined): Message | null {
  return wordsOf(() => parseTemplate(text)) ?? unknownName(text, names);
}

function unknownName(text: string, names: readonly string[] | undefined): Message | null {
  if (names === undefined) return null;
  const unknown = namesIn(text).find((name) => !names.includes(name));
  return unknown === undefined ? null : m.config.unknownPlaceholder({ name: unknown, names });
}

/** The keys of a template hold no placeholders; a brace in one is written twice. */
export function templateKeyProblem(key: string): Message | null {
  return wordsOf(() => parseTemplate({ [key]: null }));
}

/** The placeholders of one text of a template, none if it cannot be read. */
export function namesIn(text: string): readonly string[] {
  try {
    return placeholdersOf(parseTemplate(text));
  } catch {
    return [];
  }
}

/** Why a feed's guard or its deletions could not work; null where they can, or where a part cannot be read at all. */
export function deletionProblem(
  feed: string,
  settings: LevelSettings & { scope: string },
): { what: Message; detail?: Message; path: PropertyKey[] } | null {
  try {
    const problem = levelProblem(feed, settings);
    if (problem === undefined) return null;
    const { key, ...rest } = problem;
    return { ...rest, path: [key] };
  } catch (error) {
    if (error instanceof TextSyntaxError) return null;
    throw error;
  }
}

function wordsOf(parse: () => unknown): Message | null {
  try {
    parse();
    return null;
  } catch (error) {
    if (error instanceof TextSyntaxError) return error.text;
    throw error;
  }
}
