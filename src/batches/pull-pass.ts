import { addCount } from "../pass/counts.ts";
import type { BatchRow } from "./batch-rows.ts";

/** State of one pass of the pull. */
export interface PullPass {
  counts: Record<string, number>;
  signal: AbortSignal;
  /** The first failure that did not end the pass immediately; thrown at its end. */
  failure: unknown;
  /** The first failure of a confirm; the rest of the pass goes on, and it is thrown at its end. */
  confirmFailure: unknown;
  /** `GET /orders` was answered in this pass: the credentials and the connection work. */
  isAnswered: boolean;
  /** Everything that the last answer delivered is stored or kept. */
  isAccounted: boolean;
  /** The answer was empty in a new form, so it does not prove that the service has no more orders. */
  isUnusual: boolean;
  /** Confirms that failed in a row. */
  confirmsFailed: number;
  /** Parts of confirms that were accepted. */
  parts: number;
  /** Row ids of batches whose confirm was sent in this pass; each is sent once. */
  attempted: Set<number>;
}

export interface StoredBatch {
  row: BatchRow;
  /** It was stored before: the service has begun to repeat its batches. */
  seenBefore: boolean;
  /** It came with the last answer, not from a kept body. */
  isServed?: boolean;
  /** Number of orders that its answer names beside the list. */
  ordersBeside?: number | undefined;
  /** With it, everything that `endWithBacklog` waits for has come. */
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

/** Whether the service has answered the pull completely, and all of it is stored. */
export function isAnsweredWhole({ failure, isAnswered, isUnusual }: PullPass): boolean {
  return failure === undefined && isAnswered && !isUnusual;
}

export function count(pass: Pick<PullPass, "counts">, name: string, by: number): void {
  addCount(pass.counts, name, by);
}
