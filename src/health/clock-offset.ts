/**
 * A clock that differs this much from the service's makes displayed times wrong; the documentation gives this limit.
 */
export const CLOCK_OFF_MS = 5 * 60_000;
/** Lower than the limit above (hysteresis), so that a clock at the edge does not alternate. */
const CLOCK_RIGHT_MS = 4 * 60_000;

/**
 * How far this machine's clock is ahead of the service's, in whole seconds (negative: behind), where that is far enough
 * to be shown; undefined where it is not, or where the service does not send its time.
 * @param serviceNow the service's present time, as an HTTP date
 * @param wasOff the offset is shown already, and stays shown until the clock is right again
 */
export function clockOffsetS(serviceNow: string | undefined, nowMs: number, wasOff = false): number | undefined {
  const serviceMs = Date.parse(serviceNow ?? "");
  if (Number.isNaN(serviceMs)) return undefined;
  const offMs = nowMs - serviceMs;
  return Math.abs(offMs) >= (wasOff ? CLOCK_RIGHT_MS : CLOCK_OFF_MS) ? Math.round(offMs / 1000) : undefined;
}
