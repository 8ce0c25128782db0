import { ExpressionSyntaxError, parseExpression } from "../answers/expression.ts";
import { PathSyntaxError, parsePath } from "../answers/json-path.ts";
import { parseTemplate, placeholdersOf, TemplateSyntaxError } from "../answers/template.ts";
import { type LevelSettings, levelProblem } from "./feed-level.ts";

/**
 * The small languages that appear inside values. Each function returns what is wrong, or null. The words may quote
 * the value, so whoever shows them must know that the value is no secret.
 */

export function pathProblem(text: string): string | null {
  return wordsOf(() => parsePath(text));
}

export function expressionProblem(text: string): string | null {
  return wordsOf(() => parseExpression(text));
}

/** `names`: the only placeholders that mean something here; undefined where any column may be named. */
export function templateProblem(text: string, names: readonly string[] | undefined): string | null {
  return wordsOf(() => parseTemplate(text)) ?? unknownName(text, names);
}

function unknownName(text: string, names: readonly string[] | undefined): string | null {
  const unknown = names === undefined ? undefined : namesIn(text).find((name) => !names.includes(name));
  return unknown === undefined ? null : `{${unknown}} is unknown here; there are {${names?.join("}, {")}}`;
}

/** The keys of a template hold no placeholders; a brace in one is written twice. */
export function templateKeyProblem(key: string): string | null {
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
): { what: string; detail?: string; path: PropertyKey[] } | null {
  try {
    const problem = levelProblem(feed, settings);
    if (problem === undefined) return null;
    const { key, ...rest } = problem;
    return { ...rest, path: [key] };
  } catch (error) {
    if (error instanceof TemplateSyntaxError || error instanceof ExpressionSyntaxError) return null;
    throw error;
  }
}

function wordsOf(parse: () => unknown): string | null {
  try {
    parse();
    return null;
  } catch (error) {
    if (error instanceof TemplateSyntaxError) {
      // The template was one text, so its place inside itself ("at $") says nothing.
      return error.message.replace(/ \(at \$[^()]*?(?:, (column \d+))?\)$/, (_, column?: string) =>
        column ? ` (${column})` : "",
      );
    }
    if (error instanceof PathSyntaxError || error instanceof ExpressionSyntaxError) return error.message;
    throw error;
  }
}
