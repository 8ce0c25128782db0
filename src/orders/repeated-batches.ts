import type { AnswerRecord } from "../records/read-records.ts";

/** Records that are remembered; of a batch with more nothing is. */
const RECORDS_MAX = 20_000;
/** A queue that was restored, or a lease that ran out, brings a batch again under another name once. */
const TIMES_MAX = 2;

/**
 * Batches that bring what others brought before, under a name of their own each time. They are counted in memory: a restart
 * costs two rows more for each.
 */
export class RepeatedBatches {
  /** How many rows a record, as it was written, stands in, and the first of them. */
  readonly #met = new Map<string, { times: number; batch: number }>();

  /** The row in which the batch stands already; undefined: it has something new, or is not repeated so often. */
  find(records: readonly AnswerRecord[]): number | undefined {
    const [first] = records.map((record) => this.#met.get(keyOf(record)));
    if (first === undefined || records.length > RECORDS_MAX) return undefined;
    const isRepeated = records.every((record) => (this.#met.get(keyOf(record))?.times ?? 0) >= TIMES_MAX);
    return isRepeated ? first.batch : undefined;
  }

  /** A batch was stored in a row of its own. */
  note(records: readonly AnswerRecord[], batch: number): void {
    if (records.length > RECORDS_MAX) return;
    for (const key of new Set(records.map(keyOf))) {
      const met = this.#met.get(key);
      this.#met.delete(key);
      this.#met.set(key, met === undefined ? { times: 1, batch } : { ...met, times: met.times + 1 });
    }
    for (const key of this.#met.keys()) {
      if (this.#met.size <= RECORDS_MAX) break;
      this.#met.delete(key);
    }
  }
}

function keyOf({ hash }: AnswerRecord): string {
  return hash.toString("latin1");
}
