/** What a UTF-16 unit takes at most in UTF-8. */
const UNIT_BYTES = 3;
/** Longer texts are measured first. */
const SHORT_UNITS = 4 * 1024;
const LENGTH_BYTES = 4;

/** Bytes that are written one after the other, again and again from the beginning: what they need is taken once. */
export class GrowingBytes {
  readonly #startBytes: number;
  readonly #keptBytes: number;
  #bytes: Buffer;
  #at = 0;

  /** More than `keptBytes`, which took a giant record, is given back. */
  constructor({ startBytes, keptBytes }: { startBytes: number; keptBytes: number }) {
    this.#startBytes = startBytes;
    this.#keptBytes = keptBytes;
    this.#bytes = Buffer.allocUnsafeSlow(startBytes);
  }

  get length(): number {
    return this.#at;
  }

  /** What was written, until it is written anew. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  clear(): void {
    this.#at = 0;
    if (this.#bytes.length > this.#keptBytes) this.#bytes = Buffer.allocUnsafeSlow(this.#startBytes);
  }

  text(text: string): void {
    this.#reserve(text.length <= SHORT_UNITS ? text.length * UNIT_BYTES : Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at);
  }

  append({ written }: GrowingBytes): void {
    this.#reserve(written.length);
    this.#at += written.copy(this.#bytes, this.#at);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  int16(value: number): void {
    this.#reserve(2);
    this.#at = this.#bytes.writeInt16BE(value, this.#at);
  }

  int32(value: number): void {
    this.#reserve(LENGTH_BYTES);
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
  }

  /** Its length, in four bytes, and then what `write` writes. */
  withLength(write: () => void, isOwnIncluded = false): void {
    const start = this.#at;
    this.int32(0);
    write();
    this.#bytes.writeInt32BE(this.#at - start - (isOwnIncluded ? 0 : LENGTH_BYTES), start);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
