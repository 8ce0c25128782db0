/* Where following the changes begins, once the first orders are stored. Pure. */
import { readTimestamp } from "../answers/timestamp.ts";

/** What two right clocks may differ by. */
const CLOCKS_DIFFER_MS = 60_000;
const MS_NS = 1_000_000n;

/**
 * The service's time when it answered. A `Date` ahead of this machine's clock may be that of a proxy, and lie beyond every time that the
 * service writes: changes would not be listed from there on. The time of the order that came last counts then; where it is this
 * machine's clock that is behind, some changes are asked for once too often.
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
