import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import type { AnswerForm } from "../service/known-forms.ts";

/** The last batch that no confirm can name, and how often it was served. */
export interface ServedUnnamed {
  batch: number;
  times: number;
}

/** Saved times of retries. */
export interface ConfirmTimes {
  /** `refusedUntil`: an answer of the service forbids this confirm until then. */
  waits: { id: number; tries: number; dueAt: string; refusedUntil?: string }[];
  /**
   * Confirms of unknown outcome (see `ConfirmWaits`): they count as accepted once the batch has not been served for
   * long enough.
   */
  doubts: { id: number; since: string; polls: number; form?: AnswerForm | undefined; count?: string | undefined }[];
  refused: number[];
  /** Refused batches that repeat confirmed orders, and how many retries were refused while none of these was served. */
  repeats?: [id: number, retries: number][];
  /** Refused batches that the service does not have, as retries were answered (see `ConfirmWaits.countGone`). */
  gone?: { id: number; retries: number; isOtherAccepted: boolean }[];
  /** Refused confirms whose division was broken off (see `Division`). */
  divisions?: { id: number; waiting: string[][]; alone: string[] }[];
  /** Batches whose confirm was refused in a row; none is sent before that time. */
  forbidden?: { batches: number[]; until: string };
  /** The largest number of ids that a confirm may name, until then. */
  idsMax?: { size: number; until: string };
  refusedAgainAt: string;
}

export function loadConfirmTimes(store: Store): ConfirmTimes | undefined {
  return loadMetaJson<ConfirmTimes>(store, "confirms");
}

export function saveConfirmTimes(store: Store, times: ConfirmTimes): void {
  saveMetaJson(store, "confirms", times);
}

/** Retries of refused confirms that may end them are counted anew. */
export function forgetRepeats(store: Store): void {
  const times = loadConfirmTimes(store);
  if (times?.repeats === undefined && times?.gone === undefined) return;
  const { repeats: _former, gone: _counted, ...others } = times;
  saveConfirmTimes(store, others);
}
