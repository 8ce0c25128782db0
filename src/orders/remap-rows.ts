/*
 * Stored orders as `remap` reads and rewrites them. A rewrite is fenced by the payload and the revision that were
 * read: what the daemon has stored in between is newer and stays. Each call runs inside the caller's transaction;
 * after a crash the orders of the last commit are remapped and the rest is not, which is where the next run goes on. SQL,
 * because every order is read and revisions are counted on.
 */

import { onlyRow } from "../database/only-row.ts";
import { select } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { orders } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { loadLines, NEXT_REVISION, saveLines } from "./order-rows.ts";
import { changesText, type MappedOrder, type RemapPlan } from "./remap-order.ts";

const MAPPED = [
  ...(["orderKey", "orderId", "revision", "payloadHash", "payloadSource", "payload"] as const),
  ...(["isCancelled", "isOpen", "removedAt", "number", "status"] as const),
  ...(["serviceCreatedAt", "serviceUpdatedAt", "currency", "total"] as const),
] as const;
type Mapped = NamedRow<typeof orders, (typeof MAPPED)[number]>;

/** The next orders in the order in which they came. */
export function loadMappedAfter(store: Store, orderKey: number, limit: number): MappedOrder[] {
  const rows = select(store, orders, MAPPED, "WHERE order_key > ? ORDER BY order_key LIMIT ?").all(orderKey, limit);
  return rows.map((row) => mappedOrder(store, row));
}

export function loadMappedOrder(store: Store, orderKey: number): MappedOrder {
  return mappedOrder(store, onlyRow(select(store, orders, MAPPED, "WHERE order_key = ?").get(orderKey)));
}

function mappedOrder(store: Store, row: Mapped): MappedOrder {
  const { number, status, serviceCreatedAt: createdAt, serviceUpdatedAt: updatedAt, currency, total } = row;
  const lines = loadLines(store, row.orderKey);
  return {
    orderKey: row.orderKey,
    orderId: row.orderId,
    revision: row.revision,
    payloadHash: row.payloadHash,
    source: row.payloadSource,
    payload: row.payload,
    isCancelled: row.isCancelled === 1,
    isOpen: row.isOpen === 1,
    isRemoved: row.removedAt !== null,
    values: { number, status, createdAt, updatedAt, currency, total, lines },
  };
}

/** Whether the order is still what was read. */
export function isUnchanged(store: Store, order: Pick<MappedOrder, "orderKey" | "revision" | "payloadHash">): boolean {
  return (
    store
      .prepare("SELECT 1 FROM orders WHERE order_key = ? AND revision = ? AND payload_hash = ?")
      .get(order.orderKey, order.revision, order.payloadHash) !== undefined
  );
}

/** Replaces columns and lines; the payload stays. The ERP gets the order once more, because what it reads has changed. */
export function applyRemapped(
  store: Store,
  order: MappedOrder,
  plan: RemapPlan & { kind: "changed" },
  at: string,
): void {
  const { values } = plan;
  store
    .prepare(
      `UPDATE orders SET number = ?, status = ?, is_cancelled = ?, is_open = ?, service_created_at = ?,
         service_updated_at = ?, currency = ?, total = ?, revision = ${NEXT_REVISION}, erp_revision = ${NEXT_REVISION},
         changed_at = ?
       WHERE order_key = ?`,
    )
    .run(
      values.number,
      values.status,
      Number(plan.isCancelled),
      Number(plan.isOpen),
      values.createdAt,
      values.updatedAt,
      values.currency,
      values.total,
      at,
      order.orderKey,
    );
  if (plan.linesChanged) {
    store.prepare("DELETE FROM order_line_rows WHERE order_key = ?").run(order.orderKey);
    saveLines(store, order.orderKey, values.lines);
  }
  store
    .prepare(
      `INSERT INTO order_event_rows (order_key, revision, kind, status_changed, lines_changed, fields_changed,
         old_status, new_status, changes, source, at)
       SELECT order_key, revision, 'remapped', ?, ?, ?, ?, ?, ?, 'remap', ? FROM orders WHERE order_key = ?`,
    )
    .run(
      Number(plan.statusChanged),
      Number(plan.linesChanged),
      Number(plan.fieldsChanged),
      order.values.status,
      values.status,
      changesText(plan.changes),
      at,
      order.orderKey,
    );
}
