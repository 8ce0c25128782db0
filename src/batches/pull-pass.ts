import { addCount } from "../pass/counts.ts";
import type { BatchRow } from "./batch-rows.ts";

/** One pass of the pull: what was done in it and what went wrong. */
export interface PullPass {
  counts: Record<string, number>;
  signal: AbortSignal;
  /** The first failure that did not end the pass at once; thrown at its end. */
  failure: unknown;
  /** The first failure of a confirm: what else the pass has to do goes on, and it is thrown at its end. */
  confirmFailure: unknown;
  /** `GET /orders` was answered in this pass: the credentials and the way to the service are right. */
  isAnswered: boolean;
  /** All that the last answer delivered is stored, or kept. */
  isAccounted: boolean;
  /** The answer was empty in a form that is new: it does not show what the service still has. */
  isUnusual: boolean;
  /** Confirms that failed one after the other. */
  confirmsFailed: number;
  /** Parts of confirms that were accepted. */
  parts: number;
  /** Batches whose confirm was sent in this pass: not twice. */
  attempted: Set<number>;
}

export interface StoredBatch {
  row: BatchRow;
  /** It was stored before: the service has come round. */
  seenBefore: boolean;
  /** It has just been served. */
  isServed?: boolean;
  /** What a person asked for has come with it. */
  isLast?: boolean;
}

export function beginPass(signal: AbortSignal): PullPass {
  return {
    counts: {},
    signal,
    failure: undefined,
    confirmFailure: undefined,
    isAnswered: false,
    isAccounted: false,
    isUnusual: false,
    confirmsFailed: 0,
    parts: 0,
    attempted: new Set(),
  };
}

export function count(pass: Pick<PullPass, "counts">, name: string, by: number): void {
  addCount(pass.counts, name, by);
}
