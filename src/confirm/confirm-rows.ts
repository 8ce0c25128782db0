/*
 * What is known of the confirms of batches. After a crash, `stored` batches say which confirms are still to be sent, and the attempts
 * of each whether one may have been accepted. SQL, because each poll runs it, and names the index of the few batches in that state.
 */

import { BATCH_COLUMNS, type BatchRow, SERVED_HERE } from "../batches/batch-rows.ts";
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import type { AnswerForm } from "../service/known-forms.ts";

/** What was refused may have been refused by a service that was out of order: it is tried again so often. Later a person decides. */
export const REFUSED_TRIES_MAX = 48;
/** With so many of the newest batches what is served is compared: it must not keep other work waiting. */
const COMPARED_MAX = 500;

/** What may be confirmed now. */
export interface DueOptions {
  account: string;
  limit: number;
  /** Batches up to this one that have a name wait, except for these names (JSON array). */
  held?: { upTo: number; except: string } | undefined;
}

const IS_DUE = `NOT (id <= @upTo AND service_batch_id IS NOT NULL
  AND service_batch_id NOT IN (SELECT value FROM json_each(@except)))`;

function dueParameters({ account, limit, held = { upTo: 0, except: "[]" } }: DueOptions) {
  return { account, limit, ...held };
}

/** Stored batches that are to be confirmed to this account, least tried first, so that one that always fails never keeps the others waiting. */
export function loadUnconfirmed(store: Store, options: DueOptions): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_stored
       WHERE state = 'stored' AND ${SERVED_HERE} AND ${IS_DUE}
       ORDER BY confirm_attempts, id LIMIT @limit`,
    )
    .all(dueParameters(options));
}

/** Refused confirms that are still tried now and then, least tried first. */
export function loadRefusedConfirms(store: Store, options: DueOptions): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_refused
       WHERE state = 'refused' AND confirm_attempts < ${REFUSED_TRIES_MAX} AND order_ids IS NOT NULL AND ${SERVED_HERE}
         AND ${IS_DUE}
       ORDER BY confirm_attempts, id LIMIT @limit`,
    )
    .all(dueParameters(options));
}

/** Whether one of these orders (JSON array) came in a batch up to that one that is still to be confirmed, under another name. */
export function isServedAnew(store: Store, { upTo, batchId, orderIds }: Anew): boolean {
  const dueIn = (state: string) => `SELECT * FROM (SELECT id, service_batch_id, order_ids
    FROM batches INDEXED BY batches_${state} WHERE state = '${state}' ORDER BY id DESC LIMIT ${COMPARED_MAX})`;
  const sql = `SELECT EXISTS (SELECT 1 FROM (${dueIn("stored")} UNION ALL ${dueIn("refused")}) due, json_each(due.order_ids) mine
    WHERE due.id <= @upTo AND due.service_batch_id IS NOT NULL AND due.service_batch_id IS NOT @batchId
      AND mine.value IN (SELECT value FROM json_each(@orderIds)))`;
  return onlyValue<number>(store, sql, { upTo, batchId, orderIds: orderIds ?? "[]" }) === 1;
}

type Anew = Pick<BatchRow, "batchId" | "orderIds"> & { upTo: number };

/** Whether the order came in a batch whose confirm is still sent: before that the service may refuse whatever is asked of the order. */
export function isConfirmOwed(store: Store, { orderId, serviceId }: { orderId: string; serviceId: string }): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM (
      SELECT order_ids FROM batches INDEXED BY batches_stored WHERE state = 'stored'
      UNION ALL SELECT order_ids FROM batches INDEXED BY batches_refused
        WHERE state = 'refused' AND confirm_attempts < ${REFUSED_TRIES_MAX}
    ) owed, json_each(owed.order_ids) mine WHERE lower(mine.value) IN (?, lower(?)))`;
  return onlyValue<number>(store, sql, orderId, serviceId) === 1;
}

export function markConfirmBegun(store: Store, id: number): void {
  store.prepare("UPDATE batches SET confirm_attempts = confirm_attempts + 1 WHERE id = ?").run(id);
}

/** The confirm of the batch's other ids was accepted. An attempt at these begins with this commit (`begun`), or later. */
export function saveUnconfirmedIds(store: Store, id: number, { rest, begun }: { rest: string; begun: boolean }): void {
  store
    .prepare(
      `UPDATE batches SET order_ids = ?, confirm_attempts = CASE state WHEN 'stored' THEN ? ELSE confirm_attempts END
       WHERE id = ? AND state IN ('stored', 'refused')`,
    )
    .run(rest, begun ? 1 : 0, id);
}

/** The account that accepted a confirm, and when. */
interface Accepted {
  account: string;
  at: string;
}

/**
 * Returns whether the row changed. Other rows that this confirm covers are confirmed with it: the same batch in another
 * composition, and a refused one of which every order has come again and is confirmed. None of another account is.
 */
export function markConfirmed(
  store: Store,
  batch: Pick<BatchRow, "id" | "batchId" | "orderIds">,
  { account, at }: Accepted,
): boolean {
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE id = ? AND state <> 'confirmed'`,
    )
    .run(at, batch.id);
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'refused' AND ${SERVED_HERE} AND service_batch_id = @batchId`,
    )
    .run({ account, at, batchId: batch.batchId });
  saveCoveredIds(store, batch.orderIds ?? "[]", { account, at });
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_stored
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'stored' AND service_batch_id = @batchId AND ${SERVED_HERE}`,
    )
    .run({ account, at, batchId: batch.batchId });
  return changes > 0;
}

/**
 * These orders are confirmed: a refused batch of which nothing else is left is confirmed too; one that holds others as well is owed for the
 * others alone.
 */
export function saveCoveredIds(store: Store, orderIds: string, { account, at }: Accepted): void {
  const isCovered =
    "length(mine.value) IS 36 AND mine.value IN (SELECT value FROM json_each(@orderIds) WHERE value IS NOT NULL)";
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'refused' AND ${SERVED_HERE} AND order_ids <> '[]'
         AND NOT EXISTS (SELECT 1 FROM json_each(order_ids) mine WHERE NOT (${isCovered}))`,
    )
    .run({ account, at, orderIds });
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused
       SET order_ids = (SELECT json_group_array(mine.value) FROM json_each(order_ids) mine WHERE NOT (${isCovered}))
       WHERE state = 'refused' AND ${SERVED_HERE} AND EXISTS (SELECT 1 FROM json_each(order_ids) mine WHERE ${isCovered})`,
    )
    .run({ account, orderIds });
}

/** A confirm that names orders was accepted: other stored batches, of which it has named every order that is left, are confirmed too. */
export function markCoveredConfirmed(store: Store, orderIds: string, { account, at }: Accepted): void {
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_stored
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'stored' AND ${SERVED_HERE} AND order_ids <> '[]'
         AND NOT EXISTS (SELECT 1 FROM json_each(order_ids) mine WHERE length(mine.value) IS NOT 36
           OR mine.value NOT IN (SELECT value FROM json_each(@orderIds) WHERE value IS NOT NULL))`,
    )
    .run({ account, at, orderIds });
}

/** A confirm that names nothing was accepted: it covered every batch of the account that was stored up to now. How many were not before. */
export function markAllConfirmed(store: Store, { account, at }: Accepted): number {
  return store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE ${SERVED_HERE}
         AND id IN (SELECT id FROM batches WHERE state = 'stored' UNION ALL SELECT id FROM batches WHERE state = 'refused')`,
    )
    .run({ account, at }).changes;
}

/** A refusal is final until the batch is served again. Returns whether the row changed. */
export function markConfirmRefused(store: Store, id: number, message: Message): boolean {
  const error = String(message);
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'refused', last_error = ?
       WHERE id = ? AND state <> 'confirmed' AND (state <> 'refused' OR last_error IS NOT ?)`,
    )
    .run(error, id, error);
  if (changes > 0) store.textOf(message);
  return changes > 0;
}

/**
 * To be tried again. An attempt that never reached the service, or was refused by it, does not count: nothing can have come
 * of it. The outcome of any other is unknown, also for a batch that was refused before.
 */
export function markConfirmFailed(store: Store, id: number, failure: { error: Message; reached: boolean }): void {
  store
    .prepare(
      `UPDATE batches SET last_error = @error, confirm_attempts = max(0, confirm_attempts - @left),
         state = CASE WHEN @left = 0 THEN 'stored' ELSE state END
       WHERE id = @id AND state IN ('stored', 'refused')`,
    )
    .run({ error: store.textOf(failure.error), left: failure.reached ? 0 : 1, id });
}

/** The batch that no confirm can name and that came last, and how often the service has served it. */
export interface ServedUnnamed {
  batch: number;
  times: number;
}

/** What is kept of the times at which confirms are tried again. */
export interface ConfirmTimes {
  /** `refusedUntil`: what the service said keeps its confirm from leaving before. */
  waits: { id: number; tries: number; dueAt: string; refusedUntil?: string }[];
  /** Refused after an attempt of unknown outcome, or answered in another way than usual: confirmed once the service has not served it for long. */
  doubts: { id: number; since: string; polls: number; form?: AnswerForm | undefined; count?: string | undefined }[];
  refused: number[];
  /** A confirm takes no more ids, until then. */
  idsMax?: { size: number; until: string };
  refusedAgainAt: string;
}

export function loadConfirmTimes(store: Store): ConfirmTimes | undefined {
  return loadMetaJson<ConfirmTimes>(store, "confirms");
}

export function saveConfirmTimes(store: Store, times: ConfirmTimes): void {
  saveMetaJson(store, "confirms", times);
}
