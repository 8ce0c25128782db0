/*
 * Collects the changes of one pass by order, until they are stored: of several changes of an order only the newest
 * counts, and most are known from earlier passes and dropped immediately. Writes nothing; after a crash the same
 * changes are requested again.
 */

import { inTurns, type Slices } from "../../answers/slices.ts";
import { readOrderId } from "../../answers/uuid.ts";
import { isEmptyRecord } from "../../completeness/list-metadata.ts";
import type { Store } from "../../database/store.ts";
import { isUnnamed } from "../../orders/named-orders.ts";
import { loadSeenChanges } from "../../pass/position-rows.ts";
import { type ChangeKey, isSeen, readSeen, rememberChanges, writeSeen } from "../../pass/seen-changes.ts";
import { type Clock, isoTime } from "../../platform/ports.ts";
import type { AnswerRecord } from "../../records/read-records.ts";
import { forgetUnstored, noteUnstored, type UnstoredAnswer } from "../../records/unstored-records.ts";
import type { ChangePage, ServedChange } from "./change-page.ts";

const CHANGES_PER_STEP = 100;
/** Orders processed without a pause: a pass may have hundreds of thousands. */
const ORDERS_PER_STEP = 2_000;
/** Limit per order: an order whose record differs in every answer must not keep the pass going. */
const FRESH_PER_ORDER_MAX = 64;
/** Limit of waiting changes, each with its record; more would cost noticeable garbage collection. */
const NEWS_MAX = 10_000;
/** Above this size they are stored early too. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** So long other work waits at most, such as the pull of orders. */
const TURN_MS = 10;

/** A change to apply, with a copy of its text. */
export interface ChangeNews {
  /** Its `span` points into `bytes`. */
  record: AnswerRecord;
  bytes: Buffer;
  /** Hash of the content, without key order and white space. */
  contentHash: Buffer;
  /** The records of this order do not show which of them is newest. */
  isAmbiguous: boolean;
  /**
   * A known record came again and the last one did not: the order was set back, or a replica that lags has answered.
   */
  isKnown: boolean;
  /**
   * Remembered changes of the order, to be saved in the transaction that applies this one; undefined where the record
   * names no order.
   */
  seen: Buffer | undefined;
  /** An earlier new change of the order, where exactly one of the two cancels it. */
  overtaken?: UnstoredAnswer | undefined;
  /** Registration to be removed once the change is applied. */
  unstored?: UnstoredAnswer | undefined;
}

interface Waiting {
  record: AnswerRecord;
  bytes: Buffer;
  contentHash: Buffer;
  timestampNs: bigint | undefined;
  isKnown: boolean;
  key?: ChangeKey;
  /** Index of the last page of this pass that had it. */
  page?: number;
  unstored?: UnstoredAnswer | undefined;
}

/** Fields are optional to save memory: a pass may bring hundreds of thousands of orders. */
interface OrderChanges {
  seen: ChangeKey[];
  /** A set only for more than one: nearly every order is served once. */
  served: ChangeKey | Set<ChangeKey> | undefined;
  /** Whether the last record of the pass before has come again. */
  hasLast: boolean;
  unseenTimestamps: (bigint | undefined)[] | undefined;
  newest: Waiting | undefined;
  /** An earlier change than the newest, listed on a later page. */
  former?: Waiting | undefined;
  /** The last change that another one overtook, where one of the two is a cancellation. */
  overtaken?:
    | (Pick<Waiting, "timestampNs" | "isKnown"> & {
        isSameTime: boolean;
        isCancelled: boolean;
        unstored: UnstoredAnswer;
      })
    | undefined;
}

/** Whether a record cancels its order. */
export type IsCancelled = (body: Buffer, record: AnswerRecord) => boolean;

interface ServedPage {
  body: Buffer;
  /**
   * The service's own position has moved past its changes: even a record seen before is new, unless its timestamp is
   * older.
   */
  isBeyond: boolean;
  /** Records without content may still be served with it later. */
  waitsForEmpty?: boolean;
  isCancelled: IsCancelled;
}

const UNUSABLE = { isAmbiguous: false, isKnown: false, seen: undefined };

export class ChangeCollector {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #orders = new Map<string, OrderChanges>();
  /** Unusable records, by order id or hash. Without `bytes`: applied. */
  readonly #unusable = new Map<string, Omit<Waiting, "bytes" | "isKnown"> & { bytes: Buffer | undefined }>();
  /** References of the unusable records. */
  readonly #references = new Set<string>();
  #bytes = 0;
  #records = 0;
  #fresh = 0;
  /** Largest timestamp of each page of the pass. */
  readonly #reach: bigint[] = [];
  /** Orders with a record to apply, in the order in which they came. */
  readonly #waiting = new Set<OrderChanges>();
  #news = 0;
  #earliestNewsNs: bigint | undefined;
  /** Only later changes count for {@link earliestNewsNs}. */
  newsAfterNs = -1n;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Whether the limit of waiting changes is reached, so that they are to be stored before the pass ends. */
  get isFull(): boolean {
    return this.#news > NEWS_MAX || (this.#news > 0 && this.#bytes > WAITING_BYTES_MAX);
  }

  /** The earliest time of a new change that was applied. */
  get earliestNewsNs(): bigint | undefined {
    return this.#earliestNewsNs;
  }

  /** Whether the pass has brought any change of the order. */
  hasMet(orderId: string): boolean {
    return this.#orders.has(orderId);
  }

  /** Whether the pass has brought the newest known change of the order, or a new one. */
  hasNewest(orderId: string): boolean {
    const order = this.#orders.get(orderId);
    return order !== undefined && (order.hasLast || order.unseenTimestamps !== undefined);
  }

  /** Whether a new change of this time waits. */
  hasNewsOf(ns: bigint): boolean {
    return this.#waiting.values().some(({ unseenTimestamps }) => unseenTimestamps?.includes(ns) === true);
  }

  /** Whether the pass has brought a record without a usable id. */
  get hasUnnamed(): boolean {
    return this.#unusable.values().some(({ record }) => isUnnamed(record));
  }

  /** How many different records the pass has brought. */
  get records(): number {
    return this.#records;
  }

  /**
   * Adds the changes of one page. Returns how many of them are new to this pass; of each order a limited number counts.
   * @param onFull stores the waiting changes
   */
  async addPage(
    page: ServedPage & { changes: ChangePage },
    signal: AbortSignal,
    onFull: () => Promise<void>,
  ): Promise<number> {
    const before = this.#fresh;
    let turnAtMs = this.#clock.monotonicMs();
    const turn = async () => {
      if (this.#clock.monotonicMs() - turnAtMs <= TURN_MS) return;
      await this.#clock.sleep(0, signal);
      turnAtMs = this.#clock.monotonicMs();
    };
    for (let from = 0; from < page.changes.elements.length; from += CHANGES_PER_STEP) {
      await turn();
      const changes = await inTurns(page.changes.read(page.body, from, CHANGES_PER_STEP), turn);
      this.#add(page, changes);
      if (this.isFull) await onFull();
    }
    this.#reach.push(latestOf(page.changes.timestamps));
    return this.#fresh - before;
  }

  #add(page: ServedPage, changes: readonly ServedChange[]): void {
    const { body, isBeyond, waitsForEmpty = false } = page;
    this.#recall(changes);
    for (const { record, timestamp, contentHash, key } of changes) {
      if (waitsForEmpty && isEmptyRecord(body, record.span)) continue;
      if (!record.ok || key === undefined) {
        this.#addUnusable(body, record, { contentHash, timestampNs: timestamp?.instantNs });
        continue;
      }
      const timestampNs = timestamp?.instantNs;
      const isNew = isBeyond && timestampNs === undefined;
      this.#addChange(page, record, { timestampNs, contentHash, key, isNew });
    }
  }

  /**
   * Returns each change to apply once.
   * @param isWhole whether the pass has reached its end: only then a missing record means anything
   */
  *applyChange(isWhole: boolean): Slices<ChangeNews[]> {
    const news: ChangeNews[] = [];
    let looked = 0;
    for (const [key, waiting] of this.#unusable) {
      const { record, bytes, contentHash, timestampNs, unstored } = waiting;
      if (bytes === undefined) continue;
      news.push({ record, bytes, contentHash, ...UNUSABLE, unstored });
      this.#bytes -= bytes.length;
      this.#unusable.set(key, { record, contentHash, timestampNs, bytes: undefined });
    }
    for (const order of this.#waiting) {
      if (++looked % ORDERS_PER_STEP === 0) yield;
      const isNews = order.unseenTimestamps !== undefined || (isWhole && !order.hasLast);
      if (!isNews || order.newest === undefined) continue;
      const { record, bytes, contentHash, isKnown, unstored } = order.newest;
      order.seen = rememberChanges(order.seen, servedOf(order), isWhole);
      const seen = writeSeen(order.seen);
      const overtaken = order.overtaken?.unstored;
      news.push({ record, bytes, contentHash, isAmbiguous: isAmbiguous(order), isKnown, seen, unstored, overtaken });
      const former = this.#setBackTo(order);
      if (former !== undefined) news.push({ ...former, isAmbiguous: true, seen });
      order.overtaken = undefined;
      order.hasLast = true;
      for (const ns of order.unseenTimestamps ?? [])
        if (ns !== undefined && ns > this.newsAfterNs && ns < (this.#earliestNewsNs ?? ns + 1n))
          this.#earliestNewsNs = ns;
      if (order.unseenTimestamps !== undefined) this.#news -= 1;
      order.unseenTimestamps = undefined;
      this.#drop(order);
    }
    return news;
  }

  /**
   * Of unusable records with one order id the newest is kept. One with another reference is kept by itself, because
   * different orders may share it, and counts once per reference, so that a record that differs in each answer does not
   * keep the pass going.
   */
  #addUnusable(body: Buffer, record: AnswerRecord, what: Pick<Waiting, "contentHash" | "timestampNs">): void {
    const { contentHash, timestampNs } = what;
    const reference = record.ok ? record.orderId : record.reference;
    const orderId = readOrderId(reference ?? "");
    const key = orderId === undefined ? contentHash.toString("latin1") : `=${orderId}`;
    const before = this.#unusable.get(key);
    const { timestampNs: known } = before ?? {};
    if (before?.contentHash.equals(contentHash)) return;
    if (timestampNs !== undefined && known !== undefined && timestampNs < known) return;
    if (reference === null || !this.#references.has(reference))
      [this.#records, this.#fresh] = [this.#records + 1, this.#fresh + 1];
    if (reference !== null) this.#references.add(reference);
    if (before?.bytes !== undefined) this.#bytes -= before.bytes.length;
    forgetUnstored(this.#store, before?.unstored);
    const named = { ...record, hash: contentHash };
    const waiting = this.#copy(body, named, { contentHash, timestampNs, isKnown: false });
    this.#unusable.set(key, { ...waiting, unstored: this.#note(waiting) });
  }

  #addChange(
    { body, isCancelled }: ServedPage,
    record: AnswerRecord & { ok: true },
    change: { timestampNs: bigint | undefined; contentHash: Buffer; key: ChangeKey; isNew: boolean },
  ): void {
    const order = this.#orders.get(record.orderId);
    if (order === undefined) return;
    if (change.key === order.newest?.key) order.newest.page = this.#reach.length;
    // Pages overlap, so a record may come twice.
    if (!addServed(order, change.key)) return;
    this.#records += 1;
    if (typeof order.served === "string" || servedOf(order).size <= FRESH_PER_ORDER_MAX) this.#fresh += 1;
    const isKnown = !change.isNew && isSeen(order.seen, change.key);
    if (!isKnown) {
      if (order.unseenTimestamps === undefined) {
        order.unseenTimestamps = [];
        this.#news += 1;
      }
      order.unseenTimestamps.push(change.timestampNs);
    }
    if (change.key === order.seen.at(-1)) {
      order.hasLast = true;
      if (order.newest?.isKnown) this.#drop(order);
    }
    if (isKnown && order.hasLast) return;
    const isOvertaken = order.newest !== undefined && !replaces({ ...change, isKnown }, order.newest);
    if (!isKnown && order.newest?.isKnown === false) {
      const waiting = { ...change, isKnown, record, bytes: body };
      const [former, later] = isOvertaken ? [waiting, order.newest] : [order.newest, waiting];
      const isSameTime = former.timestampNs === later.timestampNs;
      const [was, is] = [former, later].map((each) => isCancelled(each.bytes, each.record));
      if (was !== is) this.#noteOvertaken(order, { ...former, isSameTime, isCancelled: was === true });
    }
    if (isOvertaken) {
      if (!isKnown && order.newest?.page !== this.#reach.length) this.#keepFormer(order, { body, record, change });
      return;
    }
    this.#bytes -= order.newest?.bytes.length ?? 0;
    forgetUnstored(this.#store, order.newest?.unstored);
    const newest = this.#copy(body, record, { ...change, isKnown });
    order.newest = {
      ...newest,
      key: change.key,
      page: this.#reach.length,
      unstored: isKnown ? undefined : this.#note(newest),
    };
    this.#waiting.add(order);
  }

  #keepFormer(
    order: OrderChanges,
    {
      body,
      record,
      change,
    }: { body: Buffer; record: AnswerRecord; change: Pick<Waiting, "timestampNs" | "contentHash"> },
  ): void {
    this.#bytes -= order.former?.bytes.length ?? 0;
    order.former = { ...this.#copy(body, record, { ...change, isKnown: false }), page: this.#reach.length };
  }

  /**
   * The earlier change, where a later page lists it instead of the newest one although it reaches that far: the service
   * has set the order back between the two pages. It is applied after the newest one, as in a pass of its own.
   */
  #setBackTo({ newest, former }: OrderChanges): Waiting | undefined {
    const { page, timestampNs } = newest ?? {};
    if (former?.page === undefined || page === undefined || timestampNs === undefined) return undefined;
    return page < former.page && (this.#reach[former.page] ?? -1n) >= timestampNs ? former : undefined;
  }

  /**
   * Keeps the last overtaken change. One with an equal timestamp is kept only if there is none yet, or if it cancels
   * and the kept one does not, because a third change may overtake it.
   */
  #noteOvertaken(order: OrderChanges, overtaken: Waiting & { isSameTime: boolean; isCancelled: boolean }): void {
    const { bytes, record, timestampNs, isKnown, isSameTime, isCancelled } = overtaken;
    const before = order.overtaken;
    const isFirst = before === undefined || (isSameTime && isCancelled && !before.isCancelled);
    if (!isFirst && (isSameTime || (!before.isSameTime && !replaces(overtaken, before)))) return;
    forgetUnstored(this.#store, order.overtaken?.unstored);
    const { start, end } = record.span;
    const copy = Buffer.from(bytes.subarray(start, end));
    const own = { ...record, span: { start: 0, end: end - start } };
    order.overtaken = {
      timestampNs,
      isKnown,
      isSameTime,
      isCancelled,
      unstored: this.#note({ bytes: copy, record: own }),
    };
  }

  #note({ bytes, record }: Pick<Waiting, "bytes" | "record">): UnstoredAnswer {
    const at = isoTime(this.#clock.nowMs());
    return noteUnstored(this.#store, { source: "update", bytes, records: [record], at });
  }

  /** Loads the remembered changes of orders that are new in this pass. */
  #recall(changes: readonly ServedChange[]): void {
    const met = new Set<string>();
    for (const { record } of changes) if (record.ok && !this.#orders.has(record.orderId)) met.add(record.orderId);
    if (met.size === 0) return;
    for (const { orderId, seen } of loadSeenChanges(this.#store, [...met])) {
      met.delete(orderId);
      this.#orders.set(orderId, newsOf(readSeen(seen)));
    }
    for (const orderId of met) this.#orders.set(orderId, newsOf([]));
  }

  /**
   * Copies the record, so that the whole page does not stay in memory for it; a record nearly as large as the page is
   * not copied.
   */
  #copy(body: Buffer, record: AnswerRecord, more: Pick<Waiting, "contentHash" | "timestampNs" | "isKnown">): Waiting {
    const view = body.subarray(record.span.start, record.span.end);
    const bytes = !record.ok && record.isLarge ? view : Buffer.from(view);
    this.#bytes += bytes.length;
    const { contentHash, timestampNs, isKnown } = more;
    return { bytes, record: { ...record, span: { start: 0, end: bytes.length } }, contentHash, timestampNs, isKnown };
  }

  #drop(order: OrderChanges): void {
    this.#bytes -= (order.newest?.bytes.length ?? 0) + (order.former?.bytes.length ?? 0);
    order.newest = undefined;
    order.former = undefined;
    this.#waiting.delete(order);
  }
}

/** New before known; then the larger timestamp; then the one served later. */
function replaces(
  next: Pick<Waiting, "timestampNs" | "isKnown">,
  newest: Pick<Waiting, "timestampNs" | "isKnown">,
): boolean {
  if (next.isKnown !== newest.isKnown) return newest.isKnown;
  return next.timestampNs === undefined || newest.timestampNs === undefined || next.timestampNs >= newest.timestampNs;
}

/** Not ambiguous: a single new record, or several of which one is newer than all others. */
function isAmbiguous({ unseenTimestamps, newest }: OrderChanges): boolean {
  if (newest === undefined || unseenTimestamps === undefined) return true;
  const others = unseenTimestamps.filter(
    (timestampNs) => timestampNs === undefined || newest.timestampNs === undefined || timestampNs >= newest.timestampNs,
  );
  return others.length !== 1;
}

function latestOf(timestamps: ChangePage["timestamps"]): bigint {
  return timestamps.reduce(
    (latest, each) => (each !== undefined && each.instantNs > latest ? each.instantNs : latest),
    -1n,
  );
}

function newsOf(seen: ChangeKey[]): OrderChanges {
  return { seen, served: undefined, hasLast: seen.length === 0, unseenTimestamps: undefined, newest: undefined };
}

/** Returns whether the key is new. */
function addServed(order: OrderChanges, key: ChangeKey): boolean {
  const { served } = order;
  if (served === undefined) order.served = key;
  else if (typeof served === "string") {
    if (served === key) return false;
    order.served = new Set([served, key]);
  } else {
    if (served.has(key)) return false;
    served.add(key);
  }
  return true;
}

function servedOf({ served }: OrderChanges): ReadonlySet<ChangeKey> {
  return typeof served === "object" ? served : new Set(served === undefined ? [] : [served]);
}
