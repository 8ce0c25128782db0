import { createHash, hash } from "node:crypto";
import { resolveSingle } from "../answers/json-path.ts";
import { kindOf, textOf } from "../answers/json-text.ts";
import type { Slices } from "../answers/slices.ts";
import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { loadKnownOrders } from "../pass/held-rows.ts";
import { contentDigest } from "../records/compare-snapshot.ts";
import type { OrderMapping } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";

/** Limit of remembered records; a larger batch is not remembered. */
const RECORDS_MAX = 20_000;
/** A restored queue or an expired lease repeats a batch under another name once. */
const TIMES_MAX = 2;
/** Batches remembered over a restart. */
const SAVED_MAX = 200;
/** Records identified in one turn. */
const RECORDS_PER_TURN = 200;

/** Digest of a batch, the newest row that has it, and how many rows were stored with it. The newest come last. */
const REPEATED = new MetaValue<[digest: string, batch: number, times: number][]>("repeated_batches", []);

/** A parsed batch. */
interface Read {
  bytes: Buffer;
  records: readonly AnswerRecord[];
}

/**
 * Detects batches that repeat the content of others, each under a new name, so that they do not fill the table. Records
 * are counted in memory. Where each pass is a process of its own, whole batches are counted in `meta.repeated_batches`,
 * but only those without a new order, so that other batches cause no write; each then has one row more.
 */
export class RepeatedBatches {
  readonly #store: Store;
  readonly #mapping: OrderMapping;
  /** By key of a record: in how many rows it is, and the first of them. */
  readonly #met = new Map<string, { times: number; batch: number }>();
  /** Orders of which a record was stored. */
  readonly #known = new Set<string>();

  constructor(store: Store, mapping: OrderMapping) {
    this.#store = store;
    this.#mapping = mapping;
  }

  /**
   * Digest of what identifies the batch without its name, whatever the order of its records and of their keys. Undefined
   * where an order is new, so that no such batch counts as repeated.
   */
  *digestInSlices({ bytes, records }: Read): Slices<string | undefined> {
    if (records.length === 0 || records.length > RECORDS_MAX) return undefined;
    const found: string[] = [];
    for (let from = 0; from < records.length; from += RECORDS_PER_TURN) {
      if (from > 0) yield;
      const part = records.slice(from, from + RECORDS_PER_TURN);
      const ids = new Set(part.flatMap((record) => (record.ok ? [record.orderId] : [])));
      if (loadKnownOrders(this.#store, [...ids]).size < ids.size) return undefined;
      found.push(...part.map((record) => hash("sha256", this.#identityOf(bytes, record))));
    }
    const sum = createHash("sha256");
    for (const each of found.sort()) sum.update(each);
    return sum.digest("base64url").slice(0, 16);
  }

  /**
   * Row id of the batch that has all these records; undefined where one is new, or not repeated often enough.
   * @param digest of {@link digestInSlices}
   */
  find(read: Read, digest: string | undefined): number | undefined {
    const saved = digest === undefined ? undefined : REPEATED.load(this.#store).find((each) => each[0] === digest);
    return this.#findMet(read) ?? ((saved?.[2] ?? 0) >= TIMES_MAX ? saved?.[1] : undefined);
  }

  /** To be called inside the transaction that stores the batch in a row of its own. */
  save(digest: string, batch: number): void {
    const saved = REPEATED.load(this.#store);
    const times = saved.find((each) => each[0] === digest)?.[2] ?? 0;
    const others = saved.filter((each) => each[0] !== digest).slice(1 - SAVED_MAX);
    REPEATED.save(this.#store, [...others, [digest, batch, Math.min(times + 1, TIMES_MAX)]]);
  }

  #findMet({ bytes, records }: Read): number | undefined {
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
    const keys = [written, () => contentOf(bytes, record)];
    const timed = this.#timeOf(bytes, record);
    return timed === undefined ? keys : [...keys, () => timed];
  }

  /** The last of the keys that the record has. */
  #identityOf(bytes: Buffer, record: AnswerRecord): string {
    if (!record.ok) return record.hash.toString("latin1");
    return this.#timeOf(bytes, record) ?? contentOf(bytes, record);
  }

  #timeOf(bytes: Buffer, { orderId, span }: AnswerRecord & { ok: true }): string | undefined {
    const time = resolveSingle(bytes, span, this.#mapping.paths.updated_at);
    if (time.state !== "value" || kindOf(bytes, time.span) === "null") return undefined;
    return `${orderId} at ${textOf(bytes, time.span)}`;
  }
}

function contentOf(bytes: Buffer, { span }: AnswerRecord): string {
  return `says ${contentDigest(bytes, span, []).toString("latin1")}`;
}

function dropOldest(of: Map<string, unknown> | Set<string>): void {
  for (const key of of.keys()) {
    if (of.size <= RECORDS_MAX) return;
    of.delete(key);
  }
}
