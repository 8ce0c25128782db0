/*
 * Confirms that the service has refused: each is retried every hour, and some count as confirmed by what the service answers
 * then. All others wait for a person (`settle-confirms.ts`).
 */

import type { BatchRow } from "../batches/batch-rows.ts";
import { count, isAnsweredWhole, type PullPass } from "../batches/pull-pass.ts";
import { m } from "../messages/messages.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { ServiceError } from "../service/service-error.ts";
import { type ConfirmForm, confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import { type ConfirmWaits, idsOf } from "./confirm-waits.ts";
import { loadRefusedConfirms, REFUSED_TRIES_MAX } from "./due-rows.ts";
import type { LateOrders } from "./late-orders.ts";
import type { LostAnswers } from "./lost-answers.ts";
import { markRefusedConfirmed } from "./outcome-rows.ts";
import { isRepeat, REPEAT_RETRIES } from "./plan-repeat.ts";
import { hasQuarantined, loadNamedOrders } from "./repeat-rows.ts";
import { isNameShared, loadNameUse } from "./reused-names.ts";
import { idsServed, type Outcome } from "./send-confirm.ts";

/** Refused confirms retried in one round. */
const REFUSED_PER_PASS = 20;

interface Parts {
  account: string;
  late: LateOrders;
  lost: LostAnswers;
  waits: ConfirmWaits;
  /** Commits with the times of retries. */
  commit: <T>(pass: PullPass, fn: () => T) => Promise<T>;
}

export class RefusedConfirms {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  readonly #account: string;
  readonly #late: LateOrders;
  readonly #lost: LostAnswers;
  readonly #waits: ConfirmWaits;
  readonly #commit: Parts["commit"];

  constructor(context: JobContext, form: ConfirmForm, { account, late, lost, waits, commit }: Parts) {
    this.#context = context;
    this.#form = form;
    this.#account = account;
    this.#late = late;
    this.#lost = lost;
    this.#waits = waits;
    this.#commit = commit;
  }

  /** @param confirm sends the confirm once more and commits its outcome */
  async retry(pass: PullPass, confirm: (row: BatchRow) => Promise<Outcome | undefined>): Promise<void> {
    // One of them may be the probe after several refusals in a row.
    const failedMax = this.#waits.forbidden === "probe" ? FAILURES_IN_ROW_MAX - 1 : 0;
    if (pass.confirmsFailed > failedMax || !this.#waits.areRefusedDue) return;
    const limit = confirmNames(this.#form) ? REFUSED_PER_PASS : 1;
    const options = { account: this.#account, limit, held: this.#lost.held };
    const refused = loadRefusedConfirms(this.#context.store, options);
    this.#waits.beginRefused(refused.length > 0);
    if (refused.length > 0) await this.#commit(pass, () => {});
    for (const row of refused) {
      await this.#context.clock.sleep(0, pass.signal);
      const isCounted = this.#waits.isGone(row.id);
      if (row.confirmAttempts >= REFUSED_TRIES_MAX && !isCounted && !this.#isRepeat(row)) continue;
      const outcome = await confirm(row);
      if (!isOfBatch(outcome) || !isAnsweredWhole(pass)) continue;
      if (this.#isRepeat(row)) await this.#endRepeat(row, pass);
      else if (this.#saysGone(row, outcome)) await this.#endGone(row, pass);
      else this.#waits.endGone(row.id);
    }
  }

  /**
   * A batch that only repeats confirmed orders, such as the answer of a service that was out of order, may be refused
   * for good and never be served again: after an hour in which none of its orders is served it counts as confirmed. To
   * be called when a retry of it was refused.
   */
  async #endRepeat(row: BatchRow, pass: PullPass): Promise<void> {
    const { store, clock, log } = this.#context;
    const isOver = this.#waits.countRepeat(row.id) >= REPEAT_RETRIES;
    if (isOver) this.#waits.forget(row.id);
    await this.#commit(pass, () => {
      if (isOver) markRefusedConfirmed(store, row.id, isoTime(clock.nowMs()));
    });
    if (!isOver) return;
    count(pass, "confirmed", 1);
    log.warn({ batch: row.batchId }, m.orders.repeatCountsAsConfirmed);
  }

  /** Whether the service answers that it has no batch of this name, and the name is that of this batch alone. */
  #saysGone({ batchId }: BatchRow, outcome: Outcome | undefined): boolean {
    const failure = outcome?.verdict === "refused" ? outcome.failure : undefined;
    if (!(failure instanceof ServiceError) || (failure.status !== 404 && failure.status !== 410)) return false;
    if (!confirmNames(this.#form) || batchId === null || confirmNamesOrders(this.#form, batchId)) return false;
    return !isNameShared(loadNameUse(this.#context.store));
  }

  /**
   * A service that was out of order may have carried out a confirm that it refused: then it has the batch no more, and
   * nothing of it is served again. To be called when a retry was answered so. The refusal stays in the row.
   */
  async #endGone(row: BatchRow, pass: PullPass): Promise<void> {
    const { store, clock, log } = this.#context;
    const isOver = this.#waits.countGone(row.id, REPEAT_RETRIES);
    const late = isOver ? await this.#late.find(row, pass.signal) : [];
    if (isOver) this.#waits.forget(row.id);
    await this.#commit(pass, () => {
      if (!isOver) return;
      const at = isoTime(clock.nowMs());
      this.#late.save(late, at);
      markRefusedConfirmed(store, row.id, at);
    });
    if (!isOver) return;
    count(pass, "confirmed", 1);
    log.warn({ batch: row.batchId }, m.orders.goneCountsAsConfirmed);
  }

  #isRepeat(row: BatchRow): boolean {
    const { store } = this.#context;
    const ids = idsOf(row);
    if (ids.length < idsServed(row)) return false;
    const named = { id: row.id, orderIds: JSON.stringify(ids), account: this.#account };
    return isRepeat(loadNamedOrders(store, named), hasQuarantined(store, row));
  }
}

/** Whether the service refuses this batch, or no confirm of it can be made: not its credentials, nor a proxy's web page. */
function isOfBatch(outcome: Outcome | undefined): boolean {
  if (outcome?.verdict !== "refused") return false;
  return !(outcome.failure instanceof ServiceError && outcome.failure.isWebPage);
}
