/* Batches whose confirm failed alone: each waits by itself, twice as long each time. */

import { type BatchRow, loadBatchOf } from "../batches/batch-rows.ts";
import type { Store } from "../database/store.ts";
import { type ConfirmForm, confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import type { ConfirmTimes, SavedTimes } from "./confirm-record.ts";
import { beginWait, isWaiting, WAIT_MAX_MS, type Wait } from "./plan-wait.ts";

const WAITS_MAX = 500;

export class BatchWaits {
  readonly #form: ConfirmForm;
  readonly #times: SavedTimes;
  /** By row id of the batch. */
  readonly #waits = new Map<number, Wait>();
  /** Row id of the waiting batch by its name: served with other orders it is another row, but its confirm is the same. */
  readonly #named = new Map<string, number>();
  /** How often the batch's confirm failed without an answer while pulls were answered. */
  readonly #unreached = new Map<number, number>();

  constructor(
    form: ConfirmForm,
    times: SavedTimes,
    { store, saved }: { store: Store; saved: ConfirmTimes | undefined },
  ) {
    this.#form = form;
    this.#times = times;
    for (const { id, tries, dueAt, refusedUntil } of saved?.waits ?? []) {
      const refusedUntilMs = refusedUntil === undefined ? 0 : times.readUntil(refusedUntil, WAIT_MAX_MS);
      this.#waits.set(id, { tries, untilMs: times.readUntil(dueAt, WAIT_MAX_MS), refusedUntilMs });
      this.#nameWait(loadBatchOf(store, id)?.batchId ?? null, id);
    }
  }

  /** Number of batches that wait. */
  get size(): number {
    return this.#waits.size;
  }

  /** See {@link isWaiting} of the plan. */
  isWaiting(row: BatchRow, is: { due?: boolean; served?: boolean } = {}): boolean {
    const wait = this.#waits.get(this.#keyOf(row));
    return wait !== undefined && isWaiting(wait, is, this.#times.nowMs);
  }

  /** Starts the next wait. Returns how often the batch has waited, including this time. */
  begin(row: BatchRow, refusedMs = 0): number {
    const key = this.#keyOf(row);
    const tries = (this.#waits.get(key)?.tries ?? 0) + 1;
    if (this.#waits.size >= WAITS_MAX) this.#waits.clear();
    this.#nameWait(row.batchId, key);
    this.#waits.set(key, beginWait(tries, { refusedMs, nowMs: this.#times.nowMs }));
    this.#times.isUnsaved = true;
    return tries;
  }

  /** Ends the wait, unless an answer of the service forbids the confirm. */
  shorten(id: number): void {
    const wait = this.#waits.get(id);
    if (wait !== undefined) this.#waits.set(id, { ...wait, untilMs: wait.refusedUntilMs });
  }

  /** Counts confirms of a batch without an answer, including those that never left, and returns the count. */
  countUnreached(row: BatchRow): number {
    const key = this.#keyOf(row);
    const times = (this.#unreached.get(key) ?? 0) + 1;
    if (this.#unreached.size >= WAITS_MAX) this.#unreached.clear();
    this.#unreached.set(key, times);
    return times;
  }

  forget(id: number): void {
    const key = confirmNames(this.#form) ? id : 0;
    this.#times.isUnsaved = this.#waits.delete(key) || this.#times.isUnsaved;
    this.#unreached.delete(key);
  }

  toSaved(): Pick<ConfirmTimes, "waits"> {
    const at = (ms: number) => this.#times.toText(ms);
    return {
      waits: [...this.#waits].map(([id, { tries, untilMs, refusedUntilMs }]) => ({
        id,
        tries,
        dueAt: at(untilMs),
        ...(refusedUntilMs > 0 && { refusedUntil: at(refusedUntilMs) }),
      })),
    };
  }

  /** A confirm that names nothing is one for all batches; batches of the same name have the same confirm. */
  #keyOf(row: BatchRow): number {
    if (!confirmNames(this.#form)) return 0;
    const named = this.#named.get(row.batchId ?? "") ?? row.id;
    return (this.#waits.get(named)?.untilMs ?? 0) > this.#times.nowMs ? named : row.id;
  }

  #nameWait(batchId: string | null, key: number): void {
    if (batchId === null || confirmNamesOrders(this.#form, batchId)) return;
    if (this.#named.size >= WAITS_MAX) this.#named.clear();
    this.#named.set(batchId, key);
  }
}
