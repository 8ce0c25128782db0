import { type Buffer, isUtf8 } from "node:buffer";
import { atOnce, type Slices } from "./slices.ts";

/**
 * A JSON value inside a buffer: byte offsets, `end` exclusive. Payloads and number literals are copied by span, exactly
 * as sent; `JSON.parse` would round `9007199254740993` and turn `1.10` into `1.1`.
 */
export interface Span {
  readonly start: number;
  readonly end: number;
  /**
   * The ends of large nested values, keyed by their starts, so that they are skipped without being read. Set by a scan.
   */
  readonly ends?: ReadonlyMap<number, number>;
}

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null";

export interface Member {
  readonly key: string;
  readonly value: Span;
}

/** Text that is not exactly one complete JSON value (RFC 8259). `offset` is the byte at which parsing stopped. */
export class JsonSyntaxError extends Error {
  readonly offset: number;

  constructor(what: string, offset: number) {
    super(`not valid JSON: ${what} at byte ${offset}`);
    this.name = "JsonSyntaxError";
    this.offset = offset;
  }
}

/** Limited quantities of an answer; `text`: outside its records, `blanks`: in a row. */
type Bounded = "values" | "records" | "text" | "blanks";

/** The answer exceeds a limit. */
export class JsonTooLargeError extends Error {
  readonly what: Bounded;
  readonly max: number;

  constructor(what: Bounded, max: number) {
    super(what);
    this.name = "JsonTooLargeError";
    this.what = what;
    this.max = max;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const LIST_OPEN = 0x5b;
const OBJECT_OPEN = 0x7b;
/** `[` and `{` differ only in this bit, as do `]` and `}`: one comparison matches either. */
const BRACE_BIT = 0x20;
const ANY_OPEN = 0x7b;
const ANY_CLOSE = 0x7d;
/** Longer strings are skipped with the native search; for shorter ones the call costs more than the loop. */
const NATIVE_SEARCH_FROM = 48;

/** The first byte from `start` on that is not white space; at most `limit`. */
export function skipBlanks(bytes: Buffer, start: number, limit = bytes.length): number {
  const length = Math.min(limit, bytes.length);
  let at = start;
  while (at < length) {
    const byte = bytes[at]!;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
    at++;
  }
  return at;
}

/**
 * The end of the value that begins at `start`. This function and those below require bytes that {@link scanJson} has
 * accepted.
 * @param ends the known ends of large values
 */
export function skipValue(bytes: Buffer, start: number, ends?: Span["ends"]): number {
  const known = ends?.get(start);
  if (known !== undefined) return known;
  const first = bytes[start];
  if (first === QUOTE) return skipString(bytes, start);
  if (first === OBJECT_OPEN || first === LIST_OPEN) return walkContainer(bytes, start).end;
  let at = start;
  while (at < bytes.length && isLiteralByte(bytes[at]!)) at++;
  return at;
}

function isLiteralByte(byte: number): boolean {
  return byte > 0x20 && byte !== COMMA && (byte | BRACE_BIT) !== ANY_CLOSE;
}

function skipString(bytes: Buffer, open: number): number {
  const near = Math.min(open + NATIVE_SEARCH_FROM, bytes.length);
  let at = open + 1;
  while (at < near) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
  for (let close = bytes.indexOf(QUOTE, at); close !== -1; close = bytes.indexOf(QUOTE, close + 1)) {
    let slashes = 0;
    while (close - slashes > at && bytes[close - slashes - 1] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return close + 1;
  }
  throw new JsonSyntaxError("the text ends inside a string", bytes.length);
}

function walkContainer(bytes: Buffer, start: number): { end: number; depth: number } {
  let depth = 0;
  let deepest = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      continue;
    }
    at++;
    const bracket = byte | BRACE_BIT;
    if (bracket === ANY_OPEN) {
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (bracket === ANY_CLOSE) {
      depth--;
      if (depth === 0) return { end: at, depth: deepest };
    }
  }
  throw new JsonSyntaxError("the text ends inside a list or an object", bytes.length);
}

/** A longer text or number is skipped, but never decoded: as a string it would take twice its size in addition. */
export const TEXT_BYTES_MAX = 16_000_000;
const KEY_HEAD_BYTES = 200;

const KINDS = new Map<number | undefined, JsonKind>([
  [OBJECT_OPEN, "object"],
  [LIST_OPEN, "array"],
  [QUOTE, "string"],
  [0x74, "boolean"],
  [0x66, "boolean"],
  [0x6e, "null"],
]);

export function kindOf(bytes: Buffer, span: Span): JsonKind {
  return KINDS.get(bytes[span.start]) ?? "number";
}

/** The nesting depth of the value: 0 for `1`, 1 for `[]`, 2 for `[{}]`. */
export function depthOf(bytes: Buffer, span: Span): number {
  const kind = kindOf(bytes, span);
  return kind === "object" || kind === "array" ? walkContainer(bytes, span.start).depth : 0;
}

/** Bytes per slice: some milliseconds. */
export const SLICE_BYTES = 1024 * 1024;

/**
 * The elements of an array, in order. @throws TypeError for another kind: an object must not be read as an empty list.
 */
export function elementsOf(bytes: Buffer, span: Span): Span[] {
  return atOnce(elementsInSlices(bytes, span));
}

/** Like {@link elementsOf}, in slices. @throws JsonTooLargeError where there are more than `max`. */
export function* elementsInSlices(bytes: Buffer, span: Span, max = Number.POSITIVE_INFINITY): Slices<Span[]> {
  if (bytes[span.start] !== LIST_OPEN) throw new TypeError(`${kindOf(bytes, span)} has no elements`);
  const elements: Span[] = [];
  let pauseAt = span.start + SLICE_BYTES;
  for (let at = firstInside(bytes, span); at !== -1; ) {
    if (elements.length === max) throw new JsonTooLargeError("records", max);
    const element = valueAt(bytes, at, span.ends);
    elements.push(element);
    at = nextInside(bytes, element.end);
    if (at < pauseAt) continue;
    yield;
    pauseAt = at + SLICE_BYTES;
  }
  return elements;
}

/**
 * The element at `index`, without a list of all elements; a negative index counts from the end. Undefined outside an
 * array.
 */
export function elementAt(bytes: Buffer, span: Span, index: number): Span | undefined {
  if (bytes[span.start] !== LIST_OPEN) return undefined;
  let left = index < 0 ? countInside(bytes, span) + index : index;
  for (let at = left < 0 ? -1 : firstInside(bytes, span); at !== -1; left--) {
    const element = valueAt(bytes, at, span.ends);
    if (left === 0) return element;
    at = nextInside(bytes, element.end);
  }
  return undefined;
}

/** The number of elements or members of an array or object; at most `max`. */
export function countInside(bytes: Buffer, span: Span, max = Number.POSITIVE_INFINITY): number {
  const isObject = bytes[span.start] === OBJECT_OPEN;
  let count = 0;
  for (let at = firstInside(bytes, span); at !== -1 && count < max; count++) {
    const value = isObject ? valueAfterKey(bytes, skipValue(bytes, at, span.ends), span.ends) : undefined;
    at = nextInside(bytes, value?.end ?? skipValue(bytes, at, span.ends));
  }
  return count;
}

/** The first `max` members of an object, in order, including duplicates. @throws TypeError for another kind. */
export function membersOf(bytes: Buffer, span: Span, max = Number.POSITIVE_INFINITY): Member[] {
  if (bytes[span.start] !== OBJECT_OPEN) throw new TypeError(`${kindOf(bytes, span)} has no members`);
  const members: Member[] = [];
  for (let at = firstInside(bytes, span); at !== -1 && members.length < max; ) {
    const keyEnd = skipValue(bytes, at, span.ends);
    const value = valueAfterKey(bytes, keyEnd, span.ends);
    members.push({ key: keyOf(bytes, at, keyEnd), value });
    at = nextInside(bytes, value.end);
  }
  return members;
}

/** Whether any of the first {@link MEMBERS_MAX} members of an object passes, without a list of all members. */
export function someMember(bytes: Buffer, span: Span, passes: (member: Member) => boolean): boolean {
  if (bytes[span.start] !== OBJECT_OPEN) return false;
  let left = MEMBERS_MAX;
  for (let at = firstInside(bytes, span); at !== -1 && left-- > 0; ) {
    const keyEnd = skipValue(bytes, at, span.ends);
    const value = valueAfterKey(bytes, keyEnd, span.ends);
    if (passes({ key: keyOf(bytes, at, keyEnd), value })) return true;
    at = nextInside(bytes, value.end);
  }
  return false;
}

/** The most members of one object that are searched. No record may have as many values, and more would take seconds. */
export const MEMBERS_MAX = 250_000;

/** The first member of that name, as in SQLite's `json_extract`; undefined where there is none or outside an object. */
export function memberOf(bytes: Buffer, span: Span, key: string): Span | undefined {
  if (bytes[span.start] !== OBJECT_OPEN) return undefined;
  let left = MEMBERS_MAX;
  for (let at = firstInside(bytes, span); at !== -1 && left-- > 0; ) {
    const keyEnd = skipValue(bytes, at, span.ends);
    const value = valueAfterKey(bytes, keyEnd, span.ends);
    if (isKey(bytes, at, keyEnd, key)) return value;
    at = nextInside(bytes, value.end);
  }
  return undefined;
}

/** Stands for the value of a key that an object has more than once, with different values: it is unknown which of them counts. */
export type Repeated = "repeated";

/** The member of that name, also where it is repeated with an equal value. Walks to the end, unlike {@link memberOf}. */
export function singleMemberOf(bytes: Buffer, span: Span, key: string): Span | Repeated | undefined {
  if (bytes[span.start] !== OBJECT_OPEN) return undefined;
  let found: Span | undefined;
  let left = MEMBERS_MAX;
  for (let at = firstInside(bytes, span); at !== -1 && left-- > 0; ) {
    const keyEnd = skipValue(bytes, at, span.ends);
    const value = valueAfterKey(bytes, keyEnd, span.ends);
    if (isKey(bytes, at, keyEnd, key)) {
      if (found === undefined) found = value;
      else if (!isSameValue(bytes, found, value)) return "repeated";
    }
    at = nextInside(bytes, value.end);
  }
  return found;
}

/**
 * What {@link singleMemberOf} finds for each of `keys`, in one walk. `keys` are not repeated; what stands in their places is
 * undefined where there is no such member.
 */
export function singleMembersOf(bytes: Buffer, span: Span, keys: readonly string[]): (Span | Repeated | undefined)[] {
  const found = Array<Span | Repeated | undefined>(keys.length).fill(undefined);
  if (bytes[span.start] !== OBJECT_OPEN) return found;
  let left = MEMBERS_MAX;
  for (let at = firstInside(bytes, span); at !== -1 && left-- > 0; ) {
    const keyEnd = skipValue(bytes, at, span.ends);
    const value = valueAfterKey(bytes, keyEnd, span.ends);
    for (let i = 0; i < keys.length; i++) {
      if (!isKey(bytes, at, keyEnd, keys[i]!)) continue;
      const first = found[i];
      if (first === undefined) found[i] = value;
      else if (first !== "repeated" && !isSameValue(bytes, first, value)) found[i] = "repeated";
      break;
    }
    at = nextInside(bytes, value.end);
  }
  return found;
}

/** Whether two values have one text, or are one string in two spellings. */
function isSameValue(bytes: Buffer, a: Span, b: Span): boolean {
  if (bytes.compare(bytes, b.start, b.end, a.start, a.end) === 0) return true;
  const isShort = Math.max(a.end - a.start, b.end - b.start) <= TEXT_BYTES_MAX;
  const areStrings = bytes[a.start] === QUOTE && bytes[b.start] === QUOTE;
  return areStrings && isShort && stringOf(bytes, a) === stringOf(bytes, b);
}

function valueAfterKey(bytes: Buffer, keyEnd: number, ends: Span["ends"]): Span {
  return valueAt(bytes, skipBlanks(bytes, skipBlanks(bytes, keyEnd) + 1), ends);
}

/** The nested values of a large value may be large as well, so they keep `ends`. */
function valueAt(bytes: Buffer, start: number, ends: Span["ends"]): Span {
  const known = ends?.get(start);
  return known === undefined ? { start, end: skipValue(bytes, start) } : { start, end: known, ...(ends && { ends }) };
}

/** The key; only its beginning where it exceeds {@link TEXT_BYTES_MAX}. */
function keyOf(bytes: Buffer, start: number, end: number): string {
  return end - start > TEXT_BYTES_MAX ? headOf(bytes, { start, end }, KEY_HEAD_BYTES) : stringOf(bytes, { start, end });
}

/** Compares without decoding while both sides are plain ASCII, as nearly all keys are. */
function isKey(bytes: Buffer, open: number, end: number, key: string): boolean {
  const length = end - open - 2;
  // A character takes at most six bytes, as an escape.
  if (length > 6 * key.length) return false;
  for (let i = 0; i < length; i++) {
    const byte = bytes[open + 1 + i]!;
    if (byte >= 0x80 || byte === BACKSLASH) return stringOf(bytes, { start: open, end }) === key;
    if (byte !== key.charCodeAt(i)) return false;
  }
  return length === key.length;
}

function firstInside(bytes: Buffer, span: Span): number {
  const at = skipBlanks(bytes, span.start + 1);
  return at >= span.end - 1 ? -1 : at;
}

function nextInside(bytes: Buffer, valueEnd: number): number {
  const at = skipBlanks(bytes, valueEnd);
  return bytes[at] === COMMA ? skipBlanks(bytes, at + 1) : -1;
}

/** The value's text exactly as sent. Invalid UTF-8 becomes U+FFFD: check {@link isUtf8Span} first. */
export function textOf(bytes: Buffer, span: Span): string {
  return bytes.toString("utf8", span.start, span.end);
}

/** The decoded value of a string; escaped lone surrogates survive. @throws TypeError for another kind. */
export function stringOf(bytes: Buffer, span: Span): string {
  if (bytes[span.start] !== QUOTE) throw new TypeError(`${kindOf(bytes, span)} is not a string`);
  const inner = bytes.toString("utf8", span.start + 1, span.end - 1);
  return inner.includes("\\") ? (JSON.parse(`"${inner}"`) as string) : inner;
}

/**
 * The decoded string, or the literal of a number or boolean; undefined for other kinds. Lone surrogates become U+FFFD,
 * as in the database; otherwise the stored text would never equal the served one.
 */
export function readScalar(bytes: Buffer, span: Span): string | undefined {
  const kind = kindOf(bytes, span);
  if (kind === "string") return stringOf(bytes, span).toWellFormed();
  if (kind === "number" || kind === "boolean") return textOf(bytes, span);
  return undefined;
}

/**
 * The beginning of a string, decoded from at most its first `max` bytes: a string may be as long as the answer.
 * @throws TypeError for another kind.
 */
export function headOf(bytes: Buffer, span: Span, max: number): string {
  if (span.end - span.start <= max) return stringOf(bytes, span);
  if (bytes[span.start] !== QUOTE) throw new TypeError(`${kindOf(bytes, span)} is not a string`);
  const limit = Math.min(span.start + 1 + max, span.end - 1);
  let at = span.start + 1;
  let end = at;
  while (at <= limit) {
    end = at;
    at += bytes[at] !== BACKSLASH ? 1 : bytes[at + 1] === LETTER_U ? 6 : 2;
    // Do not stop inside a character.
    while (((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  }
  const inner = bytes.toString("utf8", span.start + 1, end);
  return inner.includes("\\") ? (JSON.parse(`"${inner}"`) as string) : inner;
}

/** Whether the bytes of `span` are valid UTF-8, so that {@link textOf} is lossless. */
export function isUtf8Span(bytes: Buffer, span: Span): boolean {
  return isUtf8(bytes.subarray(span.start, span.end));
}
