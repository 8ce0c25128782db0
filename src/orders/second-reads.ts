/*
 * Orders that were read before the unit of their timestamp was over. A change after that, within the same second, minute or day, has the same
 * timestamp, and the changes may list it in the same words: the order is read again, later and later, and once more when the unit is over.
 * Each is a row (`repeat_reads`) from the transaction that stores what was read until the last of these reads is requested. All times are
 * the service's.
 */
import { endOfUnitNs, parseTimestamp, type Timestamp } from "../answers/timestamp.ts";
import { onlyValue } from "../database/only-row.ts";
import { deleteRows } from "../database/queries.ts";
import { repeatReads } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { requestRead } from "../pass/position-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { loadNewestTimestamps } from "./order-rows.ts";

/** The clock that writes timestamps and the one that writes `Date` may be two. */
const GRACE_MS = 1_000;
/** Reads in one pass: the others follow in the next. */
const READS_PER_PASS = 100;
/** Of these, reads while the unit is not over. */
const EARLY_PER_PASS = 20;
/** Services that drop old orders keep them for longer. */
const LATE_MS = 15 * 60_000;
/** A day is over for all its orders at once. */
const LATE_AFTER_EARLY_MS = 2 * 3_600_000;
/** No unit ends later: such a time is no time, or the service's clock was set back. */
const DUE_WITHIN_MS = 25 * 3_600_000;
const DAY_MS = 86_400_000;
const MINUTE_NS = 60n * 1_000_000_000n;
/** Timestamps that show the step in which they go: of the newest orders. */
const SHOWN_BY = 20;
/** Waits between the reads while the unit is not over. */
const WAITS_MS = [1, 2, 5, 10, 30].map((minutes) => minutes * 60_000);
const WAIT_LAST_MS = 3_600_000;
/** Where many orders wait, each waits so much longer for each: 300 reads an hour of those that changed lately, and as many of the others. */
const SPACING_MS = 12_000;

/**
 * When an order is read next.
 * @param step how often it was read so
 * @param waiting how many orders wait at such a step
 */
export function planSecondRead(order: { step: number; waiting: number; nowMs: number; endMs: number }): number {
  const { step, waiting, nowMs, endMs } = order;
  const dueMs = nowMs + Math.max(WAITS_MS[step] ?? WAIT_LAST_MS, waiting * SPACING_MS);
  return endMs - dueMs < 60_000 ? endMs : dueMs;
}

/**
 * Inside the transaction that stores what was asked for at `askedAt` and has this timestamp. Returns whether it is read again.
 * @param order `isNews`: it has changed, and may change again soon.
 */
export function queueSecondRead(
  store: Store,
  order: { orderId: string; timestamp: string | null; askedAt: string; isNews: boolean },
  timezone: string,
): boolean {
  const timestamp = order.timestamp === null ? undefined : parseTimestamp(order.timestamp, timezone);
  const askedMs = Date.parse(order.askedAt);
  if (timestamp === undefined || askedMs >= Number(timestamp.latestNs / 1_000_000n) + DAY_MS) return false;
  const endNs = endOfStepNs(store, timestamp, timezone);
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

/** When no later change can have the same timestamp any more, as far as the newest orders show; undefined below a second. */
export function endOfStepNs(store: Store, timestamp: Timestamp, timezone: string): bigint | undefined {
  return endOfUnitNs(timestamp, loadOthers(store, timestamp, timezone));
}

/**
 * None where the timestamp itself goes in steps of less than a minute. Where most are full minutes, those that are not show nothing: of times to
 * the second one in sixty is a full minute, and a single order may bear a wrong time, or one from elsewhere.
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

/** Orders at an early step, or at the last one, where each hour is one. */
function countAt(store: Store, step: number): number {
  const isEarly = Number(step < WAITS_MS.length);
  return onlyValue(store, `SELECT count(*) FROM repeat_reads WHERE (step < ${WAITS_MS.length}) = ?`, isEarly);
}

interface SecondRead {
  orderId: string;
  step: number;
  endMs: number;
  /** `early`: the unit is not over; `late`: too late, and left to the comparison, because the service may have forgotten the order. */
  kind: "early" | "last" | "late";
}

/** Orders whose time has come. */
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

/** Inside a transaction. */
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
