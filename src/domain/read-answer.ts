import { hash } from "node:crypto";
import { BridgeError } from "./errors.ts";
import { type JsonPath, resolvePath } from "./json-path.ts";
import { depthOf, elementsOf, isUtf8Span, JsonSyntaxError, kindOf, membersOf, type Span, scanJson, textOf } from "./json-text.ts";
import { DEPTH_MAX } from "./json-value.ts";
import { describeMiss, type OrderMapping, readRecordId } from "./order-mapping.ts";
import { shortWords } from "./service-error.ts";

/** One record of an answer, still a span of it: most are known already and are never read any further. */
export type AnswerRecord =
  | { ok: true; span: Span; orderId: string; serviceId: string; hash: Buffer }
  | { ok: false; span: Span; reason: string; reference: string | null; hash: Buffer };

export interface AnswerList {
  root: Span;
  /** Undefined: the answer is empty, in one of the forms that mean so. */
  elements: Span[] | undefined;
}

/**
 * Reads an answer as JSON and finds its list of records.
 *
 * 204, `[]` at the root, and an explicit null or empty list on the way are empty answers. An absent key is not:
 * that is a service that changed or a path that is wrong, and reading it as "nothing" would lose orders.
 * @throws BridgeError `answer_unreadable` (no JSON), `answer_shape` (JSON without the list).
 */
export function readList(answer: { status: number; contentType: string; body: Buffer }, path: JsonPath): AnswerList {
  if (answer.status === 204) return { root: { start: 0, end: 0 }, elements: undefined };
  const root = readJson(answer);
  const { body } = answer;
  if (kindOf(body, root) === "array" && elementsOf(body, root).length === 0) return { root, elements: undefined };
  const found = resolvePath(body, root, path);
  if (found.state === "null") return { root, elements: undefined };
  if (found.state === "absent") {
    throw new BridgeError("answer_shape", `The answer has no ${path.text}: ${describeMiss(body, root, path)}.`, {
      hint: "Compare the path in the configuration with an answer of the service; the body is kept and read once the path is right.",
    });
  }
  if (kindOf(body, found.span) !== "array") {
    throw new BridgeError("answer_shape", `${path.text} of the answer is no list but ${kindOf(body, found.span)}.`);
  }
  const elements = elementsOf(body, found.span);
  return { root, elements: elements.length === 0 ? undefined : elements };
}

/** @throws BridgeError `answer_unreadable` with a preview of what came instead. */
export function readJson(answer: { contentType: string; body: Buffer }): Span {
  try {
    return scanJson(answer.body);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const preview = shortWords(answer.body.subarray(0, 300).toString("utf8"));
    const what = looksLikeHtml(answer)
      ? "is a web page instead of JSON (a captive portal, a proxy or a wrong base_url?)"
      : answer.body.length === 0
        ? "is empty"
        : `is no complete JSON (at byte ${error.offset} of ${answer.body.length})`;
    throw new BridgeError("answer_unreadable", `The answer ${what}${preview === "" ? "" : `: ${preview}`}`, { cause: error });
  }
}

/** Whether a success status carries a web page, which is never an acceptance. */
export function looksLikeHtml(answer: { contentType: string; body: Buffer }): boolean {
  if (answer.contentType.includes("html")) return true;
  return /^\s*(<!doctype\s+html|<html|<head|<body)/i.test(answer.body.subarray(0, 200).toString("latin1"));
}

/** Ids and hashes of all records. A record without a usable id carries the reason. */
export function readRecords(bytes: Buffer, elements: readonly Span[], mapping: OrderMapping): AnswerRecord[] {
  return elements.map((span) => readRecord(bytes, span, mapping));
}

function readRecord(bytes: Buffer, span: Span, mapping: OrderMapping): AnswerRecord {
  const text = bytes.subarray(span.start, span.end);
  const digest = hash("sha256", text, "buffer");
  const bad = (reason: string, reference: string | null): AnswerRecord => ({ ok: false, span, reason, reference, hash: digest });
  if (kindOf(bytes, span) !== "object") return bad(`the record is no object but ${kindOf(bytes, span)}`, null);
  const id = readRecordId(bytes, span, mapping);
  if ("reason" in id) return bad(id.reason, id.reference);
  if (!isUtf8Span(bytes, span)) return bad("the record is not valid UTF-8", id.serviceId);
  // SQLite refuses deeper JSON, and one such row would break every view over `payload`.
  if (depthOf(bytes, span) > DEPTH_MAX) return bad(`the record is nested deeper than ${DEPTH_MAX} levels`, id.serviceId);
  return { ok: true, span, ...id, hash: digest };
}

/**
 * Whether a body that could not be read may hold orders, so that it has to be kept. `{}` and `{"error": "…"}` hold
 * none, and keeping each would fill the database while a service is down.
 */
export function mayHoldRecords(bytes: Buffer, root: Span): boolean {
  const kind = kindOf(bytes, root);
  if (kind === "array") return elementsOf(bytes, root).length > 0;
  if (kind !== "object") return false;
  return membersOf(bytes, root).some(({ value }) => {
    const inner = kindOf(bytes, value);
    return (inner === "array" || inner === "object") && value.end - value.start > 2;
  });
}

/** What makes a batch the same batch when it is served again: its id as sent, and the ids in their order. */
export function batchFingerprint(bytes: Buffer, batchId: string | null, records: readonly AnswerRecord[]): string {
  const parts = records.map((record) =>
    record.ok ? record.orderId : `?${record.reference ?? textOf(bytes, record.span).slice(0, 200)}`,
  );
  return hash("sha256", `${batchId ?? ""}\n${parts.join("\n")}`, "hex");
}
