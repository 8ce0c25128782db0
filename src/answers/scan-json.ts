import { type Buffer, isUtf8 } from "node:buffer";
import { JsonSyntaxError, JsonTooLargeError, SLICE_BYTES, type Span, skipBlanks, TEXT_BYTES_MAX } from "./json-text.ts";
import { atOnce, type Slices } from "./slices.ts";

/**
 * The span of the whole value. `utf8` is false where a string contains invalid UTF-8 (see {@link isUtf8Span}); `depth`
 * is its nesting depth (see {@link depthOf}).
 */
export interface ScannedJson extends Span {
  readonly utf8: boolean;
  readonly depth: number;
  /** The number of values, including the whole itself. */
  readonly values: number;
  readonly ends: ReadonlyMap<number, number>;
  /** Strings, numbers and keys longer than {@link TEXT_BYTES_MAX}. */
  readonly long: readonly Span[];
}

/** Limits of one text. */
export interface ScanLimits {
  /** Members and elements; keys are not counted. */
  valuesMax: number;
  /** White space in a row, in bytes. */
  blanksMax: number;
}

const UNLIMITED: ScanLimits = { valuesMax: Number.POSITIVE_INFINITY, blanksMax: Number.POSITIVE_INFINITY };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const LIST_OPEN = 0x5b;
const OBJECT_OPEN = 0x7b;
/** This bit is set in lower-case letters. */
const LOWER_BIT = 0x20;
/** The difference between an opening bracket and its closing one: `[`+2 is `]`, `{`+2 is `}`. */
const TO_CLOSE = 2;

/**
 * Checks that `bytes` are exactly one complete JSON value (a byte order mark before it and white space around it are
 * allowed) and returns its span. Any depth is accepted, without recursion. Invalid UTF-8 inside a string is no error
 * here, so that one damaged record does not hide the others: `utf8` reports it.
 *
 * @throws JsonSyntaxError for a truncated, empty or invalid text.
 */
export function scanJson(bytes: Buffer): ScannedJson {
  return atOnce(scanInSlices(bytes));
}

/**
 * Like {@link scanJson}, in slices of about a megabyte, so that a large text does not block the event loop, even where
 * it is a single long value.
 * @throws JsonSyntaxError, and JsonTooLargeError beyond `limits`.
 */
export function* scanInSlices(bytes: Buffer, limits: ScanLimits = UNLIMITED): Slices<ScannedJson> {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const scan = new Scan(bytes, marked ? 3 : 0, limits);
  let utf8 = true;
  const walk = scan.walk();
  for (let from = 0, isComplete = false; !isComplete; ) {
    if (from > 0) yield;
    isComplete = walk.next().done === true;
    const to = isComplete ? scan.at : characterStart(bytes, scan.at);
    utf8 &&= isUtf8(bytes.subarray(from, to));
    from = to;
  }
  const { start, end, depth, values, ends, long } = scan;
  return { start, end, utf8, depth, values, ends, long };
}

/** `at`, or the start of the character that `at` is inside. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > at - 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}

/** The ends of values from this size on are recorded. */
const LARGE_BYTES = 256 * 1024;

/** Bytes of a value or key that are read without a pause. */
const TOKEN_BYTES = 64 * 1024;

/** The scan of one text. It can pause between two values and inside long ones. */
class Scan {
  /** The current offset. */
  at: number;
  /** The span of the value, once the scan is complete. */
  start = 0;
  end = 0;
  /** Of the innermost value. */
  depth = 0;
  values = 0;
  readonly ends = new Map<number, number>();
  readonly long: Span[] = [];
  readonly #bytes: Buffer;
  readonly #limits: ScanLimits;

  constructor(bytes: Buffer, at: number, limits: ScanLimits) {
    this.#bytes = bytes;
    this.at = at;
    this.#limits = limits;
  }

  *walk(): Slices<void> {
    const bytes = this.#bytes;
    const { valuesMax, blanksMax } = this.#limits;
    // The open brackets, outermost first, and their offsets.
    let open: Uint8Array = new Uint8Array(256);
    let starts: Float64Array = new Float64Array(256);
    let depth = 0;
    let deepest = 0;
    let values = 0;
    let at = skipSome(bytes, this.at, blanksMax);
    let pauseAt = at + SLICE_BYTES;
    this.start = at;
    for (;;) {
      if (at >= pauseAt) {
        this.at = at;
        yield;
        pauseAt = at + SLICE_BYTES;
      }
      const first = bytes[at];
      if (++values > valuesMax) throw new JsonTooLargeError("values", valuesMax);
      let isKeyNext = false;
      let isOpened = false;
      if (first === OBJECT_OPEN || first === LIST_OPEN) {
        if (depth === deepest) deepest = depth + 1;
        const inside = skipSome(bytes, at + 1, blanksMax);
        isOpened = bytes[inside] !== first + TO_CLOSE;
        if (isOpened) {
          if (depth === open.length) {
            open = grown(open, new Uint8Array(depth * 2));
            starts = grown(starts, new Float64Array(depth * 2));
          }
          starts[depth] = at;
          open[depth++] = first;
          isKeyNext = first === OBJECT_OPEN;
        }
        at = isOpened ? inside : inside + 1;
      } else if (first === QUOTE) {
        const next = scanString(bytes, at + 1, at + TOKEN_BYTES);
        at = next < 0 ? yield* this.#longString(at, ~next) : next;
      } else if (first === MINUS || isDigit(first)) {
        const next = scanNumber(bytes, at, at + TOKEN_BYTES);
        at = next < 0 ? yield* this.#longNumber(at) : next;
      } else {
        at = scanWord(bytes, at);
      }
      // A value ends at `at`: close the containers that it completes, then continue with the next value or return.
      while (!isOpened) {
        if (depth === 0) {
          this.end = at;
          this.depth = deepest;
          this.values = values;
          this.at = skipSome(bytes, at, blanksMax);
          if (this.at < bytes.length) throw new JsonSyntaxError("something follows the value", this.at);
          return;
        }
        const container = open[depth - 1]!;
        at = skipSome(bytes, at, blanksMax);
        const next = bytes[at];
        if (next === COMMA) {
          at = skipSome(bytes, at + 1, blanksMax);
          isKeyNext = container === OBJECT_OPEN;
          break;
        }
        if (next !== container + TO_CLOSE) throw unexpected(bytes, at, "a comma or the end of the list or object");
        at += 1;
        depth -= 1;
        const from = starts[depth]!;
        if (at - from > LARGE_BYTES) this.ends.set(from, at);
      }
      if (!isKeyNext) continue;
      if (bytes[at] !== QUOTE) throw unexpected(bytes, at, "a quoted key");
      const next = scanString(bytes, at + 1, at + TOKEN_BYTES);
      const keyEnd = next < 0 ? yield* this.#longString(at, ~next) : next;
      const colon = skipSome(bytes, keyEnd, blanksMax);
      if (bytes[colon] !== COLON) throw unexpected(bytes, colon, "a colon");
      at = skipSome(bytes, colon + 1, blanksMax);
    }
  }

  /** Continues inside the string that begins at `start`. */
  *#longString(start: number, at: number): Slices<number> {
    let next = ~at;
    while (next < 0) {
      this.at = ~next;
      yield;
      next = scanString(this.#bytes, this.at, this.at + SLICE_BYTES);
    }
    this.#note(start, next);
    return next;
  }

  *#longNumber(start: number): Slices<number> {
    const bytes = this.#bytes;
    let at = bytes[start] === MINUS ? start + 1 : start;
    at = bytes[at] === ZERO ? at + 1 : yield* this.#digits(at);
    if (bytes[at] === POINT) at = yield* this.#digits(at + 1);
    if (isExponent(bytes[at])) at = yield* this.#digits(at + (isSign(bytes[at + 1]) ? 2 : 1));
    this.#note(start, at);
    return at;
  }

  *#digits(start: number): Slices<number> {
    let at = scanDigits(this.#bytes, start, start + SLICE_BYTES);
    while (isDigit(this.#bytes[at])) {
      this.at = at;
      yield;
      at = scanDigits(this.#bytes, at, at + SLICE_BYTES);
    }
    return at;
  }

  #note(start: number, end: number): void {
    if (end - start > LARGE_BYTES) this.ends.set(start, end);
    if (end - start > TEXT_BYTES_MAX) this.long.push({ start, end });
  }
}

/** Like {@link skipBlanks}, with a limit. */
function skipSome(bytes: Buffer, start: number, max: number): number {
  // Usually there is no white space.
  if (bytes[start]! > 0x20) return start;
  if (max === Number.POSITIVE_INFINITY) return skipBlanks(bytes, start);
  const end = skipBlanks(bytes, start, start + max);
  if (end === start + max) throw new JsonTooLargeError("blanks", max);
  return end;
}

function grown<T extends Uint8Array | Float64Array>(small: T, large: T): T {
  large.set(small);
  return large;
}

function unexpected(bytes: Buffer, at: number, wanted: string): JsonSyntaxError {
  const what = at >= bytes.length ? "the text ends" : "an unexpected character";
  return new JsonSyntaxError(`${what} where ${wanted} should be`, Math.min(at, bytes.length));
}

/**
 * The offset after the end of the string, from `start` inside it; or the complement (~) of the offset at which reading
 * paused, at `limit` or shortly after.
 */
function scanString(bytes: Buffer, start: number, limit: number): number {
  const end = Math.min(limit, bytes.length);
  let at = start;
  while (at < end) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) throw new JsonSyntaxError("a raw control character inside a string", at);
    at = byte === BACKSLASH ? scanEscape(bytes, at) : at + 1;
  }
  if (at < bytes.length) return ~at;
  throw new JsonSyntaxError("the text ends inside a string", bytes.length);
}

const ESCAPES = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));

function scanEscape(bytes: Buffer, at: number): number {
  const letter = bytes[at + 1];
  if (letter !== undefined && ESCAPES.has(letter)) return at + 2;
  if (letter !== 0x75) throw unexpected(bytes, at + 1, "a valid escape");
  for (let digit = at + 2; digit < at + 6; digit++) {
    if (!isHex(bytes[digit])) throw unexpected(bytes, digit, "a hexadecimal digit");
  }
  return at + 6;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | LOWER_BIT) >= 0x61 && (byte | LOWER_BIT) <= 0x66);
}

const WORDS = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), word]));

function scanWord(bytes: Buffer, at: number): number {
  const first = bytes[at];
  const word = first === undefined ? undefined : WORDS.get(first);
  if (word === undefined) throw unexpected(bytes, at, "a value");
  for (let i = 1; i < word.length; i++) {
    if (bytes[at + i] !== word.charCodeAt(i)) throw unexpected(bytes, at + i, `the rest of ${word}`);
  }
  return at + word.length;
}

/** The offset after the number at `start`, or -1 where it continues beyond `limit`. */
function scanNumber(bytes: Buffer, start: number, limit: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  at = bytes[at] === ZERO ? at + 1 : scanDigits(bytes, at, limit);
  if (bytes[at] === POINT) at = scanDigits(bytes, at + 1, limit);
  if (isExponent(bytes[at])) at = scanDigits(bytes, at + (isSign(bytes[at + 1]) ? 2 : 1), limit);
  return at < limit ? at : -1;
}

/** One digit or more, up to `limit`. */
function scanDigits(bytes: Buffer, start: number, limit: number): number {
  if (!isDigit(bytes[start])) throw unexpected(bytes, start, "a digit");
  let at = start + 1;
  while (at < limit && isDigit(bytes[at])) at++;
  return at;
}

function isExponent(byte: number | undefined): boolean {
  return byte === 0x65 || byte === 0x45;
}

function isSign(byte: number | undefined): boolean {
  return byte === 0x2b || byte === MINUS;
}

/** Limits of one answer: its memory use grows with each of them. */
export interface AnswerLimits {
  valuesMax: number;
  recordsMax: number;
}
