/* The first watermark, once the first orders are stored. Pure. */

import { readTimestamp } from "../answers/timestamp.ts";
import { namesZone } from "../answers/timestamp-form.ts";
import { DAY_MS, MS_NS } from "../platform/durations.ts";

/** Two correct clocks differ by no more than this. */
const CLOCKS_DIFFER_MS = 60_000;
/** An older order says nothing of the zone, and from its time on there may be many changes. */
const RECENT_NS = BigInt(7 * DAY_MS) * MS_NS;

/**
 * The service's time when it answered. A `Date` ahead of this machine's clock may come from a proxy and lie beyond every timestamp that
 * the service writes; changes before it would be missed. Times without a zone may be of one that is hours behind the configured one.
 * In both cases the timestamp of the newest order counts; at worst, some changes are requested once more than needed.
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
  const isZoneUnknown = !namesZone(order.form) && answered.instantNs - order.instantNs < RECENT_NS;
  return isAhead || isZoneUnknown ? order.text : date;
}
