/*
 * Confirms still to be sent. After a crash, batches in state `stored` are these, and `confirm_attempts` says whether an
 * earlier confirm may have been accepted. SQL, because each poll runs it; it names the partial index of the state.
 */

import { BATCH_COLUMNS, type BatchRow, SERVED_HERE } from "../batches/batch-rows.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";

/**
 * The refusal may have been a fault of the service, so it is retried this often; then a person decides, unless the batch
 * only repeats confirmed orders.
 */
export const REFUSED_TRIES_MAX = 48;

/** Limit of confirms per pass. */
export const CONFIRMS_PER_PASS = 200;
/** Only so many of the newest batches are compared with what is served, to bound the time of the statement. */
const COMPARED_MAX = 500;

/** Which batches may be confirmed now. */
export interface DueOptions {
  account: string;
  limit: number;
  /** Named batches with ids up to `upTo` wait, except those named in the JSON array `except`. */
  held?: { upTo: number; except: string } | undefined;
}

const IS_DUE = `NOT (id <= @upTo AND service_batch_id IS NOT NULL
  AND service_batch_id NOT IN (SELECT value FROM json_each(@except)))`;

function dueParameters({ account, limit, held = { upTo: 0, except: "[]" } }: DueOptions) {
  return { account, limit, ...held };
}

/**
 * Stored batches to confirm to this account, least tried first, so that one that always fails does not block the
 * others.
 */
export function loadUnconfirmed(store: Store, options: DueOptions): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_stored
       WHERE state = 'stored' AND ${SERVED_HERE} AND ${IS_DUE}
       ORDER BY confirm_attempts, id LIMIT @limit`,
    )
    .all(dueParameters(options));
}

/** Refused confirms, least tried first. */
export function loadRefusedConfirms(store: Store, options: DueOptions): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_refused
       WHERE state = 'refused' AND order_ids IS NOT NULL AND ${SERVED_HERE} AND ${IS_DUE}
       ORDER BY confirm_attempts, id LIMIT @limit`,
    )
    .all(dueParameters(options));
}

/** Other unconfirmed rows of the batch: as it was served before, with other orders under the same name. */
export function loadOthersOf(
  store: Store,
  { id, batchId }: Pick<BatchRow, "id" | "batchId">,
  account: string,
): BatchRow[] {
  const inState = (state: string) => `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_${state}
    WHERE state = '${state}' AND service_batch_id = @batchId AND id <> @id AND ${SERVED_HERE}`;
  return store.prepare<BatchRow>(`${inState("stored")} UNION ALL ${inState("refused")}`).all({ id, batchId, account });
}

/** Whether an unconfirmed batch up to `upTo` with another name holds one of these orders (JSON array). */
export function isServedAnew(store: Store, { upTo, batchId, orderIds }: Anew): boolean {
  const dueIn = (state: string) => `SELECT * FROM (SELECT id, service_batch_id, order_ids
    FROM batches INDEXED BY batches_${state} WHERE state = '${state}' ORDER BY id DESC LIMIT ${COMPARED_MAX})`;
  const sql = `SELECT EXISTS (SELECT 1 FROM (${dueIn("stored")} UNION ALL ${dueIn("refused")}) due, json_each(due.order_ids) mine
    WHERE due.id <= @upTo AND due.service_batch_id IS NOT NULL AND due.service_batch_id IS NOT @batchId
      AND mine.value IN (SELECT value FROM json_each(@orderIds)))`;
  return onlyValue<number>(store, sql, { upTo, batchId, orderIds: orderIds ?? "[]" }) === 1;
}

type Anew = Pick<BatchRow, "batchId" | "orderIds"> & { upTo: number };

/**
 * Whether the confirm of the order's batch is still to be sent: until then the service may refuse other requests for
 * the order.
 */
export function isConfirmPending(
  store: Store,
  { orderId, serviceId }: { orderId: string; serviceId: string },
): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM (
      SELECT order_ids FROM batches INDEXED BY batches_stored WHERE state = 'stored'
      UNION ALL SELECT order_ids FROM batches INDEXED BY batches_refused
        WHERE state = 'refused' AND confirm_attempts < ${REFUSED_TRIES_MAX}
    ) pending, json_each(pending.order_ids) mine WHERE lower(mine.value) IN (?, lower(?)))`;
  return onlyValue<number>(store, sql, orderId, serviceId) === 1;
}
