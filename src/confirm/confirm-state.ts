/*
 * State of confirms between passes, one member for each concept. Each pass may be a process of its own, so what changes is
 * written in the transaction that settles the confirm, or at the end of the pass; a pass that changes nothing writes
 * nothing. After a crash before that the confirm is sent again, with its outcome still unknown.
 */

import type { BatchRow } from "../batches/batch-rows.ts";
import type { PullPass } from "../batches/pull-pass.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { idsOf } from "./batch-ids.ts";
import { BatchWaits } from "./batch-waits.ts";
import { ConfirmBreaker } from "./confirm-breaker.ts";
import type { ConfirmForm } from "./confirm-form.ts";
import { CONFIRM_TIMES, SavedTimes } from "./confirm-record.ts";
import { SavedDivisions } from "./division-rows.ts";
import { IdLimit } from "./id-limit.ts";
import { OpenConfirm } from "./open-confirm.ts";
import { RefusedCounts } from "./refused-counts.ts";
import { UnknownOutcomes } from "./unknown-outcomes.ts";
import { UnnamedBatches } from "./unnamed-batches.ts";

export class ConfirmState {
  readonly open: OpenConfirm;
  readonly waits: BatchWaits;
  readonly unknown: UnknownOutcomes;
  readonly refused: RefusedCounts;
  readonly divisions: SavedDivisions;
  readonly breaker: ConfirmBreaker;
  readonly idLimit: IdLimit;
  readonly unnamed: UnnamedBatches;
  /** In this pass the service refuses every single order of a confirm. */
  vainIn: PullPass | undefined;
  readonly #context: JobContext;
  readonly #times: SavedTimes;
  /** Of the batches that are confirmed next, the number of orders that their answers name beside the list. */
  readonly #ordersBeside = new Map<number, number>();

  constructor(
    context: JobContext,
    { form, account, requestMs }: { form: ConfirmForm; account: string; requestMs: number },
  ) {
    const { store } = context;
    const times = new SavedTimes(context.clock);
    const saved = CONFIRM_TIMES.load(store);
    this.#context = context;
    this.#times = times;
    this.open = new OpenConfirm(context, { form, account, requestMs });
    this.waits = new BatchWaits(form, times, { store, saved });
    this.unknown = new UnknownOutcomes(form, times, { store, saved, account });
    this.refused = new RefusedCounts(times, { store, saved });
    this.divisions = new SavedDivisions(times, saved);
    this.breaker = new ConfirmBreaker(times, saved);
    this.idLimit = new IdLimit(times, saved);
    this.unnamed = new UnnamedBatches(context);
  }

  get isUnsaved(): boolean {
    return this.#times.isUnsaved;
  }

  /** Commits with what has changed of the state. */
  async commit<T>(signal: AbortSignal, fn: () => T): Promise<T> {
    const result = await commit(this.#context, signal, () => {
      this.save();
      this.open.save();
      return fn();
    });
    this.#times.isUnsaved = false;
    return result;
  }

  /** To be called inside a transaction. Until {@link commit} it is saved again each time. */
  save(): void {
    if (!this.isUnsaved) return;
    CONFIRM_TIMES.save(this.#context.store, {
      ...this.waits.toSaved(),
      ...this.unknown.toSaved(),
      ...this.refused.toSaved(),
      ...this.divisions.toSaved(),
      ...this.breaker.toSaved(),
      ...this.idLimit.toSaved(),
    });
  }

  /** A batch that is served has not been confirmed, nor has another one of its orders. */
  noteServed(row: BatchRow, ordersBeside = 0): void {
    if (ordersBeside > 0) this.#ordersBeside.set(row.id, ordersBeside);
    if (this.unknown.isEmpty && this.refused.isEmpty) return;
    const served = idsOf(row);
    this.refused.noteServed(row, served);
    for (const id of this.unknown.noteServed(row, served)) this.waits.shorten(id);
  }

  /** Number of orders that the batch's answer named beside its list. */
  ordersBesideOf(id: number): number {
    return this.#ordersBeside.get(id) ?? 0;
  }

  forget(id: number): void {
    for (const each of [this.waits, this.unknown, this.refused, this.divisions]) each.forget(id);
    this.#ordersBeside.delete(id);
  }
}
