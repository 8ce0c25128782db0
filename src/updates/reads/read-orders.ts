/*
 * Reads whole orders that were announced by a change or a doubtful record, or that a pass could not settle. Each read
 * is a row (`owed_reads`) until the transaction that stores its snapshot; after a crash it is read again. An order that
 * cannot be read waits at the end of the queue with its own retry time and does not block others. If the service
 * answers for no order at all, no failure is counted for any; cancellations then count by the time that they waited.
 */

import { isStrictlyNewer } from "../../answers/timestamp.ts";
import { m } from "../../messages/messages.ts";
import { settleEchoes } from "../../orders/echo-rows.ts";
import { type Doubt, type IngestResult, isUnchanged } from "../../orders/ingest-options.ts";
import { loadLaterReads, requestLaterReads, requestReadNow } from "../../orders/later-reads.ts";
import { loadMissingOrder } from "../../orders/missing-rows.ts";
import {
  isSameFence,
  loadOrderFence,
  loadOrderMark,
  markOrderRemoved,
  type OrderFence,
} from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { loadSecondReads, queueSecondRead, requestSecondRead } from "../../orders/second-reads.ts";
import { refuseUnknown } from "../../orders/unstored-requests.ts";
import { commit } from "../../pass/commit.ts";
import { addCount } from "../../pass/counts.ts";
import { isAnswered, reachOf } from "../../pass/holds.ts";
import type { JobContext } from "../../pass/job.ts";
import { countDueReads, loadDueReads, loadQueuedRead, type QueuedRead } from "../../pass/position-rows.ts";
import { hasFailedFor } from "../../pass/runs.ts";
import { wasListed } from "../../pass/seen-changes.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { asError, BridgeError } from "../../platform/errors.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FollowRules } from "../pages/follow.ts";
import { isOfFuture } from "../times/latest-time.ts";
import { AskingRecord } from "./asking-record.ts";
import { BackgroundReads } from "./background-reads.ts";
import { HeldRecords } from "./held-records.ts";
import { type ListedChange, type Listing, LookInUpdates } from "./look-in-updates.ts";
import { MISSING_FOR_MS, noteMissing } from "./missing-orders.ts";
import { type OrderAnswer, OrderReader, olderThanStored, type Refreshed } from "./read-order.ts";
import { type Health, ReadPass } from "./read-pass.ts";
import { isLastTry, ReadQueue } from "./read-queue.ts";
import { ReadTurns } from "./read-turns.ts";
import { RepeatedReads } from "./repeated-reads.ts";
import { noteRemoved } from "./set-back.ts";
import { takeCancellation } from "./take-cancellation.ts";

const READS_PER_PASS = 200;
/** After so many answers older than the known version the change list is asked for it; before `CANCELLED_TRIES`. */
const BEHIND_TRIES = 3;
/** A little longer than the time that an order must be missing, because `Date` has whole seconds. */
const MISSING_WAIT_MS = MISSING_FOR_MS + 2_000;

/** A read without a result. Whether it counts is decided once it is known whether the service was well. */
interface Aside {
  queued: QueuedRead;
  error: unknown;
  /** Set where the service has no such order: the stored order at that time. */
  missing: { status: number | undefined; fence: OrderFence | undefined; orderKey: number | undefined } | undefined;
}

/** After so long without an answer of the changes list no order waits for it. */
const UNLISTED_MS = 60 * MINUTE_MS;
/** When an order is read again that was answered with another status than its change has for the same time. */
const SOON_MS = [MINUTE_MS, 10 * MINUTE_MS];

/** What is known besides the order's own answer. */
interface Shown {
  /** The change list has nothing newer than this time. */
  current?: string;
  /** The change list decides nothing, and the order was answered so for a day. */
  isLast?: boolean;
  /** It has both versions: the service has lost none, and the clock that wrote the newer one was ahead, or this one's behind. */
  hasBoth?: boolean;
  /** What the order has by itself, although it puts the answer in doubt. */
  accepted?: Doubt | undefined;
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
  readonly #held: HeldRecords;
  readonly #looks: RepeatedReads;
  readonly #turns = new ReadTurns();
  readonly #background: BackgroundReads;
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
    this.#looks = new RepeatedReads(context, this.#reader);
    this.#background = new BackgroundReads(context);
    const parts = { reader: this.#reader, looks: this.#looks, background: this.#background };
    this.#held = new HeldRecords(context, rules, parts);
  }

  /**
   * Reads due orders, a limited number. Returns how many are left for the next pass to begin with immediately.
   * @param options.isListed whether the change list was answered in this pass
   */
  async readQueued(
    counts: Record<string, number>,
    { signal, isListed = false }: { signal: AbortSignal; isListed?: boolean },
  ): Promise<number> {
    await this.#held.look(signal);
    await this.#requestLater(signal);
    const pass: Pass = {
      reads: new ReadPass(this.#context, this.#reader, { signal }),
      updates: new LookInUpdates(this.#context, { rules: this.#rules, follow: this.#follow }),
      aside: [],
      counts,
      signal,
    };
    try {
      await this.#readDue(pass);
    } catch (error) {
      if (isListed && pass.reads.isRefused(error)) await this.#queue.takeCancellations(signal);
      throw error;
    }
    if (this.#context.isStopping()) return 0;
    return countDueReads(this.#context.store, this.#now(), { hasBackground: this.#background.room > 0 });
  }

  async #readDue(pass: Pass): Promise<void> {
    const { store } = this.#context;
    const background = Math.min(READS_PER_PASS, this.#background.room);
    const range = { at: this.#now(), limit: READS_PER_PASS, background };
    const urgent = loadDueReads(store, { ...range, isUrgentFirst: true });
    const oldest = loadDueReads(store, { ...range, isUrgentFirst: false });
    let left = urgent.filter(({ isBackground }) => isBackground === 1).length;
    for (const queued of this.#turns.inTurns({ urgent, oldest })) {
      if (this.#context.isStopping()) return;
      if (queued.isBackground === 1 && !(await this.#background.take(Math.max(left, 1), pass.signal))) continue;
      left -= queued.isBackground;
      if (await this.#readOne(queued, pass)) continue;
      await this.#putAside(pass, "ill");
      throw asFailure(pass.reads.trouble);
    }
    if (pass.aside.length > 0) {
      const keys = pass.aside.map(({ missing }) => missing?.orderKey ?? 0);
      const health = await pass.reads.findHealth(Math.max(...keys));
      await this.#putAside(pass, health);
      if (health === "ill") throw asFailure(pass.reads.trouble);
    }
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
  async #readOne(queued: QueuedRead, pass: Pass): Promise<boolean> {
    const { store, client } = this.#context;
    try {
      const readOnce = (accepted?: Doubt) => this.#readUntilCurrent(queued, pass, accepted);
      const read = await this.#looks.read(queued.orderId, readOnce, { ...pass, isLast: isLastTry(queued) });
      if (read?.value.kind === "unknown") {
        const { error, fence } = read.value;
        const orderKey = loadOrderMark(store, queued.orderId)?.orderKey;
        pass.aside.push({ queued, error, missing: { status: error.status, fence, orderKey } });
        return await pass.reads.failed(queued.orderId, error);
      }
      pass.reads.answered(loadOrderMark(store, queued.orderId)?.orderKey);
      if (read !== undefined) count(pass.counts, read.value.stored);
      if (queued.record === "" && read?.value.stored === "changed") this.unannounced += 1;
    } catch (error) {
      if (reachOf(error, queued.attempts) !== "record") {
        if (isAnswered(error)) await this.#queue.postpone(queued, error, pass.signal);
        throw error;
      }
      this.#context.log.debug({ orderId: queued.orderId }, client.hideSecrets(asError(error).message));
      pass.aside.push({ queued, error, missing: undefined });
      return await pass.reads.failed(queued.orderId, error);
    }
    return true;
  }

  /**
   * An answer older than the known version counts if the change list does not have the newer version any more, and the
   * order is then answered so again, because two replicas may answer in turn.
   */
  async #readUntilCurrent(queued: QueuedRead, { updates, signal }: Pass, accepted?: Doubt) {
    const read = await this.#reader.refresh(queued, this.#actOn(queued, { accepted }), signal);
    if (read?.value.kind !== "order" || read.value.newer === undefined) return read;
    if (queued.attempts + 1 < BEHIND_TRIES) return read;
    const kept = this.#reader.timestampOf(read.value.answer);
    const version = { orderId: queued.orderId, timestamp: read.value.newer, kept };
    const found = await updates.look(version, queued.attempts, signal);
    // If the version was never listed, its absence proves nothing.
    const listing = found === "gone" && !wasListed(this.#context.store, version, this.#timezone) ? "unknown" : found;
    // Where the known version is no later one, only its clock was wrong, and its being listed proves nothing.
    const isListed = listing === "listed" && !this.#reader.isOfBeforeItself(read.value.answer, version.timestamp);
    const isLast = listing !== "gone" && !isListed && isLastTry(queued);
    if (isListed && isLastTry(queued)) await commit(this.#context, signal, () => this.#queue.dequeue(queued));
    if (listing !== "gone" && !isLast) return read;
    return await this.#reader.refresh(
      queued,
      this.#actOn(queued, { current: read.value.newer, isLast, hasBoth: listing === "both", accepted }),
      signal,
    );
  }

  #actOn(queued: QueuedRead, shown: Shown = {}) {
    return {
      store: (answer: OrderAnswer, at: string) => this.#store(queued, { answer, shown }, at),
      settle: (refreshed: Refreshed<IngestResult | "stale">, at: string) =>
        this.#settle(queued, { refreshed, current: shown.current ?? null }, at),
    };
  }

  /**
   * Inside the transaction that stored the snapshot: saves the hash of the announcing record and ends the queued read.
   * If something of the order was stored while it was read, that may be newer, and the read stays queued.
   */
  #settle(
    queued: QueuedRead,
    { refreshed, current }: { refreshed: Refreshed<IngestResult | "stale">; current: string | null },
    at: string,
  ) {
    if (refreshed.kind === "unknown") {
      return { ...refreshed, fence: loadOrderFence(this.#context.store, queued.orderId) };
    }
    const { answer, stored } = refreshed;
    const isHeld = this.#reader.isHeld(answer);
    // Without a record there is nothing else to keep.
    if (isHeld && queued.record !== "") this.#queue.keepChange(queued, m.updates.snapshotUnusable, at);
    const isLast = isLastTry(queued);
    const known = stored === "stale" ? this.#reader.newerStored(answer) : undefined;
    // A read without a record is requested again by what requested it: an hour later, or at night. An older answer ends
    // the read only after the change list was asked: a request that failed before that, or a crash, ends nothing. The
    // same for an answer that is held. One that is another order counts once it is read again.
    const isRequestedAgain = queued.record === "" && !this.#reader.isOther(answer);
    const isOver = isHeld && known === undefined ? isLast || isRequestedAgain : isLast && current !== null;
    this.#readAfterUnit(queued, answer);
    if (!isHeld) this.#asking.learnLag(queued, answer, stored);
    const announced = isHeld ? undefined : this.#asking.newerAnnounced(queued, answer, current);
    const isAnnouncedLast = announced !== undefined && this.#reader.isLater(announced, known ?? null);
    const newer = isAnnouncedLast ? announced : (known ?? announced);
    if (!isHeld && newer === undefined) this.#asking.noteCalled(queued, answer, at);
    const isContradicted = !isHeld && newer === undefined && this.#asking.contradicts(queued, answer);
    // A replica that lags has caught up by then. What the change says of a cancellation keeps statuses waiting meanwhile.
    const soonMs = isContradicted && !isOver ? SOON_MS[queued.attempts] : undefined;
    if (soonMs !== undefined)
      this.#queue.wait(queued, { attempts: queued.attempts + 1, error: otherStatus(queued.orderId), waitMs: soonMs });
    else if (isOver || !(isHeld || newer !== undefined)) {
      this.#queue.dequeue(queued);
      if (isContradicted) requestLaterReads(this.#context.store, queued.orderId, at);
    } else
      this.#queue.waitLonger(queued, newer === undefined ? unusable(queued.orderId) : olderThanStored(queued.orderId));
    return { ...refreshed, newer };
  }

  /** The change's timestamp may be another one than the order's own. */
  #readAfterUnit(queued: QueuedRead, answer: OrderAnswer): void {
    const { askedAt } = answer;
    if (askedAt === undefined) return;
    const [timestamp, own] = [this.#asking.timestampOf(queued), this.#reader.timestampOf(answer)];
    const order = { orderId: queued.orderId, timestamp, own, askedAt, isNews: false };
    queueSecondRead(this.#context.store, order, this.#timezone);
  }

  /**
   * A version older than the stored one counts if a new change announced it, if the change list does not have the newer
   * one, or if the list decides nothing and the order was answered so for a day. An answer from a cache never counts.
   */
  #store(
    queued: QueuedRead,
    { answer, shown }: { answer: OrderAnswer; shown: Shown },
    at: string,
  ): IngestResult | "stale" {
    const newer = this.#reader.newerStored(answer);
    if (newer === undefined) return this.#reader.storeAnyway(answer, at, shown.accepted);
    const isCurrent = shown.current !== undefined && !this.#reader.isLater(newer, shown.current);
    const isAnnounced = this.#asking.isSaidTwice(queued, answer);
    if (answer.isCached || !(isAnnounced || isCurrent)) return "stale";
    const { accepted, isLast = false, hasBoth } = shown;
    return this.#reader.takeBack(answer, { isAnnounced, isProven: isAnnounced || !isLast, hasBoth, accepted }, at);
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
        const lastChange = updates.lastOf(each.queued.orderId);
        if (await this.#settleMissing(each, { listing, lastChange }, signal)) addCount(counts, "removed");
        continue;
      }
      // If the service fails for all, the next pass tries other orders, and none waits longer for it.
      await this.#queue.postpone(each.queued, each.error, signal, health === "ill" ? 0 : 1);
    }
  }

  /** Reads a missing order under other spellings of its id first. Returns whether that settled the read. */
  async #isFoundOtherwise({ queued }: Aside, counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const { store } = this.#context;
    const mark = loadOrderMark(store, queued.orderId);
    const isRemoved = (mark?.removedAt ?? null) !== null;
    // An id that the service has not written itself may be in the ERP's case.
    const isOwnForm = mark !== undefined || queued.record !== "";
    if (isOwnForm && !isRemoved && loadMissingOrder(store, queued.orderId) === undefined) return false;
    try {
      const read = await this.#reader.refreshOtherwise(queued, this.#actOn(queued), signal);
      if (read?.value.kind === "order") count(counts, read.value.stored);
      return read !== undefined;
    } catch (error) {
      if (reachOf(error, queued.attempts) !== "record") throw error;
      await this.#queue.postpone(queued, error, signal);
      return true;
    }
  }

  /**
   * Asks the change list about an order that is about to be marked as removed. No order waits for a list that has answered nothing for an
   * hour: it would only show whether the service was restored.
   */
  async #lookForMissing({ queued }: Aside, updates: LookInUpdates, signal: AbortSignal): Promise<Listing> {
    const { store, clock } = this.#context;
    const mark = loadOrderMark(store, queued.orderId);
    const isMet = loadMissingOrder(store, queued.orderId) !== undefined;
    if (!isMet || mark === undefined || mark.removedAt !== null || mark.updatedAt === null) return "unknown";
    if (hasFailedFor(store, "updates", { nowMs: clock.nowMs(), forMs: UNLISTED_MS })) return "unknown";
    return await updates.look({ orderId: queued.orderId, timestamp: mark.updatedAt }, queued.attempts, signal);
  }

  /** Returns whether a stored order was marked as removed. */
  async #settleMissing(
    { queued, error, missing }: Aside,
    { listing, lastChange }: { listing: Listing; lastChange: ListedChange | undefined },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { store, log } = this.#context;
    let refused: bigint[] = [];
    const status = missing?.status ?? 404;
    const isRemovedNow = await commit(this.#context, signal, () => {
      const isSameRead = loadQueuedRead(store, queued.orderId)?.recordHash.equals(queued.recordHash) === true;
      if (!isSameRead || !isSameFence(missing?.fence, loadOrderFence(store, queued.orderId))) return false;
      const at = this.#now();
      const mark = loadOrderMark(store, queued.orderId);
      const isRemoved = (mark?.removedAt ?? null) !== null;
      const missingSince = loadMissingOrder(store, queued.orderId)?.since;
      // An order that was never stored and was missing twice stays missing until it is served.
      const isUnknown = mark === undefined && this.#queue.isKept(queued);
      if (!isRemoved && !isUnknown && !noteMissing(this.#context, queued.orderId, at)) {
        this.#queue.wait(queued, { attempts: queued.attempts, error, waitMs: MISSING_WAIT_MS });
        return false;
      }
      if (mark === undefined) refused = refuseUnknown(store, queued.orderId, { status, at });
      if (mark === undefined && queued.record !== "") {
        this.#queue.keepChange(queued, m.updates.unknownOrder({ status }), at);
        if (!isLastTry(queued)) {
          this.#queue.waitLonger(queued, error);
          return false;
        }
      }
      if (mark !== undefined) this.#settleByChanges(queued, { lastChange, since: mark.updatedAt }, at);
      // The order can no longer be read, so its last known change counts.
      takeCancellation(this.#context, this.#rules, { orderId: queued.orderId, at, isLate: true });
      this.#queue.dequeue(queued);
      if (mark === undefined || !markOrderRemoved(store, mark.orderKey, at)) return false;
      requestLaterReads(store, queued.orderId, at);
      if (missingSince !== undefined && listing === "gone")
        noteRemoved(this.#context, { orderId: queued.orderId, missingSince }, this.#rules.plan.timezone);
      return true;
    });
    const reason = m.statuses.noSuchOrder({ status });
    for (const id of refused) log.warn({ request: String(id) }, m.statuses.refused({ id: String(id), reason }));
    return isRemovedNow;
  }

  /** A missing order does not show whether a sent status arrived; its last listed change does. */
  #settleByChanges(
    queued: QueuedRead,
    { lastChange, since }: { lastChange: ListedChange | undefined; since: string | null },
    at: string,
  ): void {
    const { store } = this.#context;
    const announced = queued.source === "update" ? this.#asking.changeOf(queued) : undefined;
    const isListedLater =
      lastChange && isStrictlyNewer(lastChange.timestamp, announced?.timestamp ?? null, this.#timezone);
    const last = announced === undefined || isListedLater ? lastChange : announced;
    if (last === undefined || last.status === null) return;
    if (isOfFuture(this.#context, last.timestamp, this.#timezone)) return;
    if (isStrictlyNewer(last.timestamp, since, this.#timezone)) settleEchoes(store, queued.orderId, last.status, at);
  }

  #now(): string {
    return isoTime(this.#context.clock.nowMs());
  }
}

function otherStatus(orderId: string): BridgeError {
  return new BridgeError("answer_unreadable", m.updates.otherStatus({ orderId }));
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
