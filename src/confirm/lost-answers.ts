/*
 * Missing answers of `GET /orders` and signs of a service that was set back, and the confirms that wait because of them. A
 * restored service may reuse batch names: other orders, delivered by a missing answer or not at all, may have the name of an
 * unconfirmed batch, and that confirm would confirm them unseen. The confirm is sent once a batch of that name is served and
 * stored, or once the service has answered often and long enough without one. A batch that is confirmed directly after it was
 * served does not wait, unless its name came before with other orders: then the lost orders may have it as well.
 */

import { isDeepStrictEqual } from "node:util";
import type { BatchRow } from "../batches/batch-rows.ts";
import { loadNewestDue, loadOpenBatches, UNANSWERED, type Unanswered } from "../batches/delivery-rows.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { type ConfirmForm, confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import { type DueOptions, isServedAnew } from "./due-rows.ts";
import { addLoss, isLossOver, isRepeating, LOSS_MAX_MS, LOSS_MS, LOSS_POLLS, repeatedAfter } from "./plan-loss.ts";
import { isNameOfConfirmed, loadFormerOfName } from "./reused-names.ts";

const NAMES_MAX = 10_000;

export class LostAnswers {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  /** Names of batches served since the last loss. */
  readonly #served = new Set<string>();
  /**
   * An order of a waiting batch came under another name, so the service is renaming its batches: polls are counted from
   * 0.
   */
  #isAnew = false;
  /** Row ids of the batches served in the pull under way. */
  readonly #servedNow = new Set<number>();
  /** The loss as this process first saw it; times are monotonic. */
  #seen: { since: string; at: string; firstMs: number; lastMs: number } | undefined;

  constructor(context: JobContext, form: ConfirmForm) {
    this.#context = context;
    this.#form = form;
  }

  /** Which confirms wait; undefined where none does. */
  get held(): DueOptions["held"] {
    const upTo = this.#upTo();
    return upTo === undefined ? undefined : { upTo, except: JSON.stringify([...this.#served]) };
  }

  /** @param isServed the batch has just been served */
  isHeld(row: BatchRow, isServed: boolean): boolean {
    if (this.mayNameLost(row)) return true;
    if (isServed) return false;
    const { id, batchId } = row;
    const upTo = this.#upTo();
    if (upTo === undefined || id > upTo) return false;
    return batchId !== null && !confirmNamesOrders(this.#form, batchId) && !this.#served.has(batchId);
  }

  /**
   * Whether the orders of a missing answer may have the name of this batch, because other orders had it before: a name may be
   * the day, which several answers have.
   * @param row only the name, where it is not stored yet
   */
  mayNameLost(row: Pick<BatchRow, "batchId"> & Partial<BatchRow>): boolean {
    const saved = this.#load();
    if (row.batchId === null || saved?.loss?.isAnswer !== true || this.#isOver(saved)) return false;
    if (isRepeating(saved.loss)) return false;
    return isNameOfConfirmed(this.#context.store, row);
  }

  /**
   * To be called for each batch that is served, before {@link noteServed}. A confirmed batch that comes again, or a former name
   * with other orders, shows a service that was set back to the time of that batch, or before: the names that it gave
   * afterwards may be those of other batches by now.
   */
  async noteSetBack(row: BatchRow, seenBefore: boolean, signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#context;
    if (!this.#namesBatches || row.batchId === null) return;
    const upTo = loadNewestDue(store, { except: row.batchId });
    if (upTo === undefined) return;
    const confirmed = row.state === "confirmed" ? row.id : undefined;
    const former = seenBefore ? confirmed : loadFormerOfName(store, row);
    if (former === undefined || former > upTo) return;
    // What was served until now is of the former state.
    this.#served.clear();
    const standing = this.#upTo();
    if (standing !== undefined && upTo <= standing) return;
    const at = isoTime(clock.nowMs());
    const saved = UNANSWERED.load(store) ?? { since: at, isLost: false };
    const loss = addLoss(this.#isOver(saved) ? undefined : saved.loss, { upTo, at });
    await commit(this.#context, signal, () => UNANSWERED.save(store, { ...saved, loss }));
    log.warn({ batch: row.batchId }, m.orders.serviceSetBack);
  }

  /** The batch was served and stored. */
  noteServed(row: BatchRow): void {
    this.#servedNow.add(row.id);
    const upTo = this.#upTo();
    if (upTo === undefined || this.mayNameLost(row)) return;
    if (row.batchId !== null && this.#served.size < NAMES_MAX) this.#served.add(row.batchId);
    this.#isAnew ||= isServedAnew(this.#context.store, { ...row, upTo });
  }

  /**
   * An answer of `GET /orders` is missing.
   * @param get.isOwn false where the process before sent it: whether it was answered is known only where a confirm was due
   */
  async noteLost({ isOwn }: { isOwn: boolean }, signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#context;
    const saved = this.#load();
    if (saved === undefined || (saved.due === undefined && !isOwn)) return;
    this.#served.clear();
    this.#servedNow.clear();
    const isDue = loadNewestDue(store) !== undefined;
    const upTo = isDue ? (saved.due ?? 0) : 0;
    const loss = addLoss(this.#isOver(saved) ? undefined : saved.loss, { upTo, at: isoTime(clock.nowMs()) });
    const isFirst = upTo > 0 && this.#upTo() === undefined;
    await commit(this.#context, signal, () =>
      UNANSWERED.save(store, { ...saved, isLost: true, loss: { ...loss, isAnswer: true } }),
    );
    if (isFirst) log.info({}, m.orders.confirmsWait);
  }

  /** The service has answered a pull completely, and all of it is stored. */
  async noteAnswered(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const served = new Set(this.#servedNow);
    this.#servedNow.clear();
    const saved = this.#load();
    if (saved?.loss === undefined) return;
    const { loss, ...others } = saved;
    const now = isoTime(clock.nowMs());
    // The clock may have been set back.
    const at = loss.at > now ? now : loss.at;
    const since = loss.since > now ? now : loss.since;
    const polls = this.#isAnew ? 0 : Math.min(loss.polls + 1, LOSS_POLLS);
    this.#isAnew = false;
    const repeated = repeatedAfter(loss, { served, open: loadOpenBatches(store, 2) });
    const isEnd = this.#isOver({ ...saved, loss: { ...loss, polls } });
    const isSame =
      polls === loss.polls && at === loss.at && since === loss.since && isDeepStrictEqual(repeated, loss.repeated);
    if (isEnd || !isSame)
      await commit(this.#context, signal, () =>
        UNANSWERED.save(store, isEnd ? others : { ...others, loss: { ...loss, since, at, polls, repeated } }),
      );
  }

  get #namesBatches(): boolean {
    return confirmNames(this.#form) && !confirmNamesOrders(this.#form, "0");
  }

  /** Undefined where confirms do not name batches. */
  #load(): Unanswered | undefined {
    return this.#namesBatches ? UNANSWERED.load(this.#context.store) : undefined;
  }

  /** Row id of the newest batch whose confirm waits. */
  #upTo(): number | undefined {
    const saved = this.#load();
    if (saved?.loss === undefined || saved.loss.upTo === 0 || (!this.#isAnew && this.#isOver(saved))) return undefined;
    return saved.loss.upTo;
  }

  #isOver({ loss }: Unanswered): boolean {
    if (loss === undefined) return true;
    const { clock } = this.#context;
    const monotonicMs = clock.monotonicMs();
    if (this.#seen?.at !== loss.at) {
      const begunMs = (at: string, maxMs: number) =>
        monotonicMs - Math.min(Math.max(clock.nowMs() - Date.parse(at), 0), maxMs);
      const known = this.#seen?.since === loss.since ? this.#seen.firstMs : monotonicMs;
      const firstMs = Math.min(known, begunMs(loss.since, LOSS_MAX_MS));
      this.#seen = { since: loss.since, at: loss.at, firstMs, lastMs: begunMs(loss.at, LOSS_MS) };
    }
    const { firstMs, lastMs } = this.#seen;
    return isLossOver(loss, { firstMs: monotonicMs - firstMs, lastMs: monotonicMs - lastMs });
  }
}
