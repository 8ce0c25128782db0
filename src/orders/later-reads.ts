/*
 * Reads an order again within a day after an answer that the service may have to correct: an older version, "no such
 * order", an order without its status or lines, or another status than its change. And once, an hour after a status was accepted that the order does
 * not show. Each due time is queued in `owed_reads` in the transaction that moves the row here to its next time; after
 * a crash the same read is queued again.
 */

import { deleteRows, select, updateRows, upsertRow } from "../database/queries.ts";
import { laterReads } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { requestRead } from "../pass/position-rows.ts";
import { HOUR_MS } from "../platform/durations.ts";
import { isoTime } from "../platform/ports.ts";

/** Delays after the first answer; each outlasts a failure that may have spoilt the read before. */
const LATER_MS = [1, 2, 4, 8, 24].map((hours) => hours * HOUR_MS);
/** Limit per pass; the others follow in the next. */
const READS_PER_PASS = 100;
/** A due time further away is wrong: the clock was set back. */
const DUE_WITHIN_MS = 25 * HOUR_MS;

/** To be called inside the transaction that stores the answer. */
export function requestLaterReads(store: Store, orderId: string, at: string): void {
  const row = { orderId, begunAt: at, step: 0, dueAt: dueAt(at, 0) ?? at };
  upsertRow(store, laterReads, row, { key: ["orderId"], set: ["begunAt", "step", "dueAt"] });
}

/** Reads once, unless later reads are planned already. To be called inside a transaction. */
export function requestReadInAnHour(store: Store, orderId: string, at: string): void {
  const dueMs = Date.parse(at) + HOUR_MS;
  const step = LATER_MS.length - 1;
  const row = { orderId, begunAt: isoTime(dueMs - (LATER_MS[step] ?? 0)), step, dueAt: isoTime(dueMs) };
  upsertRow(store, laterReads, row, { key: ["orderId"], set: [] });
}

type LaterRead = typeof laterReads.$inferSelect;

const DUE = `WHERE due_at <= @at OR due_at > @farAt ORDER BY due_at LIMIT ${READS_PER_PASS}`;

/** Rows that are due. */
export function loadLaterReads(store: Store, at: string): LaterRead[] {
  const farAt = isoTime(Date.parse(at) + DUE_WITHIN_MS);
  return select(store, laterReads, ["orderId", "begunAt", "step", "dueAt"], DUE).all({ at, farAt });
}

/** To be called inside a transaction. */
export function requestReadNow(store: Store, { orderId, begunAt, step }: LaterRead, at: string): void {
  requestRead(store, { orderId, serviceId: orderId }, at);
  const next = dueAt(begunAt, step + 1);
  if (next === undefined) {
    deleteRows(store, laterReads, { orderId });
    return;
  }
  const soon = isoTime(Date.parse(at) + HOUR_MS);
  updateRows(store, laterReads, { orderId }, { step: step + 1, dueAt: next > soon ? next : soon });
}

function dueAt(begunAt: string, step: number): string | undefined {
  const ms = LATER_MS[step];
  return ms === undefined ? undefined : isoTime(Date.parse(begunAt) + ms);
}
