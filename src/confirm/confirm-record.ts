/* What is saved of confirms between passes, beside the rows of batches. */

import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import type { Division } from "./plan-division.ts";
import type { GoneCount } from "./plan-repeat.ts";

/** What is saved of the state of confirms; each member has a file, which says what it means. */
export interface ConfirmTimes {
  /** `refusedUntil`: an answer of the service forbids this confirm until then. */
  waits: { id: number; tries: number; dueAt: string; refusedUntil?: string }[];
  /**
   * Confirms of unknown outcome (`unknown-outcomes.ts`): they count as accepted once the batch has not been served for
   * long enough.
   */
  doubts: { id: number; since: string; polls: number; form?: AnswerForm | undefined; count?: string | undefined }[];
  refused: number[];
  /** Refused batches that repeat confirmed orders, and how many retries were refused while none of these was served. */
  repeats?: [id: number, retries: number][];
  /** Refused batches that the service does not have, as retries were answered (see `GoneCount`). */
  gone?: ({ id: number } & GoneCount)[];
  /** Refused confirms whose division was broken off. */
  divisions?: ({ id: number } & Division)[];
  /** Batches whose confirm was refused in a row; none is sent before that time. */
  forbidden?: { batches: number[]; until: string };
  /** The largest number of ids that a confirm may name, until then. */
  idsMax?: { size: number; until: string };
  refusedAgainAt: string;
}

export const CONFIRM_TIMES = new MetaValue<ConfirmTimes | undefined>("confirms");

/** The last batch that no confirm can name, and how often it was served. */
export const UNNAMED = new MetaValue<{ batch: number; times: number } | undefined>("unnamed");

/** A confirm whose answer counted more records than its batch had. */
export interface LargerConfirm {
  at: string;
  /** Literal of the batch's name; null: it has none. */
  batch: string | null;
  /** Number of records that came. */
  came: number;
  counted: number;
}

/** How many there are, when the first of them was sent, and the newest. */
export const LARGER = new MetaValue<{ count: number; since: string; newest: LargerConfirm[] } | undefined>(
  "larger_confirms",
);

/** Retries of refused confirms that may end them are counted anew. */
export function forgetRepeats(store: Store): void {
  const times = CONFIRM_TIMES.load(store);
  if (times?.repeats === undefined && times?.gone === undefined) return;
  const { repeats: _former, gone: _counted, ...others } = times;
  CONFIRM_TIMES.save(store, others);
}

/** Times of confirms: monotonic in memory, of the day in the database. */
export class SavedTimes {
  /** Something that must outlive the process differs from what is saved. */
  isUnsaved = false;
  readonly #clock: JobContext["clock"];

  constructor(clock: JobContext["clock"]) {
    this.#clock = clock;
  }

  /** Monotonic, as all times in memory. */
  get nowMs(): number {
    return this.#clock.monotonicMs();
  }

  toText(ms: number): string {
    return isoTime(Math.round(this.#clock.nowMs() - this.#clock.monotonicMs() + ms));
  }

  /**
   * A saved time to come. A restart does not shorten a wait; a changed clock does not extend one beyond its maximum. A time
   * that is out of range is saved anew, or each process would count from its own start.
   */
  readUntil(at: string, maxMs: number): number {
    const savedMs = Date.parse(at) - this.#clock.nowMs();
    const leftMs = clamped(savedMs, maxMs);
    this.isUnsaved ||= leftMs > 0 && leftMs !== savedMs;
    return this.nowMs + leftMs;
  }

  /** A saved time that has passed. */
  readSince(at: string, maxMs: number): number {
    const agoMs = this.#clock.nowMs() - Date.parse(at);
    this.isUnsaved ||= agoMs < 0;
    return this.nowMs - clamped(agoMs, maxMs);
  }
}

function clamped(ms: number, maxMs: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), maxMs) : maxMs;
}
