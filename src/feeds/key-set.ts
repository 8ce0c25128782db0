/** Slots of a new set; their number is a power of two and doubles when half of them are taken. */
const SLOTS = 1_024;
/** For so many keys room is made at once: 16 MB. */
const EXPECTED_MAX = 1_000_000;

/**
 * Keys by a number of 53 bits that they hash to: a million of them in 16 MB. Two keys may be taken for one, about once in
 * 18,000 sets of a million: a key that is found there already must itself be compared before anything follows from it.
 */
export class KeySet {
  /** 0: nothing. */
  #slots: Float64Array;
  #taken = 0;

  /** @param expected so many keys at least, where that is known */
  constructor(expected = 0) {
    const slots = Math.min(expected, EXPECTED_MAX) * 2;
    this.#slots = new Float64Array(Math.max(SLOTS, 2 ** Math.ceil(Math.log2(slots + 2))));
  }

  /** True where the key was not there. */
  add(key: readonly string[]): boolean {
    const hash = hashOf(key);
    const slot = this.#slotOf(hash);
    if (this.#slots[slot] === hash) return false;
    this.#slots[slot] = hash;
    this.#taken += 1;
    if (this.#taken * 2 > this.#slots.length) this.#grow();
    return true;
  }

  has(key: readonly string[]): boolean {
    const hash = hashOf(key);
    return this.#slots[this.#slotOf(hash)] === hash;
  }

  /** Where the hash is, or would be. */
  #slotOf(hash: number): number {
    const last = this.#slots.length - 1;
    let slot = hash & last;
    for (let held = this.#slots[slot]; held !== 0 && held !== hash; held = this.#slots[slot]) slot = (slot + 1) & last;
    return slot;
  }

  #grow(): void {
    const former = this.#slots;
    this.#slots = new Float64Array(former.length * 2);
    for (const hash of former) if (hash !== 0) this.#slots[this.#slotOf(hash)] = hash;
  }
}

/**
 * Two multiplicative hashes of 32 bits, each mixed with the other (Bryc's cyrb53). Empty parts at the end count for
 * nothing: a key of two columns is also kept in a table of four.
 */
function hashOf(key: readonly string[]): number {
  const last = key.findLastIndex((part) => part !== "");
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index <= last; index++) {
    const part = key[index] ?? "";
    // No unit of a text is as large: ends of parts cannot be taken for text.
    a = Math.imul(a ^ (0x10000 + part.length), 2654435761);
    b = Math.imul(b ^ (0x10000 + part.length), 1597334677);
    for (let at = 0; at < part.length; at++) {
      const unit = part.charCodeAt(at);
      a = Math.imul(a ^ unit, 2654435761);
      b = Math.imul(b ^ unit, 1597334677);
    }
  }
  const low = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  const high = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return (high >>> 11) * 2 ** 32 + (low >>> 0) || 1;
}
