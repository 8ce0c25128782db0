import type { AnswerLoss } from "../batches/delivery-rows.ts";

/** So many answers, over so long a time, show what the service still hands out: a lease is given back by then. */
export const LOSS_POLLS = 10;
export const LOSS_MS = 3_600_000;
/** On a line that loses answers again and again no confirm waits longer. */
export const LOSS_MAX_MS = 24 * 3_600_000;

/**
 * Whether what the lost answers may have handed out would have come again by now.
 * @param age how long ago the first of them was lost, and the last
 */
export function isLossOver({ polls }: Pick<AnswerLoss, "polls">, age: { firstMs: number; lastMs: number }): boolean {
  if (polls > 0 && age.firstMs >= LOSS_MAX_MS) return true;
  return polls >= LOSS_POLLS && age.lastMs >= LOSS_MS;
}

/** An answer is missing: with those that were missing before, unless these are over. */
export function addLoss(loss: AnswerLoss | undefined, { upTo, at }: { upTo: number; at: string }): AnswerLoss {
  if (loss === undefined) return { upTo, since: at, at, polls: 0 };
  return { upTo: Math.max(loss.upTo, upTo), since: loss.since, at, polls: 0 };
}
