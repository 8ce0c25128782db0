import type { BatchRow } from "../batches/batch-rows.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { UNNAMED } from "./confirm-record.ts";

/** From so many deliveries of a batch that no confirm can name, the count is saved; then each time it has doubled. */
const NOTED_MIN = 16;

export class UnnamedBatches {
  readonly #context: JobContext;
  #last: ReturnType<typeof UNNAMED.load>;

  constructor(context: JobContext) {
    this.#context = context;
  }

  /** Counts deliveries; saved at powers of two, to save writes. */
  async count(row: BatchRow, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const known = this.#last ?? UNNAMED.load(store);
    const served = { batch: row.id, times: (known?.batch === row.id ? known.times : 0) + 1 };
    this.#last = served;
    const isRound = served.times >= NOTED_MIN && Number.isInteger(Math.log2(served.times));
    if (isRound) await commit(this.#context, signal, () => UNNAMED.save(store, served));
  }
}
