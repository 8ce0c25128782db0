/*
 * What one pass of order reads has learned about the service. A failed read, or "no such order", counts only if the
 * service answers for another order; if none was, one is read that the service is known to have. What such a read
 * brings is stored as usual.
 */

import { m } from "../../messages/messages.ts";
import type { Doubt, IngestResult } from "../../orders/ingest-options.ts";
import { isOtherDoubt } from "../../orders/other-order.ts";
import { Breaker } from "../../pass/breaker.ts";
import { isAnswered, reachOf } from "../../pass/holds.ts";
import type { JobContext } from "../../pass/job.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type Candidate, loadControls, loadControlsWith } from "./control-rows.ts";
import { saysNoSuchOrder } from "./missing-orders.ts";
import type { OrderAnswer, OrderReader, Refreshed } from "./read-order.ts";
import { UnfitAnswer } from "./read-snapshot.ts";

/** Limit of control reads, which find out whether the service is well. */
const CONTROLS_MAX = 2;

/** `unknown`: too few orders were read to decide, and there is no other one. */
export type Health = "well" | "ill" | "unknown";

export class ReadPass {
  readonly #context: JobContext;
  readonly #reader: OrderReader;
  readonly #signal: AbortSignal;
  readonly #breaker: Breaker;
  readonly #failed = new Set<string>();
  /** Key of the newest order that was answered well since the last failure. */
  #wellKey: number | undefined;
  /** Parts that no answer of the service had; `other`: those of all orders were other ones. */
  readonly #lost = new Set<string>();
  /** Failures since an order was last answered well, newest first. */
  #errors: unknown[] = [];

  constructor(context: JobContext, reader: OrderReader, options: { signal: AbortSignal; failuresInRowMax?: number }) {
    this.#context = context;
    this.#reader = reader;
    this.#signal = options.signal;
    this.#breaker = new Breaker(options.failuresInRowMax);
  }

  /** @param orderKey undefined where the order is not stored */
  answered(orderKey: number | undefined): void {
    this.#breaker.succeed();
    this.#errors = [];
    this.#wellKey = Math.max(this.#wellKey ?? 0, orderKey ?? 0);
  }

  /**
   * Whether the service now answers for another order with the part that this one lacks, or with that order itself. If
   * not, this is not checked again in this pass.
   * @throws what concerns more than one order
   */
  async shows(doubt: Doubt, orderId: string): Promise<boolean> {
    const part = isOtherDoubt(doubt) ? "other" : doubt;
    if (this.#lost.has(part)) return false;
    for (const control of loadControlsWith(this.#context.store, part, [orderId, ...this.#failed], CONTROLS_MAX)) {
      let isShown = false;
      // An answer with the same doubt is not stored: the service fails, not that order.
      await this.#ask(control, false, (answer, at) => {
        isShown = this.#reader.shows(answer, part);
        return isShown ? this.#reader.store(answer, at) : "same";
      });
      if (isShown) return true;
    }
    this.#lost.add(part);
    return false;
  }

  /** Counts a failed read. Returns whether another order is to be tried. */
  async failed(orderId: string, error: unknown): Promise<boolean> {
    return !this.#note(orderId, error) || (await this.findHealth()) === "well";
  }

  /** Returns whether so many reads failed in a row that the service is failing. */
  #note(orderId: string, error: unknown): boolean {
    this.#failed.add(orderId);
    this.#errors.unshift(error);
    this.#wellKey = undefined;
    return this.#breaker.fail();
  }

  /**
   * Whether an order was answered well since the last failure; if none was, a control is read.
   * @param behind key of the order in question: an older control proves little, because a stale replica may have it and
   * lack later ones. Only a control after this key counts, or the newest that there is
   * @throws what concerns more than one order
   */
  async findHealth(behind = 0): Promise<Health> {
    const controls = loadControls(this.#context.store, [...this.#failed], CONTROLS_MAX);
    const enough = Math.min(behind, controls[0]?.orderKey ?? 0);
    for (const control of controls) {
      if (this.#wellKey !== undefined && this.#wellKey >= enough) return "well";
      await this.#ask(control, control === controls[0]);
    }
    if (this.#wellKey !== undefined && this.#wellKey >= enough) return "well";
    return this.#breaker.isOpen ? "ill" : "unknown";
  }

  /** @param isInAnyForm also reads it under other spellings of its id */
  async #ask(
    control: Candidate,
    isInAnyForm: boolean,
    take: (answer: OrderAnswer, at: string) => IngestResult = this.#reader.store,
  ): Promise<void> {
    const settle = (refreshed: Refreshed) => refreshed;
    try {
      const act = { store: take, settle };
      const read = await this.#reader.refresh(control, act, this.#signal);
      const error = read?.value.kind === "unknown" ? read.value.error : undefined;
      const isFound =
        error === undefined ||
        (isInAnyForm && (await this.#reader.refreshOtherwise(control, act, this.#signal)) !== undefined);
      if (isFound) this.answered(control.orderKey);
      else this.#note(control.orderId, error);
    } catch (error) {
      if (reachOf(error) !== "record") throw error;
      this.#note(control.orderId, error);
    }
  }

  /** Whether the pass ended with `error` because the service answers for no order, as far as any was tried. */
  isRefused(error: unknown): boolean {
    return this.#breaker.isOpen || (this.#errors.length > 0 && isAnswered(error));
  }

  /**
   * The error of the pass where the service is not well. Only if all failures agree does it say that the configuration
   * does not fit.
   */
  get trouble(): unknown {
    const count = this.#failed.size;
    const [last] = this.#errors;
    if (last instanceof UnfitAnswer && this.#errors.every((error) => error instanceof UnfitAnswer)) return last.ofAll;
    if (saysNoSuchOrder(last)) {
      return new BridgeError("answer_unreadable", m.updates.allUnknown({ count }), { hint: m.updates.lookAtOne });
    }
    return last;
  }
}
