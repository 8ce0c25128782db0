/*
 * Orders that are read again an hour, six hours and a day after the service said something of them that it may have to take back: an
 * older version, or an order that lost its status or its lines. Each time is a row of `owed_reads`, made in the transaction
 * that moves the row here to the next time; after a crash the same read is requested again.
 */
import type { Store } from "../database/store.ts";
import { requestRead } from "../pass/position-rows.ts";
import { isoTime } from "../platform/ports.ts";

const HOUR_MS = 3_600_000;
/** Times after what was said, each longer than any trouble that the one before may have met. */
const LATER_MS = [HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS] as const;
/** Reads in one pass: the others follow in the next. */
const READS_PER_PASS = 100;
/** No read is further away: its time is one of a clock that was set back. */
const DUE_WITHIN_MS = 25 * HOUR_MS;

/** Inside the transaction that stores what was said. */
export function requestLaterReads(store: Store, orderId: string, at: string): void {
  store
    .prepare(
      `INSERT INTO later_reads (order_id, begun_at, step, due_at) VALUES (?, ?, 0, ?)
       ON CONFLICT (order_id) DO UPDATE SET begun_at = excluded.begun_at, step = 0, due_at = excluded.due_at`,
    )
    .run(orderId, at, dueAt(at, 0));
}

interface LaterRead {
  orderId: string;
  begunAt: string;
  step: number;
}

/** Rows whose time has come. */
export function loadLaterReads(store: Store, at: string): LaterRead[] {
  return store
    .prepare<LaterRead>(
      `SELECT order_id AS orderId, begun_at AS begunAt, step FROM later_reads
       WHERE due_at <= @at OR due_at > @farAt ORDER BY due_at LIMIT ${READS_PER_PASS}`,
    )
    .all({ at, farAt: isoTime(Date.parse(at) + DUE_WITHIN_MS) });
}

/** Inside a transaction. */
export function requestReadNow(store: Store, { orderId, begunAt, step }: LaterRead, at: string): void {
  requestRead(store, { orderId, serviceId: orderId }, at);
  const next = dueAt(begunAt, step + 1);
  if (next === undefined) store.prepare("DELETE FROM later_reads WHERE order_id = ?").run(orderId);
  else
    store
      .prepare("UPDATE later_reads SET step = ?, due_at = max(?, ?) WHERE order_id = ?")
      .run(step + 1, next, isoTime(Date.parse(at) + HOUR_MS), orderId);
}

function dueAt(begunAt: string, step: number): string | undefined {
  const ms = LATER_MS[step];
  return ms === undefined ? undefined : isoTime(Date.parse(begunAt) + ms);
}
