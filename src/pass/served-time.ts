/* What the service's timestamps say of the time, where its answers have no `Date`. */
import { parseTimestamp } from "../answers/timestamp.ts";

/**
 * The middle one of these timestamps, in milliseconds: a few that are absurd do not move it far. It is a time that was reached,
 * however long ago. Undefined where none can be read.
 */
export function reachedTimeMs(timestamps: readonly (string | null)[], zone: string): number | undefined {
  const times = timestamps.flatMap((text) => {
    const timestamp = text === null ? undefined : parseTimestamp(text, zone);
    return timestamp === undefined ? [] : [Number(timestamp.instantNs / 1_000_000n)];
  });
  // Of an even number the earlier one: what is too early removes less.
  return times.sort((a, b) => a - b)[Math.floor((times.length - 1) / 2)];
}
