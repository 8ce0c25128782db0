/*
 * Status requests for orders that are not stored: after a restore, while a batch is on its way, or for an id that no
 * order has. Only the service's own answer decides: the order is read by its id, and its requests are refused where it
 * is missing. SQL, because the ERP writes the requests.
 */

import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import { loadWatermark, requestRead, UPDATES_STREAM } from "../pass/position-rows.ts";
import { NO_ORDER } from "./echo-rows.ts";

/** Reads of such orders that no pass has tried yet: the next one reads other orders as well. */
const UNTRIED_MAX = 20;
/** All of them; one of an id that no order has is queued for ten minutes. */
const QUEUED_MAX = 200;
/** While no order is stored, none can show that the service is well, and more failures would count as the service's. */
const FIRST_MAX = FAILURES_IN_ROW_MAX - 1;

/**
 * Queues a read of the order, if not too many of such orders are queued already. Not before the first pull, where following changes
 * begins: a change between the read and the pull would be missed. Inside a transaction.
 * @param orderId as the ERP writes it
 */
export function requestUnstored(store: Store, orderId: string, at: string): void {
  if (loadWatermark(store, UPDATES_STREAM) === undefined && !hasBatches(store)) return;
  const { queued, untried, isFirst } = onlyRow(
    store
      .prepare<{ queued: number; untried: number; isFirst: 0 | 1 }>(
        `SELECT count(*) AS queued, total(r.due_at IS NULL) AS untried, NOT EXISTS (SELECT 1 FROM orders) AS isFirst
         FROM owed_reads r WHERE r.record = '' AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.order_id = r.order_id)`,
      )
      .get(),
  );
  if (queued >= (isFirst === 1 ? FIRST_MAX : QUEUED_MAX) || untried >= UNTRIED_MAX) return;
  requestRead(store, { orderId: orderId.toLowerCase(), serviceId: orderId }, at);
}

function hasBatches(store: Store): boolean {
  return store.prepare("SELECT 1 FROM batches LIMIT 1").get() !== undefined;
}

/**
 * The service does not have the order, which was never stored. Inside the transaction that has found it missing.
 * Returns the requests that are refused by that.
 */
export function refuseUnknown(store: Store, orderId: string, { status, at }: { status: number; at: string }): bigint[] {
  return store
    .prepare<bigint>(
      `UPDATE status_requests SET state = 'refused', http_status = @status, answered_at = @at, last_error = @reason
       WHERE order_id = @orderId AND state IN ('pending', 'sending') RETURNING id`,
    )
    .pluck()
    .safeIntegers(true)
    .all({ orderId, status, at, reason: store.textOf(m.statuses.noSuchOrder({ status })) });
}

/** Refused so, and stored since. One that has left was refused by another answer. */
const IS_FOUND = `state = 'refused' AND ${NO_ORDER} AND status_sent IS NULL
  AND EXISTS (SELECT 1 FROM orders o WHERE o.order_id = lower(status_requests.order_id))`;

export function hasFound(store: Store): boolean {
  return store.prepare(`SELECT 1 FROM status_requests WHERE ${IS_FOUND} LIMIT 1`).get() !== undefined;
}

/** The service has the order after all: the requests wait again, unless a later status was sent. Inside a transaction. */
export function reopenFound(store: Store): void {
  store
    .prepare(
      `UPDATE status_requests SET state = 'pending', http_status = NULL, answered_at = NULL, last_error = NULL
       WHERE ${IS_FOUND} AND NOT EXISTS (SELECT 1 FROM status_requests s
         WHERE s.order_id = status_requests.order_id AND s.state = 'sent' AND s.id > status_requests.id)`,
    )
    .run();
}
