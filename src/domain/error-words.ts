import { firstMembersOf, kindOf, type Span, skipBlanks, stringOf, textOf } from "./json-text.ts";
import { shortWords } from "./service-error.ts";

/** Words by which a service says in a success answer that it is none. */
const FAILED = new Set(["error", "fail", "failed", "failure", "false"]);
/** What stands under `error` where nothing is wrong. */
const NO_ERROR = new Set(["", "0", "false", "none", "null", "ok", "success"]);
/** What stands under `success` or `ok` where something is wrong; a number too, but null says nothing. */
const NOT_DONE = new Set([...FAILED, "0", "no"]);

/**
 * The words of an error that a JSON answer reports, or undefined where it reports none. An error is:
 *
 * - the answer `false`, or one of the words above alone;
 * - `error` or `errors` that is more than null, false, 0, an empty text, list or object, or a word that says that all is well;
 * - `success` or `ok` that is false, 0 or such a text; `result: false`;
 * - `status` that is false, a word for failure, or an HTTP status from 400 on.
 *
 * @example
 * { "error": "database is down", "orders": [] } // "database is down"
 * { "error": null, "errors": [], "success": 1 } // undefined
 */
export function readErrorWords(bytes: Buffer, root: Span): string | undefined {
  const kind = kindOf(bytes, root);
  if (kind === "string" || kind === "boolean") {
    const said = plainOf(bytes, root);
    return FAILED.has(said) ? said : undefined;
  }
  if (kind !== "object") return undefined;
  const [error, errors, success, ok, result, status, message] = firstMembersOf(bytes, root, KEYS);
  for (const value of [error, errors]) {
    if (value !== undefined && !isNothing(bytes, value)) return wordsOf(bytes, value);
  }
  const refusal = [
    success !== undefined && isNotDone(bytes, success) ? `success: ${plainOf(bytes, success)}` : undefined,
    ok !== undefined && isNotDone(bytes, ok) ? `ok: ${plainOf(bytes, ok)}` : undefined,
    result !== undefined && FAILED.has(plainOf(bytes, result)) ? `result: ${plainOf(bytes, result)}` : undefined,
    status !== undefined && isFailedStatus(plainOf(bytes, status)) ? `status: ${plainOf(bytes, status)}` : undefined,
  ].find((words) => words !== undefined);
  if (refusal === undefined) return undefined;
  return message === undefined || isNothing(bytes, message) ? refusal : wordsOf(bytes, message);
}

/** More than a message shows, whatever its letters. */
const WORDS_BYTES = 1_200;
const KEYS = ["error", "errors", "success", "ok", "result", "status", "message"];

/**
 * The first line of a plain text that reports an error, as 1C's own exchange writes it (`failure` and what is wrong in the
 * next lines), or undefined.
 */
export function readTextError(text: string): string | undefined {
  const [, word] = /^[\s\ufeff]*([a-z]+)[ \t]*(?:$|[:\r\n])/i.exec(text) ?? [];
  return word !== undefined && FAILED.has(word.toLowerCase()) ? shortWords(text) : undefined;
}

function isNotDone(bytes: Buffer, value: Span): boolean {
  return NOT_DONE.has(plainOf(bytes, value)) || isZero(bytes, value);
}

function isFailedStatus(said: string): boolean {
  return FAILED.has(said) || /^[45]\d\d$/.test(said);
}

/** A scalar in lower case, without the quotes of a string. Lists and objects are none of the words above. */
function plainOf(bytes: Buffer, value: Span): string {
  const kind = kindOf(bytes, value);
  if (kind === "object" || kind === "array") return kind;
  return (kind === "string" ? stringOf(bytes, value) : textOf(bytes, value)).trim().toLowerCase();
}

function wordsOf(bytes: Buffer, value: Span): string {
  if (kindOf(bytes, value) === "string") return shortWords(stringOf(bytes, value));
  return shortWords(bytes.toString("utf8", value.start, Math.min(value.end, value.start + WORDS_BYTES)));
}

function isNothing(bytes: Buffer, value: Span): boolean {
  const kind = kindOf(bytes, value);
  if (kind === "object" || kind === "array") return skipBlanks(bytes, value.start + 1) === value.end - 1;
  return NO_ERROR.has(plainOf(bytes, value)) || isZero(bytes, value);
}

function isZero(bytes: Buffer, value: Span): boolean {
  return kindOf(bytes, value) === "number" && Number(textOf(bytes, value)) === 0;
}
