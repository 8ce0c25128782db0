/* Which confirms are due, and in which order they are committed and sent. */

import { type BatchRow, hasUnjournaled, isServedBy, loadBatchOf } from "../batches/batch-rows.ts";
import { count, type PullPass, type StoredBatch } from "../batches/pull-pass.ts";
import { m } from "../messages/messages.ts";
import { AnswerForms } from "../pass/answer-forms.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { ENDPOINT } from "../service/outcome/answer-form.ts";
import { learnCountOfChanges } from "../service/outcome/usual-counts.ts";
import type { ConfirmContext } from "./confirm-context.ts";
import { type ConfirmForm, confirmNames } from "./confirm-form.ts";
import { ConfirmState } from "./confirm-state.ts";
import { ConfirmedOrders } from "./confirmed-orders.ts";
import { CONFIRMS_PER_PASS, loadUnconfirmed } from "./due-rows.ts";
import type { LateOrders } from "./late-orders.ts";
import { LostAnswers } from "./lost-answers.ts";
import { markConfirmBegun, markConfirmed } from "./outcome-rows.ts";
import { isKnown, type Outcome } from "./plan-outcome.ts";
import { retryRefused } from "./refused-confirms.ts";
import { sendParts } from "./send-parts.ts";
import { ServedAgain } from "./served-again.ts";
import { settleOutcome } from "./settle-outcome.ts";

export class ConfirmBatches {
  readonly #context: ConfirmContext;

  constructor(
    context: JobContext,
    { confirm: form, account, requestMs }: { confirm: ConfirmForm; account: string; requestMs: number },
    late: LateOrders,
  ) {
    this.#context = {
      ...context,
      form,
      account,
      forms: new AnswerForms(context, ENDPOINT.confirm, confirmNames(form) ? "nothing" : "enough"),
      state: new ConfirmState(context, { form, account, requestMs }),
      late,
      lost: new LostAnswers(context, form),
      again: new ServedAgain(context, form),
      named: new ConfirmedOrders(context),
    };
  }

  /** After refusals of several batches in a row confirms stop until a probe is due; then one is tried. */
  beginPass(pass: PullPass): void {
    const { forbidden } = this.#context.state.breaker;
    if (forbidden !== "none") pass.confirmsFailed = FAILURES_IN_ROW_MAX - Number(forbidden === "probe");
  }

  /**
   * Returns whether a batch that is being stored is confirmed directly after the commit; its first attempt is then
   * counted in that transaction.
   * @param isServed false for a kept body, which may be from before an answer was lost
   */
  followsAtOnce({ batchId }: Pick<BatchRow, "batchId">, pass: PullPass, isServed = true): boolean {
    if (!confirmNames(this.#context.form) || pass.confirmsFailed >= FAILURES_IN_ROW_MAX) return false;
    if (hasUnjournaled(this.#context.store) || this.#context.state.open.mayCoverLost(batchId)) return false;
    if (this.#context.lost.mayNameLost({ batchId })) return false;
    return isServed || this.#context.lost.held === undefined;
  }

  /** An answer of `GET /orders` is missing, in this process or the one before: see {@link LostAnswers}. */
  async noteLost(get: { isOwn: boolean }, signal: AbortSignal): Promise<void> {
    await this.#context.lost.noteLost(get, signal);
  }

  /** A confirm that covers everything delivered may still be carried out: what is delivered now would be covered unseen. */
  get mayArrive(): boolean {
    return this.#context.state.open.mayArrive;
  }

  /** Another request has just failed: after one failed confirm the pass stops confirming. */
  expectTrouble(pass: PullPass): void {
    pass.confirmsFailed = Math.max(pass.confirmsFailed, FAILURES_IN_ROW_MAX - 1);
  }

  /** Sends confirms left by earlier passes or an earlier process. Returns whether more are left. */
  async confirmDue(pass: PullPass): Promise<boolean> {
    if (hasUnjournaled(this.#context.store)) return false;
    const { waits, open } = this.#context.state;
    // A confirm that names nothing covers all batches.
    const [limit, more] = confirmNames(this.#context.form) ? [CONFIRMS_PER_PASS, waits.size] : [1, 0];
    const { held } = this.#context.lost;
    const due = loadUnconfirmed(this.#context.store, { account: this.#context.account, limit: limit + more, held })
      .filter((row) => !waits.isWaiting(row) && !open.mayCoverLost(row.batchId))
      .slice(0, limit);
    for (const row of due) {
      // The confirm of another batch may have covered this one.
      if (loadBatchOf(this.#context.store, row.id)?.state === "stored")
        await this.confirm({ row, seenBefore: true }, pass);
    }
    await retryRefused(this.#context, pass, (row) => this.confirm({ row, seenBefore: true }, pass));
    if (this.#context.state.isUnsaved) await this.#context.state.commit(pass.signal, () => {});
    return due.length === CONFIRMS_PER_PASS && pass.confirmsFailed < FAILURES_IN_ROW_MAX;
  }

  /**
   * The service has answered a pull completely, and all of it is stored. Confirms of unknown outcome whose batch it has
   * not served for long enough count as accepted.
   */
  async noteAnswered(pass: PullPass): Promise<void> {
    const { store, clock, log } = this.#context;
    await this.#context.lost.noteAnswered(pass.signal);
    if (this.#context.again.isOver(pass)) {
      this.#context.again.clear();
      await commit(this.#context, pass.signal, () => this.#context.again.save());
    }
    await this.#readUnserved(pass);
    for (const outcome of this.#context.state.unknown.listUnserved()) {
      const at = isoTime(clock.nowMs());
      const late = await this.#context.late.find(outcome.row, pass.signal);
      this.#context.state.forget(outcome.row.id);
      const isNews = await this.#context.state.commit(pass.signal, () => {
        this.#context.late.save(late, at);
        if (outcome.form !== undefined) this.#context.forms.saveProof(outcome.form, true);
        const { count } = outcome;
        if (count !== undefined) this.#context.forms.saveCounts((known) => learnCountOfChanges(known, count));
        return markConfirmed(store, outcome.row, { account: this.#context.account, at });
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
    for (const row of this.#context.again.listUnserved(pass)) {
      await this.#saveLate(row, pass.signal);
      this.#context.again.noteUnserved(row.id);
    }
  }

  /**
   * Confirms a stored batch. It ends as `confirmed` or `refused`, or the failure is saved and it is tried again. In
   * this order:
   *
   * 1. All orders of the batch are committed before this is called.
   * 2. The attempt is committed: "not found" means "confirmed earlier" only for a batch that was tried.
   * 3. The confirm is sent (`send-confirm.ts`), after the database file is flushed.
   * 4. The outcome is committed (`settle-outcome.ts`).
   *
   * A crash between 2 and 4 leaves the batch due with an attempt; the confirm is sent again.
   * @returns the outcome, where the confirm was sent, or cannot be made
   * @throws BridgeError where the whole service fails: credentials, rate limit, no connection
   */
  async confirm(
    { row, seenBefore, isServed = false, ordersBeside }: StoredBatch,
    pass: PullPass,
  ): Promise<Outcome | undefined> {
    // Another account may have a different batch of the same name, which was never read.
    if (!isServedBy(row, this.#context.account)) return undefined;
    if (isServed) await this.#noteServed({ row, seenBefore, ordersBeside }, pass);
    if (!this.#mayConfirm(row, isServed, pass)) return undefined;
    pass.attempted.add(row.id);
    // 2. Commit the attempt.
    const { open } = this.#context.state;
    const coversAll = open.coversAll(row.batchId);
    const wasTried = await this.#beginAttempt({ row, seenBefore, isServed }, coversAll, pass.signal);
    // 3. Only now send the confirm.
    const sent = await sendParts(this.#context, { row, wasTried, isAgain: row.state !== "stored" && isServed }, pass);
    if (sent === undefined) return undefined;
    const { outcome, accepted } = sent;
    // What is left may be refused for good, and the orders that were accepted may have changed before that.
    if (accepted !== undefined) await this.#saveLate(accepted, pass.signal);
    // 4. Commit the outcome.
    if (coversAll) open.noteOutcome({ isKnown: isKnown(outcome) });
    await settleOutcome(this.#context, sent, outcome, pass);
    return outcome;
  }

  async #noteServed({ row, seenBefore, ordersBeside }: StoredBatch, pass: PullPass): Promise<void> {
    this.#context.state.noteServed(row, ordersBeside);
    await this.#context.lost.noteSetBack(row, seenBefore, pass.signal);
    this.#context.lost.noteServed(row);
    this.#context.again.noteServed(row, pass);
  }

  /** Whether the confirm may be sent now. */
  #mayConfirm(row: BatchRow, isServed: boolean, pass: PullPass): boolean {
    const { waits, open } = this.#context.state;
    if (pass.confirmsFailed >= FAILURES_IN_ROW_MAX || pass.attempted.has(row.id)) return false;
    if (hasUnjournaled(this.#context.store)) return false;
    if (waits.isWaiting(row, { due: row.state === "refused" && !isServed, served: isServed })) return false;
    if (this.#context.lost.isHeld(row, isServed) || open.mayCoverLost(row.batchId)) return false;
    return !(open.mayArrive && open.coversAll(row.batchId));
  }

  /**
   * Counts the attempt where it is not counted yet, but not of a refused batch that is served again, which would cost a write
   * each time. Returns whether an earlier attempt may have been accepted.
   */
  async #beginAttempt(
    { row: { id, state, confirmAttempts }, seenBefore, isServed }: StoredBatch,
    coversAll: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isCounted = !seenBefore && confirmAttempts > 0;
    const isToCount = state === "stored" ? !isCounted : state === "refused" && isServed !== true;
    if (isToCount || coversAll) {
      await commit(this.#context, signal, () => {
        if (isToCount) markConfirmBegun(this.#context.store, id);
        if (coversAll) this.#context.state.open.begin();
      });
    }
    return state === "confirmed" || (state === "stored" && confirmAttempts > (isCounted ? 1 : 0));
  }

  /** Orders of a confirmed batch that may have changed before the confirm are queued for a read. */
  async #saveLate(row: BatchRow, signal: AbortSignal): Promise<void> {
    const late = await this.#context.late.find(row, signal);
    if (late.length === 0) return;
    const at = isoTime(this.#context.clock.nowMs());
    await commit(this.#context, signal, () => this.#context.late.save(late, at));
  }
}
