/* Reads everything stored about one order, for `erp-bridge order`. Read-only; also beside a running daemon. */

import { onlyRow } from "../database/only-row.ts";
import { findRow, select } from "../database/queries.ts";
import {
  batches,
  erpOrders,
  erpQueue,
  orderEventRows,
  orders,
  quarantine,
  queuedReads,
  statusRequests,
} from "../database/schema.ts";
import type { Store } from "../database/store.ts";

/** The newest events; `order_events` has the rest. */
const EVENTS_MAX = 500;

/** Ids of the orders with this id or number. */
export function findOrders(store: Store, name: string, limit: number): string[] {
  const byId = select(store, orders, ["orderId"], "WHERE order_id = ?").all(name.toLowerCase());
  const found =
    byId.length > 0 ? byId : select(store, orders, ["orderId"], "WHERE number = ? LIMIT ?").all(name, limit);
  return found.map(({ orderId }) => orderId);
}

const ORDER = [
  ...(["orderKey", "orderId", "number", "status", "total", "currency"] as const),
  ...(["revision", "erpRevision", "isCancelled", "isOpen", "receivedAt", "removedAt"] as const),
] as const;
/** `changes` is JSON: `{place: {"was": …, "is": …}}`. */
const EVENT = ["seq", "revision", "kind", "oldStatus", "newStatus", "changes", "source", "at"] as const;
const BATCH = ["orderCount", "state", "receivedAt", "confirmedAt", "lastError", "serviceBatchId"] as const;
const ERP = ["erpNumber", "seenRevision", "state", "error", "note"] as const;
const REQUEST = ["id", "status", "requestedAt", "state", "httpStatus", "answeredAt", "lastError"] as const;
const HELD = ["id", "kind", "reason", "state", "firstSeenAt"] as const;
const NAMES_ORDER = "WHERE kind IN ('order', 'change', 'snapshot', 'payload') AND reference = ? ORDER BY id";

export type OrderStory = ReturnType<typeof loadOrderStory>;
export type StoryEvent = OrderStory["events"][number];

/** Everything that is stored about one order. */
export function loadOrderStory(store: Store, orderId: string) {
  const order = onlyRow(select(store, orders, ORDER, "WHERE order_id = ?").get(orderId));
  const { orderKey } = order;
  const events = select(store, orderEventRows, EVENT, "WHERE order_key = ? ORDER BY seq DESC LIMIT ?")
    .all(orderKey, EVENTS_MAX)
    .reverse();
  const times = new Set(events.filter(({ source }) => source === "batch").map(({ at }) => at));
  return {
    order,
    events,
    batches: [...times].flatMap((at) => batchOf(store, at)),
    erp: select(store, erpOrders, ERP, "WHERE order_id = ?").get(orderId),
    waiting: select(store, erpQueue, ["blocked", "since"], "WHERE order_key = ?").get(orderKey),
    requests: select(store, statusRequests, REQUEST, "WHERE order_id = ? ORDER BY id")
      .all(orderId)
      .map((row) => ({ ...row, lastError: store.messageOf(row.lastError) })),
    quarantined: select(store, quarantine, HELD, NAMES_ORDER)
      .all(orderId)
      .map((row) => ({ ...row, reason: store.messageOf(row.reason) })),
    queuedSince: findRow(store, queuedReads, { orderId })?.since ?? null,
  };
}

/** The batch that an event came from: both have the time of their transaction. */
function batchOf(store: Store, at: string) {
  const found = select(store, batches, BATCH, "WHERE received_at = ? AND state <> 'unread' LIMIT 2").all(at);
  // Two batches of the same time cannot be distinguished.
  if (found.length > 1) return [];
  /** `batchId`: a JSON literal. */
  return found.map(({ serviceBatchId: batchId, lastError, ...batch }) => ({
    batchId,
    ...batch,
    lastError: store.messageOf(lastError),
  }));
}
