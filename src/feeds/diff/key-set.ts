/** Slots of a new set; their number is a power of two and doubles when half of them are used. */
const SLOTS = 1_024;
/** Maximum number of keys for which memory is allocated in advance: 16 MB. */
const EXPECTED_MAX = 1_000_000;

/**
 * A set of keys by 53-bit hashes: a million keys in 16 MB. In about one of 18,000 sets of a million keys two hashes are
 * equal, so a key that is already in the set must itself be compared.
 */
export class KeySet {
  /** 0: nothing. */
  #slots: Float64Array;
  #taken = 0;

  /** @param expected minimum number of keys, where it is known */
  constructor(expected = 0) {
    const slots = Math.min(expected, EXPECTED_MAX) * 2;
    this.#slots = new Float64Array(Math.max(SLOTS, 2 ** Math.ceil(Math.log2(slots + 2))));
  }

  /** Returns whether the key was new. */
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

  /** The slot of the hash, or the free one for it. */
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
 * Two multiplicative 32-bit hashes, each mixed with the other (Bryc's cyrb53). Trailing empty parts are ignored: a key of
 * two columns is also stored padded to four.
 */
function hashOf(key: readonly string[]): number {
  const last = key.findLastIndex((part) => part !== "");
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index <= last; index++) {
    const part = key[index] ?? "";
    // Larger than any UTF-16 unit, so that boundaries of parts differ from text.
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
