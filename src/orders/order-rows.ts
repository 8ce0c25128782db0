/*
 * Orders, their lines and events. Every function runs inside the caller's write transaction, so that an order, its
 * lines, its event and the position that covers them become durable together. After a crash before the commit the
 * record is served again. SQL, because it runs for every record.
 */

import { saveMeta } from "../database/meta.ts";
import { onlyRow, onlyValue } from "../database/only-row.ts";
import type { NamedRow, Row } from "../database/row.ts";
import type { orders } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { LineValues, OrderSource, OrderValues } from "../records/order-mapping.ts";
import type { EventPlan, StoredOrder } from "./plan-order.ts";

/** Columns that show that a record is old, without the payload. `serviceId`: the id in the service's case. */
export type OrderMark = NamedRow<
  typeof orders,
  | ("orderKey" | "payloadSource" | "batchHash" | "batchContentHash" | "updateHash" | "updateContentHash")
  | ("snapshotHash" | "payloadHash" | "removedAt")
> & { serviceId: string; createdAt: string | null; updatedAt: string | null };

export interface NewOrder {
  orderId: string;
  serviceId: string;
  source: OrderSource;
  hash: Buffer;
  text: string;
  values: OrderValues;
  isCancelled: boolean;
  isOpen: boolean;
  at: string;
}

export type ChangedOrder = Omit<NewOrder, "orderId" | "serviceId"> & {
  orderKey: number;
  /** Hash without key order and white space; null where no source has served the text. */
  contentHash: Buffer | null;
  /** null: the payload is replaced without a new revision. */
  event: EventPlan | null;
  eventSource: OrderSource | "own";
};

/** Columns of a source's last record. A snapshot has none: it is compared with the payload itself. */
const HASH_COLUMNS: Record<OrderSource, readonly string[]> = {
  batch: ["batch_hash", "batch_content_hash"],
  update: ["update_hash", "update_content_hash"],
  snapshot: ["snapshot_hash"],
};

export function loadOrderMark(store: Store, orderId: string): OrderMark | undefined {
  return store
    .prepare<OrderMark>(
      `SELECT order_key AS orderKey, coalesce(service_id, order_id) AS serviceId, payload_source AS payloadSource, batch_hash AS batchHash,
         batch_content_hash AS batchContentHash, update_hash AS updateHash, update_content_hash AS updateContentHash,
         snapshot_hash AS snapshotHash, payload_hash AS payloadHash, service_created_at AS createdAt, service_updated_at AS updatedAt,
         removed_at AS removedAt
       FROM orders WHERE order_id = ?`,
    )
    .get(orderId);
}

export function loadOrderNumber(store: Store, orderId: string): string | null {
  const row = store.prepare<{ number: string | null }>("SELECT number FROM orders WHERE order_id = ?").get(orderId);
  return row?.number ?? null;
}

/** The stored status, without the payload. */
export function loadOrderStatus(
  store: Store,
  orderId: string,
): { status: string | null; isCancelled: boolean; isRemoved: boolean } | undefined {
  const row = store
    .prepare<Pick<StoredRow, "status" | "is_cancelled" | "removed_at">>(
      "SELECT status, is_cancelled, removed_at FROM orders WHERE order_id = ?",
    )
    .get(orderId);
  if (row === undefined) return undefined;
  return { status: row.status, isCancelled: row.is_cancelled === 1, isRemoved: row.removed_at !== null };
}

/** The service now writes the order's id in this case, or answers for it. */
export function saveServiceId(store: Store, orderKey: number, serviceId: string): void {
  store
    .prepare(
      "UPDATE orders SET service_id = nullif(?, order_id) WHERE order_key = ? AND service_id IS NOT nullif(?, order_id)",
    )
    .run(serviceId, orderKey, serviceId);
}

type StoredRow = Pick<
  Row<typeof orders>,
  | ("number" | "status" | "is_cancelled" | "service_created_at" | "service_updated_at")
  | ("currency" | "total" | "removed_at" | "payload")
>;

export function loadStoredOrder(store: Store, orderKey: number): StoredOrder {
  const row = onlyRow(
    store
      .prepare<StoredRow>(
        `SELECT number, status, is_cancelled, service_created_at, service_updated_at, currency, total, removed_at, payload
         FROM orders WHERE order_key = ?`,
      )
      .get(orderKey),
  );
  return {
    status: row.status,
    isCancelled: row.is_cancelled === 1,
    updatedAt: row.service_updated_at,
    removed: row.removed_at !== null,
    payload: row.payload,
    values: {
      number: row.number,
      status: row.status,
      createdAt: row.service_created_at,
      currency: row.currency,
      total: row.total,
    },
    lines: loadLines(store, orderKey),
  };
}

export function loadLines(store: Store, orderKey: number): LineValues[] {
  return store
    .prepare<LineValues>(
      "SELECT sku, name, quantity, price, payload FROM order_line_rows WHERE order_key = ? ORDER BY line_no",
    )
    .all(orderKey);
}

export function saveNewOrder(store: Store, order: NewOrder): number {
  const { values } = order;
  const orderKey = Number(
    store
      .prepare(
        `INSERT INTO orders (order_id, service_id, number, status, is_cancelled, is_open, service_created_at,
           service_updated_at, currency, total, received_at, changed_at, payload_source, payload_hash, payload,
           batch_hash, update_hash, snapshot_hash, revision, erp_revision)
         VALUES (@orderId, nullif(@serviceId, @orderId), @number, @status, @isCancelled, @isOpen, @createdAt,
           @updatedAt, @currency, @total, @at, @at, @source, @hash, @text, iif(@source = 'batch', @hash, NULL),
           iif(@source = 'update', @hash, NULL), iif(@source = 'snapshot', @hash, NULL), ${FLOOR} + 1, ${FLOOR} + 1)`,
      )
      .run({ ...contentOf(order), orderId: order.orderId, serviceId: order.serviceId }).lastInsertRowid,
  );
  saveLines(store, orderKey, values.lines);
  store
    .prepare(
      `INSERT INTO order_event_rows (order_key, revision, kind, status_changed, lines_changed, fields_changed,
         new_status, source, at)
       SELECT order_key, revision, 'created', 1, 1, 1, status, ?, ? FROM orders WHERE order_key = ?`,
    )
    .run(order.source, order.at, orderKey);
  return orderKey;
}

/**
 * Upper bound of revisions that may have been assigned and lost. After a restore each order's next revision is above
 * it, so that a number that the ERP has never stands for two contents. Every revision makes an event, so the number of
 * events is such a bound.
 */
const FLOOR = "coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'revision_floor'), 0)";
/** Expression for the order's next revision, in an UPDATE of `orders`. */
export const NEXT_REVISION = `max(revision, ${FLOOR}) + 1`;

/** To be called inside a write transaction, after the numbering of events was raised. */
export function raiseRevisions(store: Store): void {
  const given = onlyValue<number>(
    store,
    `SELECT max(coalesce((SELECT max(revision) FROM orders), 0), ${FLOOR},
       coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'order_event_rows'), 0))`,
  );
  saveMeta(store, "revision_floor", String(given));
}

/** For an UPDATE of `orders` with the parameters of {@link valuesOf}. */
export const SET_VALUES = `number = @number, status = @status, is_cancelled = @isCancelled, is_open = @isOpen,
  service_created_at = @createdAt, service_updated_at = @updatedAt, currency = @currency, total = @total`;

export function valuesOf({ values, isCancelled, isOpen }: Pick<NewOrder, "values" | "isCancelled" | "isOpen">) {
  const { lines: _, ...columns } = values;
  return { ...columns, isCancelled: Number(isCancelled), isOpen: Number(isOpen) };
}

function contentOf(order: Pick<NewOrder, "values" | "isCancelled" | "isOpen" | "source" | "hash" | "text" | "at">) {
  const { source, hash, text, at } = order;
  return { ...valuesOf(order), source, hash, text, at };
}

/** Replaces the whole content of an order, including all its lines. */
export function applyOrderChange(store: Store, order: ChangedOrder): void {
  const { values, event } = order;
  const raises = event === null ? 0 : 1;
  const raisesErp = event === null || order.eventSource === "own" ? 0 : 1;
  store
    .prepare(
      `UPDATE orders SET ${SET_VALUES}, payload_source = @source, payload_hash = @hash, payload = @text,
         revision = CASE WHEN @raises THEN ${NEXT_REVISION} ELSE revision END,
         erp_revision = CASE WHEN @raisesErp THEN ${NEXT_REVISION} ELSE erp_revision END,
         changed_at = CASE WHEN @raises THEN @at ELSE changed_at END, removed_at = NULL
       WHERE order_key = @orderKey`,
    )
    .run({ ...contentOf(order), raises, raisesErp, orderKey: order.orderKey });
  const { orderKey, source, hash, contentHash } = order;
  if (contentHash !== null) saveSourceHash(store, { orderKey, source, hash, contentHash });
  store.prepare("DELETE FROM order_line_rows WHERE order_key = ?").run(order.orderKey);
  saveLines(store, order.orderKey, values.lines);
  if (event !== null) saveEvent(store, order.orderKey, event, { source: order.eventSource, at: order.at });
}

/** Saves the hash of a source's last record, so that it is recognised without parsing. */
export function saveSourceHash(
  store: Store,
  mark: { orderKey: number; source: OrderSource; hash: Buffer; contentHash: Buffer | null },
): void {
  const columns = HASH_COLUMNS[mark.source].map((column) => `${column} = ?`).join(", ");
  const hashes = mark.source === "snapshot" ? [mark.hash] : [mark.hash, mark.contentHash];
  store.prepare(`UPDATE orders SET ${columns} WHERE order_key = ?`).run(...hashes, mark.orderKey);
}

/**
 * The service no longer has the order: marks it as removed and closed; it becomes pending for the ERP unless it was
 * closed. Returns whether the mark is new.
 */
export function markOrderRemoved(store: Store, orderKey: number, at: string): boolean {
  const { changes } = store
    .prepare(
      `UPDATE orders SET removed_at = ?, is_open = 0, revision = ${NEXT_REVISION},
         erp_revision = CASE WHEN is_open THEN ${NEXT_REVISION} ELSE erp_revision END, changed_at = ?
       WHERE order_key = ? AND removed_at IS NULL`,
    )
    .run(at, at, orderKey);
  if (changes === 0) return false;
  store
    .prepare(
      `INSERT INTO order_event_rows (order_key, revision, kind, old_status, new_status, source, at)
       SELECT order_key, revision, 'removed', status, status, 'snapshot', ? FROM orders WHERE order_key = ?`,
    )
    .run(at, orderKey);
  return true;
}

/** Columns that show whether the order changed in between; undefined where it is not stored. */
export interface OrderFence {
  revision: number;
  hashes: string;
}

export function loadOrderFence(store: Store, orderId: string): OrderFence | undefined {
  return store
    .prepare<OrderFence>(
      `SELECT revision, hex(payload_hash) || '.' || coalesce(hex(batch_hash), '') || '.' || coalesce(hex(update_hash), '')
         || '.' || coalesce(hex(snapshot_hash), '') || '.' || coalesce(removed_at, '') AS hashes
       FROM orders WHERE order_id = ?`,
    )
    .get(orderId);
}

export function isSameFence(a: OrderFence | undefined, b: OrderFence | undefined): boolean {
  return a?.revision === b?.revision && a?.hashes === b?.hashes;
}

/** Change timestamps of the newest orders, as the service writes them. */
export function loadNewestTimestamps(store: Store, limit: number): (string | null)[] {
  return store
    .prepare<string | null>(
      "SELECT coalesce(service_updated_at, service_created_at) FROM orders ORDER BY order_key DESC LIMIT ?",
    )
    .pluck()
    .all(limit) as (string | null)[];
}

/** Removes the oldest events, at most `limit`. Their numbers are not assigned again. */
export function deleteEventsUpTo(store: Store, seq: number, limit: number): number {
  return store
    .prepare(
      "DELETE FROM order_event_rows WHERE seq IN (SELECT seq FROM order_event_rows WHERE seq <= ? ORDER BY seq LIMIT ?)",
    )
    .run(seq, limit).changes;
}

export function saveLines(store: Store, orderKey: number, lines: readonly LineValues[]): void {
  const insert = store.prepare(
    `INSERT INTO order_line_rows (order_key, line_no, sku, name, quantity, price, payload) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const [index, line] of lines.entries()) {
    insert.run(orderKey, index + 1, line.sku, line.name, line.quantity, line.price, line.payload);
  }
}

export function saveEvent(
  store: Store,
  orderKey: number,
  event: Omit<EventPlan, "kind"> & { kind: EventPlan["kind"] | "remapped" },
  { source, at }: { source: OrderSource | "own" | "remap"; at: string },
): void {
  const { kind, oldStatus, newStatus, changes } = event;
  const changed = [event.statusChanged, event.linesChanged, event.fieldsChanged].map(Number);
  store
    .prepare(
      `INSERT INTO order_event_rows (order_key, revision, kind, status_changed, lines_changed, fields_changed,
         old_status, new_status, changes, source, at)
       SELECT order_key, revision, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM orders WHERE order_key = ?`,
    )
    .run(kind, ...changed, oldStatus, newStatus, changes, source, at, orderKey);
}

/** Key of the newest order; 0 where there is none. */
export function loadNewestKey(store: Store): number {
  return onlyValue(store, "SELECT coalesce(max(order_key), 0) FROM orders");
}

/** Creation timestamps of the orders with larger keys, as the service writes them. */
export function loadCreatedAfter(store: Store, orderKey: number): (string | null)[] {
  return store
    .prepare<{ at: string | null }>("SELECT service_created_at AS at FROM orders WHERE order_key > ?")
    .all(orderKey)
    .map(({ at }) => at);
}
