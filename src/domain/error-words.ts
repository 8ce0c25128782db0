import { kindOf, memberOf, type Span, stringOf, textOf } from "./json-text.ts";
import { shortWords } from "./service-error.ts";

/** Statuses by which some services say in a success answer that it is none. */
const FAILED = new Set(["error", "fail", "failed", "failure"]);

/**
 * The words of an error that a JSON answer carries, or undefined where it carries none: `error`, `errors`,
 * `success: false`, `ok: false`, `status: "error"`.
 */
export function readErrorWords(bytes: Buffer, root: Span): string | undefined {
  if (kindOf(bytes, root) !== "object") return undefined;
  for (const key of ["error", "errors"]) {
    const value = memberOf(bytes, root, key);
    if (value !== undefined && !isNothing(bytes, value)) return wordsOf(bytes, value);
  }
  const refusal = readRefusal(bytes, root);
  if (refusal === undefined) return undefined;
  const message = memberOf(bytes, root, "message");
  return message === undefined ? refusal : wordsOf(bytes, message);
}

function readRefusal(bytes: Buffer, root: Span): string | undefined {
  for (const key of ["success", "ok"]) {
    const value = memberOf(bytes, root, key);
    if (value !== undefined && textOf(bytes, value) === "false") return `${key}: false`;
  }
  const status = memberOf(bytes, root, "status");
  if (status === undefined || kindOf(bytes, status) !== "string") return undefined;
  const word = stringOf(bytes, status).toLowerCase();
  return FAILED.has(word) ? `status: ${word}` : undefined;
}

function wordsOf(bytes: Buffer, value: Span): string {
  return shortWords(kindOf(bytes, value) === "string" ? stringOf(bytes, value) : textOf(bytes, value));
}

function isNothing(bytes: Buffer, value: Span): boolean {
  const text = textOf(bytes, value).replace(/\s+/g, "");
  return ["null", "false", "[]", "{}", '""', "0"].includes(text);
}
