/*
 * Arrays in PostgreSQL's binary form: what `array_recv` reads. A parameter that is a Buffer is sent in that form, and each value is then
 * parsed once, where an array as text would be quoted here and taken apart there, and JSON around values parsed twice.
 */

/** `jsonb`: JSON text. Everything else is text, which the statement casts. */
export type ArrayKind = "text" | "jsonb";
export type ArrayValue = string | number | boolean | null;

const OIDS: Record<ArrayKind, number> = { text: 25, jsonb: 3802 };
/** Dimensions, whether there are NULLs, type; then length and lower bound of the one dimension. */
const HEAD_BYTES = 20;
/** Before each value: how long it is. */
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/** The first byte of a jsonb. */
const JSONB_VERSION = 1;

export function arrayOf(kind: ArrayKind, values: readonly ArrayValue[]): Buffer {
  const texts = values.map((value) => (value === null ? null : String(value)));
  const extra = kind === "jsonb" ? 1 : 0;
  const bytes = texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text) + extra), 0);
  const buffer = Buffer.allocUnsafe(HEAD_BYTES + texts.length * LENGTH_BYTES + bytes);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(texts.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(OIDS[kind], 8);
  buffer.writeInt32BE(texts.length, 12);
  buffer.writeInt32BE(1, 16);
  let at = HEAD_BYTES;
  for (const text of texts) {
    const start = at + LENGTH_BYTES;
    if (text === null) {
      buffer.writeInt32BE(NULL_LENGTH, at);
      at = start;
      continue;
    }
    if (extra > 0) buffer[start] = JSONB_VERSION;
    const length = extra + buffer.write(text, start + extra);
    buffer.writeInt32BE(length, at);
    at = start + length;
  }
  return buffer;
}
