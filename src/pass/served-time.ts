/* The service's time by its timestamps, where its answers have no `Date`. */
import { parseTimestamp } from "../answers/timestamp.ts";

/**
 * The median of these timestamps, in milliseconds: a few absurd ones hardly move it. The service's clock has reached it, however
 * long ago. Undefined if none can be read.
 */
export function reachedTimeMs(timestamps: readonly (string | null)[], zone: string): number | undefined {
  const times = timestamps.flatMap((text) => {
    const timestamp = text === null ? undefined : parseTimestamp(text, zone);
    return timestamp === undefined ? [] : [Number(timestamp.instantNs / 1_000_000n)];
  });
  // Of an even number the earlier one, because too early a time removes less history.
  return times.sort((a, b) => a - b)[Math.floor((times.length - 1) / 2)];
}
