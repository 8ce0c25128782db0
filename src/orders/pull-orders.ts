/*
 * Pulls batches of new orders. Keeps the first guarantee: an order is on disk before the service is notified that it may
 * drop it. After a crash anywhere, the service still has the batch, or `batches` says which confirm is to be sent, or the
 * committed mark of the pull says that an answer may be missing.
 */

import { loadLeftWork } from "../batches/batch-rows.ts";
import {
  closeDelivery,
  deleteUnanswered,
  loadNewestDue,
  loadUnanswered,
  loseUnanswered,
  noteAccounted,
  openDelivery,
  saveUnanswered,
} from "../batches/delivery-rows.ts";
import { type BodyJournal, JournalBatches } from "../batches/journal-batches.ts";
import { removeUnnamedParts } from "../batches/keep-body.ts";
import { beginPass, count, type PullPass, type StoredBatch } from "../batches/pull-pass.ts";
import { ConfirmBatches } from "../confirm/confirm-batches.ts";
import { confirmNames } from "../confirm/confirm-form.ts";
import type { LateOrders } from "../confirm/late-orders.ts";
import { m } from "../messages/messages.ts";
import { commit, commitAtOnce } from "../pass/commit.ts";
import { saveHold } from "../pass/hold-rows.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { asError, BridgeError, type ErrorCode } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { findOld } from "../service/cached-answer.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { fetchBatch, turnOfBatch } from "../service/orders.ts";
import { ServiceError } from "../service/service-error.ts";
import { Backlog } from "./backlog.ts";
import { loadCreatedAfter, loadNewestKey } from "./order-rows.ts";
import type { OrderRules } from "./order-rules.ts";
import { StoreBatches } from "./store-batches.ts";

/** Batches in one pass; the next pass follows at once, and a stop is noticed in between. */
const BATCHES_PER_PASS = 50;
/** Kept bodies read in one pass: more than are ever kept, so only a bound. */
const KEPT_PER_PASS = 400;

/** Whether the disk has room for another batch. */
export interface DiskRoom {
  /** Undefined where there is room; else what the pass ends with. */
  findNoRoom(signal: AbortSignal): Promise<BridgeError | undefined>;
}

export interface PullOptions {
  rules: OrderRules;
  query: readonly (readonly [string, string])[];
  late: LateOrders;
  /** Where bodies are kept as well before they are confirmed. */
  journal?: BodyJournal | undefined;
  disk?: DiskRoom;
}

export class PullOrders implements Job {
  readonly name = "orders";
  readonly areas = ["orders"];
  readonly #context: JobContext;
  readonly #options: PullOptions;
  readonly #batches: StoreBatches;
  readonly #journal: JournalBatches;
  readonly #confirms: ConfirmBatches;
  /** What a person has asked for; undefined: whatever comes. */
  #backlog: Backlog | undefined;
  /** A GET may have left whose answer is not stored; also of the process before, if it left its mark. */
  #mayBeLost = true;
  /** A loss is noted once. */
  #isLossNoted = false;
  /** The lost answer that is waited for, and until when at most. */
  #lost: { openedAt: string; untilMs: number } | undefined;

  constructor(context: JobContext, options: PullOptions) {
    this.#context = context;
    this.#options = options;
    this.#journal = new JournalBatches(context, options.journal);
    this.#batches = new StoreBatches(context, options, this.#journal);
    this.#confirms = new ConfirmBatches(context, options.rules, options.late);
  }

  /** Has passes end with what waited when it was called, until the function that it gives is called. */
  endWithBacklog(): () => void {
    this.#backlog = new Backlog(this.#options.rules.plan.timezone);
    return () => {
      this.#backlog = undefined;
    };
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const pass = beginPass(signal);
    this.#confirms.beginPass(pass);
    await this.#noteLost(signal);
    const left = loadLeftWork(this.#context.store);
    if (left.hasParts === 1) await removeUnnamedParts(this.#context, signal);
    if (left.hasUnjournaled === 1) await this.#journal.keepUnjournaled(pass);
    if (left.hasUnread === 1) await this.#readKept(pass);
    let drained = false;
    try {
      drained = await this.#drain(pass);
    } catch (error) {
      // Confirms of batches that are durable do not wait for the next good answer, unless the service itself is out.
      if (!isOfPullAlone(error)) throw error;
      pass.failure ??= error;
      if (error instanceof ServiceError) this.#confirms.expectTrouble(pass);
    }
    await this.#noteLost(signal);
    if (left.hasUnread === 1 && pass.failure === undefined)
      count(pass, "settled", await this.#batches.kept.settle(signal));
    if (pass.failure === undefined && pass.isAnswered && !pass.isUnusual) await this.#confirms.noteAnswered(pass);
    const more = await this.#confirms.confirmDue(pass);
    const failure = pass.failure ?? pass.confirmFailure;
    if (pass.failure !== undefined || (failure !== undefined && !pass.isAnswered)) throw failure;
    const worked = Object.keys(pass.counts).length > 0;
    // A service may hand out for ever what it has handed out before: only new orders are followed by others at once.
    const isWaiting = !drained && (pass.counts["created"] !== undefined || this.#backlog !== undefined);
    const outcome = worked ? (isWaiting || more ? "more" : "done") : "idle";
    return { outcome, counts: pass.counts, ...(failure !== undefined && { failure: asError(failure) }) };
  }

  /** Reads kept bodies that the present configuration has not been tried on, before anything new is asked for. */
  async #readKept(pass: PullPass): Promise<void> {
    for (let tries = 0; tries < KEPT_PER_PASS; tries++) {
      const follows = this.#confirms.followsAtOnce(pass, false);
      const kept = await this.#batches.storeKept(pass, follows);
      if (kept === "none") return;
      if (kept !== "unread" && follows) await this.#confirms.confirm(kept, pass);
    }
  }

  /** True where nothing more waits at the service. */
  async #drain(pass: PullPass): Promise<boolean> {
    for (let batches = 0; batches < BATCHES_PER_PASS; batches++) {
      // An answer that waits to be written is not asked for again, and is let in whatever room there is.
      const isWaiting = this.#batches.waiting !== undefined;
      const noRoom = isWaiting ? undefined : await this.#options.disk?.findNoRoom(pass.signal);
      if (noRoom !== undefined) {
        pass.failure ??= noRoom;
        return true;
      }
      const batch = await this.#pullOne(pass);
      if (batch === undefined || batch.seenBefore || batch.isLast === true) return true;
      if (this.#context.isStopping()) return false;
    }
    return false;
  }

  /** Pulls, stores and confirms one batch. The order of these steps is the guarantee; none may move. */
  async #pullOne(pass: PullPass): Promise<StoredBatch | undefined> {
    // 1. and 2. Mark, then ask: see `#ask`. An answer that could not be stored is still in hand and comes first.
    const answer = this.#batches.waiting ?? (await this.#ask(pass));
    // 3. Read and store: orders, lines, events, quarantine, batch, first watermark and the mark's end. When this
    //    returns, everything is committed and fsynced. A throw confirms nothing.
    const { store } = this.#context;
    const newestKey = this.#backlog === undefined ? 0 : loadNewestKey(store);
    const stored = await this.#batches.store(answer, pass, this.#confirms.followsAtOnce(pass)).finally(() => {
      if (pass.isAccounted) this.#mayBeLost = false;
    });
    const old = findOld(answer, "/orders");
    if (old !== undefined) {
      // The service itself has delivered nothing.
      await this.#closeMark(pass.signal);
      pass.failure ??= old;
    }
    if (stored === undefined) return undefined;
    // 4. Only now confirm to the service. Before the commit, a power cut would lose orders that it will not serve again.
    await this.#confirms.confirm({ ...stored, isServed: old === undefined }, pass);
    const isLast = this.#backlog?.isThrough({ createdAt: loadCreatedAfter(store, newestKey), date: answer.date });
    return { ...stored, isLast: isLast === true };
  }

  /** Before the program ends, between passes: where every GET was answered, and all of it is stored, no note of them stays. */
  end(): void {
    const { store } = this.#context;
    const noted = this.#mayBeLost ? undefined : loadUnanswered(store);
    if (noted === undefined) return;
    if (!noted.isLost) commitAtOnce({ store }, () => deleteUnanswered(store));
    else if (noted.due !== undefined) commitAtOnce({ store }, () => noteAccounted(store));
  }

  async #ask(pass: PullPass): Promise<ServiceAnswer> {
    const { signal } = pass;
    pass.isAccounted = false;
    await this.#openMark(signal);
    try {
      const { client, store } = this.#context;
      const turn = await turnOfBatch(client, signal);
      // The mark is in the database file itself, whatever has become of the log while the request waited.
      if (!confirmNames(this.#options.rules.confirm)) store.secure();
      const answer = await fetchBatch(client, this.#options.query, signal, turn);
      pass.isAnswered = answer.oldBy === undefined;
      return answer;
    } catch (error) {
      // A refusal and a connection that was never made deliver nothing; everything else may have.
      if (error instanceof ServiceError && error.effect === "none") await this.#closeMark(signal);
      throw error;
    }
  }

  /** The same for all GETs of a process that are answered, so that a poll writes nothing more unless a batch is left to be confirmed. */
  async #noteAsked(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const noted = loadUnanswered(store);
    const isLost = noted !== undefined && (noted.isLost || this.#mayBeLost);
    this.#mayBeLost = true;
    this.#isLossNoted = false;
    const due = Math.max(loadNewestDue(store) ?? 0, noted?.due ?? 0);
    if (noted !== undefined && noted.isLost === isLost && due === (noted.due ?? 0)) return;
    const since = noted?.since ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () =>
      saveUnanswered(store, { ...noted, since, isLost, ...(due > 0 && { due }) }),
    );
  }

  /** Whatever the last GET may have handed out is not stored, and no longer in hand. */
  async #noteLost(signal: AbortSignal): Promise<void> {
    if (!this.#mayBeLost || this.#isLossNoted || this.#batches.waiting !== undefined) return;
    this.#isLossNoted = true;
    await this.#confirms.noteLost(signal);
  }

  async #openMark(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#context;
    if (confirmNames(this.#options.rules.confirm)) return await this.#noteAsked(signal);
    const at = isoTime(clock.nowMs());
    const mark = await commit(this.#context, signal, () => {
      loseUnanswered(store);
      return openDelivery(store, at);
    });
    if (!mark.lost || !this.#hasWaited(mark.openedAt)) return;
    const detail = m.orders.answerLost({ at: mark.openedAt });
    const isNew = await commit(this.#context, signal, () =>
      saveHold(store, {
        area: "orders",
        reason: "hand-out lost",
        since: at,
        nextProbeAt: null,
        detail,
      }),
    );
    if (isNew) log.warn({ area: "orders", reason: "hand-out lost" }, detail);
  }

  /**
   * Whether a lost answer has been waited for long enough. By the monotonic clock from when this process first saw it;
   * the wall clock only shows how much of the wait was over by then, and may be wrong by years.
   */
  #hasWaited(openedAt: string): boolean {
    const { clock } = this.#context;
    const waitMs = this.#options.rules.confirmWaitMs;
    if (this.#lost?.openedAt !== openedAt) {
      const waitedMs = Math.min(Math.max(clock.nowMs() - Date.parse(openedAt), 0), waitMs);
      this.#lost = { openedAt, untilMs: clock.monotonicMs() + waitMs - waitedMs };
    }
    return clock.monotonicMs() >= this.#lost.untilMs;
  }

  async #closeMark(signal: AbortSignal): Promise<void> {
    this.#mayBeLost = false;
    if (confirmNames(this.#options.rules.confirm)) return;
    await commit(this.#context, signal, () => closeDelivery(this.#context.store));
  }
}

const PULL_ALONE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "answer_shape",
  "answer_unreadable",
  "answer_too_large",
  "request_refused",
  "timed_out",
  "unavailable",
]);

/** Failures of GET /orders that say nothing about a confirm. */
function isOfPullAlone(error: unknown): boolean {
  if (!(error instanceof BridgeError) || !PULL_ALONE.has(error.code)) return false;
  return !(error instanceof ServiceError) || error.retryAfterMs === undefined;
}
