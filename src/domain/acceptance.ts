import { readErrorWords } from "./error-words.ts";
import type { Span } from "./json-text.ts";
import { looksLikeHtml } from "./read-answer.ts";
import { scanJson } from "./scan-json.ts";

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
