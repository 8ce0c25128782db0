/*
 * The stored order of a request: its status, and its changes since the request was made or sent. Reads only. SQL,
 * because the ERP writes requests: ids and numbers of any size, and values too large to read.
 */

import { onlyValue } from "../database/only-row.ts";
import { isSameName } from "../database/same-name.ts";
import type { Store } from "../database/store.ts";
import type { ColumnValue } from "../feeds/feed-record.ts";
import { isReplacedSince } from "../orders/replaced-orders.ts";
import type { OrderMoves } from "./judge-status.ts";
import { findCancellation, type RequestedOrder, type StatusEvent, type WantedStatus } from "./plan-status.ts";
import { STAMP_CHARACTERS, unlessTooLarge } from "./status-rows.ts";

/** The order of a request, whose id may be in any case. */
export function loadRequestedOrder(store: Store, orderId: string): RequestedOrder | undefined {
  const row = store
    .prepare<Omit<RequestedOrder, "isRemoved" | "isOther" | "lastSent"> & { removedAt: string | null; isOther: 0 | 1 }>(
      `SELECT order_id AS orderId, coalesce(service_id, order_id) AS serviceId, status, removed_at AS removedAt,
         revision, service_updated_at AS updatedAt,
         EXISTS (SELECT 1 FROM quarantine INDEXED BY quarantine_record WHERE kind = 'snapshot' AND state = 'held'
           AND coalesce(reference, '') >= o.order_id || ' ' AND coalesce(reference, '') < o.order_id || '!')
           OR EXISTS (SELECT 1 FROM first_looks f WHERE f.order_id = o.order_id AND f.doubt GLOB 'other *') AS isOther,
         (SELECT max(r.echo) FROM status_requests r WHERE r.order_id = o.order_id AND r.echo IS NOT NULL AND r.state = 'sent') AS echo
       FROM orders o WHERE o.order_id = lower(?)`,
    )
    .get(orderId);
  if (row === undefined) return undefined;
  const { removedAt, isOther, ...order } = row;
  return {
    ...order,
    isRemoved: removedAt !== null,
    isOther: isOther === 1,
    lastSent: loadLastSent(store, order.orderId),
  };
}

/** Only the newest events are searched for a cancellation. */
const EVENTS_SINCE = 1_000;

interface KnownOrder {
  orderKey: number;
  orderId: string;
  number: string | null;
  status: string | null;
  changedAt: string;
  known: number;
  /** Null: that event, and those before it, were removed. */
  statusKnown: string | null;
  isKnown: 0 | 1;
}

/**
 * What has happened to the order since the revision that the ERP has seen, and forbids to send what it asks for. Without
 * a revision it has seen none: the order was not stored as the row was inserted, or nothing noted it.
 */
export function loadHappenedSince(
  store: Store,
  id: bigint,
  cancelled: ReadonlySet<string>,
): Pick<WantedStatus, "cancelledSince" | "replacedBy"> {
  const order = loadKnownOrder(store, id);
  if (order === undefined) return {};
  if (isReplacedSince(store, order.orderId, order.known)) return { replacedBy: order.number ?? "" };
  return { cancelledSince: findCancelledSince(store, id, { order, cancelled }) };
}

function loadKnownOrder(store: Store, id: bigint): KnownOrder | undefined {
  return store
    .prepare<KnownOrder>(
      `WITH known (order_key, order_id, number, status, changed_at, revision) AS MATERIALIZED (
         SELECT o.order_key, o.order_id, o.number, o.status, o.changed_at, iif(r.known_revision <= o.revision, r.known_revision, 0)
         FROM status_requests r JOIN orders o ON o.order_id = lower(r.order_id) WHERE r.id = ?)
       SELECT k.order_key AS orderKey, k.order_id AS orderId, k.number, k.status, k.changed_at AS changedAt, k.revision AS known,
         e.new_status AS statusKnown, e.seq IS NOT NULL AS isKnown
       FROM known k LEFT JOIN order_event_rows e ON e.seq = (
         SELECT max(p.seq) FROM order_event_rows p WHERE p.order_key = k.order_key AND p.revision <= k.revision)`,
    )
    .get(id);
}

/**
 * When and with which status the order was cancelled after the revision that the ERP has seen, whatever its status is
 * now: a service may move a cancelled order on (`refunded`, `archived`). A revision that the order does not have counts
 * as none.
 */
function findCancelledSince(
  store: Store,
  id: bigint,
  { order, cancelled }: { order: KnownOrder; cancelled: ReadonlySet<string> },
): WantedStatus["cancelledSince"] {
  const events = loadEventsSince(store, id, order);
  const known = order.known === 0 ? null : order.isKnown === 1 ? order.statusKnown : undefined;
  return findCancellation({ known, events }, cancelled);
}

function loadEventsSince(store: Store, id: bigint, order: KnownOrder): StatusEvent[] {
  const { orderKey, known, status, changedAt } = order;
  const events = store
    .prepare<Omit<StatusEvent, "isOwn"> & { isOwn: 0 | 1 }>(
      `SELECT e.old_status AS was, e.new_status AS status, e.at, e.source = 'own' OR EXISTS (
           SELECT 1 FROM status_requests r JOIN status_requests s ON s.order_id = r.order_id
           WHERE r.id = @id AND s.state = 'sent' AND is_same_name(s.status_sent, e.new_status) AND s.revision_before < e.revision
             AND NOT EXISTS (SELECT 1 FROM order_event_rows p WHERE p.order_key = e.order_key AND p.status_changed
               AND p.revision > s.revision_before AND p.revision < e.revision)) AS isOwn
       FROM order_event_rows e WHERE e.order_key = @orderKey AND e.revision > @known ORDER BY e.seq DESC LIMIT ${EVENTS_SINCE}`,
    )
    .all({ id, orderKey, known })
    .map((event) => ({ ...event, isOwn: event.isOwn === 1 }))
    .reverse();
  if (events.length > 0 || known > 0) return events;
  // Events of that time were removed.
  const orderId = onlyValue<string>(store, "SELECT order_id FROM orders WHERE order_key = ?", orderKey);
  return [{ was: null, status, at: changedAt, isOwn: isSameName(loadLastSent(store, orderId)?.status, status) }];
}

/** Only the newest orders are searched for names of statuses. */
const NAMING_ORDERS = 1_000;

/** Whether the word is the status of some order. */
export function isStatusOfOrders(store: Store, word: string): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM (SELECT status FROM orders ORDER BY order_key DESC LIMIT ${NAMING_ORDERS}) WHERE is_same_name(status, ?))`;
  return onlyValue<number>(store, sql, word) === 1;
}

/** Whether we sent that status for the order and no read has shown it yet. */
export function isOwnUnread(store: Store, orderId: string, status: string | null): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM status_requests
    WHERE order_id = ? AND state = 'sent' AND is_same_name(status_sent, ?) AND echo IS NOT NULL)`;
  return onlyValue<number>(store, sql, orderId, status) === 1;
}

/** The last accepted request of the order. */
function loadLastSent(store: Store, orderId: string): RequestedOrder["lastSent"] {
  const row = store
    .prepare<{ status: string | null; comment: ColumnValue; data: ColumnValue }>(
      `SELECT r.status_sent AS status, ${unlessTooLarge("comment")} AS comment, ${unlessTooLarge("data")} AS data
       FROM status_requests r WHERE r.order_id = ? AND r.state = 'sent' AND r.status_sent IS NOT NULL
       ORDER BY r.answered_at DESC, r.id DESC LIMIT 1`,
    )
    .safeIntegers(true)
    .get(orderId);
  return row ?? null;
}

/** Only the newest statuses since a request was sent count. */
const STATUSES_SINCE = 100;

/**
 * What changed at the order since the request was sent; empty where its state at that time is unknown.
 * @param status the order's present status
 */
export function loadOrderMoves(store: Store, id: bigint, status: string | null): OrderMoves {
  const row = store
    .prepare<Record<string, number | string | null>>(
      `SELECT r.echo IS NULL AS hasComeBack, (o.revision = r.revision_before OR r.first_sent_at IS NULL) AS isSameContent,
         substr(r.stamp_before, 1, ${STAMP_CHARACTERS}) AS timestampBefore, substr(r.left_at, 1, ${STAMP_CHARACTERS}) AS leftAt, o.service_updated_at AS timestamp,
         EXISTS (SELECT 1 FROM status_requests s WHERE s.order_id = r.order_id AND s.id <> r.id AND s.state = 'sent'
           AND is_same_name(s.status_sent, @status) AND s.revision_before IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM order_event_rows e WHERE e.order_key = o.order_key AND e.status_changed
             AND e.revision > s.revision_before AND e.revision <= r.revision_before)) AS isUnseen,
         is_same_name(@status, (SELECT s.status_sent FROM status_requests s WHERE s.order_id = r.order_id AND s.id <> r.id AND s.state = 'sent'
           AND s.status_sent IS NOT NULL ORDER BY s.answered_at DESC, s.id DESC LIMIT 1)) AS isLast
       FROM status_requests r JOIN orders o ON o.order_id = lower(r.order_id) WHERE r.id = @id`,
    )
    .get({ id, status });
  // Only requests with other statuses: whether one with this status has come back is known from the other one.
  const accepted = store
    .prepare<{ status: string | null; timestamp: string | null }>(
      `SELECT s.status_before AS status, substr(s.stamp_before, 1, ${STAMP_CHARACTERS}) AS timestamp
       FROM status_requests r JOIN status_requests s ON s.order_id = r.order_id
       WHERE r.id = ? AND s.id <> r.id AND s.state = 'sent' AND s.echo IS NOT NULL AND s.http_status IS NOT NULL
         AND s.revision_before IS NOT NULL AND is_same_name(s.status_sent, s.status_before) IS NOT 1
         AND is_same_name(s.status_sent, r.status_sent) IS NOT 1
       ORDER BY s.answered_at DESC, s.id DESC LIMIT 1`,
    )
    .get(id);
  const since = store
    .prepare<{ status: string | null }>(
      `SELECT e.new_status AS status FROM status_requests r JOIN orders o ON o.order_id = lower(r.order_id)
       JOIN order_event_rows e ON e.order_key = o.order_key
       WHERE r.id = ? AND e.revision > r.revision_before AND e.status_changed ORDER BY e.seq DESC LIMIT ${STATUSES_SINCE}`,
    )
    .all(id);
  const {
    hasComeBack,
    isUnseen,
    isLast,
    isSameContent,
    timestampBefore = null,
    timestamp = null,
    leftAt = null,
  } = row ?? {};
  return {
    hasComeBack: hasComeBack === 1,
    statusesSince: since.map((event) => event.status).reverse(),
    ownStatus: isUnseen === 1 ? "unseen" : isLast === 1 ? "last" : null,
    isSameContent: isSameContent === 1,
    timestampBefore: timestampBefore as string | null,
    timestamp: timestamp as string | null,
    leftAt: leftAt as string | null,
    beforeAccepted: accepted ?? null,
  };
}
