import { resolveSingle } from "../answers/json-path.ts";
import { kindOf, textOf } from "../answers/json-text.ts";
import { contentDigest } from "../records/compare-snapshot.ts";
import type { OrderMapping } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";

/** Limit of remembered records; a larger batch is not remembered. */
const RECORDS_MAX = 20_000;
/** A restored queue or an expired lease repeats a batch under another name once. */
const TIMES_MAX = 2;

/** A parsed batch. */
interface Read {
  bytes: Buffer;
  records: readonly AnswerRecord[];
}

/**
 * Detects batches that repeat the content of others, each under a new name, so that they do not fill the table. Counted
 * in memory: a restart costs two more rows for each, or three where the service changes the order of keys in each
 * answer.
 */
export class RepeatedBatches {
  readonly #mapping: OrderMapping;
  /** By key of a record: in how many rows it is, and the first of them. */
  readonly #met = new Map<string, { times: number; batch: number }>();
  /** Orders of which a record was stored. */
  readonly #known = new Set<string>();

  constructor(mapping: OrderMapping) {
    this.#mapping = mapping;
  }

  /** Row id of the batch that has all these records; undefined where one is new, or not repeated often enough. */
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

  /** To be called when the batch was stored in a row of its own. */
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
   * Keys that identify a record: its text, its content, and its order with the timestamp. The last two are computed
   * only for orders already known. A record may differ in each delivery, for example by the delivery's time: with the
   * same order and timestamp it counts as repeated. What differs is stored and journaled anyway.
   */
  #keysOf(bytes: Buffer, record: AnswerRecord): (() => string)[] {
    const written = () => record.hash.toString("latin1");
    if (!record.ok || !this.#known.has(record.orderId)) return [written];
    const time = resolveSingle(bytes, record.span, this.#mapping.paths.updated_at);
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
