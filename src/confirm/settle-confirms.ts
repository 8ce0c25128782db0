/*
 * Confirms about which a person decides, after comparing orders with the site: those that the service refuses, and those
 * that covered more than it had delivered. What is decided is written in one transaction, beside a running daemon; a
 * batch that is served again afterwards is confirmed again, and refused again where the service says so.
 */
import { SERVED_TO_OWN } from "../batches/batch-rows.ts";
import type { Store } from "../database/store.ts";
import { LARGER, type LargerConfirm } from "./confirm-record.ts";

const NEWEST_MAX = 20;

/** Inside the transaction that notes the confirm: orders may be confirmed that never came. */
export function saveLarger(store: Store, larger: LargerConfirm): void {
  const { count = 0, since = larger.at, newest = [] } = LARGER.load(store) ?? {};
  LARGER.save(store, { count: count + 1, since, newest: [...newest, larger].slice(-NEWEST_MAX) });
}

const REFUSED_HERE = `state = 'refused' AND ${SERVED_TO_OWN}`;

/** The confirms about which a person may decide, in words. */
export function listConfirms(store: Store): string[] {
  const refused = store
    .prepare<{ batch: string | null; receivedAt: string }>(
      `SELECT service_batch_id AS batch, received_at AS receivedAt FROM batches INDEXED BY batches_refused
       WHERE ${REFUSED_HERE} ORDER BY id`,
    )
    .all();
  const { newest = [] } = LARGER.load(store) ?? {};
  return [
    ...refused.map(({ batch, receivedAt }) => `refused ${batch ?? ""} ${receivedAt}`),
    ...newest.map(({ batch, at: confirmedAt, came, counted }) => `${counted} > ${came} ${batch ?? ""} ${confirmedAt}`),
  ].map((name) => name.replace("  ", " "));
}

/** Inside a transaction. A settled refusal stays in the row. */
export function settleConfirms(store: Store, at: string): void {
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused SET state = 'confirmed', confirmed_at = ?, order_ids = NULL
       WHERE ${REFUSED_HERE}`,
    )
    .run(at);
  LARGER.delete(store);
}
