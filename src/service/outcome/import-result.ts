import { findRepeated, type JsonPath, resolvePath } from "../../answers/json-path.ts";
import { elementsOf, kindOf, membersOf, readScalar, type Span, textOf } from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";
import { m } from "../../messages/messages.ts";
import { type Acceptance, readAcceptance } from "./acceptance.ts";
import { type AnswerCounts, type CountedOtherwise, readCounts, unknownByCount } from "./answer-counts.ts";
import { findByKey, type SentRecord } from "./named-records.ts";
import { readLeftOut, readPartWords, readRefusedCount } from "./partial-acceptance.ts";
import { isNothing, readErrorWords } from "./reported-errors.ts";

/** Paths in an answer to an import: the list of rejected records, and key and message within each. */
export interface ResultPaths {
  rejected: JsonPath;
  key: JsonPath;
  message: JsonPath | null;
}

/** The result of an import according to a 2xx answer. */
export type ImportResult =
  /** `reportedBy`: the status code alone, or a report of single records. */
  | {
      kind: "accepted";
      rejected: { index: number; message: string }[];
      reportedBy: "status" | "records";
      /** The answer as a whole, where it has no report of single records. */
      acceptance?: Acceptance & { kind: "accepted" };
      /** The counts in the answer. */
      counts?: AnswerCounts;
    }
  /** The named records are refused; an error beside them makes the outcome of all others unknown. */
  | { kind: "partial"; rejected: { index: number; message: string }[]; words: string }
  | { kind: "html" }
  /** Truncated JSON: the outcome is unknown. */
  | { kind: "cut" }
  /** A refusal that names no records: treated as 422. */
  | { kind: "refused"; words: string };

/**
 * Reads an answer to an import.
 * @param keys the text of each sent record's key columns, in the order of the request.
 */
export function readImportResult(
  answer: { contentType: string; body: Buffer },
  keys: readonly (readonly string[])[],
  result: ResultPaths | null,
): ImportResult {
  const acceptance = readAcceptance(answer, "import");
  if (acceptance.kind === "html" || acceptance.kind === "cut") return { kind: acceptance.kind };
  const { root } = acceptance;
  const read = result === null || root === undefined ? undefined : readRejected(answer.body, root, keys, result);
  // A report that names records is used even beside an error; an empty report beside an error is ignored.
  const isReport = read !== undefined && (read.kind !== "accepted" || read.rejected.length > 0);
  const counts = readCounts(answer.body, root);
  if (isReport) return read.kind === "accepted" ? { ...read, counts } : read;
  if (acceptance.kind === "error") return { kind: "refused", words: acceptance.words };
  return { kind: "accepted", rejected: [], reportedBy: read === undefined ? "status" : "records", acceptance, counts };
}

/** Leaves the outcome unknown where the answer reports that only a part of the records was accepted. */
export function withDoubt(
  acceptance: Acceptance & { kind: "accepted" },
  { short, body, sent }: { short: CountedOtherwise | undefined; body: Buffer; sent: readonly SentRecord[] },
): Acceptance & { kind: "accepted" } {
  const { unknown, root } = acceptance;
  const isOfCounts = short !== undefined || unknown?.why === "counts";
  const words = isOfCounts
    ? readRefusedCount(body, root)
    : unknown === undefined
      ? readPartWords(body, root, sent)
      : undefined;
  if (words !== undefined) return { ...acceptance, unknown: { why: "part", words } };
  if (short !== undefined) return { ...acceptance, unknown: unknownByCount(short) };
  const listed = unknown === undefined && root !== undefined ? readLeftOut(body, root) : undefined;
  return listed === undefined ? acceptance : { ...acceptance, unknown: { why: "list", words: listed } };
}

function readRejected(
  bytes: Buffer,
  root: Span,
  keys: readonly (readonly string[])[],
  result: ResultPaths,
): ImportResult | undefined {
  const repeated = findRepeated(bytes, root, result.rejected);
  if (repeated !== undefined) return { kind: "refused", words: String(m.service.answerRepeats({ place: repeated })) };
  const found = resolvePath(bytes, root, result.rejected);
  if (found.state === "absent") return undefined;
  const none: ImportResult = { kind: "accepted", rejected: [], reportedBy: "records" };
  if (found.state === "null") return none;
  const reports = reportsAt(bytes, found.span, result);
  if (reports === undefined) {
    if (isNothing(bytes, found.span)) return none;
    return { kind: "refused", words: shortWords(`${result.rejected.text}: ${textOf(bytes, found.span)}`) };
  }
  const indexesOf = reports.length === 0 ? () => [] : findByKey(keys);
  const rejected = new Map<number, string>();
  for (const { key, words } of reports) {
    const [index, second] = key === undefined ? [] : indexesOf(key);
    const said = shortWords(words);
    // An object without a record, such as { "count": 0 }, may mean that there is none.
    if (index === undefined && isNothing(bytes, found.span)) return none;
    // A refusal that matches no sent record, or several, does not show which one failed.
    if (index === undefined || second !== undefined) return { kind: "refused", words: said };
    if (!rejected.has(index)) rejected.set(index, said);
  }
  const named = [...rejected].map(([index, message]) => ({ index, message }));
  // The error may summarize these records, or mean that nothing was saved because of them.
  const words = named.length === keys.length ? undefined : readErrorWords(bytes, root, "beside", found.span);
  if (words !== undefined && named.length > 0) return { kind: "partial", rejected: named, words };
  return { kind: "accepted", rejected: named, reportedBy: "records" };
}

/** Reads a list of records, a single record, or an object of reasons by key. Undefined where no records can be named. */
function reportsAt(
  bytes: Buffer,
  place: Span,
  result: ResultPaths,
): { key: string | undefined; words: string }[] | undefined {
  const kind = kindOf(bytes, place);
  if (kind !== "array" && kind !== "object") return undefined;
  const scalarAt = (element: Span, path: JsonPath | null) => {
    const found = path === null ? undefined : resolvePath(bytes, element, path);
    return found?.state === "value" ? readScalar(bytes, found.span) : undefined;
  };
  const readElement = (element: Span) => ({
    key: scalarAt(element, result.key),
    words: scalarAt(element, result.message) ?? textOf(bytes, element),
  });
  if (kind === "array") return elementsOf(bytes, place).map(readElement);
  const alone = readElement(place);
  if (alone.key !== undefined) return [alone];
  return membersOf(bytes, place).map(({ key, value }) => ({
    key,
    words: readScalar(bytes, value) ?? scalarAt(value, result.message) ?? textOf(bytes, value),
  }));
}
