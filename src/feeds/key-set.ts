import { hash } from "node:crypto";

/** What is kept of a key: six bytes, which JavaScript holds as one exact number. */
const KEY_BYTES = 6;

/**
 * Keys by what they hash to: a million of them in some 40 MB. Two keys may be taken for one, about once in 500 sets of a
 * million: whoever is told that a key is there already must look at the key itself before acting on it.
 */
export class KeySet {
  readonly #hashes = new Set<number>();

  /** True where the key was not there. */
  add(key: readonly string[]): boolean {
    const before = this.#hashes.size;
    this.#hashes.add(hashOf(key));
    return this.#hashes.size > before;
  }

  has(key: readonly string[]): boolean {
    return this.#hashes.has(hashOf(key));
  }
}

/** Empty parts at the end count for nothing: a key of two columns is also kept in a table of four. */
function hashOf(key: readonly string[]): number {
  const last = key.findLastIndex((part) => part !== "");
  const text = key
    .slice(0, last + 1)
    .map((part) => `${part.length}:${part}`)
    .join("");
  return hash("sha256", text, "buffer").readUIntBE(0, KEY_BYTES);
}
