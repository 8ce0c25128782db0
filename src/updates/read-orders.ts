/*
 * Reads whole orders that were announced by a change or a doubtful record, or that a pass could not settle. Each read
 * is a row (`owed_reads`) until the transaction that stores its snapshot; after a crash it is read again. An order that
 * cannot be read waits at the end of the queue with its own retry time and does not block others. If the service
 * answers for no order at all, no failure is counted for any.
 */

import { isStrictlyNewer } from "../answers/timestamp.ts";
import type { LostPart } from "../completeness/lost-values.ts";
import { m } from "../messages/messages.ts";
import { settleEchoes } from "../orders/echo-rows.ts";
import { type IngestResult, isUnchanged } from "../orders/ingest-orders.ts";
import { loadLaterReads, requestLaterReads, requestReadNow } from "../orders/later-reads.ts";
import { loadMissingOrder } from "../orders/missing-rows.ts";
import { isSameFence, loadOrderFence, loadOrderMark, markOrderRemoved, type OrderFence } from "../orders/order-rows.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { loadSecondReads, queueSecondRead, requestSecondRead } from "../orders/second-reads.ts";
import { commit } from "../pass/commit.ts";
import { addCount } from "../pass/counts.ts";
import { isAnswered, reachOf } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { countDueReads, loadDueReads, loadQueuedRead, type QueuedRead } from "../pass/position-rows.ts";
import { wasListed } from "../pass/seen-changes.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { AskingRecord } from "./asking-record.ts";
import type { FollowRules } from "./follow.ts";
import { HeldRecords } from "./held-records.ts";
import { isOfFuture } from "./latest-time.ts";
import { type ListedChange, type Listing, LookInUpdates } from "./look-in-updates.ts";
import { LostLooks } from "./lost-looks.ts";
import { MISSING_FOR_MS, MissingOrders } from "./missing-orders.ts";
import { type OrderAnswer, OrderReader, olderThanStored, type Refreshed } from "./read-order.ts";
import { type Health, ReadPass } from "./read-pass.ts";
import { isLastTry, ReadQueue } from "./read-queue.ts";
import { noteRemoved } from "./set-back.ts";
import { takeCancellation } from "./take-cancellation.ts";

const READS_PER_PASS = 200;
/** After so many answers older than the known version the change list is asked for it; before `CANCELLED_TRIES`. */
const BEHIND_TRIES = 3;
/** A little longer than the time that an order must be missing, because `Date` has whole seconds. */
const MISSING_WAIT_MS = MISSING_FOR_MS + 2_000;

/** A read without a result. Whether it counts is decided once it is known whether the service was well. */
interface Aside {
  owed: QueuedRead;
  error: unknown;
  /** Set where the service has no such order: the stored order at that time. */
  missing: { status: number | undefined; fence: OrderFence | undefined; orderKey: number | undefined } | undefined;
}

/** What is known besides the order's own answer. */
interface Shown {
  /** The change list has nothing newer than this time. */
  current?: string;
  /** The change list decides nothing, and the order was answered so for a day. */
  isLast?: boolean;
  /** The part that this order by itself lacks. */
  believed?: LostPart | undefined;
}

interface Pass {
  reads: ReadPass;
  updates: LookInUpdates;
  aside: Aside[];
  counts: Record<string, number>;
  signal: AbortSignal;
}

export class ReadOrders {
  readonly #context: JobContext;
  readonly #reader: OrderReader;
  readonly #asking: AskingRecord;
  readonly #queue: ReadQueue;
  readonly #missing: MissingOrders;
  readonly #held: HeldRecords;
  readonly #looks: LostLooks;
  readonly #rules: OrderRules;
  readonly #follow: FollowRules;
  /** Number of orders that had changed although no record announced their read. */
  unannounced = 0;

  constructor(context: JobContext, rules: OrderRules, follow: FollowRules) {
    this.#context = context;
    this.#follow = follow;
    this.#rules = rules;
    this.#reader = new OrderReader(context, rules);
    this.#asking = new AskingRecord(context, rules, this.#reader);
    this.#queue = new ReadQueue(context, rules);
    this.#missing = new MissingOrders(context);
    this.#looks = new LostLooks(context, this.#reader);
    this.#held = new HeldRecords(context, rules, { reader: this.#reader, looks: this.#looks });
  }

  /** Reads due orders, a limited number. Returns how many are left for the next pass to begin with immediately. */
  async readOwed(counts: Record<string, number>, signal: AbortSignal): Promise<number> {
    const { store } = this.#context;
    await this.#held.look(signal);
    await this.#requestLater(signal);
    const pass: Pass = {
      reads: new ReadPass(this.#context, this.#reader, { signal }),
      updates: new LookInUpdates(this.#context, { rules: this.#rules, follow: this.#follow }),
      aside: [],
      counts,
      signal,
    };
    for (const owed of loadDueReads(store, this.#now(), READS_PER_PASS)) {
      if (this.#context.isStopping()) return 0;
      if (await this.#readOne(owed, pass)) continue;
      await this.#putAside(pass, "ill");
      throw asFailure(pass.reads.trouble);
    }
    if (pass.aside.length > 0) {
      const keys = pass.aside.map(({ missing }) => missing?.orderKey ?? 0);
      const health = await pass.reads.findHealth(Math.max(...keys));
      await this.#putAside(pass, health);
      if (health === "ill") throw asFailure(pass.reads.trouble);
    }
    return countDueReads(store, this.#now());
  }

  async #requestLater(signal: AbortSignal): Promise<void> {
    const { store, client } = this.#context;
    const at = this.#now();
    const due = loadLaterReads(store, at);
    const serviceNow = client.serviceNow ?? at;
    const again = loadSecondReads(store, serviceNow);
    if (due.length === 0 && again.length === 0) return;
    await commit(this.#context, signal, () => {
      for (const read of due) requestReadNow(store, read, at);
      for (const read of again) requestSecondRead(store, read, { at, serviceNow });
    });
  }

  /** Returns false where the service fails, not this order, and the pass must end. */
  async #readOne(owed: QueuedRead, pass: Pass): Promise<boolean> {
    const { store, client } = this.#context;
    try {
      const readOnce = (believed?: LostPart) => this.#readUntilCurrent(owed, pass, believed);
      const read = await this.#looks.read(owed.orderId, readOnce, { ...pass, isLast: isLastTry(owed) });
      if (read?.value.kind === "unknown") {
        const { error, fence } = read.value;
        const orderKey = loadOrderMark(store, owed.orderId)?.orderKey;
        pass.aside.push({ owed, error, missing: { status: error.status, fence, orderKey } });
        return await pass.reads.failed(owed.orderId, error);
      }
      pass.reads.answered(loadOrderMark(store, owed.orderId)?.orderKey);
      if (read !== undefined) count(pass.counts, read.value.stored);
      if (owed.record === "" && read?.value.stored === "changed") this.unannounced += 1;
    } catch (error) {
      if (reachOf(error, owed.attempts) !== "record") {
        if (isAnswered(error)) await this.#queue.postpone(owed, error, pass.signal);
        throw error;
      }
      this.#context.log.debug({ orderId: owed.orderId }, client.hideSecrets(asError(error).message));
      pass.aside.push({ owed, error, missing: undefined });
      return await pass.reads.failed(owed.orderId, error);
    }
    return true;
  }

  /**
   * An answer older than the known version counts if the change list does not have the newer version any more, and the
   * order is then answered so again, because two replicas may answer in turn.
   */
  async #readUntilCurrent(owed: QueuedRead, { updates, signal }: Pass, believed?: LostPart) {
    const read = await this.#reader.refresh(owed, this.#actOn(owed, { believed }), signal);
    if (read?.value.kind !== "order" || read.value.newer === undefined) return read;
    if (owed.attempts + 1 < BEHIND_TRIES) return read;
    const kept = this.#reader.timestampOf(read.value.answer);
    const version = { orderId: owed.orderId, timestamp: read.value.newer, kept };
    const found = await updates.look(version, owed.attempts, signal);
    // If the version was never listed, its absence proves nothing.
    const listing = found === "gone" && !wasListed(this.#context.store, version, this.#timezone) ? "unknown" : found;
    // Where the known version is no later one, only its clock was wrong, and its being listed proves nothing.
    const isListed = listing === "listed" && !this.#reader.isOfBeforeItself(read.value.answer, version.timestamp);
    const isLast = listing !== "gone" && !isListed && isLastTry(owed);
    if (isListed && isLastTry(owed)) await commit(this.#context, signal, () => this.#queue.endDebt(owed));
    if (listing !== "gone" && !isLast) return read;
    return await this.#reader.refresh(owed, this.#actOn(owed, { current: read.value.newer, isLast, believed }), signal);
  }

  #actOn(owed: QueuedRead, shown: Shown = {}) {
    return {
      store: (answer: OrderAnswer, at: string) => this.#store(owed, { answer, shown }, at),
      settle: (refreshed: Refreshed<IngestResult | "stale">, at: string) =>
        this.#settle(owed, { refreshed, current: shown.current ?? null }, at),
    };
  }

  /**
   * Inside the transaction that stored the snapshot: saves the hash of the announcing record and ends the queued read.
   * If something of the order was stored while it was read, that may be newer, and the read stays queued.
   */
  #settle(
    owed: QueuedRead,
    { refreshed, current }: { refreshed: Refreshed<IngestResult | "stale">; current: string | null },
    at: string,
  ) {
    if (refreshed.kind === "unknown") {
      return { ...refreshed, fence: loadOrderFence(this.#context.store, owed.orderId) };
    }
    const { answer, stored } = refreshed;
    const isHeld = this.#reader.isHeld(answer);
    // Without a record there is nothing else to keep.
    if (isHeld && owed.record !== "") this.#queue.keepChange(owed, m.updates.snapshotUnusable, at);
    const isLast = isLastTry(owed);
    const known = stored === "stale" ? this.#reader.newerStored(answer) : undefined;
    // A read without a record is requested again by what requested it: an hour later, or at night. An older answer ends
    // the read only after the change list was asked: a request that failed before that, or a crash, ends nothing. The
    // same for an answer that is held.
    const isOver = isHeld && known === undefined ? isLast || owed.record === "" : isLast && current !== null;
    this.#readAfterUnit(owed, answer);
    if (!isHeld) this.#asking.learnLag(owed, answer, stored);
    const announced = isHeld ? undefined : this.#asking.newerAnnounced(owed, answer, current);
    const isAnnouncedLast = announced !== undefined && this.#reader.isLater(announced, known ?? null);
    const newer = isAnnouncedLast ? announced : (known ?? announced);
    if (!isHeld && newer === undefined) this.#asking.noteCalled(owed, answer, at);
    if (isOver || !(isHeld || newer !== undefined)) this.#queue.endDebt(owed);
    else this.#queue.waitLonger(owed, newer === undefined ? unusable(owed.orderId) : olderThanStored(owed.orderId));
    return { ...refreshed, newer };
  }

  /** The change's timestamp may be another one than the order's own. */
  #readAfterUnit(owed: QueuedRead, { askedAt }: OrderAnswer): void {
    if (askedAt === undefined) return;
    const order = { orderId: owed.orderId, timestamp: this.#asking.timestampOf(owed), askedAt, isNews: false };
    queueSecondRead(this.#context.store, order, this.#timezone);
  }

  /**
   * A version older than the stored one counts if a new change announced it, if the change list does not have the newer
   * one, or if the list decides nothing and the order was answered so for a day. An answer from a cache never counts.
   */
  #store(
    owed: QueuedRead,
    { answer, shown }: { answer: OrderAnswer; shown: Shown },
    at: string,
  ): IngestResult | "stale" {
    const newer = this.#reader.newerStored(answer);
    if (newer === undefined) return this.#reader.storeAnyway(answer, at, shown.believed);
    const isCurrent = shown.current !== undefined && !this.#reader.isLater(newer, shown.current);
    const isAnnounced = this.#asking.isSaidTwice(owed, answer);
    if (answer.isCached || !(isAnnounced || isCurrent)) return "stale";
    const { believed } = shown;
    return this.#reader.takeBack(answer, { isAnnounced, isProven: isAnnounced || shown.isLast !== true, believed }, at);
  }

  get #timezone(): string {
    return this.#rules.plan.timezone;
  }

  /** Postpones failed reads; records missing orders, provided that the service answered for another order. */
  async #putAside({ aside, updates, counts, signal }: Pass, health: Health): Promise<void> {
    for (const each of aside) {
      if (health === "well" && each.missing !== undefined) {
        if (await this.#isFoundOtherwise(each, counts, signal)) continue;
        const listing = await this.#lookForMissing(each, updates, signal);
        const lastChange = updates.lastOf(each.owed.orderId);
        if (await this.#settleMissing(each, { listing, lastChange }, signal)) addCount(counts, "removed");
        continue;
      }
      // If the service fails for all, the next pass tries other orders, and none waits longer for it.
      await this.#queue.postpone(each.owed, each.error, signal, health === "ill" ? 0 : 1);
    }
  }

  /** Reads a missing order under other spellings of its id first. Returns whether that settled the read. */
  async #isFoundOtherwise({ owed }: Aside, counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const { store } = this.#context;
    const isRemoved = (loadOrderMark(store, owed.orderId)?.removedAt ?? null) !== null;
    if (!isRemoved && loadMissingOrder(store, owed.orderId) === undefined) return false;
    try {
      const read = await this.#reader.refreshOtherwise(owed, this.#actOn(owed), signal);
      if (read?.value.kind === "order") count(counts, read.value.stored);
      return read !== undefined;
    } catch (error) {
      if (reachOf(error, owed.attempts) !== "record") throw error;
      await this.#queue.postpone(owed, error, signal);
      return true;
    }
  }

  /** Asks the change list about an order that is about to be marked as removed. */
  async #lookForMissing({ owed }: Aside, updates: LookInUpdates, signal: AbortSignal): Promise<Listing> {
    const { store } = this.#context;
    const mark = loadOrderMark(store, owed.orderId);
    const isMet = loadMissingOrder(store, owed.orderId) !== undefined;
    if (!isMet || mark === undefined || mark.removedAt !== null || mark.updatedAt === null) return "unknown";
    return await updates.look({ orderId: owed.orderId, timestamp: mark.updatedAt }, owed.attempts, signal);
  }

  /** Returns whether a stored order was marked as removed. */
  async #settleMissing(
    { owed, error, missing }: Aside,
    { listing, lastChange }: { listing: Listing; lastChange: ListedChange | undefined },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { store } = this.#context;
    return await commit(this.#context, signal, () => {
      const isSameDebt = loadQueuedRead(store, owed.orderId)?.recordHash.equals(owed.recordHash) === true;
      if (!isSameDebt || !isSameFence(missing?.fence, loadOrderFence(store, owed.orderId))) return false;
      const at = this.#now();
      const mark = loadOrderMark(store, owed.orderId);
      const isRemoved = (mark?.removedAt ?? null) !== null;
      const missingSince = loadMissingOrder(store, owed.orderId)?.since;
      // An order that was never stored and was missing twice stays missing until it is served.
      const isUnknown = mark === undefined && this.#queue.isKept(owed);
      if (!isRemoved && !isUnknown && !this.#missing.note(owed.orderId, at)) {
        this.#queue.wait(owed, { attempts: owed.attempts, error, waitMs: MISSING_WAIT_MS });
        return false;
      }
      if (mark === undefined && owed.record !== "") {
        this.#queue.keepChange(owed, m.updates.unknownOrder({ status: missing?.status ?? 404 }), at);
        if (!isLastTry(owed)) {
          this.#queue.waitLonger(owed, error);
          return false;
        }
      }
      if (mark !== undefined) this.#settleByChanges(owed, { lastChange, since: mark.updatedAt }, at);
      // The order can no longer be read, so its last known change counts.
      takeCancellation(this.#context, this.#rules, { orderId: owed.orderId, at, isLate: true });
      this.#queue.endDebt(owed);
      if (mark === undefined || !markOrderRemoved(store, mark.orderKey, at)) return false;
      requestLaterReads(store, owed.orderId, at);
      if (missingSince !== undefined && listing === "gone")
        noteRemoved(this.#context, { orderId: owed.orderId, missingSince }, this.#rules.plan.timezone);
      return true;
    });
  }

  /** A missing order does not show whether a sent status arrived; its last listed change does. */
  #settleByChanges(
    owed: QueuedRead,
    { lastChange, since }: { lastChange: ListedChange | undefined; since: string | null },
    at: string,
  ): void {
    const { store } = this.#context;
    const announced = owed.source === "update" ? this.#asking.changeOf(owed) : undefined;
    const isListedLater =
      lastChange && isStrictlyNewer(lastChange.timestamp, announced?.timestamp ?? null, this.#timezone);
    const last = announced === undefined || isListedLater ? lastChange : announced;
    if (last === undefined || last.status === null) return;
    if (isOfFuture(this.#context, last.timestamp, this.#timezone)) return;
    if (isStrictlyNewer(last.timestamp, since, this.#timezone)) settleEchoes(store, owed.orderId, last.status, at);
  }

  #now(): string {
    return isoTime(this.#context.clock.nowMs());
  }
}

function unusable(orderId: string): BridgeError {
  return new BridgeError("answer_unreadable", m.updates.answerQuarantined({ orderId }));
}

/** A failure of order reads stops nothing else: changes are followed, and the next pass reads other orders. */
function asFailure(trouble: unknown): BridgeError {
  const { code, text, hint } = asError(trouble);
  return new BridgeError(code, text, { cause: trouble, ...(hint === undefined ? {} : { hint }) });
}

function count(counts: Record<string, number>, stored: IngestResult | "stale"): void {
  const name = stored === "created" ? "rescued" : stored;
  const isQuiet = stored === "stale" || isUnchanged(stored);
  for (const each of isQuiet ? ["read"] : [name, "read"]) addCount(counts, each);
}
