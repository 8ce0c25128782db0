/*
 * What became of a confirm, in the rows of batches. SQL, because each poll runs it; it names the partial index of the state.
 */

import { type BatchRow, SERVED_HERE } from "../batches/batch-rows.ts";
import { countAsked } from "../database/log/progress-note.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";

/** The account that accepted a confirm, and the time. */
export interface Accepted {
  account: string;
  at: string;
}

/** When the batch was first confirmed; undefined if it is not confirmed. */
export function loadConfirmedAt(store: Store, id: number): string | undefined {
  const row = store
    .prepare<{ at: string | null }>("SELECT confirmed_at AS at FROM batches WHERE id = ? AND state = 'confirmed'")
    .get(id);
  return row?.at ?? undefined;
}

export function markConfirmBegun(store: Store, id: number): void {
  store.prepare("UPDATE batches SET confirm_attempts = confirm_attempts + 1 WHERE id = ?").run(id);
  countAsked(store);
}

/**
 * Also confirms other rows that this confirm covers, of the same account only: the same batch with other orders, and a
 * refused batch whose orders are all confirmed by now. Returns whether the batch's own row changed.
 */
export function markConfirmed(
  store: Store,
  batch: Pick<BatchRow, "id" | "batchId" | "orderIds">,
  { account, at }: Accepted,
): boolean {
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE id = ? AND (state <> 'confirmed' OR last_error IS NOT NULL)`,
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
 * Removes these confirmed orders from refused batches, so that only the others are confirmed later; a refused batch of
 * which none is left becomes confirmed.
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

/**
 * A confirm by order ids was accepted: also confirms other stored batches whose remaining orders it named completely.
 */
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

/**
 * A confirm that names nothing was accepted: it covers every stored or refused batch of the account. Returns how many
 * rows changed.
 */
export function markAllConfirmed(store: Store, { account, at }: Accepted): number {
  return store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE ${SERVED_HERE}
         AND id IN (SELECT id FROM batches WHERE state = 'stored' UNION ALL SELECT id FROM batches WHERE state = 'refused')`,
    )
    .run({ account, at }).changes;
}

/**
 * A refused confirm is retried only now and then, or when the batch is served again. So is one that counted as confirmed
 * ({@link markRefusedConfirmed}). Returns whether the row changed.
 */
export function markConfirmRefused(store: Store, { id, orderIds }: BatchRow, message: Message): boolean {
  const error = String(message);
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'refused', last_error = @error, confirmed_at = NULL, order_ids = coalesce(order_ids, @orderIds)
       WHERE id = @id AND (state <> 'confirmed' OR last_error IS NOT NULL) AND (state <> 'refused' OR last_error IS NOT @error)`,
    )
    .run({ id, orderIds, error });
  if (changes > 0) store.textOf(message);
  return changes > 0;
}

/** The refused batch counts as confirmed. Only such a confirmed batch has a `last_error`: the refusal. */
export function markRefusedConfirmed(store: Store, id: number, at: string): void {
  store
    .prepare(
      "UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL WHERE id = ? AND state = 'refused'",
    )
    .run(at, id);
}

/**
 * The confirm is to be retried. An attempt that did not reach the service, or that it refused, had no effect and is not
 * counted. After any other the outcome is unknown, and the batch becomes `stored` again.
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
