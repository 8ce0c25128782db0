import { kindOf, memberOf, type Span, scanJson, stringOf, textOf } from "./json-text.ts";
import { looksLikeHtml } from "./read-answer.ts";
import { shortWords } from "./service-error.ts";

/** What a 2xx answer to a POST says. */
export type Acceptance =
  | { kind: "accepted" }
  /** A web page: somebody else answered. The outcome is unknown. */
  | { kind: "html" }
  /** The service says that something was wrong, in a form that names no record. Counts as 422. */
  | { kind: "error"; words: string };

/**
 * Empty, plain text and JSON bodies are acceptance; HTML never is; a JSON object that carries `error`, `errors` or
 * `success: false` is a refusal although the status says otherwise.
 */
export function readAcceptance(answer: { contentType: string; body: Buffer }): Acceptance {
  if (answer.body.length === 0) return { kind: "accepted" };
  if (looksLikeHtml(answer)) return { kind: "html" };
  let root: Span;
  try {
    root = scanJson(answer.body);
  } catch {
    return { kind: "accepted" };
  }
  const words = readErrorWords(answer.body, root);
  return words === undefined ? { kind: "accepted" } : { kind: "error", words };
}

/** The words of an error that a JSON answer carries, or undefined where it carries none. */
export function readErrorWords(bytes: Buffer, root: Span): string | undefined {
  if (kindOf(bytes, root) !== "object") return undefined;
  for (const key of ["error", "errors"]) {
    const value = memberOf(bytes, root, key);
    if (value !== undefined && !isNothing(bytes, value)) {
      return shortWords(kindOf(bytes, value) === "string" ? stringOf(bytes, value) : textOf(bytes, value));
    }
  }
  for (const key of ["success", "ok"]) {
    const value = memberOf(bytes, root, key);
    if (value !== undefined && textOf(bytes, value) === "false") {
      const message = memberOf(bytes, root, "message");
      return shortWords(message === undefined ? `${key}: false` : textOf(bytes, message));
    }
  }
  return undefined;
}

function isNothing(bytes: Buffer, value: Span): boolean {
  const text = textOf(bytes, value).replace(/\s+/g, "");
  return ["null", "false", "[]", "{}", '""', "0"].includes(text);
}
