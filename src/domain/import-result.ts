import { readErrorWords } from "./error-words.ts";
import type { FeedRules } from "./feed.ts";
import { resolvePath } from "./json-path.ts";
import { elementsOf, kindOf, type Span, textOf } from "./json-text.ts";
import { readScalar } from "./order-mapping.ts";
import { looksLikeHtml } from "./read-answer.ts";
import { scanJson } from "./scan-json.ts";
import { shortWords } from "./service-error.ts";

const SEPARATORS = ["/", ":", "|"];

/** What a 2xx answer to an import says of the records in it. */
export type ImportResult =
  /** `told`: by the status code alone, or by an answer that reports single records. */
  | { kind: "accepted"; rejected: { index: number; message: string }[]; told: "status" | "records" }
  | { kind: "html" }
  /** JSON that ends early: somebody cut it off, and what it would have said is unknown. */
  | { kind: "cut" }
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
    const isJson = /^\s*[{[]/.test(answer.body.subarray(0, 200).toString("latin1"));
    return isJson ? { kind: "cut" } : { kind: "accepted", rejected: [], told: "status" };
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
  const elements = elementsOf(bytes, found.span);
  const indexesOf = elements.length === 0 ? () => [] : findByKey(keys);
  const rejected = new Map<number, string>();
  for (const element of elements) {
    const key = resolvePath(bytes, element, result.key);
    const text = key.state === "value" ? readScalar(bytes, key.span) : undefined;
    const [index, second] = text === undefined ? [] : indexesOf(text);
    const message = result.message === null ? undefined : resolvePath(bytes, element, result.message);
    const words = message?.state === "value" ? readScalar(bytes, message.span) : undefined;
    const said = shortWords(words ?? textOf(bytes, element));
    // A refusal that names no record sent, or more than one, tells that something failed but not what.
    if (index === undefined || second !== undefined) return { kind: "refused", words: said };
    if (!rejected.has(index)) rejected.set(index, said);
  }
  return { kind: "accepted", rejected: [...rejected].map(([index, message]) => ({ index, message })), told: "records" };
}

/** A reported key is all key columns joined as a service is likely to print them, or else the first one alone. */
function findByKey(keys: readonly (readonly string[])[]): (text: string) => readonly number[] {
  const whole = new Map<string, number[]>();
  const first = new Map<string, number[]>();
  const add = (to: Map<string, number[]>, text: string, index: number) => {
    const known = to.get(text);
    if (known === undefined) to.set(text, [index]);
    else if (known.at(-1) !== index) known.push(index);
  };
  keys.forEach((parts, index) => {
    add(first, parts[0] ?? "", index);
    if (parts.length > 1) for (const separator of SEPARATORS) add(whole, parts.join(separator), index);
  });
  return (text) => whole.get(text) ?? first.get(text) ?? [];
}
