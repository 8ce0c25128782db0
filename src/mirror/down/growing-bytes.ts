/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const UNIT_BYTES = 3;
/** The exact length of longer texts is computed first. */
const SHORT_UNITS = 4 * 1024;
const LENGTH_BYTES = 4;

/** A growing byte buffer that is reused after `clear`. */
export class GrowingBytes {
  readonly #startBytes: number;
  readonly #keptBytes: number;
  #bytes: Buffer;
  #at = 0;

  /** `clear` releases a buffer that has grown beyond `keptBytes`. */
  constructor({ startBytes, keptBytes }: { startBytes: number; keptBytes: number }) {
    this.#startBytes = startBytes;
    this.#keptBytes = keptBytes;
    this.#bytes = Buffer.allocUnsafeSlow(startBytes);
  }

  get length(): number {
    return this.#at;
  }

  /** A view of the bytes written so far, valid until the next write or `clear`. */
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

  /** Four bytes of length, then the bytes that `write` appends. `isOwnIncluded`: the length counts its own four bytes. */
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
