/*
 * Rows whose key cannot be read, and which of the keys that are missing beside them they may be. Whoever finds a key
 * missing in the same reading must not take it for gone.
 */
import { counted } from "../messages/counted.ts";
import type { JobContext } from "../pass/job.ts";
import { type ColumnValue, type FeedRules, keyText, type SourceRow } from "./feed.ts";

/** More such rows say that the keys as a whole are not what they were: then every missing key may be one of them. */
const PATTERNS_MAX = 100;
const ENCODINGS = ["utf-8", "utf-16le", "utf-16be"] as const;

type Part = (text: string) => boolean;

export class UnreadableKeys {
  readonly #rules: FeedRules;
  readonly #patterns = new Map<string, readonly Part[]>();

  constructor(rules: FeedRules) {
    this.#rules = rules;
  }

  get isEmpty(): boolean {
    return this.#patterns.size === 0;
  }

  /** A row that no key can name. */
  add(row: SourceRow): void {
    if (this.#patterns.size > PATTERNS_MAX) return;
    const values = this.#rules.keys.map((column) => row[column] ?? null);
    // A row without any key is none that was sent: only bytes and numbers that mean nothing may be a key.
    if (values.every((value) => value === null || keyText(value) !== undefined)) return;
    const name = values.map((value) => (Buffer.isBuffer(value) ? `x${value.toString("hex")}` : `t${value}`)).join(" ");
    if (!this.#patterns.has(name)) this.#patterns.set(name, values.map(partOf));
  }

  /** Whether one of the rows may be that of this key, as far as its bytes tell. */
  mayBe(key: readonly string[]): boolean {
    if (this.#patterns.size > PATTERNS_MAX) return true;
    return [...this.#patterns.values()].some((parts) => parts.every((part, index) => part(key[index] ?? "")));
  }
}

export function tellOfUnclear({ log }: JobContext, { name }: FeedRules, rows: number): void {
  log.warn(
    { feed: name, rows },
    `${name}: ${counted(rows, "missing row")} may be among those whose key cannot be read: not sent as gone.`,
  );
}

/** What one column of such a key may have been. */
function partOf(value: ColumnValue): Part {
  if (!Buffer.isBuffer(value)) {
    const known = value === null ? "" : keyText(value);
    return known === undefined ? () => true : (text) => text === known;
  }
  const readings = ENCODINGS.map((encoding) =>
    new TextDecoder(encoding, { ignoreBOM: true }).decode(value).split(/\ufffd+/),
  );
  return (text) => readings.some((pieces) => hasPieces(text, pieces));
}

/** Whether a text consists of these pieces in this order. Anything may stand between them, where bytes meant nothing. */
function hasPieces(text: string, [first = "", ...others]: readonly string[]): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at + last.length <= text.length;
}
