/*
 * Checks of the small languages inside values. Return what is wrong, or null; the message may quote the value, so never
 * use them on a secret.
 */

import { parseExpression } from "../answers/expression.ts";
import { parsePath } from "../answers/json-path.ts";
import { parseTemplate, placeholdersOf } from "../answers/template.ts";
import { TextSyntaxError } from "../answers/text-syntax-error.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type LevelSettings, levelProblem } from "./feed-level.ts";

export function pathProblem(text: string): Message | null {
  return wordsOf(() => parsePath(text));
}

export function expressionProblem(text: string): Message | null {
  return wordsOf(() => parseExpression(text));
}

/** `names`: the only placeholders allowed; undefined where any column may be named. */
export function templateProblem(text: string, names: readonly string[] | undefined): Message | null {
  return wordsOf(() => parseTemplate(text)) ?? unknownName(text, names);
}

function unknownName(text: string, names: readonly string[] | undefined): Message | null {
  if (names === undefined) return null;
  const unknown = namesIn(text).find((name) => !names.includes(name));
  return unknown === undefined ? null : m.config.unknownPlaceholder({ name: unknown, names });
}

/** The keys of a template hold no placeholders; a literal brace is doubled. */
export function templateKeyProblem(key: string): Message | null {
  return wordsOf(() => parseTemplate({ [key]: null }));
}

/** The placeholders in one text of a template; empty where it cannot be parsed. */
export function namesIn(text: string): readonly string[] {
  try {
    return placeholdersOf(parseTemplate(text));
  } catch {
    return [];
  }
}

/** Why a feed's guard or deletions cannot work; null where they can, or where a part cannot be parsed. */
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
