import { type BatchRow, hasUnjournaled, isServedBy, loadBatchOf } from "../batches/batch-rows.ts";
import { loadDelivery, loadUnanswered } from "../batches/delivery-rows.ts";
import { countUnread, hasUnreadOf } from "../batches/kept-rows.ts";
import { count, type PullPass, type StoredBatch } from "../batches/pull-pass.ts";
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { AnswerForms } from "../pass/answer-forms.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import { commit } from "../pass/commit.ts";
import { asksAllToWait, planHold, stopsPass } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { ENDPOINT } from "../service/outcome/answer-form.ts";
import { askedWaitMs, ServiceError } from "../service/service-error.ts";
import { type ConfirmForm, confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import type { ServedUnnamed } from "./confirm-record.ts";
import { ConfirmWaits, type UnknownBecause } from "./confirm-waits.ts";
import { loadOthersOf, loadUnconfirmed } from "./due-rows.ts";
import type { LateOrders } from "./late-orders.ts";
import { LostAnswers } from "./lost-answers.ts";
import { OpenConfirm } from "./open-confirm.ts";
import {
  FAILURES_OF_ONE_MAX,
  markAllConfirmed,
  markConfirmBegun,
  markConfirmed,
  markConfirmFailed,
  markConfirmRefused,
  markCoveredConfirmed,
} from "./outcome-rows.ts";
import { RefusedConfirms } from "./refused-confirms.ts";
import { isNameReused, isNameShared, loadNameUse } from "./reused-names.ts";
import { idsServed, type Outcome, SendConfirm } from "./send-confirm.ts";
import { SERVED_AGAIN_MAX, ServedAgain } from "./served-again.ts";
import { saveLarger } from "./settle-confirms.ts";

const CONFIRMS_PER_PASS = 200;
const SERVED_MAX = 1_000;

/** From so many deliveries of a batch that no confirm can name, the count is saved; then each time it has doubled. */
const UNNAMED_NOTED = 16;

/**
 * A confirm that the service refuses while it answers pulls is retried alone, and after so many tries counts as
 * refused.
 */
const FORBIDDEN_TRIES_MAX = 4;

interface FailedConfirm {
  row: BatchRow;
  failure: BridgeError;
}

export class ConfirmBatches {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  /** The account that confirms are sent to. */
  readonly #account: string;
  readonly #forms: AnswerForms;
  readonly #waits: ConfirmWaits;
  readonly #sender: SendConfirm;
  readonly #late: LateOrders;
  readonly #lost: LostAnswers;
  readonly #again: ServedAgain;
  readonly #open: OpenConfirm;
  readonly #refused: RefusedConfirms;
  /** The last pass in which a batch was served. */
  #servedIn: PullPass | undefined;
  /** Those whose confirm was accepted more than once, and the last pass in which each was served. */
  readonly #served = new Map<number, { row: BatchRow; pass: PullPass }>();
  /** The last batch that was served and that no confirm can name. */
  #unnamed: ServedUnnamed | undefined;

  constructor(
    context: JobContext,
    { confirm: form, account, requestMs }: { confirm: ConfirmForm; account: string; requestMs: number },
    late: LateOrders,
  ) {
    this.#context = context;
    this.#form = form;
    this.#account = account;
    this.#forms = new AnswerForms(context, ENDPOINT.confirm, confirmNames(form) ? "nothing" : "enough");
    this.#waits = new ConfirmWaits(context, form, account);
    this.#late = late;
    this.#lost = new LostAnswers(context, form);
    this.#again = new ServedAgain(context, form);
    this.#open = new OpenConfirm(context, { form, requestMs });
    this.#sender = new SendConfirm(context, form, { account, forms: this.#forms, waits: this.#waits });
    this.#refused = new RefusedConfirms(context, form, {
      account,
      late,
      lost: this.#lost,
      waits: this.#waits,
      commit: (pass, fn) => this.#commit(pass, fn),
    });
  }

  /** After refusals of several batches in a row confirms stop until a probe is due; then one is tried. */
  beginPass(pass: PullPass): void {
    const { forbidden } = this.#waits;
    if (forbidden !== "none") pass.confirmsFailed = FAILURES_IN_ROW_MAX - Number(forbidden === "probe");
  }

  /**
   * Returns whether a batch that is being stored is confirmed directly after the commit; its first attempt is then
   * counted in that transaction.
   * @param isServed false for a kept body, which may be from before an answer was lost
   */
  followsAtOnce({ batchId }: Pick<BatchRow, "batchId">, pass: PullPass, isServed = true): boolean {
    if (!confirmNames(this.#form) || pass.confirmsFailed >= FAILURES_IN_ROW_MAX) return false;
    if (hasUnjournaled(this.#context.store) || this.#mayCoverLost(batchId)) return false;
    if (this.#lost.mayNameLost({ batchId })) return false;
    return isServed || this.#lost.held === undefined;
  }

  /** An answer of `GET /orders` is missing, in this process or the one before: see {@link LostAnswers}. */
  async noteLost(get: { isOwn: boolean }, signal: AbortSignal): Promise<void> {
    await this.#lost.noteLost(get, signal);
  }

  /** A confirm that covers everything delivered may still be carried out: what is delivered now would be covered unseen. */
  get mayArrive(): boolean {
    return this.#open.mayArrive;
  }

  /** Another request has just failed: after one failed confirm the pass stops confirming. */
  expectTrouble(pass: PullPass): void {
    pass.confirmsFailed = Math.max(pass.confirmsFailed, FAILURES_IN_ROW_MAX - 1);
  }

  /** Sends confirms left by earlier passes or an earlier process. Returns whether more are left. */
  async confirmDue(pass: PullPass): Promise<boolean> {
    if (hasUnjournaled(this.#context.store)) return false;
    // A confirm that names nothing covers all batches.
    const limit = confirmNames(this.#form) ? CONFIRMS_PER_PASS : 1;
    const more = confirmNames(this.#form) ? this.#waits.size : 0;
    const { held } = this.#lost;
    const due = loadUnconfirmed(this.#context.store, { account: this.#account, limit: limit + more, held })
      .filter((row) => !this.#waits.isWaiting(row) && !this.#mayCoverLost(row.batchId))
      .slice(0, limit);
    for (const row of due) {
      // The confirm of another batch may have covered this one.
      if (loadBatchOf(this.#context.store, row.id)?.state === "stored")
        await this.confirm({ row, seenBefore: true }, pass);
    }
    await this.#refused.retry(pass, (row) => this.confirm({ row, seenBefore: true }, pass));
    if (this.#waits.isUnsaved) await this.#commit(pass, () => {});
    return due.length === CONFIRMS_PER_PASS && pass.confirmsFailed < FAILURES_IN_ROW_MAX;
  }

  /**
   * The service has answered a pull completely, and all of it is stored. Confirms of unknown outcome whose batch it has
   * not served for long enough count as accepted.
   */
  async noteAnswered(pass: PullPass): Promise<void> {
    const { store, clock, log } = this.#context;
    await this.#lost.noteAnswered(pass.signal);
    if (this.#servedIn !== pass && !this.#again.isEmpty) {
      this.#again.clear();
      await commit(this.#context, pass.signal, () => this.#again.save());
    }
    await this.#readUnserved(pass);
    for (const outcome of this.#waits.listUnserved()) {
      const at = isoTime(clock.nowMs());
      const late = await this.#late.find(outcome.row, pass.signal);
      this.#waits.forget(outcome.row.id);
      const isNews = await this.#commit(pass, () => {
        this.#late.save(late, at);
        if (outcome.form !== undefined) this.#forms.saveProof(outcome.form, true);
        if (outcome.count !== undefined) this.#forms.saveCountOf("changes", outcome.count);
        return markConfirmed(store, outcome.row, { account: this.#account, at });
      });
      count(pass, "confirmed", Number(isNews));
      log.info({ batch: outcome.row.batchId }, m.orders.countsAsConfirmed);
    }
  }

  /**
   * A batch that was served again although its confirm was accepted more than once is served no more: one of these
   * confirms took effect, unknown which. Its orders that may have changed before that are queued for a read.
   */
  async #readUnserved(pass: PullPass): Promise<void> {
    for (const [id, { row, pass: last }] of this.#served) {
      if (last === pass) continue;
      const late = await this.#late.find(row, pass.signal);
      if (late.length > 0)
        await commit(this.#context, pass.signal, () => this.#late.save(late, isoTime(this.#context.clock.nowMs())));
      this.#served.delete(id);
    }
  }

  /** Commits with the times of retries, where they have changed. */
  async #commit<T>(pass: PullPass, fn: () => T): Promise<T> {
    const result = await commit(this.#context, pass.signal, () => {
      this.#waits.save();
      this.#open.save();
      return fn();
    });
    this.#waits.noteSaved();
    return result;
  }

  /**
   * Confirms a stored batch. It ends as `confirmed` or `refused`, or the failure is saved and it is tried again. In
   * this order:
   *
   * 1. All orders of the batch are committed before this is called.
   * 2. The attempt is committed: "not found" means "confirmed earlier" only for a batch that was tried.
   * 3. The confirm is sent (`SendConfirm`), after the database file is flushed.
   * 4. The outcome is committed (`#note`).
   *
   * A crash between 2 and 4 leaves the batch due with an attempt; the confirm is sent again.
   * @returns the outcome, where the confirm was sent, or cannot be made
   * @throws BridgeError where the whole service fails: credentials, rate limit, no connection
   */
  async confirm(
    { row, seenBefore, isServed = false, ordersBeside }: StoredBatch,
    pass: PullPass,
  ): Promise<Outcome | undefined> {
    const { store } = this.#context;
    // Another account may have a different batch of the same name, which was never read.
    if (!isServedBy(row, this.#account)) return undefined;
    if (isServed) this.#servedIn = pass;
    if (isServed) this.#waits.noteServed(row, ordersBeside);
    if (isServed) await this.#lost.noteSetBack(row, seenBefore, pass.signal);
    if (isServed) this.#lost.noteServed(row);
    if (isServed && this.#served.has(row.id)) this.#served.set(row.id, { row, pass });
    if (pass.confirmsFailed >= FAILURES_IN_ROW_MAX || pass.attempted.has(row.id) || hasUnjournaled(store))
      return undefined;
    if (this.#waits.isWaiting(row, { due: row.state === "refused" && !isServed, served: isServed })) return undefined;
    if (this.#lost.isHeld(row, isServed)) return undefined;
    if (this.#mayCoverLost(row.batchId)) return undefined;
    const coversAll = this.#open.coversAll(row.batchId);
    if (coversAll && this.#open.mayArrive) return undefined;
    pass.attempted.add(row.id);
    const isCounted = !seenBefore && row.confirmAttempts > 0;
    // 2. Commit the attempt. Not for a refused batch that is served again, which would cost a write each time.
    const isToCount = row.state === "stored" ? !isCounted : row.state === "refused" && !isServed;
    if (isToCount || coversAll) {
      await commit(this.#context, pass.signal, () => {
        if (isToCount) markConfirmBegun(store, row.id);
        if (coversAll) this.#open.begin();
      });
    }
    const wasTried = row.state === "confirmed" || (row.state === "stored" && row.confirmAttempts > (isCounted ? 1 : 0));
    // 3. Only now send the confirm.
    const sent = await this.#sender.sendParts({ row, wasTried, isAgain: row.state !== "stored" && isServed }, pass);
    if (sent === undefined) return undefined;
    const { outcome, row: left, accepted } = sent;
    // What is left may be refused for good, and the orders that were accepted may have changed before that.
    const late = accepted === undefined ? [] : await this.#late.find(accepted, pass.signal);
    if (late.length > 0)
      await commit(this.#context, pass.signal, () => this.#late.save(late, isoTime(this.#context.clock.nowMs())));
    // 4. Commit the outcome.
    if (coversAll) this.#open.noteOutcome({ isKnown: isKnown(outcome) });
    await this.#note({ row: left, isUnknown: sent.wasTried && row.state === "stored" }, outcome, pass);
    return outcome;
  }

  /** @throws the failure, where it ends the pull */
  async #note(
    { row, isUnknown }: { row: BatchRow; isUnknown: boolean },
    outcome: Outcome,
    pass: PullPass,
  ): Promise<void> {
    if (outcome.verdict === "confirmed") return await this.#noteConfirmed(row, outcome, pass);
    const { verdict, failure, isSaid, because } = outcome;
    const isForbidden = verdict === "retry" && isSaid && pass.isAnswered;
    const refusedMs = isForbidden ? (planHold(failure, "orders")?.probeAfterMs ?? 0) : 0;
    if (refusedMs > 0) this.#waits.noteForbidden(row.id, refusedMs);
    const isWebPage = failure instanceof ServiceError && failure.isWebPage;
    if (isUnknown && isSaid && !isWebPage && (isForbidden || verdict === "refused") && this.#waits.mayBeUnknown(row))
      return await this.#noteUnknown({ row, failure, waitMs: refusedMs }, pass);
    if (because !== undefined) this.#waits.noteUnknown(row.id, because);
    if (because !== undefined && row.state === "stored" && this.#waits.mayBeUnknown(row))
      return await this.#noteUnknown({ row, failure, because }, pass);
    const isFinal = isForbidden && this.#waits.wait(row, refusedMs) >= FORBIDDEN_TRIES_MAX;
    if (verdict === "refused" || isFinal) return await this.#noteRefused({ row, failure, isFinal }, pass);
    await this.#noteFailed({ row, failure, isForbidden }, pass);
  }

  async #noteConfirmed(row: BatchRow, outcome: Outcome & { verdict: "confirmed" }, pass: PullPass): Promise<void> {
    const { store, clock, log } = this.#context;
    const at = isoTime(clock.nowMs());
    pass.confirmsFailed = 0;
    this.#waits.noteAccepted();
    const { usual, counts, excess } = outcome;
    if (usual !== undefined && row.state !== "confirmed") this.#waits.noteOtherAccepted(row.id);
    if (excess !== undefined)
      log.warn({ batch: row.batchId }, m.orders.confirmedMore({ size: row.orderCount, ...excess }));
    // The service no longer has the batch, so the new form of the earlier answer was an acceptance.
    const proved = usual === undefined ? this.#waits.unusualOf(row.id) : undefined;
    this.#waits.forget(row.id);
    // A batch that is served again was not confirmed: its changes are listed from now on, or read once it is served
    // no more.
    const late = this.#again.has(row.id) ? [] : await this.#findLate(row, pass.signal);
    const again = this.#countAgain(row, pass);
    const confirmed = await this.#commit(pass, () => {
      this.#late.save(late, at);
      this.#again.save();
      const by = { account: this.#account, at };
      const news = confirmNames(this.#form) ? Number(markConfirmed(store, row, by)) : markAllConfirmed(store, by);
      if (this.#sender.isDivisible(row)) markCoveredConfirmed(store, row.orderIds ?? "[]", by);
      if (usual !== undefined) this.#forms.saveUsual(usual, { endsDoubt: true, isRepeat: news === 0 });
      if (proved !== undefined) this.#forms.saveProof(proved, true);
      if (counts !== undefined) this.#forms.saveCounts(counts, idsServed(row));
      if (excess !== undefined)
        saveLarger(store, { at, batch: row.batchId, came: row.orderCount, counted: excess.count });
      return news;
    });
    count(pass, "confirmed", confirmed);
    if (again?.times === SERVED_AGAIN_MAX) log.warn({ batch: row.batchId, times: again.times }, m.orders.servedAgain);
    if (again?.isLong === true)
      pass.failure ??= new BridgeError("answer_unknown", m.orders.servedAgain, { hint: m.orders.servedAgainHint });
  }

  /** The service may have the confirm, although the answer does not say so: asked again after a wait. */
  async #noteUnknown(
    { row, failure, because, waitMs }: FailedConfirm & { because?: UnknownBecause; waitMs?: number },
    pass: PullPass,
  ): Promise<void> {
    this.#waits.addUnknown(row, because);
    this.#waits.wait(row, waitMs);
    await this.#commit(pass, () =>
      markConfirmFailed(this.#context.store, row.id, {
        error: this.#textOf(failure),
        reached: because !== undefined,
      }),
    );
  }

  async #noteRefused({ row, failure, isFinal }: FailedConfirm & { isFinal: boolean }, pass: PullPass): Promise<void> {
    this.#waits.noteRefused(row.id);
    if (failure.text === m.orders.unnamedBatch) await this.#countUnnamed(row, pass.signal);
    const isNews = await this.#commit(pass, () => markConfirmRefused(this.#context.store, row, this.#textOf(failure)));
    count(pass, "refused", Number(isNews));
    if (isFinal) pass.confirmsFailed += 1;
  }

  /** @throws the failure, where it ends the pull */
  async #noteFailed(
    { row, failure, isForbidden }: FailedConfirm & { isForbidden: boolean },
    pass: PullPass,
  ): Promise<void> {
    const reached = !(failure instanceof ServiceError && failure.effect === "none");
    // Pulls are answered in this pass, so the service is reachable: the failure concerns this batch.
    const unreached = pass.isAnswered && failure.code === "unreachable" ? this.#waits.countUnreached(row) : 0;
    // Attempts that may have reached the service are counted in the row, also over restarts.
    const tries = endsPull(failure) && (unreached === 0 || !reached) ? 0 : row.confirmAttempts;
    const failures = Math.max(unreached, tries);
    const isAlone = pass.isAnswered && (isWaitOfOne(failure) || failures >= FAILURES_OF_ONE_MAX);
    if (isAlone) this.#waits.wait(row, askedWaitMs(failure));
    await this.#commit(pass, () =>
      markConfirmFailed(this.#context.store, row.id, { error: this.#textOf(failure), reached }),
    );
    if (isForbidden || isAlone || unreached > 0) {
      pass.confirmsFailed += 1;
      return;
    }
    if (endsPull(failure)) throw failure;
    pass.confirmFailure ??= failure;
    pass.confirmsFailed += failure.code === "timed_out" ? FAILURES_IN_ROW_MAX : 1;
  }

  #textOf({ text }: BridgeError): Message {
    return withTexts(text, this.#context.client.hideSecrets);
  }

  /** Orders to read again. A confirm that names nothing confirms all waiting batches. */
  async #findLate(row: BatchRow, signal: AbortSignal): Promise<string[]> {
    const { store } = this.#context;
    const isNamed = confirmNames(this.#form);
    const others = isNamed
      ? loadOthersOf(store, row, this.#account)
      : loadUnconfirmed(store, { account: this.#account, limit: CONFIRMS_PER_PASS });
    const late: string[] = [];
    for (const each of [row, ...others.filter(({ id }) => id !== row.id)])
      late.push(...(await this.#late.find(each, signal)));
    return isNamed ? [...new Set([...late, ...others.flatMap((each) => this.#late.listLeft(each, row))])] : late;
  }

  /** Counts deliveries of a batch that no confirm can name; saved at powers of two, to save writes. */
  async #countUnnamed(row: BatchRow, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const known = this.#unnamed ?? loadMetaJson<ServedUnnamed>(store, "unnamed");
    const served = { batch: row.id, times: (known?.batch === row.id ? known.times : 0) + 1 };
    this.#unnamed = served;
    const isRound = served.times >= UNNAMED_NOTED && Number.isInteger(Math.log2(served.times));
    if (isRound) await commit(this.#context, signal, () => saveMetaJson(store, "unnamed", served));
  }

  /**
   * Whether the confirm may cover an answer that is missing: one that names nothing covers everything delivered, which must
   * be stored and read first, and one by a shared name all that came under it.
   */
  #mayCoverLost(batchId: string | null): boolean {
    const { store } = this.#context;
    const isMarked = loadDelivery(store) !== undefined;
    if (!confirmNames(this.#form))
      return isMarked || loadUnanswered(store) !== undefined || countUnread(store).count > 0;
    if (batchId === null || confirmNamesOrders(this.#form, batchId)) return false;
    const use = loadNameUse(store);
    if (isMarked) return isNameShared(use);
    // What is kept may be no batch, so that it holds up only names that are known to be used again.
    return isNameReused(use) && hasUnreadOf(store, this.#account);
  }

  /**
   * Detects confirms without effect: no new batch comes, and confirmed ones are served again, under the same or
   * changing names.
   */
  #countAgain(row: BatchRow, pass: PullPass): { times: number; isLong: boolean } | undefined {
    if (row.state !== "confirmed") {
      this.#again.clear();
      return undefined;
    }
    if (this.#served.size >= SERVED_MAX) this.#served.clear();
    if (this.#again.has(row.id)) this.#served.set(row.id, { row, pass });
    return this.#again.note(row.id);
  }
}

/** Whether the service has answered, or the confirm has not reached it. */
function isKnown(outcome: Outcome): boolean {
  return (
    outcome.verdict === "confirmed" || !(outcome.failure instanceof ServiceError) || outcome.failure.effect === "none"
  );
}

/** Whether the service as a whole fails; after other failures, pulling goes on. */
function endsPull(failure: BridgeError): boolean {
  if (failure.code === "timed_out") return false;
  return stopsPass(failure);
}

/** The answer asks this request alone to wait, not all requests. */
function isWaitOfOne(failure: BridgeError): boolean {
  if (!(failure instanceof ServiceError) || asksAllToWait(failure)) return false;
  return failure.code === "rate_limited" || failure.retryAfterMs !== undefined;
}
