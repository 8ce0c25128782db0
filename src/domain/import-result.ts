import { readErrorWords } from "./acceptance.ts";
import type { FeedRules } from "./feed.ts";
import { resolvePath } from "./json-path.ts";
import { elementsOf, kindOf, type Span, scanJson, textOf } from "./json-text.ts";
import { readScalar } from "./order-mapping.ts";
import { looksLikeHtml } from "./read-answer.ts";
import { shortWords } from "./service-error.ts";

/** What a 2xx answer to an import says of the records in it. */
export type ImportResult =
  /** `told`: by the status code alone, or by an answer that reports single records. */
  | { kind: "accepted"; rejected: { index: number; message: string }[]; told: "status" | "records" }
  | { kind: "html" }
  /** Something was refused and cannot be tied to records: counts as 422. */
  | { kind: "refused"; words: string };

/**
 * Reads an answer to an import.
 * @param keys the text of each sent record's key columns, in the order of the request.
 */
export function readImportResult(
  answer: { contentType: string; body: Buffer },
  keys: readonly (readonly string[])[],
  result: FeedRules["result"],
): ImportResult {
  if (answer.body.length === 0) return { kind: "accepted", rejected: [], told: "status" };
  if (looksLikeHtml(answer)) return { kind: "html" };
  let root: Span;
  try {
    root = scanJson(answer.body);
  } catch {
    return { kind: "accepted", rejected: [], told: "status" };
  }
  if (result !== null) {
    const read = readRejected(answer.body, root, keys, result);
    if (read !== undefined) return read;
  }
  const words = readErrorWords(answer.body, root);
  return words === undefined ? { kind: "accepted", rejected: [], told: "status" } : { kind: "refused", words };
}

function readRejected(
  bytes: Buffer,
  root: Span,
  keys: readonly (readonly string[])[],
  result: NonNullable<FeedRules["result"]>,
): ImportResult | undefined {
  const found = resolvePath(bytes, root, result.rejected);
  if (found.state === "absent") return undefined;
  if (found.state === "null") return { kind: "accepted", rejected: [], told: "records" };
  if (kindOf(bytes, found.span) !== "array") return undefined;
  const rejected: { index: number; message: string }[] = [];
  for (const element of elementsOf(bytes, found.span)) {
    const key = resolvePath(bytes, element, result.key);
    const text = key.state === "value" ? readScalar(bytes, key.span) : undefined;
    const indexes = text === undefined ? [] : keys.flatMap((parts, index) => (matches(parts, text) ? [index] : []));
    const message = result.message === null ? undefined : resolvePath(bytes, element, result.message);
    const words = message?.state === "value" ? (readScalar(bytes, message.span) ?? textOf(bytes, message.span)) : textOf(bytes, element);
    // A refusal that names no record sent, or more than one, tells that something failed but not what.
    if (indexes.length === 0) return { kind: "refused", words: shortWords(words) };
    for (const index of indexes) rejected.push({ index, message: shortWords(words) });
  }
  return { kind: "accepted", rejected, told: "records" };
}

/** A reported key is the first key column, or all of them joined as the service is likely to print them. */
function matches(parts: readonly string[], text: string): boolean {
  return parts[0] === text || parts.join("/") === text || parts.join(":") === text || parts.join("|") === text;
}
