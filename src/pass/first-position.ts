/* The first watermark, once the first orders are stored. Pure. */

import { readTimestamp } from "../answers/timestamp.ts";
import { MS_NS } from "../platform/durations.ts";

/** Two correct clocks differ by no more than this. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * The service's time when it answered. A `Date` ahead of this machine's clock may come from a proxy and lie beyond every timestamp that
 * the service writes; changes before it would be missed. Then the timestamp of the newest order counts; if in fact this machine's clock is
 * behind, some changes are requested once more than needed.
 * @param date `Date` of the answer
 * @param newest timestamp of the stored order that came last
 */
export function firstPosition(
  date: string | undefined,
  newest: string | null,
  { nowMs, timezone }: { nowMs: number; timezone: string },
): string | undefined {
  const answered = readTimestamp(date ?? null, timezone);
  const order = readTimestamp(newest, timezone);
  if (answered === undefined || order === undefined || order.instantNs >= answered.instantNs) return date;
  const isAhead = answered.instantNs > BigInt(Math.floor(nowMs) + CLOCKS_DIFFER_MS) * MS_NS;
  return isAhead ? order.text : date;
}
