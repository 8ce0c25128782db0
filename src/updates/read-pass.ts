/*
 * What one pass that reads orders has learned of the service. An order's own failure, or the service's word that it has
 * no such order, says something only where the service answers for another order; where none came by itself, one is
 * asked for that the service is known to have. What such a read brings is stored like any other.
 */

import type { LostPart } from "../completeness/lost-values.ts";
import { m } from "../messages/messages.ts";
import type { IngestResult } from "../orders/ingest-orders.ts";
import { Breaker } from "../pass/breaker.ts";
import { reachOf } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { BridgeError } from "../platform/errors.ts";
import { type Candidate, loadControls, loadControlsWith } from "./control-rows.ts";
import { saysNoSuchOrder } from "./missing-orders.ts";
import type { OrderAnswer, OrderReader, Refreshed } from "./read-order.ts";
import { UnfitAnswer } from "./read-snapshot.ts";

/** Orders that are asked for at most to find out whether the service is well. */
const CONTROLS_MAX = 2;

/** `unknown`: too few orders were asked for to decide, and there is no other one. */
export type Health = "well" | "ill" | "unknown";

export class ReadPass {
  readonly #context: JobContext;
  readonly #reader: OrderReader;
  readonly #signal: AbortSignal;
  readonly #breaker: Breaker;
  readonly #failed = new Set<string>();
  /** The newest order that was answered well since the last failure. */
  #wellKey: number | undefined;
  /** What the service gave for no order that was asked for. */
  readonly #lost = new Set<LostPart>();
  /** Of the failures since an order was answered well, the last one first. */
  #errors: unknown[] = [];

  constructor(context: JobContext, reader: OrderReader, options: { signal: AbortSignal; failuresInRowMax?: number }) {
    this.#context = context;
    this.#reader = reader;
    this.#signal = options.signal;
    this.#breaker = new Breaker(options.failuresInRowMax);
  }

  /** @param orderKey undefined: the order is not stored here */
  answered(orderKey: number | undefined): void {
    this.#breaker.succeed();
    this.#errors = [];
    this.#wellKey = Math.max(this.#wellKey ?? 0, orderKey ?? 0);
  }

  /**
   * Whether the service now answers another order with what this one lacks. Where it does not, nothing more is asked in this pass.
   * @throws what concerns more than one order
   */
  async shows(part: LostPart, orderId: string): Promise<boolean> {
    if (this.#lost.has(part)) return false;
    for (const control of loadControlsWith(this.#context.store, part, [orderId, ...this.#failed], CONTROLS_MAX)) {
      let isShown = false;
      // An answer that lacks it as well says nothing of that order.
      await this.#ask(control, false, (answer, at) => {
        isShown = this.#reader.shows(answer, part);
        return isShown ? this.#reader.store(answer, at) : "same";
      });
      if (isShown) return true;
    }
    this.#lost.add(part);
    return false;
  }

  /** Notes that an order was not answered as it should. Returns whether another one is to be tried. */
  async failed(orderId: string, error: unknown): Promise<boolean> {
    return !this.#note(orderId, error) || (await this.findHealth()) === "well";
  }

  /** Returns whether so many have failed in a row that it is rather the service. */
  #note(orderId: string, error: unknown): boolean {
    this.#failed.add(orderId);
    this.#errors.unshift(error);
    this.#wellKey = undefined;
    return this.#breaker.fail();
  }

  /**
   * Whether an order was answered well since the last failure; where none was, one is asked for.
   * @param behind an order that is older than the one in question proves little: a stale replica has it, and not what came
   * later. Only an answer for one behind this key counts, or for the newest that there is.
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

  /** @param isInAnyForm also under the other forms of its id, where it is not found under the stored one */
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

  /** What the pass fails with where the service is not well. That the configuration does not fit only all failures together say. */
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
