/*
 * Finds the records that make an answer invalid JSON: a raw line break in a string, `NaN`, a trailing comma. Only for
 * text that the strict parser has rejected. The brackets, keys and commas around the records must be valid, so that a
 * record never includes another one; a truncated text is rejected.
 */
import { Buffer } from "node:buffer";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { SLICE_BYTES, skipBlanks, TEXT_BYTES_MAX } from "./json-text.ts";
import type { Slices } from "./slices.ts";

export interface BrokenRecord {
  /** The bytes as sent: a view of the original text. */
  raw: Buffer;
  flaw: Message;
  /** The offset of its first error in the text. */
  at: number;
}

/** A copy of the text that is valid JSON with the same byte offsets, and the records that were invalid. */
export interface MendedJson {
  bytes: Buffer;
  /** Keyed by the offset at which they begin. */
  broken: ReadonlyMap<number, BrokenRecord>;
}

/** How far parsing came: the number of the element, from 1, at the requested depth. */
export interface Unmended {
  element: number | undefined;
}

interface Frame {
  start: number;
  isObject: boolean;
  /** The number of its values that have begun. */
  values: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BLANK = 0x20;
const ZERO = 0x30;
const ESCAPES = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));
const LITERAL = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const TOKEN_MAX = 10_000;
/** The maximum white space in a row. */
const BLANKS_MAX = 1_000_000;
/** With more broken records the answer itself is broken, and keeping the records would exhaust memory. */
const BROKEN_MAX = 50_000;
const COPY_BYTES = 16 * 1024 * 1024;

/**
 * @param depth the number of lists and objects around a record
 * @returns `element` where the text cannot be repaired
 */
export function* mendInSlices(bytes: Buffer, depth: number): Slices<MendedJson | Unmended> {
  const mended = Buffer.allocUnsafeSlow(bytes.length);
  for (let at = 0; at < bytes.length; at += COPY_BYTES) {
    if (at > 0) yield;
    bytes.copy(mended, at, at, at + COPY_BYTES);
  }
  const mender = new Mender(bytes, mended, depth);
  for (;;) {
    const step = mender.advance(SLICE_BYTES);
    if (step === "whole") return { bytes: mender.mended, broken: mender.broken };
    if (step === "unsound") return { element: mender.element };
    yield;
  }
}

class Mender {
  readonly mended: Buffer;
  readonly broken = new Map<number, BrokenRecord>();
  readonly #bytes: Buffer;
  readonly #depth: number;
  readonly #frames: Frame[] = [];
  #at: number;
  /** The first error of the current record. */
  #flaw: { flaw: Message; at: number } | undefined;
  #isSound = true;

  /** @param mended a copy of `bytes` */
  constructor(bytes: Buffer, mended: Buffer, depth: number) {
    this.#bytes = bytes;
    this.#depth = depth;
    this.mended = mended;
    const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    this.#at = skipBlanks(bytes, isMarked ? 3 : 0);
  }

  get element(): number | undefined {
    return this.#depth === 0 ? undefined : this.#frames[this.#depth - 1]?.values;
  }

  advance(count: number): "whole" | "more" | "unsound" {
    const pauseAt = this.#at + count;
    while (this.#at < pauseAt) {
      const isOver = this.#readValue();
      if (!this.#isSound) return "unsound";
      if (isOver) return skipBlanks(this.#bytes, this.#at) === this.#bytes.length ? "whole" : "unsound";
    }
    return "more";
  }

  /**
   * Reads one value, or the bracket that opens it, then the brackets that close after it. Returns whether the text is
   * complete.
   */
  #readValue(): boolean {
    const bytes = this.#bytes;
    const frame = this.#frames.at(-1);
    if (frame !== undefined) frame.values += 1;
    const start = this.#at;
    const first = bytes[start];
    if (first === 0x7b || first === 0x5b) {
      const isObject = first === 0x7b;
      this.#frames.push({ start, isObject, values: 0 });
      this.#at = skipSome(bytes, start + 1);
      if (bytes[this.#at] !== first + 2) {
        if (isObject) this.#readKey();
        return false;
      }
      this.#close();
    } else if (first === QUOTE) {
      this.#readString(this.#frames.length);
      this.#endValue(start, this.#frames.length);
    } else {
      this.#readToken();
      this.#endValue(start, this.#frames.length);
    }
    return this.#goOn();
  }

  #goOn(): boolean {
    const bytes = this.#bytes;
    while (this.#isSound) {
      const frame = this.#frames.at(-1);
      if (frame === undefined) return true;
      const end = frame.isObject ? 0x7d : 0x5d;
      this.#at = skipSome(bytes, this.#at);
      if (bytes[this.#at] === COMMA) {
        const comma = this.#at;
        this.#at = skipSome(bytes, comma + 1);
        if (bytes[this.#at] !== end) {
          if (frame.isObject) this.#readKey();
          return false;
        }
        this.#note(this.#frames.length - 1, comma, m.answers.trailingComma);
        this.mended[comma] = BLANK;
      }
      if (bytes[this.#at] !== end) this.#isSound = false;
      else this.#close();
    }
    return false;
  }

  #close(): void {
    const { start } = this.#frames.pop() as Frame;
    this.#at += 1;
    this.#endValue(start, this.#frames.length);
  }

  /** @param depth the number of lists and objects around the value */
  #endValue(start: number, depth: number): void {
    if (depth !== this.#depth || this.#flaw === undefined) return;
    if (this.broken.size === BROKEN_MAX) this.#isSound = false;
    this.broken.set(start, { ...this.#flaw, raw: this.#bytes.subarray(start, this.#at) });
    this.#flaw = undefined;
  }

  /** @param depth of the value that has the error; an error outside a record makes the text unsound */
  #note(depth: number, at: number, flaw: Message): void {
    if (depth < this.#depth) this.#isSound = false;
    this.#flaw ??= { flaw, at };
  }

  #readKey(): void {
    const bytes = this.#bytes;
    if (bytes[this.#at] !== QUOTE) {
      this.#isSound = false;
      return;
    }
    this.#readString(this.#frames.length - 1);
    const colon = skipSome(bytes, this.#at);
    if (bytes[colon] !== COLON) this.#isSound = false;
    this.#at = skipSome(bytes, colon + 1);
  }

  #readString(depth: number): void {
    const bytes = this.#bytes;
    // A longer string is in no record that is read.
    const end = Math.min(this.#at + TEXT_BYTES_MAX, bytes.length);
    for (let at = this.#at + 1; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return;
      }
      if (byte < BLANK) {
        this.#note(depth, at, flawOf(byte));
        this.mended[at] = BLANK;
      } else if (byte === BACKSLASH) {
        const letter = bytes[at + 1] ?? 0;
        if (!ESCAPES.has(letter) && !(letter === 0x75 && areHex4(bytes, at + 2))) {
          this.#note(depth, at, m.answers.unknownEscape);
          this.mended[at] = BLANK;
          // The next byte is checked by itself: it may be a line break.
          continue;
        }
        at += 1;
      }
    }
    this.#isSound = false;
  }

  #readToken(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    while (at - start < TOKEN_MAX && isTokenByte(bytes[at])) at++;
    this.#at = at;
    if (at === start || at - start === TOKEN_MAX) this.#isSound = false;
    else if (!LITERAL.test(bytes.toString("latin1", start, at))) {
      this.#note(this.#frames.length, start, m.answers.noJsonValue);
      this.mended.fill(BLANK, start, at);
      this.mended[start] = ZERO;
    }
  }
}

/** With more white space, no expected byte is found, and the text cannot be repaired. */
function skipSome(bytes: Buffer, start: number): number {
  return skipBlanks(bytes, start, start + BLANKS_MAX);
}

function areHex4(bytes: Buffer, start: number): boolean {
  for (let at = start; at < start + 4; at++) {
    const byte = bytes[at] ?? 0;
    const lower = byte | 0x20;
    if (!((byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66))) return false;
  }
  return true;
}

/** Letters, digits and the signs of numbers. */
function isTokenByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const lower = byte | 0x20;
  return (
    (lower >= 0x61 && lower <= 0x7a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  );
}

function flawOf(byte: number): Message {
  if (byte === 0x0a || byte === 0x0d) return m.answers.rawLineBreak;
  return byte === 0x09 ? m.answers.rawTab : m.answers.rawControl;
}
