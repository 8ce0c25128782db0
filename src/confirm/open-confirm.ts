/*
 * A confirm that covers everything delivered, and whose outcome is unknown: the service may still carry it out until the time limit of the
 * request. What it delivers before then would be covered as well, before it is stored; so nothing is asked for, and the confirm is not
 * repeated.
 */

import { loadDelivery, UNANSWERED } from "../batches/delivery-rows.ts";
import { countUnread, hasUnreadOf } from "../batches/kept-rows.ts";
import { MetaValue } from "../database/meta.ts";
import type { JobContext } from "../pass/job.ts";
import { leastAgoMs } from "../pass/machine-clock.ts";
import { type ConfirmForm, confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import { isNameReused, isNameShared, loadNameUse } from "./reused-names.ts";

/** By the machine's clock. */
const SENT = new MetaValue<{ sentMs: number } | undefined>("open_confirm");

export class OpenConfirm {
  readonly #context: Pick<JobContext, "store" | "clock">;
  readonly #form: ConfirmForm;
  readonly #account: string;
  readonly #requestMs: number;
  #sentMs: number | undefined;
  /** Its outcome is known, and not saved yet. */
  #isOver = false;

  /** @param options.requestMs time limit of a request, in milliseconds */
  constructor(
    context: Pick<JobContext, "store" | "clock">,
    { form, account, requestMs }: { form: ConfirmForm; account: string; requestMs: number },
  ) {
    this.#context = context;
    this.#form = form;
    this.#account = account;
    this.#requestMs = requestMs;
    this.#sentMs = SENT.load(context.store)?.sentMs;
  }

  /** Whether the confirm of this batch covers whatever was delivered: it names nothing, or a name that many batches have. */
  coversAll(batchId: string | null): boolean {
    if (!confirmNames(this.#form)) return true;
    if (batchId === null || confirmNamesOrders(this.#form, batchId)) return false;
    return isNameReused(loadNameUse(this.#context.store));
  }

  /**
   * Whether the confirm may cover an answer that is missing: one that names nothing covers everything delivered, which must
   * be stored and read first, and one by a shared name all that came under it.
   */
  mayCoverLost(batchId: string | null): boolean {
    const { store } = this.#context;
    const isMarked = loadDelivery(store) !== undefined;
    if (!confirmNames(this.#form))
      return isMarked || UNANSWERED.load(store) !== undefined || countUnread(store).count > 0;
    if (batchId === null || confirmNamesOrders(this.#form, batchId)) return false;
    const use = loadNameUse(store);
    if (isMarked) return isNameShared(use);
    // What is kept may be no batch, so that it holds up only names that are known to be used again.
    return isNameReused(use) && hasUnreadOf(store, this.#account);
  }

  /** Whether such a confirm may still be carried out. */
  get mayArrive(): boolean {
    return this.#sentMs !== undefined && leastAgoMs(this.#sentMs, this.#context.clock.monotonicMs()) < this.#requestMs;
  }

  /** To be called inside the transaction that comes before the request. */
  begin(): void {
    const sentMs = this.#context.clock.monotonicMs();
    this.#sentMs = sentMs;
    this.#isOver = false;
    SENT.save(this.#context.store, { sentMs });
  }

  /** To be called with the outcome; {@link save} follows. */
  noteOutcome({ isKnown }: { isKnown: boolean }): void {
    this.#isOver = isKnown;
  }

  /** To be called inside the transaction that saves the outcome. */
  save(): void {
    if (!this.#isOver || this.#sentMs === undefined) return;
    this.#sentMs = undefined;
    SENT.delete(this.#context.store);
  }
}
