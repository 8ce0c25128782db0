/*
 * Orders that were read before the unit of their timestamp was over. A change after that, within the same second or minute, has the same
 * timestamp, and the changes may list it in the same words: the order is read once more when the unit is over. Each is a row
 * (`repeat_reads`) from the transaction that stores what was read until the one that requests the read again. All times are the service's.
 */
import { endOfUnitNs, parseTimestamp } from "../answers/timestamp.ts";
import { deleteRows } from "../database/queries.ts";
import { repeatReads } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { requestRead } from "../pass/position-rows.ts";
import { isoTime } from "../platform/ports.ts";

/** The clock that writes timestamps and the one that writes `Date` may be two. */
const GRACE_MS = 1_000;
/** Reads in one pass: the others follow in the next. */
const READS_PER_PASS = 100;
/** Services that drop old orders keep them for longer. */
const LATE_MS = 15 * 60_000;
/** No unit ends later: such a time is no time, or the service's clock was set back. */
const DUE_WITHIN_MS = 25 * 3_600_000;

/** Inside the transaction that stores what was asked for at `askedAt` and has this timestamp. Returns whether it is read again. */
export function queueSecondRead(
  store: Store,
  order: { orderId: string; timestamp: string | null; askedAt: string },
  timezone: string,
): boolean {
  const timestamp = order.timestamp === null ? undefined : parseTimestamp(order.timestamp, timezone);
  const endNs = timestamp === undefined ? undefined : endOfUnitNs(timestamp);
  if (endNs === undefined) return false;
  const endMs = Number(endNs / 1_000_000n);
  if (Date.parse(order.askedAt) >= endMs) return false;
  const { changes } = store
    .prepare(
      `INSERT INTO repeat_reads (order_id, due_at) VALUES (?, ?)
       ON CONFLICT (order_id) DO UPDATE SET due_at = excluded.due_at WHERE excluded.due_at > due_at`,
    )
    .run(order.orderId, isoTime(endMs + GRACE_MS));
  return changes > 0;
}

/** An order whose time has come; one that is too late is left to the comparison, because the service may have forgotten it. */
interface SecondRead {
  orderId: string;
  isLate: boolean;
}

export function loadSecondReads(store: Store, serviceNow: string): SecondRead[] {
  const nowMs = Date.parse(serviceNow);
  return store
    .prepare<{ orderId: string; dueAt: string }>(
      `SELECT order_id AS orderId, due_at AS dueAt FROM repeat_reads WHERE due_at <= ? OR due_at > ? ORDER BY due_at LIMIT ${READS_PER_PASS}`,
    )
    .all(isoTime(nowMs), isoTime(nowMs + DUE_WITHIN_MS))
    .map(({ orderId, dueAt }) => ({ orderId, isLate: nowMs - Date.parse(dueAt) > LATE_MS }));
}

/** Inside a transaction. */
export function requestSecondRead(store: Store, { orderId, isLate }: SecondRead, at: string): void {
  if (!isLate) requestRead(store, { orderId, serviceId: orderId }, at);
  deleteRows(store, repeatReads, { orderId });
}
