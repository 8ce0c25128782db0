/*
 * Stored orders as `remap` reads and rewrites them. A rewrite is fenced by the payload and the revision that were
 * read: what the daemon has stored in between is newer and stays. Each call runs inside the caller's transaction;
 * after a crash the orders of the last commit are remapped and the rest is not, which is where the next run goes on.
 */

import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { LineValues, OrderSource } from "./order-mapping.ts";
import { saveLines } from "./order-rows.ts";
import { changesText, type MappedOrder, type RemapPlan } from "./remap-order.ts";

interface Row {
  orderKey: number;
  orderId: string;
  revision: number;
  payloadHash: Buffer;
  source: OrderSource;
  payload: string;
  isCancelled: number;
  isOpen: number;
  removedAt: string | null;
  number: string | null;
  status: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  currency: string | null;
  total: string | null;
}

const COLUMNS = `order_key AS orderKey, order_id AS orderId, revision, payload_hash AS payloadHash, payload_source AS source,
  payload, is_cancelled AS isCancelled, is_open AS isOpen, removed_at AS removedAt, number, status,
  service_created_at AS createdAt, service_updated_at AS updatedAt, currency, total`;

/** The next orders in the order in which they came. */
export function loadMappedAfter(store: Store, orderKey: number, limit: number): MappedOrder[] {
  const rows = store
    .prepare<Row>(`SELECT ${COLUMNS} FROM orders WHERE order_key > ? ORDER BY order_key LIMIT ?`)
    .all(orderKey, limit);
  return rows.map((row) => mappedOrder(store, row));
}

export function loadMappedOrder(store: Store, orderKey: number): MappedOrder {
  return mappedOrder(
    store,
    onlyRow(store.prepare<Row>(`SELECT ${COLUMNS} FROM orders WHERE order_key = ?`).get(orderKey)),
  );
}

function mappedOrder(store: Store, row: Row): MappedOrder {
  const { number, status, createdAt, updatedAt, currency, total } = row;
  const lines = store
    .prepare<LineValues>(
      "SELECT sku, name, quantity, price, payload FROM order_line_rows WHERE order_key = ? ORDER BY line_no",
    )
    .all(row.orderKey);
  return {
    orderKey: row.orderKey,
    orderId: row.orderId,
    revision: row.revision,
    payloadHash: row.payloadHash,
    source: row.source,
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

/** Replaces columns and lines; the payload stays. The ERP sees the order once more, because what it reads has changed. */
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
         service_updated_at = ?, currency = ?, total = ?, revision = revision + 1, erp_revision = revision + 1,
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
