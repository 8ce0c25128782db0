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
import type { Slices } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";
import { isMarkup } from "../answers/web-page.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { isErrorName, readErrorWords } from "../service/outcome/reported-errors.ts";
import { describeMiss } from "./order-mapping.ts";
import { RECORD_BYTES_MAX } from "./read-records.ts";

/** An answer whose body is to be read as JSON. */
export interface ReadableAnswer {
  contentType: string;
  body: Buffer;
  /** Limits of the answer's size; undefined where they were applied when it came. */
  limits?: AnswerLimits | undefined;
}

/** A parsed answer; spans point into `body`. */
export interface AnswerJson {
  root: ScannedJson;
  body: Buffer;
  /** Undefined where `body` is the answer's own body. */
  mended: MendedJson | undefined;
}

export interface AnswerList extends Pick<AnswerJson, "root" | "mended"> {
  /** Undefined where the answer is empty in one of the forms below. */
  elements: Span[] | undefined;
  /** The text of an error reported beside the records: the list may be incomplete. */
  error?: string;
}

/** Longer runs of white space have no use, and skipping them blocks the event loop. */
const BLANKS_MAX = 1_000_000;
/** Limit of members of the answer's root object. */
const ANSWER_MEMBERS_MAX = 100_000;
const NOTHING: ScannedJson = { start: 0, end: 0, utf8: true, depth: 0, values: 0, ends: new Map(), long: [] };
/** Enough for the preview of a web page in any alphabet. */
const PREVIEW_BYTES = 1200;

/**
 * Reads an answer as JSON and finds its list of records, in slices.
 *
 * 204, `[]` at the root, and an explicit null or empty list on the path are empty answers. An absent key is not: the
 * service has changed or the path is wrong, and reading it as empty would lose orders. An answer that reports an error
 * and has no record is an error, never empty.
 * @throws BridgeError `answer_unreadable` (no JSON), `answer_shape` (JSON without the list), `unavailable` (an error
 * instead of records), `answer_too_large`
 */
export function* readListInSlices(answer: ReadableAnswer & { status: number }, path: JsonPath): Slices<AnswerList> {
  if (answer.status === 204) return { root: NOTHING, mended: undefined, elements: undefined };
  const { root, body, mended } = yield* readMendedInSlices(answer, depthOfRecords(path));
  const list = yield* readListOf({ root, body, mended }, answer, path);
  if (mended === undefined) return list;
  const starts = new Set(list.elements?.map(({ start }) => start));
  // Broken text is accepted inside records only.
  for (const [start, { flaw, at }] of mended.broken)
    if (!starts.has(start)) throw unreadable(answer, new JsonSyntaxError(String(flaw), at));
  return list;
}

/** Nesting depth of the records of the list at a path. */
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

/** Long texts are refused outside of records; a record is checked by itself. @throws JsonTooLargeError */
function refuseLongTexts({ long }: ScannedJson, records: readonly Span[]): void {
  const isInside = (text: Span) => records.some(({ start, end }) => start <= text.start && text.end <= end);
  if (!long.every(isInside)) throw new JsonTooLargeError("text", TEXT_BYTES_MAX);
}

/** A UUID in quotes, with each character written as an escape. */
const ID_BYTES = 2 + 6 * 36;
/** A list of at most so many elements may hold an error instead of records. */
const ERRORS_INSTEAD_MAX = 10;

/**
 * The text of an error in the place of the records: no element has an order id, and each reports an error. A bare
 * `false` is no error: it is a record that cannot be read.
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

/** For an answer with a success status that reports an error in its body. */
export function reportedError(words: string): BridgeError {
  return new BridgeError("unavailable", m.orders.reportsError({ words }));
}

/** Undefined where the answer is empty in one of the accepted forms. */
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
  // Unless a list of another name comes with it, the error is the whole answer.
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
 * Refuses an object with two equal keys on the path: the content of one of them would be lost.
 * @throws BridgeError `answer_shape`
 */
export function refuseRepeated(body: Buffer, root: Span, path: JsonPath): void {
  const place = findRepeated(body, root, path);
  if (place !== undefined) throw new BridgeError("answer_shape", m.orders.moreThanOnce({ place }));
}

/** Whether the root object has more members than any service sends: each search for a member would take seconds. */
function isWide(body: Buffer, root: Span): boolean {
  let members = 0;
  return someMember(body, root, () => ++members > ANSWER_MEMBERS_MAX);
}

/**
 * Parses an answer in which single records may be broken JSON: `mended` lists them, and they count as bad records.
 * @param depth nesting depth of records
 * @throws BridgeError `answer_unreadable` with a preview of the body, `answer_too_large`
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
    // Records over the limit are not parsed, so they are not repaired either.
    if ([...mended.broken.values()].some(({ raw }) => raw.length > RECORD_BYTES_MAX)) throw unreadable(answer, error);
    try {
      return { root: yield* scanInSlices(mended.bytes, bounds), body: mended.bytes, mended };
    } catch (again) {
      throw again instanceof JsonSyntaxError ? unreadable(answer, error) : asTooLarge(again);
    }
  }
}

/** @param element index of the record in which parsing failed */
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
 * Whether an unreadable body may hold orders and must be kept: it has a list of objects somewhere. An empty answer of
 * unknown form and an error have none, and keeping each would fill the database.
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

/** A single walk over the bytes, whatever the depth. */
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
