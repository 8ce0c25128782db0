import type { Store } from "../database/store.ts";
import { loadLastRunId, loadRunTotals } from "../health/monitor.ts";

export interface Counted {
  runs: { job: string; outcome: string; count: number }[];
  items: { job: string; what: string; sum: number }[];
}

/** After days without a scrape the rest is counted by later calls, so that none takes long. */
const ROWS_PER_LOOK = 20_000;

/** Counts runs since the start from their rows. Rows are pruned, so each call adds those since the last call. */
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
