/*
 * Orders that other ones have replaced under their ids: what the ERP decided on an earlier revision does not concern the
 * present order.
 */
import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

/** The newest: an ERP that knows the former order still asks for it within days. */
const KEPT_MAX = 1_000;

/** The first revision of the present order, by the id. */
const REPLACED = new MetaValue<Record<string, number>>("replaced_orders", {});

/** To be called before the new order is stored, inside the transaction. */
export function saveReplaced(store: Store, orderId: string): void {
  const sql = "SELECT revision FROM orders WHERE order_id = ?";
  const revision = (store.prepare<{ revision: number }>(sql).get(orderId)?.revision ?? 0) + 1;
  const { [orderId]: _, ...others } = REPLACED.load(store);
  const kept = Object.entries(others).slice(1 - KEPT_MAX);
  REPLACED.save(store, Object.fromEntries([...kept, [orderId, revision]]));
}

/** Whether this revision was of another order. */
export function isReplacedSince(store: Store, orderId: string, revision: number): boolean {
  const first = REPLACED.load(store)[orderId];
  return first !== undefined && revision < first;
}
