import type { Store } from "../database/store.ts";
import { loadLastRunId, loadRunTotals } from "../health/monitor.ts";

export interface Counted {
  runs: { job: string; outcome: string; count: number }[];
  items: { job: string; what: string; sum: number }[];
}

/** Where nothing has scraped for days, the rest is counted by the next look: none of them takes long. */
const ROWS_PER_LOOK = 20_000;

/** Counts runs since the start from the rows they leave. Rows are removed after a while, so each look adds what came since the last. */
export class RunCounter {
  readonly #store: Store;
  readonly #runs = new Map<string, Counted["runs"][number]>();
  readonly #items = new Map<string, Counted["items"][number]>();
  #lastId: number;

  constructor(store: Store) {
    this.#store = store;
    this.#lastId = loadLastRunId(store);
  }

  count(): Counted {
    const newestId = Math.min(loadLastRunId(this.#store), this.#lastId + ROWS_PER_LOOK);
    const { outcomes, counts } = loadRunTotals(this.#store, this.#lastId, newestId);
    this.#lastId = newestId;
    for (const { job, outcome, count } of outcomes) {
      const key = `${job} ${outcome}`;
      this.#runs.set(key, { job, outcome, count: (this.#runs.get(key)?.count ?? 0) + count });
    }
    for (const { job, what, sum } of counts) {
      const key = `${job} ${what}`;
      this.#items.set(key, { job, what, sum: (this.#items.get(key)?.sum ?? 0) + sum });
    }
    return { runs: [...this.#runs.values()], items: [...this.#items.values()] };
  }
}
