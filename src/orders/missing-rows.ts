/*
 * Orders that the service answered it does not have, while it answered for another order. The row has the first such
 * time and is deleted when the service sends anything of the order. After a crash the order is requested again, which
 * keeps the time. SQL where orders are compared with each other.
 */
import { deleteRows, findRow, upsertRow } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { missingOrders } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

/** `since`: this machine's time, for display. `machineMs`: its monotonic clock, for the decision. */
export type MissingOrder = NamedRow<typeof missingOrders, "since" | "machineMs">;

export function loadMissingOrder(store: Store, orderId: string): MissingOrder | undefined {
  return findRow(store, missingOrders, { orderId });
}

export function saveMissingOrder(store: Store, orderId: string, { since, machineMs }: MissingOrder): void {
  upsertRow(store, missingOrders, { orderId, since, machineMs }, { key: ["orderId"], set: [] });
}

/**
 * For an order among the newest: its creation time, and that of the newest earlier order that the service has.
 * Undefined where the service has a later order that was received before this one was missing.
 */
export function loadKeptBefore(
  store: Store,
  { orderId, missingSince }: { orderId: string; missingSince: string },
): { createdAt: string | null; keptAt: string | null } | undefined {
  const isThere = "removed_at IS NULL AND NOT EXISTS (SELECT 1 FROM missing_orders m WHERE m.order_id = n.order_id)";
  return store
    .prepare<{ createdAt: string | null; keptAt: string | null }>(
      `SELECT o.service_created_at AS createdAt, (SELECT n.service_created_at FROM orders n
         WHERE n.order_key < o.order_key AND ${isThere} ORDER BY n.order_key DESC LIMIT 1) AS keptAt
       FROM orders o WHERE o.order_id = @orderId AND NOT EXISTS (
         SELECT 1 FROM orders n WHERE n.order_key > o.order_key AND n.received_at < @missingSince AND ${isThere})`,
    )
    .get({ orderId, missingSince });
}

/** The service has sent the order, or it is settled. */
export function deleteMissingOrder(store: Store, orderId: string): void {
  // Called for every record; the table is nearly always empty.
  if (store.prepare("SELECT 1 FROM missing_orders LIMIT 1").get() === undefined) return;
  deleteRows(store, missingOrders, { orderId });
}
