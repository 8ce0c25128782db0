/* What the service's stamps say of the time, where its answers have no `Date`. */
import { parseStamp } from "../answers/stamp.ts";

/**
 * The middle one of these stamps, in milliseconds: a few that are absurd do not move it far. It is a time that was reached,
 * however long ago. Undefined where none can be read.
 */
export function reachedTimeMs(stamps: readonly (string | null)[], zone: string): number | undefined {
  const times = stamps.flatMap((text) => {
    const stamp = text === null ? undefined : parseStamp(text, zone);
    return stamp === undefined ? [] : [Number(stamp.instantNs / 1_000_000n)];
  });
  // Of an even number the earlier one: what is too early removes less.
  return times.sort((a, b) => a - b)[Math.floor((times.length - 1) / 2)];
}
