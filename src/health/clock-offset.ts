/** A clock that is this far from the service's makes the times that people read wrong; stated in the documents. */
export const CLOCK_OFF_MS = 5 * 60_000;
/** Ends a little earlier than it begins, so that a clock at the edge is not shown again and again. */
const CLOCK_RIGHT_MS = 4 * 60_000;

/**
 * How far this machine's clock is ahead of the service's, in whole seconds (negative: behind), where that is far enough
 * to be shown; undefined where it is not, or where the service does not send its time.
 * @param serviceNow an HTTP date: the service's clock as it stands now
 * @param wasOff it was shown before, and is shown until the clock is right again
 */
export function clockOffsetS(serviceNow: string | undefined, nowMs: number, wasOff = false): number | undefined {
  const serviceMs = Date.parse(serviceNow ?? "");
  if (Number.isNaN(serviceMs)) return undefined;
  const offMs = nowMs - serviceMs;
  return Math.abs(offMs) >= (wasOff ? CLOCK_RIGHT_MS : CLOCK_OFF_MS) ? Math.round(offMs / 1000) : undefined;
}
