/* Everything that is stored about one order, for `erp-bridge order`: read-only, on any connection, beside a daemon. */

import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { OrderStory, StoryEvent } from "./story.ts";

/** The newest events; an order that changed more often has a history of its own in `order_events`. */
const EVENTS_MAX = 500;

/** Ids of the orders that this id or number names. */
export function findOrders(store: Store, name: string, limit: number): string[] {
  const byId = store.prepare("SELECT order_id AS orderId FROM orders WHERE order_id = ?").all(name.toLowerCase());
  const found =
    byId.length > 0
      ? byId
      : store.prepare("SELECT order_id AS orderId FROM orders WHERE number = ? LIMIT ?").all(name, limit);
  return (found as { orderId: string }[]).map(({ orderId }) => orderId);
}

export function loadOrderStory(store: Store, orderId: string): OrderStory {
  const order = onlyRow(
    store
      .prepare<OrderStory["order"]>(
        `SELECT order_key AS orderKey, order_id AS orderId, number, status, total, currency, revision, erp_revision AS erpRevision,
         is_cancelled AS isCancelled, is_open AS isOpen, received_at AS receivedAt, removed_at AS removedAt
       FROM orders WHERE order_id = ?`,
      )
      .get(orderId),
  );
  const events = store
    .prepare<StoryEvent>(
      `SELECT * FROM (SELECT seq, revision, kind, old_status AS oldStatus, new_status AS newStatus, changes, source, at
       FROM order_event_rows WHERE order_key = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq`,
    )
    .all(order.orderKey, EVENTS_MAX);
  return {
    order,
    events,
    batches: batchesOf(store, events),
    erp: store
      .prepare<NonNullable<OrderStory["erp"]>>(
        `SELECT e.erp_number AS erpNumber, e.seen_revision AS seenRevision, e.state, e.error, e.note
         FROM erp_orders e WHERE e.order_id = ?`,
      )
      .get(orderId),
    waiting: store
      .prepare<NonNullable<OrderStory["waiting"]>>("SELECT blocked, since FROM erp_queue WHERE order_key = ?")
      .get(order.orderKey),
    requests: store
      .prepare(
        `SELECT id, status, requested_at AS requestedAt, state, http_status AS httpStatus, answered_at AS answeredAt,
           last_error AS lastError FROM status_requests WHERE order_id = ? ORDER BY id`,
      )
      .all(orderId) as OrderStory["requests"],
    quarantined: store
      .prepare(
        `SELECT id, kind, reason, state, first_seen_at AS firstSeenAt FROM quarantine
         WHERE kind IN ('order', 'change', 'snapshot', 'payload') AND reference = ? ORDER BY id`,
      )
      .all(orderId) as OrderStory["quarantined"],
    owedSince:
      store.prepare<{ since: string }>("SELECT since FROM owed_reads WHERE order_id = ?").get(orderId)?.since ?? null,
  };
}

/** Batches that were stored in the same moment as an event that came from one; orders and batch share their time. */
function batchesOf(store: Store, events: readonly StoryEvent[]): OrderStory["batches"] {
  const times = [...new Set(events.filter(({ source }) => source === "batch").map(({ at }) => at))];
  const find = store.prepare(
    `SELECT service_batch_id AS batchId, order_count AS orderCount, state, received_at AS receivedAt, confirmed_at AS confirmedAt,
       last_error AS lastError FROM batches WHERE received_at = ? AND state <> 'unread' LIMIT 2`,
  );
  return times.flatMap((at) => {
    const found = find.all(at) as OrderStory["batches"];
    // Two batches of one moment cannot be told apart any more.
    return found.length === 1 ? found : [];
  });
}
