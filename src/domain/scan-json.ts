import { type Buffer, isUtf8 } from "node:buffer";
import { JsonSyntaxError, JsonTooLargeError, SLICE_BYTES, type Span, skipBlanks } from "./json-text.ts";
import { atOnce, type Slices } from "./slices.ts";

/**
 * The span of the whole value. `utf8` is false where some string holds bytes that are not UTF-8 (see {@link isUtf8Span});
 * `depth` is that of its innermost place (see {@link depthOf}).
 */
export interface ScannedJson extends Span {
  readonly utf8: boolean;
  readonly depth: number;
  /** How many values the whole holds, itself included. */
  readonly values: number;
  readonly ends: ReadonlyMap<number, number>;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LIST_OPEN = 0x5b;
const OBJECT_OPEN = 0x7b;
/** Set in the lower-case form of a letter. */
const LOWER_BIT = 0x20;
/** From an opening bracket to its closing one: `[`+2 is `]`, `{`+2 is `}`. */
const TO_CLOSE = 2;

/**
 * Checks that `bytes` hold exactly one complete JSON value (a byte order mark before it and white space around it are
 * allowed) and returns where it stands. Any depth is taken without recursion. Bytes that are not UTF-8 inside a string do
 * not fail here, so that one damaged record cannot hide the others: they are told by `utf8`.
 *
 * @throws JsonSyntaxError for text that is cut, empty or wrong.
 */
export function scanJson(bytes: Buffer): ScannedJson {
  return atOnce(scanInSlices(bytes));
}

/**
 * The same in slices of about a megabyte, so that a large text does not keep the event loop.
 * @throws JsonSyntaxError, and JsonTooLargeError beyond `valuesMax` values (members and elements; keys do not count).
 */
export function* scanInSlices(bytes: Buffer, valuesMax = Number.POSITIVE_INFINITY): Slices<ScannedJson> {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const start = skipBlanks(bytes, marked ? 3 : 0);
  const scan = new ValueScan(bytes, start, valuesMax);
  let utf8 = true;
  for (let from = 0, isComplete = false; !isComplete; from = scan.end) {
    if (from > 0) yield;
    isComplete = scan.advance(SLICE_BYTES);
    // A slice ends between two values, so never inside a character.
    utf8 &&= isUtf8(bytes.subarray(from, scan.end));
  }
  const { end, depth, values } = scan;
  const rest = skipBlanks(bytes, end);
  if (rest < bytes.length) throw new JsonSyntaxError("something follows the value", rest);
  return { start, end, utf8, depth, values, ends: scan.ends };
}

/** A list or object of so many bytes is worth remembering where it ends. */
const LARGE_BYTES = 256 * 1024;

/** The walk over one value, which can be left between any two of the values inside it. */
class ValueScan {
  /** Where the value ends, once it is complete. */
  end: number;
  /** Of the innermost place. */
  depth = 0;
  values = 0;
  readonly ends = new Map<number, number>();
  readonly #bytes: Buffer;
  readonly #valuesMax: number;
  /** The brackets that are open, outermost first. */
  #open: Uint8Array = new Uint8Array(256);
  /** Where each of them stands. */
  #starts: Float64Array = new Float64Array(256);
  #openCount = 0;

  constructor(bytes: Buffer, start: number, valuesMax: number) {
    this.#bytes = bytes;
    this.end = start;
    this.#valuesMax = valuesMax;
  }

  /** Goes on for `count` bytes or some more. Returns whether the value is complete. */
  advance(count: number): boolean {
    const bytes = this.#bytes;
    const pauseAt = this.end + count;
    let open = this.#open;
    let starts = this.#starts;
    let depth = this.#openCount;
    let deepest = this.depth;
    let values = this.values;
    let at = this.end;
    while (at < pauseAt) {
      const first = bytes[at];
      if (++values > this.#valuesMax) throw new JsonTooLargeError("values", this.#valuesMax);
      if (first === OBJECT_OPEN || first === LIST_OPEN) {
        if (depth === deepest) deepest = depth + 1;
        const inside = skipBlanks(bytes, at + 1);
        if (bytes[inside] !== first + TO_CLOSE) {
          if (depth === open.length) {
            open = grown(open, new Uint8Array(depth * 2));
            starts = grown(starts, new Float64Array(depth * 2));
          }
          starts[depth] = at;
          open[depth++] = first;
          at = first === OBJECT_OPEN ? scanKey(bytes, inside) : inside;
          continue;
        }
        at = inside + 1;
      } else if (first === QUOTE) {
        at = scanString(bytes, at);
      } else {
        at = scanLiteral(bytes, at);
      }
      // A value ends at `at`: close what it completes, then go to the next value or leave.
      for (;;) {
        if (depth === 0) {
          this.#save({ open, starts, openCount: 0, at, deepest, values });
          return true;
        }
        const container = open[depth - 1]!;
        at = skipBlanks(bytes, at);
        const next = bytes[at];
        if (next === COMMA) {
          at = skipBlanks(bytes, at + 1);
          if (container === OBJECT_OPEN) at = scanKey(bytes, at);
          break;
        }
        if (next !== container + TO_CLOSE) throw unexpected(bytes, at, "a comma or the end of the list or object");
        at += 1;
        depth -= 1;
        const from = starts[depth]!;
        if (at - from > LARGE_BYTES) this.ends.set(from, at);
      }
    }
    this.#save({ open, starts, openCount: depth, at, deepest, values });
    return false;
  }

  #save(state: {
    open: Uint8Array;
    starts: Float64Array;
    openCount: number;
    at: number;
    deepest: number;
    values: number;
  }): void {
    this.#open = state.open;
    this.#starts = state.starts;
    this.#openCount = state.openCount;
    this.end = state.at;
    this.depth = state.deepest;
    this.values = state.values;
  }
}

function grown<T extends Uint8Array | Float64Array>(small: T, large: T): T {
  large.set(small);
  return large;
}

function unexpected(bytes: Buffer, at: number, wanted: string): JsonSyntaxError {
  const what = at >= bytes.length ? "the text ends" : "an unexpected character";
  return new JsonSyntaxError(`${what} where ${wanted} should be`, Math.min(at, bytes.length));
}

/** Reads `"key" :` and returns where the value begins. */
function scanKey(bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) throw unexpected(bytes, at, "a quoted key");
  const colon = skipBlanks(bytes, scanString(bytes, at));
  if (bytes[colon] !== COLON) throw unexpected(bytes, colon, "a colon");
  return skipBlanks(bytes, colon + 1);
}

function scanString(bytes: Buffer, open: number): number {
  const length = bytes.length;
  let at = open + 1;
  while (at < length) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) throw new JsonSyntaxError("a raw control character inside a string", at);
    at = byte === BACKSLASH ? scanEscape(bytes, at) : at + 1;
  }
  throw new JsonSyntaxError("the text ends inside a string", length);
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

function scanLiteral(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === 0x2d || isDigit(first)) return scanNumber(bytes, at);
  const word = first === undefined ? undefined : WORDS.get(first);
  if (word === undefined) throw unexpected(bytes, at, "a value");
  for (let i = 1; i < word.length; i++) {
    if (bytes[at + i] !== word.charCodeAt(i)) throw unexpected(bytes, at + i, `the rest of ${word}`);
  }
  return at + word.length;
}

function scanNumber(bytes: Buffer, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  at = bytes[at] === 0x30 ? at + 1 : scanDigits(bytes, at);
  if (bytes[at] === 0x2e) at = scanDigits(bytes, at + 1);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    const signed = bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d;
    at = scanDigits(bytes, at + (signed ? 2 : 1));
  }
  return at;
}

function scanDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at++;
  if (at === start) throw unexpected(bytes, at, "a digit");
  return at;
}
