import { findRepeated, type JsonPath, resolvePath } from "../../answers/json-path.ts";
import { elementsOf, kindOf, membersOf, readScalar, type Span, textOf } from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";
import { m } from "../../messages/messages.ts";
import { type Acceptance, type Accepted, readAcceptance } from "./acceptance.ts";
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

interface Rejected {
  index: number;
  message: string;
}

/** The result of an import according to a 2xx answer. */
export type ImportResult =
  /** `acceptance`: the answer as a whole, where it has no report of single records. */
  | {
      kind: "accepted";
      rejected: Rejected[];
      reportedBy: "status" | "records";
      acceptance?: Accepted;
      counts?: AnswerCounts;
    }
  /** The named records are refused; an error beside them makes the outcome of all others unknown. */
  | { kind: "partial"; rejected: Rejected[]; words: string }
  /** No records are named. */
  | { kind: "error"; words: string }
  | (Acceptance & { kind: "html" | "cut" });

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
  if (acceptance.kind === "html" || acceptance.kind === "cut") return acceptance;
  const { root } = acceptance.answer;
  const read = result === null || root === undefined ? undefined : readRejected(answer.body, root, keys, result);
  // A report that names records is used even beside an error; an empty report beside an error is ignored.
  const isReport = read !== undefined && (read.kind !== "accepted" || read.rejected.length > 0);
  const counts = readCounts(acceptance.answer);
  if (isReport) return read.kind === "accepted" ? { ...read, counts } : read;
  if (acceptance.kind === "error") return acceptance;
  return { kind: "accepted", rejected: [], reportedBy: read === undefined ? "status" : "records", acceptance, counts };
}

/** Leaves the outcome unknown where the answer reports that only a part of the records was accepted. */
export function withDoubt(
  acceptance: Accepted,
  { short, sent }: { short: CountedOtherwise | undefined; sent: readonly SentRecord[] },
): Accepted {
  const { unknown, answer } = acceptance;
  if (short === undefined && unknown !== undefined && unknown.why !== "counts") return acceptance;
  const isOfCounts = short !== undefined || unknown !== undefined;
  const words = isOfCounts ? readRefusedCount(answer) : readPartWords(answer, sent);
  if (words !== undefined) return { ...acceptance, unknown: { why: "part", words } };
  // Words of a refusal say more than a count of 0, which may be one of changes.
  if (unknown?.why === "words") return acceptance;
  if (short !== undefined) return { ...acceptance, unknown: unknownByCount(short) };
  const listed = unknown === undefined ? readLeftOut(answer) : undefined;
  return listed === undefined ? acceptance : { ...acceptance, unknown: { why: "list", words: listed } };
}

function readRejected(
  bytes: Buffer,
  root: Span,
  keys: readonly (readonly string[])[],
  result: ResultPaths,
): ImportResult | undefined {
  const repeated = findRepeated(bytes, root, result.rejected);
  if (repeated !== undefined) return { kind: "error", words: String(m.service.answerRepeats({ place: repeated })) };
  const found = resolvePath(bytes, root, result.rejected);
  if (found.state === "absent") return undefined;
  const none: ImportResult = { kind: "accepted", rejected: [], reportedBy: "records" };
  if (found.state === "null") return none;
  const isNone = isNothing(bytes, found.span);
  const reports = reportsAt(bytes, found.span, result);
  if (reports === undefined)
    return isNone
      ? none
      : { kind: "error", words: shortWords(`${result.rejected.text}: ${textOf(bytes, found.span)}`) };
  const indexesOf = reports.length === 0 ? () => [] : findByKey(keys);
  const rejected = new Map<number, string>();
  for (const { key, words } of reports) {
    const [index, second] = key === undefined ? [] : indexesOf(key);
    const message = shortWords(words);
    // An object without a record, such as { "count": 0 }, may mean that there is none.
    if (index === undefined && isNone) return none;
    // A refusal that matches no sent record, or several, does not show which one failed.
    if (index === undefined || second !== undefined) return { kind: "error", words: message };
    if (!rejected.has(index)) rejected.set(index, message);
  }
  const named = [...rejected].map(([index, message]) => ({ index, message }));
  // The error may summarize these records, or mean that nothing was saved because of them.
  const words = named.length === keys.length ? undefined : readErrorWords(bytes, root, "beside", found.span);
  if (words !== undefined && named.length > 0) return { kind: "partial", rejected: named, words };
  return { ...none, rejected: named };
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
