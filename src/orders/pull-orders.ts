/*
 * Pulls batches of new orders. First guarantee: an order is on disk before its batch is confirmed. After a crash at any
 * point the service still has the batch, or `batches` has the confirm to send, or the committed mark of the open
 * delivery shows that an answer may be missing.
 */

import { type BatchRow, loadLeftWork } from "../batches/batch-rows.ts";
import {
  clearDelivery,
  closeDelivery,
  loadDelivery,
  loadNewestDue,
  noteAccounted,
  openDelivery,
  replaceNote,
  UNANSWERED,
} from "../batches/delivery-rows.ts";
import { type BodyJournal, JournalBatches } from "../batches/journal-batches.ts";
import { removeUnnamedParts } from "../batches/keep-body.ts";
import { beginPass, count, isAnsweredWhole, type PullPass, type StoredBatch } from "../batches/pull-pass.ts";
import { ConfirmBatches } from "../confirm/confirm-batches.ts";
import { confirmNames, confirmNamesOrders } from "../confirm/confirm-form.ts";
import type { LateOrders } from "../confirm/late-orders.ts";
import { isNameShared, loadNameUse } from "../confirm/reused-names.ts";
import { countAsked } from "../database/log/progress-note.ts";
import { m } from "../messages/messages.ts";
import { commit, commitAtOnce } from "../pass/commit.ts";
import { deleteHold, saveHold } from "../pass/hold-rows.ts";
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

/** Batches per pass; a stop is noticed between passes, and the next one follows immediately. */
const BATCHES_PER_PASS = 50;
/** Kept bodies read per pass: a bound above the number that can be kept. */
const KEPT_PER_PASS = 400;

/** Checks whether the disk has room for another batch. */
export interface DiskRoom {
  /** Undefined where there is room; else the error of the pass. */
  findNoRoom(signal: AbortSignal): Promise<BridgeError | undefined>;
}

export interface PullOptions {
  rules: OrderRules;
  query: readonly (readonly [string, string])[];
  late: LateOrders;
  /** Second copy of bodies, written before the confirm. */
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
  /** Set while a person waits for the backlog; undefined: pull whatever comes. */
  #backlog: Backlog | undefined;
  /** A GET may have been sent whose answer is not stored, by this process or, if it left its mark, the one before. */
  #mayBeLost = true;
  /** This process has sent a GET. */
  #hasAsked = false;
  /** Each loss is saved once. */
  #isLossSaved = false;
  /** The lost answer, and until when at most confirms wait for it (monotonic). */
  #lost: { openedAt: string; untilMs: number } | undefined;

  constructor(context: JobContext, options: PullOptions) {
    this.#context = context;
    this.#options = options;
    this.#journal = new JournalBatches(context, options.journal);
    this.#batches = new StoreBatches(context, options, this.#journal);
    this.#confirms = new ConfirmBatches(context, options.rules, options.late);
  }

  /** Makes passes end once everything that waits now is pulled, until the returned function is called. */
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
    const { batchOrders: list, batchId } = this.#options.rules;
    await this.#journal.begin({ list, batchId }, pass);
    const left = loadLeftWork(this.#context.store);
    if (left.hasParts === 1) await removeUnnamedParts(this.#context, signal);
    if (left.hasUnjournaled === 1) await this.#journal.keepUnjournaled(pass);
    if (left.hasUnread === 1) await this.#readKept(pass);
    let drained = false;
    try {
      drained = await this.#drain(pass);
    } catch (error) {
      // Due confirms are still sent, unless the service as a whole fails.
      if (!isOfPullAlone(error)) throw error;
      pass.failure ??= error;
      if (error instanceof ServiceError) this.#confirms.expectTrouble(pass);
    }
    await this.#noteLost(signal);
    if (left.hasUnread === 1 && pass.failure === undefined)
      count(pass, "settled", await this.#batches.kept.settle(signal));
    if (isAnsweredWhole(pass)) await this.#confirms.noteAnswered(pass);
    const more = await this.#confirms.confirmDue(pass);
    const failure = pass.failure ?? pass.confirmFailure;
    if (pass.failure !== undefined || (failure !== undefined && !pass.isAnswered)) throw failure;
    const worked = Object.keys(pass.counts).length > 0;
    // A service may repeat unconfirmed batches for ever: only after new orders the next pass follows immediately.
    const isWaiting = !drained && (pass.counts["created"] !== undefined || this.#backlog !== undefined);
    const outcome = worked ? (isWaiting || more ? "more" : "done") : "idle";
    return { outcome, counts: pass.counts, ...(failure !== undefined && { failure: asError(failure) }) };
  }

  /** Reads kept bodies not tried with this configuration, before the first GET. */
  async #readKept(pass: PullPass): Promise<void> {
    for (let tries = 0; tries < KEPT_PER_PASS; tries++) {
      const kept = await this.#batches.storeKept(pass, (batch) => this.#confirms.followsAtOnce(batch, pass, false));
      if (kept === "none") return;
      if (kept !== "unread" && this.#confirms.followsAtOnce(kept.row, pass, false))
        await this.#confirms.confirm(kept, pass);
    }
  }

  /** Returns whether there is nothing more to pull in this pass. */
  async #drain(pass: PullPass): Promise<boolean> {
    const had = new Set<number>();
    for (let batches = 0; batches < BATCHES_PER_PASS; batches++) {
      // An answer that waits to be stored is stored without asking for room: it exists nowhere else.
      const isWaiting = this.#batches.waiting !== undefined;
      const noRoom = isWaiting ? undefined : await this.#options.disk?.findNoRoom(pass.signal);
      if (noRoom !== undefined) {
        pass.failure ??= noRoom;
        return true;
      }
      if (!isWaiting && this.#confirms.mayArrive) {
        pass.confirmFailure ??= new BridgeError("unavailable", m.orders.confirmMayArrive);
        return true;
      }
      const batch = await this.#pullOne(pass);
      if (batch === undefined || batch.isLast === true) return true;
      // A batch that is served again comes first and alone at some services: others may come behind it.
      if (batch.seenBefore && had.has(batch.row.id)) return true;
      had.add(batch.row.id);
      if (this.#context.isStopping()) return false;
    }
    return false;
  }

  /** Pulls, stores and confirms one batch. The order of these steps is the guarantee; none may move. */
  async #pullOne(pass: PullPass): Promise<StoredBatch | undefined> {
    // 1. and 2. Commit the mark, then send the GET: see `#ask`. An answer that could not be stored before comes first.
    const answer = this.#batches.waiting ?? (await this.#ask(pass));
    // 3. Store orders, lines, events, quarantine, batch, the first watermark, and the end of the mark. When this
    //    returns, all of it is committed and fsynced. If it throws, nothing is confirmed.
    const { store } = this.#context;
    const newestKey = this.#backlog === undefined ? 0 : loadNewestKey(store);
    const follows = (batch: Pick<BatchRow, "batchId">) => this.#confirms.followsAtOnce(batch, pass);
    const stored = await this.#batches.store(answer, pass, follows).finally(() => {
      if (pass.isAccounted) this.#mayBeLost = false;
    });
    const old = findOld(answer, "/orders");
    if (old !== undefined) {
      // A cache answered, so the service has delivered nothing; unless the cache had asked it and got no answer.
      if (answer.mayHaveAsked !== true) await this.#closeMark(pass.signal);
      pass.failure ??= old;
    }
    if (stored === undefined) return undefined;
    // 4. Only now confirm. Before the commit, a power cut would lose orders that the service does not serve again.
    await this.#confirms.confirm({ ...stored, isServed: old === undefined }, pass);
    const isLast = this.#backlog?.isThrough({ createdAt: loadCreatedAfter(store, newestKey), date: answer.date });
    return { ...stored, isLast: isLast === true };
  }

  /** To be called at the end of the program, between passes. Removes the note if every GET was answered and stored. */
  end(): void {
    const { store } = this.#context;
    const saved = this.#mayBeLost ? undefined : UNANSWERED.load(store);
    if (saved === undefined) return;
    if (!saved.isLost && saved.loss === undefined) commitAtOnce({ store }, () => UNANSWERED.delete(store));
    else if (saved.due !== undefined) commitAtOnce({ store }, () => noteAccounted(store));
  }

  async #ask(pass: PullPass): Promise<ServiceAnswer> {
    const { signal } = pass;
    pass.isAccounted = false;
    const isMarked = this.#needsMark();
    if (isMarked) await this.#openMark(signal);
    else await this.#noteAsked(signal);
    try {
      const { client, store } = this.#context;
      const turn = await turnOfBatch(client, signal);
      // 1. The mark is committed, and flushed to the database file and noted beside it before the GET is sent.
      if (isMarked) store.secure();
      // 2. Only now send the GET.
      const answer = await fetchBatch(client, this.#options.query, signal, turn);
      pass.isAnswered = answer.oldBy === undefined;
      return answer;
    } catch (error) {
      // A refused request, or one without a connection, has delivered nothing; any other may have.
      if (error instanceof ServiceError && error.effect === "none") await this.#closeMark(signal);
      throw error;
    }
  }

  /** Whether the confirm of the next batch may cover an answer that is lost until then. */
  #needsMark(): boolean {
    const { confirm } = this.#options.rules;
    if (confirmNamesOrders(confirm, "0")) return false;
    return !confirmNames(confirm) || isNameShared(loadNameUse(this.#context.store));
  }

  /** The note instead of a mark, for all GETs of the process: a poll writes only if a batch becomes due to confirm. */
  async #noteAsked(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const saved = UNANSWERED.load(store);
    // Of before it was known that confirms cover one batch each: none waits for what was lost.
    const mark = loadDelivery(store);
    const isLost = mark !== undefined || (saved !== undefined && (saved.isLost || this.#mayBeLost));
    this.#mayBeLost = true;
    this.#hasAsked = true;
    this.#isLossSaved = false;
    const due = Math.max(loadNewestDue(store) ?? 0, saved?.due ?? 0);
    if (mark === undefined && saved !== undefined && saved.isLost === isLost && due === (saved.due ?? 0)) return;
    const since = saved?.since ?? mark?.openedAt ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      if (mark !== undefined) clearDelivery(store);
      if (mark !== undefined) deleteHold(store, "orders", "hand-out lost");
      UNANSWERED.save(store, { ...saved, since, isLost, ...(due > 0 && { due }) });
    });
  }

  /** The last GET's delivery is neither stored nor waiting to be stored. */
  async #noteLost(signal: AbortSignal): Promise<void> {
    if (!this.#mayBeLost || this.#isLossSaved || this.#batches.waiting !== undefined) return;
    this.#isLossSaved = true;
    await this.#confirms.noteLost({ isOwn: this.#hasAsked }, signal);
  }

  async #openMark(signal: AbortSignal): Promise<void> {
    const { store, client, clock, log } = this.#context;
    const at = isoTime(clock.nowMs());
    const mark = await commit(this.#context, signal, () => {
      replaceNote(store, { mayBeLost: this.#mayBeLost || !confirmNames(this.#options.rules.confirm) });
      countAsked(store);
      return openDelivery(store, at, client.serviceNow);
    });
    if (!mark.lost) this.#lost = undefined;
    if (!mark.lost || !this.#hasWaited(mark.openedAt)) return;
    if (confirmNames(this.#options.rules.confirm) && loadNewestDue(store) === undefined) return;
    const { openedAt: first, lostAt: last } = mark;
    const detail = last === null ? m.orders.answerLost({ at: first }) : m.orders.answersLost({ at: first, last });
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
   * Whether a lost answer was waited for long enough. Measured by the monotonic clock since this process first saw the
   * loss; the wall clock only gives the wait before that, bounded because it may be wrong by years.
   */
  #hasWaited(openedAt: string): boolean {
    const { clock } = this.#context;
    const waitMs = this.#options.rules.confirmWaitMs;
    // An earlier time than before is of a clock that was set back: the wait goes on.
    if (this.#lost === undefined || openedAt > this.#lost.openedAt) {
      const waitedMs = Math.min(Math.max(clock.nowMs() - Date.parse(openedAt), 0), waitMs);
      this.#lost = { openedAt, untilMs: clock.monotonicMs() + (waitMs - waitedMs) };
    }
    return clock.monotonicMs() >= this.#lost.untilMs;
  }

  async #closeMark(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    this.#mayBeLost = false;
    if (loadDelivery(store) === undefined && UNANSWERED.load(store)?.due === undefined) return;
    await commit(this.#context, signal, () => closeDelivery(store));
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

/** Failures of `GET /orders` after which confirms are still worth sending. */
function isOfPullAlone(error: unknown): boolean {
  if (!(error instanceof BridgeError) || !PULL_ALONE.has(error.code)) return false;
  return !(error instanceof ServiceError) || error.retryAfterMs === undefined;
}
