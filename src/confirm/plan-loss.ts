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

/**
 * Whether the service has served one batch again and again, as long as it was not confirmed, and nothing else: had it delivered other orders in a
 * lost answer, it would have served these. One that gives leases, or delivers each order once, repeats nothing.
 */
export function isRepeating({ repeated }: Pick<AnswerLoss, "repeated">): boolean {
  return repeated !== undefined && repeated.times >= LOSS_POLLS;
}

/**
 * The state after a pull that was answered completely. What it has shown holds until the next loss.
 * @param served batches of the pull
 * @param open batches that are not confirmed: one of them that is not served shows that others may not be either
 */
export function repeatedAfter(
  loss: Pick<AnswerLoss, "repeated">,
  { served, open }: { served: ReadonlySet<number>; open: readonly number[] },
): AnswerLoss["repeated"] {
  const { repeated } = loss;
  if (isRepeating(loss)) return repeated;
  const [batch] = served;
  if (batch === undefined || !open.includes(batch) || served.size + open.length > 2) return undefined;
  return { batch, times: (repeated?.batch === batch ? repeated.times : 0) + 1 };
}

/** Adds a missing answer to those that count already. */
export function addLoss(loss: AnswerLoss | undefined, { upTo, at }: { upTo: number; at: string }): AnswerLoss {
  if (loss === undefined) return { upTo, since: at, at, polls: 0 };
  return { ...loss, upTo: Math.max(loss.upTo, upTo), at, polls: 0, repeated: undefined };
}
