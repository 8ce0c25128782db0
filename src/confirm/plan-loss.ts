import type { AnswerLoss } from "../batches/delivery-rows.ts";

/**
 * So many answers over so long a time show what the service still delivers: leases of the lost delivery have expired.
 */
export const LOSS_POLLS = 10;
export const LOSS_MS = 3_600_000;
/** No confirm waits longer, also where answers are lost again and again. */
export const LOSS_MAX_MS = 24 * 3_600_000;

/**
 * Whether everything that the lost answers may have delivered would have been served again by now.
 * @param age how long ago the first and the last of them were lost
 */
export function isLossOver({ polls }: Pick<AnswerLoss, "polls">, age: { firstMs: number; lastMs: number }): boolean {
  if (polls > 0 && age.firstMs >= LOSS_MAX_MS) return true;
  return polls >= LOSS_POLLS && age.lastMs >= LOSS_MS;
}

/** Adds a missing answer to those that count already. */
export function addLoss(loss: AnswerLoss | undefined, { upTo, at }: { upTo: number; at: string }): AnswerLoss {
  if (loss === undefined) return { upTo, since: at, at, polls: 0 };
  return { ...loss, upTo: Math.max(loss.upTo, upTo), at, polls: 0 };
}
