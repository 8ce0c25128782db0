/*
 * Stored orders as `remap` reads and rewrites them. A rewrite is fenced by the payload and the revision that were read:
 * what the daemon has stored in between stays. Each call runs inside the caller's transaction; after a crash the next
 * run continues after the last commit. SQL, because every order is read and revisions are incremented.
 */

import { onlyRow } from "../database/only-row.ts";
import { select } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { orders } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { loadLines, NEXT_REVISION, SET_VALUES, saveEvent, saveLines, valuesOf } from "./order-rows.ts";
import { changesText, type MappedOrder, type RemapPlan } from "./remap-order.ts";

const MAPPED = [
  ...(["orderKey", "orderId", "revision", "payloadHash", "payloadSource", "payload"] as const),
  ...(["isCancelled", "isOpen", "removedAt", "number", "status"] as const),
  ...(["serviceCreatedAt", "serviceUpdatedAt", "currency", "total"] as const),
] as const;
type Mapped = NamedRow<typeof orders, (typeof MAPPED)[number]>;

/** The next orders by key. */
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

/** Whether the order is unchanged since it was read. */
export function isUnchanged(store: Store, order: Pick<MappedOrder, "orderKey" | "revision" | "payloadHash">): boolean {
  return (
    store
      .prepare("SELECT 1 FROM orders WHERE order_key = ? AND revision = ? AND payload_hash = ?")
      .get(order.orderKey, order.revision, order.payloadHash) !== undefined
  );
}

/**
 * Replaces columns and lines, not the payload. The order becomes pending for the ERP, because what the ERP reads has
 * changed.
 */
export function applyRemapped(
  store: Store,
  order: MappedOrder,
  plan: RemapPlan & { kind: "changed" },
  at: string,
): void {
  const { values, linesChanged, statusChanged, fieldsChanged } = plan;
  const { orderKey } = order;
  store
    .prepare(
      `UPDATE orders SET ${SET_VALUES}, revision = ${NEXT_REVISION}, erp_revision = ${NEXT_REVISION}, changed_at = @at
       WHERE order_key = @orderKey`,
    )
    .run({ ...valuesOf(plan), at, orderKey });
  if (linesChanged) {
    store.prepare("DELETE FROM order_line_rows WHERE order_key = ?").run(orderKey);
    saveLines(store, orderKey, values.lines);
  }
  const statuses = { oldStatus: order.values.status, newStatus: values.status };
  const changed = { statusChanged, linesChanged, fieldsChanged, changes: changesText(plan.changes) };
  saveEvent(store, orderKey, { kind: "remapped", ...statuses, ...changed }, { source: "remap", at });
}
