import { resolvePath } from "../answers/json-path.ts";
import { kindOf, textOf } from "../answers/json-text.ts";
import { contentDigest } from "../records/compare-snapshot.ts";
import type { OrderMapping } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";

/** Records that are remembered; of a batch with more nothing is. */
const RECORDS_MAX = 20_000;
/** A queue that was restored, or a lease that ran out, brings a batch again under another name once. */
const TIMES_MAX = 2;

/** A batch as it was read. */
interface Read {
  bytes: Buffer;
  records: readonly AnswerRecord[];
}

/**
 * Batches that bring what others brought before, under a name of their own each time. They are counted in memory: a restart
 * costs two rows more for each, or three where the service writes its records in another order of keys each time.
 */
export class RepeatedBatches {
  readonly #mapping: OrderMapping;
  /** How many rows a record, as it was written or by what it says, stands in, and the first of them. */
  readonly #met = new Map<string, { times: number; batch: number }>();
  /** Orders of which a record was written before. */
  readonly #known = new Set<string>();

  constructor(mapping: OrderMapping) {
    this.#mapping = mapping;
  }

  /** The row in which the batch stands already; undefined: it has something new, or is not repeated so often. */
  find({ bytes, records }: Read): number | undefined {
    if (records.length > RECORDS_MAX) return undefined;
    let batch: number | undefined;
    for (const record of records) {
      const met = this.#keysOf(bytes, record).find((key) => (this.#met.get(key())?.times ?? 0) >= TIMES_MAX);
      if (met === undefined) return undefined;
      batch ??= this.#met.get(met())?.batch;
    }
    return batch;
  }

  /** A batch was stored in a row of its own. */
  note({ bytes, records }: Read, batch: number): void {
    if (records.length > RECORDS_MAX) return;
    const keys = records.flatMap((record) => this.#keysOf(bytes, record).map((key) => key()));
    for (const key of new Set(keys)) {
      const met = this.#met.get(key);
      this.#met.delete(key);
      this.#met.set(key, met === undefined ? { times: 1, batch } : { ...met, times: met.times + 1 });
    }
    for (const record of records) if (record.ok) this.#known.add(record.orderId);
    dropOldest(this.#met);
    dropOldest(this.#known);
  }

  /**
   * What a record says, and its time, are looked at only where one of its order was written before. A record may say something else at each
   * hand-out, such as when that was: of an order at the same time it is the same. What differs is stored, and journaled, all the same.
   */
  #keysOf(bytes: Buffer, record: AnswerRecord): (() => string)[] {
    const written = () => record.hash.toString("latin1");
    if (!record.ok || !this.#known.has(record.orderId)) return [written];
    const time = resolvePath(bytes, record.span, this.#mapping.paths.updated_at);
    const keys = [written, () => `says ${contentDigest(bytes, record.span, []).toString("latin1")}`];
    if (time.state !== "value" || kindOf(bytes, time.span) === "null") return keys;
    return [...keys, () => `${record.orderId} at ${textOf(bytes, time.span)}`];
  }
}

function dropOldest(of: Map<string, unknown> | Set<string>): void {
  for (const key of of.keys()) {
    if (of.size <= RECORDS_MAX) return;
    of.delete(key);
  }
}
