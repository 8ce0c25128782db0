/*
 * Positions and the refresh queue (`owed_reads`). A watermark moves only in the transaction that stores the rows it covers or
 * queues their reads. After a crash the same changes are requested again from the older position, and are recognized. Raw SQL
 * where a statement runs for every record, or uses what drizzle lacks (CASE, strftime, json_each).
 */
import { MetaValue } from "../database/meta.ts";
import { onlyRow } from "../database/only-row.ts";
import { columnList, deleteRows, findRow, select, updateRows, upsertRow } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { orders, queuedReads, watermarks } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { MachineTime } from "./machine-clock.ts";

/** Name of the watermark of `updates`. */
export const UPDATES_STREAM = "updates";
/** Where the position is a token of the service: the largest timestamp that was stored with it. */
export const TIME_STREAM = "updates_time";
/** The service's time at the last wide re-poll, or at the first pass over changes. A machine that is off at night re-polls in the morning. */
export const SWEEP_STREAM = "sweep";

export function loadWatermark(store: Store, stream: string): string | undefined {
  return findRow(store, watermarks, { stream })?.value;
}

/** What is read here of the search for changes that were left out; `updates/cuts/cut-rows.ts` has all of it. */
export const CUT_HIGH = new MetaValue<{ high: { text: string } } | undefined>("cut");

/** The position after a search for changes that were left out (`updates/cuts/cut-rows.ts`). Meanwhile only newer changes are requested as usual. */
export function loadReached(store: Store): string | undefined {
  return CUT_HIGH.load(store)?.high.text;
}

/** Saves `value`, verbatim as the service sent it, if it differs. */
export function saveWatermark(store: Store, stream: string, value: string, at: string): void {
  if (loadWatermark(store, stream) === value) return;
  upsertRow(store, watermarks, { stream, value, updatedAt: at }, { key: ["stream"], set: ["value", "updatedAt"] });
}

export function deleteWatermark(store: Store, stream: string): void {
  deleteRows(store, watermarks, { stream });
}

const QUEUED = ["orderId", "serviceId", "source", "record", "recordHash", "contentHash", "attempts"] as const;
export type QueuedRead = NamedRow<typeof queuedReads, (typeof QUEUED)[number]>;

/** Which queued reads come first. */
export const URGENCY = { sameStatus: 0, otherStatus: 1, cancels: 2 } as const;
export type Urgency = (typeof URGENCY)[keyof typeof URGENCY];

/** Queues a read for a newer record; it is due at once, unless the order itself has failed. */
export function queueRead(
  store: Store,
  queued: Omit<QueuedRead, "attempts"> & { urgency: Urgency },
  now: MachineTime,
): void {
  const { orderId, serviceId, source, record, recordHash, contentHash, urgency } = queued;
  store
    .prepare(
      `INSERT INTO owed_reads (order_id, service_id, source, record, record_hash, content_hash, since, since_ms, urgency)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (order_id) DO UPDATE SET service_id = excluded.service_id, source = excluded.source,
         record = excluded.record, record_hash = excluded.record_hash, content_hash = excluded.content_hash, urgency = excluded.urgency,
         since_ms = coalesce(since_ms, excluded.since_ms), due_at = CASE WHEN attempts > 0 THEN due_at END
       WHERE record_hash <> excluded.record_hash OR source <> excluded.source`,
    )
    .run(orderId, serviceId, source, record, recordHash, contentHash, now.at, now.machineMs, urgency);
}

const NO_RECORD = Buffer.alloc(32);

const requestOf = (serviceId: string) => `
  INSERT INTO owed_reads (order_id, service_id, source, record, record_hash, since, urgency)
  VALUES (@orderId, ${serviceId}, 'update', '', @hash, @at, ${URGENCY.sameStatus})
  ON CONFLICT (order_id) DO NOTHING`;
const REQUEST = requestOf(
  "coalesce((SELECT coalesce(service_id, order_id) FROM orders WHERE order_id = @orderId), @serviceId)",
);
const REQUEST_AS = requestOf("@serviceId");

/**
 * Queues a read without a record, for a pass that could not settle the order. A queued read stays as it is.
 * @param order `serviceId`: the id as the service writes it. For a stored order the stored form is used, because some
 *   services accept no other.
 */
export function requestRead(store: Store, order: { orderId: string; serviceId: string }, at: string): void {
  const { orderId, serviceId } = order;
  store.prepare(REQUEST).run({ orderId, serviceId, hash: NO_RECORD, at });
}

/** The same by the given form of the id, whatever form is stored: the stored order may be older than what names it. */
export function requestReadAs(store: Store, order: { orderId: string; serviceId: string }, at: string): void {
  const { orderId, serviceId } = order;
  store.prepare(REQUEST_AS).run({ orderId, serviceId, hash: NO_RECORD, at });
}

/** Makes a queued read due at once. */
export function expediteRead(store: Store, orderId: string): void {
  store.prepare("UPDATE owed_reads SET due_at = NULL WHERE order_id = ? AND due_at IS NOT NULL").run(orderId);
}

/** Queues a read because of a held record: due at once, and not settled by an answer that was requested earlier. */
export function requestReadAfter(
  store: Store,
  order: { orderId: string; serviceId: string },
  { hash, at }: { hash: Buffer; at: string },
): void {
  requestRead(store, order, at);
  store.prepare("UPDATE owed_reads SET due_at = NULL, record_hash = ? WHERE order_id = ?").run(hash, order.orderId);
}

/** Attempts that a queued read keeps when a newer record arrives: the order has failed, but the newer record gets another day. */
const TRIES_KEPT = 3;

/** A newer record of an order whose read is queued makes the read due at once, whatever failed before. */
export function renewRead(store: Store, orderId: string): void {
  store
    .prepare("UPDATE owed_reads SET due_at = NULL, attempts = min(attempts, ?) WHERE order_id = ? AND attempts > 0")
    .run(TRIES_KEPT, orderId);
}

/** A later due time was written before the clock was set back. */
const DUE_WITHIN = "+2 hours";
const IS_DUE = `(due_at IS NULL OR due_at <= @at OR due_at > strftime('%Y-%m-%dT%H:%M:%fZ', @at, '${DUE_WITHIN}'))`;

/** Attempts after which a failing cancellation waits like other failing orders: by then its status is stored without the order. */
const URGENT_TRIES = 4;
/** A failing order never delays what is as urgent and has not failed. */
const URGENCY_NOW = `CASE WHEN attempts = 0 THEN urgency WHEN urgency = ${URGENCY.cancels} AND attempts < ${URGENT_TRIES} THEN ${URGENCY.otherStatus} ELSE 0 END`;

/** Nobody waits for it: of a record with the same status, or without a record, where no status waits to be sent after it. */
const IS_BACKGROUND = `(urgency = ${URGENCY.sameStatus} AND order_id NOT IN (
  SELECT lower(order_id) FROM status_requests INDEXED BY status_requests_open WHERE state IN ('pending', 'sending')))`;

export type DueRead = QueuedRead & { isBackground: 0 | 1 };

/**
 * Reads that are due, those with the fewest attempts first, so that a failing order never delays the others.
 * @param options.isUrgentFirst cancellations first, then other changes of the status
 * @param options.background limit of those in the background; orders that are not stored come first among these
 */
export function loadDueReads(
  store: Store,
  {
    at,
    limit,
    isUrgentFirst,
    background = limit,
  }: { at: string; limit: number; isUrgentFirst: boolean; background?: number },
): DueRead[] {
  const first = `SELECT order_id FROM owed_reads r WHERE ${IS_DUE} AND ${IS_BACKGROUND}
    ORDER BY EXISTS (SELECT 1 FROM orders o WHERE o.order_id = r.order_id), attempts, coalesce(due_at, since), order_id LIMIT @background`;
  const isWithin = background < limit ? `AND (NOT ${IS_BACKGROUND} OR order_id IN (${first}))` : "";
  return store
    .prepare<DueRead>(
      `SELECT ${columnList(queuedReads, QUEUED)}, ${IS_BACKGROUND} AS isBackground FROM owed_reads WHERE ${IS_DUE} ${isWithin}
       ORDER BY ${isUrgentFirst ? `${URGENCY_NOW} DESC, ` : ""}attempts, coalesce(due_at, since), order_id LIMIT @limit`,
    )
    .all({ at, limit, ...(background < limit && { background }) });
}

/** @param options.hasBackground whether those in the background count */
export function countDueReads(store: Store, at: string, { hasBackground }: { hasBackground: boolean }): number {
  const rest = hasBackground ? "" : `AND NOT ${IS_BACKGROUND}`;
  const sql = `SELECT count(*) AS n FROM owed_reads WHERE ${IS_DUE} ${rest}`;
  return onlyRow(store.prepare<{ n: number }>(sql).get({ at })).n;
}

/**
 * Reads that a record with another status than the stored one caused, of stored orders that are not cancelled, queued before `since`, or at a time that is still to come: the clock
 * was set back.
 */
export function loadLongQueued(
  store: Store,
  range: { after: string; at: string; since: string; limit: number },
): Pick<QueuedRead, "orderId" | "source" | "record">[] {
  return store
    .prepare<Pick<QueuedRead, "orderId" | "source" | "record">>(
      `SELECT order_id AS orderId, source, record FROM owed_reads r
       WHERE order_id > @after AND record <> '' AND urgency > ${URGENCY.sameStatus} AND (since <= @since OR since > strftime('%Y-%m-%dT%H:%M:%fZ', @at, '${DUE_WITHIN}'))
         AND EXISTS (SELECT 1 FROM orders o WHERE o.order_id = r.order_id AND o.is_cancelled = 0 AND o.removed_at IS NULL)
       ORDER BY order_id LIMIT @limit`,
    )
    .all(range);
}

type QueuedSince = QueuedRead & Pick<typeof queuedReads.$inferSelect, "since" | "sinceMs" | "dueAt">;

export function loadQueuedRead(store: Store, orderId: string): QueuedSince | undefined {
  return findRow(store, queuedReads, { orderId });
}

/** Whether a read of any of these orders is queued. */
export function loadAwaited(store: Store, ids: readonly string[]): boolean {
  const found = store
    .prepare("SELECT 1 FROM json_each(?) ids CROSS JOIN owed_reads ON order_id = ids.value LIMIT 1")
    .get(JSON.stringify(ids));
  return found !== undefined;
}

/** Removes a read from the queue if the record that caused it is the same: a newer change in between stays queued. */
export function deleteQueuedRead(store: Store, orderId: string, recordHash: Buffer): boolean {
  return deleteRows(store, queuedReads, { orderId, recordHash }) > 0;
}

/** Postpones the read to `dueAt`, behind others. `attempts`: failures of the order itself. */
export function postponeRead(
  store: Store,
  orderId: string,
  { error, ...wait }: { attempts: number; error: string; dueAt: string },
): void {
  updateRows(store, queuedReads, { orderId }, { ...wait, lastError: error });
}

/**
 * The changes seen of these orders, in the format that `pass/seen-changes.ts` reads; orders without any are left out. In hexadecimal,
 * because every pass loads this for every change of its pages, and a Buffer for each takes twice as long.
 */
export function loadSeenChanges(store: Store, orderIds: readonly string[]): { orderId: string; seen: string }[] {
  return store
    .prepare<{ orderId: string; seen: string }>(
      `SELECT order_id AS orderId, lower(hex(seen)) AS seen FROM json_each(?) AS asked CROSS JOIN seen_changes ON order_id = asked.value`,
    )
    .all(JSON.stringify(orderIds));
}

/** Inside the transaction that acts on the changes, or that queues a read for them. */
export function saveSeenChanges(store: Store, orderId: string, seen: Buffer): void {
  store
    .prepare(
      `INSERT INTO seen_changes (order_id, seen) VALUES (?, ?)
       ON CONFLICT (order_id) DO UPDATE SET seen = excluded.seen WHERE seen <> excluded.seen`,
    )
    .run(orderId, seen);
}

/** Whether a pass over changes was ever completed. */
export function hasFollowed(store: Store): boolean {
  return (
    store.prepare("SELECT 1 FROM flows WHERE flow = 'updates' AND last_success_at IS NOT NULL").get() !== undefined
  );
}

/** Whether `GET /orders` was ever answered well. Before that there are no orders whose changes could be requested. */
export function hasPulled(store: Store): boolean {
  return (
    store
      .prepare(
        `SELECT 1 FROM batches WHERE state <> 'unread'
         UNION ALL SELECT 1 FROM flows WHERE flow = 'orders' AND last_success_at IS NOT NULL LIMIT 1`,
      )
      .get() !== undefined
  );
}

/** Among so many of the newest orders at least one is still as its batch brought it; the others were read since, and may have another form. */
const NEWEST_MAX = 20;

/** Timestamps of the newest orders that are still as their batch brought them, the newest first. */
export function loadNewestServed(store: Store): string[] {
  return store
    .prepare<{ timestamp: string }>(
      `SELECT service_updated_at AS timestamp FROM (SELECT order_key, payload_source, service_updated_at FROM orders ORDER BY order_key DESC LIMIT ${NEWEST_MAX})
       WHERE payload_source = 'batch' AND service_updated_at IS NOT NULL ORDER BY order_key DESC`,
    )
    .all()
    .map(({ timestamp }) => timestamp);
}

/** The timestamp of the newest order: shows the service's time format before any change has. */
export function loadNewestTimestamp(store: Store): string | null {
  return select(store, orders, ["serviceUpdatedAt"], "ORDER BY order_key DESC LIMIT 1").get()?.serviceUpdatedAt ?? null;
}
