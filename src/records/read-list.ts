import { shortWords } from "../answers/inert-text.ts";
import { findRepeated, type JsonPath, kindWords, resolvePath } from "../answers/json-path.ts";
import {
  elementAt,
  elementsInSlices,
  headOf,
  JsonSyntaxError,
  JsonTooLargeError,
  kindOf,
  membersOf,
  SLICE_BYTES,
  type Span,
  skipBlanks,
  skipValue,
  someMember,
  TEXT_BYTES_MAX,
} from "../answers/json-text.ts";
import { type MendedJson, mendInSlices } from "../answers/mend-json.ts";
import { type AnswerLimits, type ScannedJson, scanInSlices } from "../answers/scan-json.ts";
import { atOnce, type Slices } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";
import { isMarkup } from "../answers/web-page.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { isErrorName, readErrorWords } from "../service/error-words.ts";
import { describeMiss } from "./order-mapping.ts";
import { RECORD_BYTES_MAX } from "./read-records.ts";

/** An answer whose body is to be read as JSON. */
export interface ReadableAnswer {
  contentType: string;
  body: Buffer;
  /** How much it may hold; undefined: it was limited when it came. */
  limits?: AnswerLimits | undefined;
}

/** An answer that was read; `body` is what the spans point into. */
export interface AnswerJson {
  root: ScannedJson;
  body: Buffer;
  /** Undefined: it is the body of the answer. */
  mended: MendedJson | undefined;
}

export interface AnswerList extends Pick<AnswerJson, "root" | "mended"> {
  /** Undefined: the answer is empty, in one of the forms that mean so. */
  elements: Span[] | undefined;
  /** The words of an error that the answer reports beside its records: there may be more of them than it shows. */
  error?: string;
}

/** More white space in a row has no meaning, and blocks the event loop while it is skipped. */
const BLANKS_MAX = 1_000_000;
/** Members of an answer itself. */
const ANSWER_MEMBERS_MAX = 100_000;
const NOTHING: ScannedJson = { start: 0, end: 0, utf8: true, depth: 0, values: 0, ends: new Map(), long: [] };
/** Enough bytes for the preview of a web page, whatever its letters. */
const PREVIEW_BYTES = 1200;

/**
 * Reads an answer as JSON and finds its list of records.
 *
 * 204, `[]` at the root, and an explicit null or empty list on the way are empty answers. An absent key is not:
 * that is a service that changed or a path that is wrong, and reading it as "nothing" would lose orders.
 * An answer that reports an error and shows no record is an error, never "nothing new".
 * @throws BridgeError `answer_unreadable` (no JSON), `answer_shape` (JSON without the list), `unavailable` (an error instead
 * of records).
 */
export function readList(answer: ReadableAnswer & { status: number }, path: JsonPath): AnswerList {
  return atOnce(readListInSlices(answer, path));
}

/** The same in slices. @throws also BridgeError `answer_too_large`. */
export function* readListInSlices(answer: ReadableAnswer & { status: number }, path: JsonPath): Slices<AnswerList> {
  if (answer.status === 204) return { root: NOTHING, mended: undefined, elements: undefined };
  const { root, body, mended } = yield* readMendedInSlices(answer, depthOfRecords(path));
  const list = yield* readListOf({ root, body, mended }, answer, path);
  if (mended === undefined) return list;
  const starts = new Set(list.elements?.map(({ start }) => start));
  // Only records may be broken; the rest of such an answer does not count either.
  for (const [start, { flaw, at }] of mended.broken)
    if (!starts.has(start)) throw unreadable(answer, new JsonSyntaxError(String(flaw), at));
  return list;
}

/** How many lists and objects stand around each record of the list at a path. */
export function depthOfRecords({ steps }: JsonPath): number {
  return steps.length + 1;
}

function* readListOf({ root, body, mended }: AnswerJson, answer: ReadableAnswer, path: JsonPath): Slices<AnswerList> {
  if (isWide(body, root)) throw new BridgeError("answer_shape", m.orders.tooManyKeys({ max: ANSWER_MEMBERS_MAX }));
  const error = readErrorWords(body, root, "list");
  const list = yield* findList(body, root, { path, error });
  try {
    const elements = list === undefined ? [] : yield* elementsInSlices(body, list, answer.limits?.recordsMax);
    refuseLongTexts(root, elements);
    if (elements.length > 0) {
      const instead = mended === undefined ? yield* findErrorInstead(body, elements) : undefined;
      if (instead !== undefined) throw reportedError(instead);
      const beside = error === undefined ? undefined : readErrorWords(body, root, "beside");
      return { root, mended, elements, ...(beside === undefined ? {} : { error: beside }) };
    }
  } catch (thrown) {
    throw asTooLarge(thrown);
  }
  if (error !== undefined) throw reportedError(error);
  return { root, mended, elements: undefined };
}

/** A record is judged by itself; what stands beside the records is the answer's own. @throws JsonTooLargeError */
function refuseLongTexts({ long }: ScannedJson, records: readonly Span[]): void {
  const isInside = (text: Span) => records.some(({ start, end }) => start <= text.start && text.end <= end);
  if (!long.every(isInside)) throw new JsonTooLargeError("text", TEXT_BYTES_MAX);
}

/** A UUID with its quotes, each character written as an escape. */
const ID_BYTES = 2 + 6 * 36;
/** A list of so many elements may hold an error in the place of its records. */
const ERRORS_INSTEAD_MAX = 10;

/**
 * The words of an error that stands in the place of the records: no element names an order, and each reports one. The bare
 * `false` says nothing of an answer: it is a record that cannot be read.
 */
function* findErrorInstead(body: Buffer, elements: readonly Span[]): Slices<string | undefined> {
  if (elements.length > ERRORS_INSTEAD_MAX) return undefined;
  let first: string | undefined;
  for (const element of elements) {
    const isRecord =
      kindOf(body, element) === "boolean" ||
      someMember(
        body,
        element,
        ({ value }) => kindOf(body, value) === "string" && isId(headOf(body, value, ID_BYTES)),
      ) ||
      (yield* mayHoldRecordsInSlices(body, element));
    const words = isRecord ? undefined : readErrorWords(body, element, "record");
    if (words === undefined) return undefined;
    first ??= words;
  }
  return first;
}

function isId(text: string): boolean {
  return readOrderId(text) !== undefined;
}

/** An answer with a success status that says itself that it is none. */
export function reportedError(words: string): BridgeError {
  return new BridgeError("unavailable", m.orders.reportsError({ words }));
}

/** Undefined: the answer has none, in one of the forms that mean so. */
function* findList(
  body: Buffer,
  root: Span,
  { path, error: words }: { path: JsonPath; error: string | undefined },
): Slices<Span | undefined> {
  if (kindOf(body, root) === "array" && elementAt(body, root, 0) === undefined) return undefined;
  refuseRepeated(body, root, path);
  const found = resolvePath(body, root, path);
  if (found.state === "null") return undefined;
  if (found.state === "value" && kindOf(body, found.span) === "array") return found.span;
  // Where no list of another name comes with it, the error is all that the answer has to say.
  if (words !== undefined && !(yield* mayHoldRecordsInSlices(body, root))) throw reportedError(words);
  if (found.state === "value") {
    throw new BridgeError(
      "answer_shape",
      m.orders.notList({ path: path.text, what: kindWords(kindOf(body, found.span)) }),
    );
  }
  const miss = { path: path.text, miss: describeMiss(body, root, path) };
  throw new BridgeError(
    "answer_shape",
    words === undefined ? m.orders.noList(miss) : m.orders.noListBut({ ...miss, words }),
    { hint: m.orders.comparePath },
  );
}

/**
 * What stands under the other one of two equal keys would be lost.
 * @throws BridgeError `answer_shape`
 */
export function refuseRepeated(body: Buffer, root: Span, path: JsonPath): void {
  const place = findRepeated(body, root, path);
  if (place !== undefined) throw new BridgeError("answer_shape", m.orders.moreThanOnce({ place }));
}

/** Whether an answer has more members than any service sends: each look for one of them would take seconds. */
function isWide(body: Buffer, root: Span): boolean {
  let members = 0;
  return someMember(body, root, () => ++members > ANSWER_MEMBERS_MAX);
}

/**
 * Reads an answer of which single records may be no JSON: `mended` reports them, and they count as bad records.
 * @param depth how many lists and objects stand around a record
 * @throws BridgeError `answer_unreadable` with a preview of what came instead, `answer_too_large`.
 */
export function* readMendedInSlices(answer: ReadableAnswer, depth: number): Slices<AnswerJson> {
  const { body, limits } = answer;
  const bounds = limits && { valuesMax: limits.valuesMax, blanksMax: BLANKS_MAX };
  try {
    return { root: yield* scanInSlices(body, bounds), body, mended: undefined };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw asTooLarge(error);
    const mended = isMarkup(body) ? { element: undefined } : yield* mendInSlices(body, depth);
    if ("element" in mended) throw unreadable(answer, error, mended.element);
    // A record that is too large to be looked at is not looked at for this either.
    if ([...mended.broken.values()].some(({ raw }) => raw.length > RECORD_BYTES_MAX)) throw unreadable(answer, error);
    try {
      return { root: yield* scanInSlices(mended.bytes, bounds), body: mended.bytes, mended };
    } catch (again) {
      throw again instanceof JsonSyntaxError ? unreadable(answer, error) : asTooLarge(again);
    }
  }
}

/** @param element the number of the record in which reading ended */
function unreadable(answer: ReadableAnswer, error: JsonSyntaxError, element?: number): BridgeError {
  const what = describeUnreadable(answer, error.offset, element);
  const preview = shortWords(answer.body.subarray(0, PREVIEW_BYTES).toString("utf8"));
  const shown = preview === "" ? what : m.common.about({ subject: what, text: m.common.foreign({ text: preview }) });
  return new BridgeError("answer_unreadable", shown, { cause: error });
}

function describeUnreadable({ body, contentType }: ReadableAnswer, at: number, record = 0): Message {
  if (isMarkup(body) || contentType.includes("html")) return m.orders.webPage;
  if (body.length === 0) return m.orders.noBody;
  const where = { at, size: body.length, found: describeByte(body, at) };
  return record === 0 ? m.orders.incomplete(where) : m.orders.incompleteRecord({ ...where, record });
}

function describeByte(body: Buffer, offset: number): Message {
  const byte = body[offset];
  if (byte === undefined) return m.orders.textEnds;
  if (byte === 0x0a || byte === 0x0d) return m.orders.lineBreak;
  return byte < 0x20 ? m.orders.controlCharacter : m.orders.unexpectedCharacter;
}

function asTooLarge(error: unknown): unknown {
  if (!(error instanceof JsonTooLargeError)) return error;
  const { what, max } = error;
  const messages: Record<typeof what, Message> = {
    records: m.orders.tooManyRecords({ max }),
    values: m.orders.tooManyValues({ max }),
    text: m.orders.textTooLong({ max }),
    blanks: m.orders.tooMuchSpace({ max }),
  };
  const hint = what === "records" || what === "values" ? m.orders.raiseKey : m.orders.sendLess;
  return new BridgeError("answer_too_large", messages[what], { hint, cause: error });
}

/**
 * Whether a body that could not be read may hold orders, so that it has to be kept: somewhere in it is a list of
 * objects. An empty answer in other words and an error hold none, and keeping each would fill the database.
 */
export function* mayHoldRecordsInSlices(bytes: Buffer, root: Span): Slices<boolean> {
  const isError =
    kindOf(bytes, root) === "object" && !isWide(bytes, root) && readErrorWords(bytes, root, "list") !== undefined;
  if (!isError) return yield* hasListOfObjects(bytes, root);
  for (const { key, value } of membersOf(bytes, root)) {
    if (!isErrorName(key) && (yield* hasListOfObjects(bytes, value))) return true;
  }
  return false;
}

const QUOTE = 0x22;
const LIST_OPEN = 0x5b;
const OBJECT_OPEN = 0x7b;

/** One walk over the bytes, whatever the depth. */
function* hasListOfObjects(bytes: Buffer, { start, end, ends }: Span): Slices<boolean> {
  let pauseAt = start + SLICE_BYTES;
  for (let at = start; at < end; ) {
    if (at >= pauseAt) {
      pauseAt = at + SLICE_BYTES;
      yield;
    }
    const byte = bytes[at];
    if (byte === LIST_OPEN && bytes[skipBlanks(bytes, at + 1)] === OBJECT_OPEN) return true;
    at = byte === QUOTE ? skipValue(bytes, at, ends) : at + 1;
  }
  return false;
}
