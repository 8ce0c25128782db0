/*
 * Reads orders again that were read before the unit of their timestamp (a second, minute or day) was over. A later
 * change within the unit has the same timestamp and may be listed identically. So the order is read again at growing
 * intervals, and once more when the unit is over. A row of `repeat_reads` exists from the transaction that stores the
 * order until the last of these reads is queued. All times are the service's.
 */

import { endOfUnitNs, parseTimestamp, type Timestamp } from "../answers/timestamp.ts";
import { onlyValue } from "../database/only-row.ts";
import { deleteRows } from "../database/queries.ts";
import { repeatReads } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { requestRead } from "../pass/position-rows.ts";
import { DAY_MS, MINUTE_NS } from "../platform/durations.ts";
import { isoTime } from "../platform/ports.ts";
import { loadNewestTimestamps } from "./order-rows.ts";

/** Tolerance: timestamps and `Date` may come from two clocks. */
const GRACE_MS = 1_000;
/** Limit per pass; the others follow in the next. */
const READS_PER_PASS = 100;
/** Of these, reads within the unit. */
const EARLY_PER_PASS = 20;
/** So long after the unit the last read is still made: services keep orders longer than this. */
const LATE_MS = 15 * 60_000;
/** The same where the unit was long: a day ends for all its orders at once, so these reads take longer. */
const LATE_AFTER_EARLY_MS = 2 * 3_600_000;
/** A later due time is wrong: the timestamp is no time, or the service's clock was set back. */
const DUE_WITHIN_MS = 25 * 3_600_000;
/** The precision of timestamps is derived from so many of the newest orders. */
const SHOWN_BY = 20;
/** Waits between reads within the unit. */
const WAITS_MS = [1, 2, 5, 10, 30].map((minutes) => minutes * 60_000);
const WAIT_LAST_MS = 3_600_000;
/**
 * Each waiting order lengthens the wait: at most 300 reads an hour of recently changed orders, and 300 of the others.
 */
const SPACING_MS = 12_000;

/**
 * Returns when an order is read next (ms since 1970).
 * @param step how many reads within the unit were made
 * @param waiting how many orders wait at this kind of step
 */
export function planSecondRead(order: { step: number; waiting: number; nowMs: number; endMs: number }): number {
  const { step, waiting, nowMs, endMs } = order;
  const dueMs = nowMs + Math.max(WAITS_MS[step] ?? WAIT_LAST_MS, waiting * SPACING_MS);
  return endMs - dueMs < 60_000 ? endMs : dueMs;
}

/**
 * To be called inside the transaction that stores an answer requested at `askedAt`. Returns whether the order will be
 * read again.
 * @param order `isNews`: it has changed, and may soon change again. `own`: the order's own timestamp, where the other one is of the
 * changes: they may write it to the minute
 */
export function queueSecondRead(
  store: Store,
  order: { orderId: string; timestamp: string | null; own?: string | null; askedAt: string; isNews: boolean },
  timezone: string,
): boolean {
  const timestamp = order.timestamp === null ? undefined : parseTimestamp(order.timestamp, timezone);
  const askedMs = Date.parse(order.askedAt);
  if (timestamp === undefined || askedMs >= Number(timestamp.latestNs / 1_000_000n) + DAY_MS) return false;
  const own = parseTimestamp(order.own ?? "", timezone);
  const endNs = isCutToMinute(timestamp, own) ? endOfUnitNs(timestamp) : endOfStepNs(store, timestamp, timezone);
  if (endNs === undefined) return false;
  const unitEndMs = Number(endNs / 1_000_000n);
  if (askedMs >= unitEndMs) return false;
  const endMs = unitEndMs + GRACE_MS;
  const isEarly = endMs - askedMs > WAITS_MS[0]! + 60_000 && endMs - askedMs <= DUE_WITHIN_MS;
  const dueMs = isEarly ? planSecondRead({ step: 0, waiting: countAt(store, 0), nowMs: askedMs, endMs }) : endMs;
  const { changes } = store
    .prepare(
      `INSERT INTO repeat_reads (order_id, due_at, end_at, step) VALUES (?, ?, ?, 0)
       ON CONFLICT (order_id) DO UPDATE SET due_at = excluded.due_at, end_at = excluded.end_at, step = 0
       WHERE excluded.end_at > coalesce(end_at, due_at) OR (? AND excluded.end_at = end_at)`,
    )
    .run(order.orderId, isoTime(dueMs), isoTime(endMs), Number(order.isNews));
  return changes > 0;
}

/** Whether one is the other without its seconds. */
function isCutToMinute(timestamp: Timestamp, own: Timestamp | undefined): boolean {
  if (own === undefined || timestamp.instantNs % MINUTE_NS !== 0n) return false;
  return own.instantNs > timestamp.instantNs && own.instantNs < timestamp.instantNs + MINUTE_NS;
}

/** From when on no change can have this timestamp, judged by the newest orders; undefined for units below a second. */
export function endOfStepNs(store: Store, timestamp: Timestamp, timezone: string): bigint | undefined {
  return endOfUnitNs(timestamp, loadOthers(store, timestamp, timezone));
}

/**
 * Timestamps of other orders, to find the precision; none where the timestamp itself has seconds. If most are full
 * minutes, the others are left out: a single order may have a wrong time or one from elsewhere, but of times with
 * seconds only one in sixty is a full minute.
 */
function loadOthers(store: Store, { instantNs }: Timestamp, timezone: string): Timestamp[] {
  if (instantNs % MINUTE_NS !== 0n) return [];
  const others = loadNewestTimestamps(store, SHOWN_BY).flatMap((text) => {
    const parsed = text === null ? undefined : parseTimestamp(text, timezone);
    return parsed === undefined ? [] : [parsed];
  });
  const full = others.filter((other) => other.instantNs % MINUTE_NS === 0n);
  return full.length + 1 > others.length - full.length ? full : others;
}

/** Number of orders at early steps, or at the last one, where the wait is an hour. */
function countAt(store: Store, step: number): number {
  const isEarly = Number(step < WAITS_MS.length);
  return onlyValue(store, `SELECT count(*) FROM repeat_reads WHERE (step < ${WAITS_MS.length}) = ?`, isEarly);
}

interface SecondRead {
  orderId: string;
  step: number;
  endMs: number;
  /**
   * `early`: within the unit. `late`: too late for a read, because the service may have dropped the order; the
   * comparison finds the change.
   */
  kind: "early" | "last" | "late";
}

/** Orders that are due. */
export function loadSecondReads(store: Store, serviceNow: string): SecondRead[] {
  const nowMs = Date.parse(serviceNow);
  const due = store
    .prepare<{ orderId: string; dueAt: string; endAt: string; step: number }>(
      `SELECT order_id AS orderId, due_at AS dueAt, coalesce(end_at, due_at) AS endAt, step FROM repeat_reads
       WHERE due_at <= @now OR due_at > @far ORDER BY coalesce(end_at, due_at) > @now, due_at LIMIT ${READS_PER_PASS}`,
    )
    .all({ now: isoTime(nowMs), far: isoTime(nowMs + DUE_WITHIN_MS) });
  let early = 0;
  return due.flatMap(({ orderId, dueAt, endAt, step }) => {
    const endMs = Date.parse(endAt);
    const isEarly = endMs > nowMs && Date.parse(dueAt) <= nowMs;
    if (isEarly && ++early > EARLY_PER_PASS) return [];
    const isLate = nowMs - endMs > (step > 0 ? LATE_AFTER_EARLY_MS : LATE_MS);
    return [{ orderId, step, endMs, kind: isEarly ? "early" : isLate ? "late" : "last" }];
  });
}

/** To be called inside a transaction. */
export function requestSecondRead(
  store: Store,
  { orderId, step, endMs, kind }: SecondRead,
  { at, serviceNow }: { at: string; serviceNow: string },
): void {
  if (kind !== "late") requestRead(store, { orderId, serviceId: orderId }, at);
  if (kind !== "early") {
    deleteRows(store, repeatReads, { orderId });
    return;
  }
  const next = step + 1;
  const dueMs = planSecondRead({ step: next, waiting: countAt(store, next), nowMs: Date.parse(serviceNow), endMs });
  store.prepare("UPDATE repeat_reads SET due_at = ?, step = ? WHERE order_id = ?").run(isoTime(dueMs), next, orderId);
}
