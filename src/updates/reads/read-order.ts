/*
 * The only way to read a whole order: requests it, stores the answer, and lets the caller settle what follows, in one
 * transaction; after a crash before the commit the order is read again. An answer overtaken by a change of the order
 * meanwhile is dropped, because storing it late would undo the change.
 */

import { parsePath, resolvePath, resolveSingle } from "../../answers/json-path.ts";
import { readScalar, type Span, textOf } from "../../answers/json-text.ts";
import { isOlder } from "../../answers/timestamp.ts";
import { readOrderId } from "../../answers/uuid.ts";
import { withLargeKept } from "../../batches/keep-body.ts";
import { findLost, hasPart, type JudgedOrder, type LostPart } from "../../completeness/lost-values.ts";
import { m } from "../../messages/messages.ts";
import { comparedTime } from "../../orders/cancellation.ts";
import { saveUnshown } from "../../orders/echo-rows.ts";
import type { Doubt, IngestOptions, IngestResult } from "../../orders/ingest-options.ts";
import { ingestRecord } from "../../orders/ingest-orders.ts";
import { requestLaterReads } from "../../orders/later-reads.ts";
import { deleteMissingOrder } from "../../orders/missing-rows.ts";
import { isSameFence, loadOrderFence, loadOrderMark, loadStoredOrder, saveServiceId } from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { doubtOf, loadOther, type OtherOrder } from "../../orders/other-order.ts";
import { judgeStatus } from "../../orders/status-names.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadQueuedRead, type QueuedRead, requestRead } from "../../pass/position-rows.ts";
import { loadQuarantineState, releaseQuarantined } from "../../pass/quarantine-rows.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { BridgeError } from "../../platform/errors.ts";
import { isoTime } from "../../platform/ports.ts";
import { ORDER_KINDS, type OrderValues, readOrderValues } from "../../records/order-mapping.ts";
import { fieldOf } from "../../records/same-order.ts";
import { withUnstored } from "../../records/unstored-records.ts";
import type { ServiceError } from "../../service/service-error.ts";
import { isWithinLag, loadLag } from "../times/change-lag.ts";
import { isOfFuture } from "../times/latest-time.ts";
import { findKeptWords, type KeptWord } from "./kept-words.ts";
import {
  AnotherOrder,
  type ReadableOrder,
  readSnapshot,
  type SnapshotRead,
  saveSnapshotPaths,
} from "./read-snapshot.ts";
import { noteTakenBack } from "./set-back.ts";

/** An order that changes during so many reads is left to the next pass. */
const READS_MAX = 3;
/** The clocks of servers that answer in turn need not be one. */
const CLOCKS_DIFFER_MS = 10_000;
const COPY_FOR_MS = 24 * HOUR_MS;
const ITSELF = parsePath("$");
const PLACES_OF_ORDER = ["$.data", "$.order", "$.data.order"].map(parsePath);

export type OrderAnswer = SnapshotRead & { kind: "order" };
type HeldAnswer = Pick<OrderAnswer, "record" | "body">;

/** What an answer about one order means. */
export type Refreshed<S = IngestResult> =
  /** `stored`: what was stored. */
  | { kind: "order"; stored: S; answer: OrderAnswer }
  /** The service answers that it has no such order. The caller decides whether that counts. */
  | { kind: "unknown"; error: ServiceError };

export type SeenOrder =
  | { kind: "order"; status: string | null; timestamp: string | null }
  /** The order is marked as removed, and the service does not have it. */
  | { kind: "gone"; error: ServiceError }
  /** The service answers that it has no such order; a second read must confirm it. */
  | { kind: "doubted"; error: ServiceError };

export class OrderReader {
  readonly #context: JobContext;
  readonly #rules: OrderRules;

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /**
   * Reads the order once.
   * @param act `store` stores the answer, `settle` what follows from it; both run in one transaction
   * @returns undefined where something of the order was stored while it was read
   * @throws ServiceError, BridgeError `answer_…`
   */
  async refresh<S, T>(
    order: ReadableOrder,
    act: { store: (answer: OrderAnswer, at: string) => S; settle: (refreshed: Refreshed<S>, at: string) => T },
    signal: AbortSignal,
  ): Promise<{ value: T } | undefined> {
    const { store, clock } = this.#context;
    const before = loadOrderFence(store, order.orderId);
    const answer = await this.#read(order, signal);
    const at = isoTime(clock.nowMs());
    const served = answer.kind === "order" ? [{ record: answer.record, bytes: answer.body }] : [];
    const settle = () => {
      if (!isSameFence(before, loadOrderFence(store, order.orderId))) return undefined;
      if (answer.kind === "unknown") return { value: act.settle(answer, at) };
      saveSnapshotPaths(store, this.#rules, answer.matched, at);
      deleteMissingOrder(store, order.orderId);
      const isCurrent = answer.record.ok && !answer.isCached && !this.isStale(answer);
      const stored = act.store(answer, at);
      if (isCurrent && !this.isHeld(answer)) saveUnshown(store, order.orderId, at);
      const mark = loadOrderMark(store, order.orderId);
      if (mark !== undefined && mark.serviceId !== order.serviceId)
        saveServiceId(store, mark.orderKey, order.serviceId);
      return { value: act.settle({ kind: "order", stored, answer }, at) };
    };
    const settled = () =>
      withLargeKept(this.#context, { source: "snapshot", served, signal }, () => commit(this.#context, signal, settle));
    if (answer.kind === "unknown") return await settled();
    const { body: bytes, record } = answer;
    return await withUnstored(store, { source: "snapshot", bytes, records: [record], at }, settled);
  }

  /** If the answer is another order that is not stored, a read of that one is queued. */
  async #read(order: ReadableOrder, signal: AbortSignal): Promise<SnapshotRead> {
    const { store, clock } = this.#context;
    try {
      return await readSnapshot(this.#context, this.#rules, order, signal);
    } catch (error) {
      if (error instanceof AnotherOrder && loadOrderMark(store, error.order.orderId) === undefined)
        await commit(this.#context, signal, () => requestRead(store, error.order, isoTime(clock.nowMs())));
      throw error;
    }
  }

  /**
   * Reads an order that the service does not find under other spellings of its id: the service may compare ids
   * case-sensitively, and write them in another case than before.
   * @returns undefined where none is found
   */
  async refreshOtherwise<S, T>(
    order: ReadableOrder,
    act: { store: (answer: OrderAnswer, at: string) => S; settle: (refreshed: Refreshed<S>, at: string) => T },
    signal: AbortSignal,
  ): Promise<{ value: T } | undefined> {
    const known = loadOrderMark(this.#context.store, order.orderId)?.serviceId ?? order.orderId;
    const forms = new Set([known, order.orderId, order.orderId.toUpperCase()]);
    forms.delete(order.serviceId);
    const settle = (refreshed: Refreshed<S>, at: string) =>
      refreshed.kind === "order" ? { value: act.settle(refreshed, at) } : undefined;
    for (const serviceId of forms) {
      const read = await this.refresh({ ...order, serviceId }, { store: act.store, settle }, signal);
      if (read?.value !== undefined) return read.value;
    }
    return undefined;
  }

  /**
   * Stores an answer, or queues another read if it is older than what is stored. To be called inside the transaction.
   */
  readonly store = (answer: OrderAnswer, at: string, accepted?: Doubt): IngestResult => {
    if (!this.isStale(answer)) return this.storeAnyway(answer, at, accepted);
    if (answer.record.ok) requestRead(this.#context.store, answer.record, at);
    return "owed";
  };

  /**
   * Whether the answer is older than what is stored, by timestamps: a replica that lags, or an order that the service
   * set back; `ReadOrders` finds out which. A timestamp in the future does not count.
   */
  isStale(answer: OrderAnswer): boolean {
    return this.newerStored(answer) !== undefined;
  }

  /** The stored timestamp, where the answer is older. */
  newerStored(answer: OrderAnswer): string | undefined {
    if (!answer.record.ok) return undefined;
    const { store } = this.#context;
    const { timezone } = this.#rules.plan;
    const mark = loadOrderMark(store, answer.record.orderId);
    const { updatedAt: stored = null, createdAt = null } = mark ?? {};
    if (mark === undefined || stored === null) return undefined;
    // From a cache it may have been made before the clock was set back.
    if (!answer.isCached && isOfFuture(this.#context, stored, timezone)) return undefined;
    const created = [this.#textAt(answer, "created_at"), createdAt] as const;
    const own = this.timestampOf(answer);
    if (!isOlder(own, stored, timezone, created)) return undefined;
    // The time of another order proves nothing.
    if (this.#otherOf(answer) !== undefined) return undefined;
    const status = this.#textAt(answer, "status");
    const mapping = this.#rules[mark.payloadSource];
    const compared = comparedTime(loadStoredOrder(store, mark.orderKey), { status, mapping });
    return isOlder(own, compared, timezone, created) ? stored : undefined;
  }

  /** A value of the record that announced the read. */
  askedBy({ record, source }: QueuedRead, field: "updated_at" | "status"): string | null {
    if (record === "") return null;
    const mapping = source === "batch" ? this.#rules.batch : this.#rules.update;
    return fieldOf({ text: record, mapping }, field) ?? null;
  }

  /** Whether an answer does not include the change that announced it, by timestamps. */
  isBehind(read: { announced: string | null; own: string | null }): boolean {
    const { timezone } = this.#rules.plan;
    if (!isOlder(read.own, read.announced, timezone)) return false;
    return !isWithinLag(loadLag(this.#context.store), read, timezone);
  }

  /**
   * Whether a queued change is later than the answer and has the sent status, which the answer does not have: the
   * answer comes from a cache or replica and does not prove that the status failed to arrive. True until an answer
   * includes the change, or its read is given up.
   */
  #isOvertaken(answer: OrderAnswer, sent: string): boolean {
    if (!answer.record.ok || this.#textAt(answer, "status") === sent) return false;
    const queued = loadQueuedRead(this.#context.store, answer.record.orderId);
    if (queued?.source !== "update" || this.askedBy(queued, "status") !== sent) return false;
    const announced = this.askedBy(queued, "updated_at");
    return this.isLater(announced, null) && this.isBehind({ announced, own: this.timestampOf(answer) });
  }

  /**
   * Whether an answer without the sent status was made before the request left, by its `Date`: a cache's copy, which a new process cannot
   * know by a `Date` that stands still. Not where the service's clock was set back since, nor for longer than a day: the clock may be wrong.
   */
  #isMadeBefore(answer: OrderAnswer, sent: string, leftAt: string): boolean {
    if (answer.record.ok && this.#textAt(answer, "status") === sent) return false;
    const leftMs = Date.parse(leftAt);
    const sinceMs = Date.parse(this.#context.client.serviceNow ?? "") - leftMs;
    const isBefore = Date.parse(answer.unprovenDate ?? "") + CLOCKS_DIFFER_MS < leftMs;
    return isBefore && sinceMs >= 0 && sinceMs < COPY_FOR_MS;
  }

  /** Whether a timestamp is later than another one, if there is one, and not in the future. */
  isLater(timestamp: string | null, than: string | null): boolean {
    const { timezone } = this.#rules.plan;
    if (timestamp === null || isOfFuture(this.#context, timestamp, timezone)) return false;
    return than === null || isOlder(than, timestamp, timezone);
  }

  /**
   * The order's status in an answer that has the order: at the root, below `data` or `order`, or at the snapshot's
   * path.
   */
  statusIn({ orderId }: ReadableOrder, { body, root }: { body: Buffer; root: Span }): string | undefined {
    const { paths } = this.#rules.snapshot;
    for (const place of [ITSELF, ...PLACES_OF_ORDER, this.#rules.snapshotRoot]) {
      const found = resolvePath(body, root, place);
      if (found.state !== "value") continue;
      const [id, status] = [paths.order_id, paths.status].map((path) => {
        const value = resolveSingle(body, found.span, path);
        return value.state === "value" ? readScalar(body, value.span) : undefined;
      });
      if (id !== undefined && readOrderId(id) === orderId) return status;
    }
    return undefined;
  }

  /** The stored record of the order. */
  payloadOf({ orderId }: ReadableOrder): Buffer | undefined {
    const { store } = this.#context;
    const mark = loadOrderMark(store, orderId);
    return mark && Buffer.from(loadStoredOrder(store, mark.orderKey).payload, "utf8");
  }

  /**
   * Statuses from the service that are not stored. To be called inside the transaction, because it may store one first.
   */
  keptWordsOf(order: ReadableOrder & { status: string | null; updatedAt: string | null }, at: string): KeptWord[] {
    return findKeptWords(this.#context, this.#rules, { orderId: order.orderId, stored: order, at });
  }

  /**
   * Whether the answer's timestamp is before the order's creation and the known version's is not: the clock that wrote
   * it was behind.
   */
  isOfBeforeItself(answer: OrderAnswer, newer: string | null): boolean {
    const { timezone } = this.#rules.plan;
    const created = this.#textAt(answer, "created_at");
    return isOlder(this.timestampOf(answer), created, timezone) && !isOlder(newer, created, timezone);
  }

  /** The answer's timestamp as the service wrote it. */
  timestampOf(answer: OrderAnswer): string | null {
    return this.#textAt(answer, "updated_at");
  }

  #textAt({ body, record }: OrderAnswer, field: "updated_at" | "created_at" | "status"): string | null {
    const found = resolveSingle(body, record.span, this.#rules.snapshot.paths[field]);
    return found.state === "value" ? (readScalar(body, found.span) ?? null) : null;
  }

  /** Why the answer is held, where repeated reads can show that it is right. */
  doubtOf(answer: OrderAnswer): Doubt | undefined {
    if (!answer.record.ok) return undefined;
    const other = this.#otherOf(answer);
    if (other !== undefined) return doubtOf(other);
    const judged = this.#judgedOf(answer);
    if (judged === undefined || !this.isHeld(answer)) return undefined;
    return findLost(this.#context.store, { ...judged, orderId: answer.record.orderId, source: "snapshot" });
  }

  /** Whether the answer has the part that another one lacks, or is the order itself. */
  shows(answer: OrderAnswer, part: LostPart | "other"): boolean {
    if (part === "other") return answer.record.ok && this.#otherOf(answer) === undefined;
    const judged = this.#judgedOf(answer);
    return judged !== undefined && hasPart(judged, part);
  }

  #otherOf({ record, body }: HeldAnswer): OtherOrder | undefined {
    if (!record.ok) return undefined;
    const { store } = this.#context;
    return loadOther({ store, rules: this.#rules }, { record, bytes: body, mapping: this.#rules.snapshot });
  }

  /** The answer's values; undefined where it is unreadable. */
  valuesOf(answer: OrderAnswer): OrderValues | undefined {
    return this.#judgedOf(answer)?.values;
  }

  #judgedOf({ body, record }: OrderAnswer): JudgedOrder | undefined {
    if (!record.ok) return undefined;
    const { snapshot: mapping, plan } = this.#rules;
    const read = readOrderValues(body, record.span, mapping);
    if ("reason" in read) return undefined;
    return { values: read.values, ...judgeStatus(read.values.status, plan), text: textOf(body, record.span), mapping };
  }

  /**
   * Stores an answer whatever its timestamp. To be called inside the transaction.
   * @param accepted a part that the order may lack
   */
  storeAnyway(answer: OrderAnswer, at: string, accepted?: Doubt): IngestResult {
    return this.#ingest(answer, { at, accepted });
  }

  /** The same where the stored payload is damaged. */
  heal(answer: OrderAnswer, at: string): IngestResult {
    return this.#ingest(answer, { at, isDamaged: true });
  }

  #ingest(
    { body, record, askedAt }: OrderAnswer,
    how: Pick<IngestOptions, "at" | "accepted" | "isDamaged">,
  ): IngestResult {
    const { store, clock } = this.#context;
    const { snapshot: mapping } = this.#rules;
    const given = { store, rules: this.#rules, mapping, bytes: body, machineMs: clock.monotonicMs(), askedAt };
    const ingested = ingestRecord({ ...given, ...how }, record);
    if (ingested !== "quarantined" && record.ok && !this.isHeld({ record, body })) {
      releaseQuarantined(store, ORDER_KINDS, record.orderId);
    }
    return ingested;
  }

  /**
   * Replaces the stored version by an older one: the only place where an order goes back. Unless a new change announced
   * it, the order is read again later, in case a replica was behind after all. To be called inside the transaction.
   * @param how.isProven the change list agrees; without it, a day of the order's own answers reopens no status
   * @param how.hasBoth the change list has both versions, so the service has lost none
   * @param how.accepted a part that the order may lack
   */
  takeBack(
    answer: OrderAnswer,
    {
      isAnnounced,
      isProven,
      hasBoth = false,
      accepted,
    }: { isAnnounced: boolean; isProven: boolean; hasBoth?: boolean | undefined; accepted: Doubt | undefined },
    at: string,
  ): IngestResult {
    const lost = this.#standOf(answer);
    const ingested = this.storeAnyway(answer, at, accepted);
    // A timestamp that goes back alone also shows that the service lost something.
    const kept = ingested === "changed" || ingested === "refreshed" ? this.#standOf(answer) : undefined;
    if (kept === undefined) return ingested;
    if (!isAnnounced && ingested === "changed") requestLaterReads(this.#context.store, kept.orderId, at);
    if (lost !== undefined && !hasBoth && !this.isOfBeforeItself(answer, lost.timestamp))
      noteTakenBack(this.#context, { orderId: kept.orderId, lost, kept, isProven }, this.#rules.plan.timezone);
    return ingested;
  }

  /** The stored status and timestamp. */
  #standOf({ record }: OrderAnswer): { orderId: string; status: string | null; timestamp: string | null } | undefined {
    const { store } = this.#context;
    const mark = record.ok ? loadOrderMark(store, record.orderId) : undefined;
    if (!record.ok || mark === undefined || mark.removedAt !== null) return undefined;
    const { status, updatedAt } = loadStoredOrder(store, mark.orderKey);
    return { orderId: record.orderId, status, timestamp: updatedAt };
  }

  /** Whether this very answer is held: reading it again changes nothing. */
  isHeld(answer: HeldAnswer): boolean {
    const { hash, ...record } = answer.record;
    const reference = record.ok ? record.orderId : record.reference;
    const state = loadQuarantineState(this.#context.store, { kind: "snapshot", reference, hash });
    return state === "held" || this.isOther(answer);
  }

  /** Whether it is another order than the stored one: reading it again later may change that. */
  isOther(answer: HeldAnswer): boolean {
    return this.#otherOf(answer) !== undefined;
  }

  /**
   * Reads an order for a caller that needs its status now.
   * @param order.statusSent of a request whose outcome the answer decides
   * @param order.leftAt when that request left, by the service's clock
   * @param decide runs in the transaction that stored the answer
   * @throws ServiceError, BridgeError `answer_…` where the answer has no status of the order
   */
  async read<T>(
    order: ReadableOrder & { statusSent?: string | null; leftAt?: string | null },
    decide: (seen: SeenOrder, at: string) => T,
    signal: AbortSignal,
  ): Promise<T> {
    const sent = order.statusSent ?? undefined;
    for (let reads = 0; reads < READS_MAX; reads++) {
      let isStale = false;
      let isCached = false;
      let isOther = false;
      const take = (answer: OrderAnswer, at: string) => {
        isStale = this.isStale(answer) || (sent !== undefined && this.#isOvertaken(answer, sent));
        isCached = answer.isCached || (sent !== undefined && this.#isMadeBefore(answer, sent, order.leftAt ?? ""));
        isOther = this.isOther(answer);
        return this.store(answer, at);
      };
      const settle = (refreshed: Refreshed, at: string) =>
        isStale || isCached || isOther ? undefined : { decided: decide(this.#see(order, refreshed, at), at) };
      const settled = await this.refresh(order, { store: take, settle }, signal);
      if (settled?.value !== undefined) return settled.value.decided;
      if (isStale) throw olderThanStored(order.orderId);
      if (isCached) throw new BridgeError("answer_unreadable", m.updates.cached({ orderId: order.orderId }));
      if (isOther) throw new BridgeError("answer_unreadable", m.updates.otherContent({ orderId: order.orderId }));
    }
    throw new BridgeError("answer_unreadable", m.updates.changedEachTime({ orderId: order.orderId }));
  }

  #see(order: ReadableOrder, refreshed: Refreshed, at: string): SeenOrder {
    const { store } = this.#context;
    if (refreshed.kind === "order") {
      const { answer } = refreshed;
      return { kind: "order", status: this.#statusOf(order, answer), timestamp: this.timestampOf(answer) };
    }
    const isGone = (loadOrderMark(store, order.orderId)?.removedAt ?? null) !== null;
    // ReadOrders finds out whether it is missing, for all callers.
    if (!isGone) requestRead(store, order, at);
    return { kind: isGone ? "gone" : "doubted", error: refreshed.error };
  }

  #statusOf({ orderId }: ReadableOrder, { body, record }: OrderAnswer): string | null {
    if (!record.ok && record.broken !== undefined)
      throw new BridgeError("answer_unreadable", m.updates.unusable({ orderId, reason: record.reason }));
    const path = this.#rules.snapshot.paths.status;
    const found = resolveSingle(body, record.span, path);
    if (found.state === "null") return null;
    if (found.state === "repeated")
      throw new BridgeError("answer_unreadable", m.updates.moreThanOnce({ orderId, place: found.at }));
    const text = found.state === "value" ? readScalar(body, found.span) : undefined;
    if (text !== undefined) return text;
    throw new BridgeError("answer_unreadable", m.updates.noStatus({ orderId, path: path.text }));
  }
}

export function olderThanStored(orderId: string): BridgeError {
  return new BridgeError("answer_unreadable", m.updates.older({ orderId }));
}
