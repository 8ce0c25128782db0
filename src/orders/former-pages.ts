/*
 * Pages of batches that were read and confirmed. `?page=2` is one address for all batches: a cache without a sign of its
 * age may answer it with the page of the batch before, and the batch would be confirmed without its own.
 */

import { MetaValue } from "../database/meta.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";

/** Pages remembered. */
const PAGES_MAX = 400;

/** The digest of a page, and the row of its batch. The newest come last. */
type Saved = [digest: string, batch: number][];
const READ_PAGES = new MetaValue<Saved>("read_pages", []);

export class FormerPages {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether a page that follows `first` is one of another batch, which is confirmed and whose first page was another one. */
  has(page: string, first: string): boolean {
    const saved = READ_PAGES.load(this.#store);
    const found = saved.find(([digest]) => digest === short(page));
    if (found === undefined || saved.some(([digest]) => digest === short(first))) return false;
    const sql = "SELECT EXISTS (SELECT 1 FROM batches WHERE id = ? AND state = 'confirmed')";
    return onlyValue<number>(this.#store, sql, found[1]) === 1;
  }

  /** To be called inside a transaction, before the batch is confirmed. */
  save(pages: Iterable<string>, batch: number): void {
    const own = [...pages].map((page): Saved[number] => [short(page), batch]);
    const digests = new Set(own.map(([digest]) => digest));
    const others = READ_PAGES.load(this.#store).filter(([digest]) => !digests.has(digest));
    READ_PAGES.save(this.#store, [...others, ...own].slice(-PAGES_MAX));
  }
}

function short(digest: string): string {
  return digest.slice(0, 16);
}
