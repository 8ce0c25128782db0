/*
 * When refused confirms are sent again, and what the answers to that have shown of each: some count as confirmed in the end
 * (`refused-confirms.ts`).
 */

import { type BatchRow, loadBatchOf } from "../batches/batch-rows.ts";
import type { Store } from "../database/store.ts";
import { idsOf } from "./batch-ids.ts";
import type { ConfirmTimes, SavedTimes } from "./confirm-record.ts";
import { type GoneCount, isCarriedOut, REPEAT_RETRIES } from "./plan-repeat.ts";

const REFUSED_AGAIN_MS = 3_600_000;
const COUNTED_MAX = 500;

/** Counts are by row id of the batch. */
export class RefusedCounts {
  readonly #store: Store;
  readonly #times: SavedTimes;
  /** Monotonic time of the next retry. Due at first: where none is refused, nothing is saved. */
  #againMs: number;
  /** See {@link ConfirmTimes.repeats}. */
  readonly #repeats: Map<number, number>;
  /** See {@link countGone}. */
  readonly #gone: Map<number, GoneCount>;

  constructor(times: SavedTimes, { store, saved }: { store: Store; saved: ConfirmTimes | undefined }) {
    this.#store = store;
    this.#times = times;
    this.#againMs = saved === undefined ? times.nowMs : times.readUntil(saved.refusedAgainAt, REFUSED_AGAIN_MS);
    this.#repeats = new Map(saved?.repeats);
    this.#gone = new Map(saved?.gone?.map(({ id, ...counted }) => [id, counted]));
  }

  get isEmpty(): boolean {
    return this.#repeats.size + this.#gone.size === 0;
  }

  get areDue(): boolean {
    return this.#times.nowMs >= this.#againMs;
  }

  /**
   * Refused confirms are retried now: starts the next interval.
   * @param isAny there are any; otherwise the time is not worth a write
   */
  begin(isAny: boolean): void {
    this.#againMs = this.#times.nowMs + REFUSED_AGAIN_MS;
    this.#times.isUnsaved ||= isAny;
    // Another confirm may have covered it.
    for (const counted of [this.#repeats, this.#gone])
      for (const id of counted.keys()) if (loadBatchOf(this.#store, id)?.state !== "refused") counted.delete(id);
  }

  /**
   * A retry of a batch that repeats confirmed orders was refused. Returns how often since one of these was served;
   * beyond the limit of batches one is not counted until others have ended.
   */
  countRepeat(id: number): number {
    const retries = (this.#repeats.get(id) ?? 0) + 1;
    if (retries === 1 && this.#repeats.size >= COUNTED_MAX) return 0;
    this.#repeats.set(id, retries);
    this.#times.isUnsaved = true;
    return retries;
  }

  /** A retry was answered with "no such batch". Returns whether the service has carried out the confirm that it refused. */
  countGone(id: number): boolean {
    const before = this.#gone.get(id) ?? { retries: 0, isOtherAccepted: false };
    if (before.retries === 0 && this.#gone.size >= COUNTED_MAX) return false;
    // Later ones change nothing, and cost no write.
    this.#times.isUnsaved ||= before.retries < REPEAT_RETRIES;
    const counted = { ...before, retries: Math.min(before.retries + 1, REPEAT_RETRIES) };
    this.#gone.set(id, counted);
    return isCarriedOut(counted);
  }

  isGone(id: number): boolean {
    return this.#gone.has(id);
  }

  /** A retry was refused in other words. */
  endGone(id: number): void {
    this.#times.isUnsaved = this.#gone.delete(id) || this.#times.isUnsaved;
  }

  /** The service has accepted the confirm of this batch, and said so. */
  noteOtherAccepted(accepted: number): void {
    for (const [id, counted] of this.#gone) {
      if (id === accepted || counted.isOtherAccepted) continue;
      this.#gone.set(id, { ...counted, isOtherAccepted: true });
      this.#times.isUnsaved = true;
    }
  }

  /** Batches of which something is served are counted anew. */
  noteServed(row: BatchRow, served: readonly string[]): void {
    for (const counted of [this.#repeats, this.#gone]) {
      for (const id of counted.keys()) {
        const { batchId = null, orderIds = null } = loadBatchOf(this.#store, id) ?? {};
        const own = new Set(idsOf({ orderIds }));
        const isNamed = counted === this.#gone && (id === row.id || batchId === row.batchId);
        if (!isNamed && !served.some((orderId) => own.has(orderId))) continue;
        counted.delete(id);
        this.#times.isUnsaved = true;
      }
    }
  }

  forget(id: number): void {
    const saved = [this.#repeats.delete(id), this.#gone.delete(id)];
    this.#times.isUnsaved ||= saved.includes(true);
  }

  toSaved(): Pick<ConfirmTimes, "repeats" | "gone" | "refusedAgainAt"> {
    return {
      ...(this.#repeats.size > 0 && { repeats: [...this.#repeats] }),
      ...(this.#gone.size > 0 && { gone: [...this.#gone].map(([id, counted]) => ({ id, ...counted })) }),
      refusedAgainAt: this.#times.toText(this.#againMs),
    };
  }
}
