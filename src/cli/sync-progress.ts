import type { Store } from "../database/store.ts";
import { loadWorkLeft } from "../health/work-left.ts";
import type { JobName } from "../pass/job-names.ts";
import type { Step } from "./progress.ts";

/**
 * Progress of a sync, read from the database, whichever process does the work: this one or a daemon. The backlog may
 * grow meanwhile, so the work done is the sum of all its decreases.
 */
export class SyncProgress {
  readonly #store: Store;
  readonly #names: readonly JobName[];
  /** How many of the jobs have ended. */
  readonly #ended: () => number;
  #job: JobName | undefined;
  #left: number | undefined;
  #doneAtFirst = 0;
  #gone = 0;

  constructor(store: Store, names: readonly JobName[], ended: () => number) {
    this.#store = store;
    this.#names = names;
    this.#ended = ended;
  }

  look(): Step | undefined {
    const job = this.#names[this.#ended()];
    if (job === undefined || !this.#store.db.open) return undefined;
    const { unit, left, done } = loadWorkLeft(this.#store, job);
    if (job !== this.#job) {
      this.#job = job;
      this.#left = left;
      this.#gone = 0;
      // Orders are counted from the start of this sync, a round of reconciling from its own start.
      this.#doneAtFirst = job === "orders" ? (done ?? 0) : 0;
    }
    if (done !== undefined) return { what: job, unit, done: done - this.#doneAtFirst };
    if (left === undefined) return { what: job };
    this.#gone += Math.max(0, (this.#left ?? left) - left);
    this.#left = left;
    return this.#gone + left === 0 ? { what: job } : { what: job, unit, done: this.#gone, total: this.#gone + left };
  }
}
