/*
 * Positions, and the queue of reads on the way to them. A watermark moves only in the transaction that stores the rows it
 * covers, or queues their reads (`owed_reads`). After a crash the older position asks for the same changes
 * again, and they are recognised. SQL is what is run for every record, and what says more than drizzle can (CASE,
 * strftime, json_each).
 */
import { loadMetaJson } from "../database/meta.ts";
import { onlyRow } from "../database/only-row.ts";
import { columnList, deleteRows, findRow, select, updateRows, upsertRow } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { orders, owedReads, type seenChanges, watermarks } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

/** The position of changes. */
export const UPDATES_STREAM = "updates";
/** Beside a position that is a token of the service's own: the largest timestamp stored with it. */
export const TIME_STREAM = "updates_time";
/** The service's time at the last sweep, or at the first pass over changes: a machine that is off at night sweeps in the morning. */
export const SWEEP_STREAM = "sweep";

export function loadWatermark(store: Store, stream: string): string | undefined {
  return findRow(store, watermarks, { stream })?.value;
}

/** Where the position goes once a search for changes that were left out is over (`updates/cut-rows.ts`): newer changes alone are asked for as ever. */
export function loadReached(store: Store): string | undefined {
  return loadMetaJson<{ high: { text: string } }>(store, "cut")?.high.text;
}

/** `value` is verbatim what the service sent. The same value again is no write. */
export function saveWatermark(store: Store, stream: string, value: string, at: string): void {
  if (loadWatermark(store, stream) === value) return;
  upsertRow(store, watermarks, { stream, value, updatedAt: at }, { key: ["stream"], set: ["value", "updatedAt"] });
}

export function deleteWatermark(store: Store, stream: string): void {
  deleteRows(store, watermarks, { stream });
}

const QUEUED = ["orderId", "serviceId", "source", "record", "recordHash", "contentHash", "attempts"] as const;
export type QueuedRead = NamedRow<typeof owedReads, (typeof QUEUED)[number]>;

/** A newer record is a reason to read at once, unless the order itself has failed. */
export function queueRead(store: Store, owed: Omit<QueuedRead, "attempts">, at: string): void {
  store
    .prepare(
      `INSERT INTO owed_reads (order_id, service_id, source, record, record_hash, content_hash, since)
       VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (order_id) DO UPDATE SET service_id = excluded.service_id, source = excluded.source,
         record = excluded.record, record_hash = excluded.record_hash, content_hash = excluded.content_hash,
         due_at = CASE WHEN attempts > 0 THEN due_at END
       WHERE record_hash <> excluded.record_hash OR source <> excluded.source`,
    )
    .run(owed.orderId, owed.serviceId, owed.source, owed.record, owed.recordHash, owed.contentHash, at);
}

const NO_RECORD = Buffer.alloc(32);

/**
 * A read that no record asks for: a pass could not settle the order. What is queued already stays.
 * @param order `serviceId`: as the service writes it; of a stored order the form that is stored counts, because some
 *   services know an order by no other.
 */
export function requestRead(store: Store, order: { orderId: string; serviceId: string }, at: string): void {
  store
    .prepare(
      `INSERT INTO owed_reads (order_id, service_id, source, record, record_hash, since) VALUES (
         @orderId, coalesce((SELECT coalesce(service_id, order_id) FROM orders WHERE order_id = @orderId), @serviceId),
         'update', '', @hash, @at)
       ON CONFLICT (order_id) DO NOTHING`,
    )
    .run({ orderId: order.orderId, serviceId: order.serviceId, hash: NO_RECORD, at });
}

/** A read that waits is due at once. */
export function expediteRead(store: Store, orderId: string): void {
  store.prepare("UPDATE owed_reads SET due_at = NULL WHERE order_id = ? AND due_at IS NOT NULL").run(orderId);
}

/** A read on account of a held record: due at once, and settled by no answer that was asked for before. */
export function requestReadAfter(
  store: Store,
  order: { orderId: string; serviceId: string },
  { hash, at }: { hash: Buffer; at: string },
): void {
  requestRead(store, order, at);
  store.prepare("UPDATE owed_reads SET due_at = NULL, record_hash = ? WHERE order_id = ?").run(hash, order.orderId);
}

/** Tries that a read keeps when something later is known of its order: it has failed, and another day is given to what is new. */
const TRIES_KEPT = 3;

/** Something later is known of an order than what waits for its read: that is due at once, whatever came of it before. */
export function renewRead(store: Store, orderId: string): void {
  store
    .prepare("UPDATE owed_reads SET due_at = NULL, attempts = min(attempts, ?) WHERE order_id = ? AND attempts > 0")
    .run(TRIES_KEPT, orderId);
}

/** A due time later than this is a clock's that was set back. */
const DUE_WITHIN = "+2 hours";
const IS_DUE = `(due_at IS NULL OR due_at <= @at OR due_at > strftime('%Y-%m-%dT%H:%M:%fZ', @at, '${DUE_WITHIN}'))`;

/** What is due, least tried first, so that one order that cannot be read never keeps the others waiting. */
export function loadDueReads(store: Store, at: string, limit: number): QueuedRead[] {
  return store
    .prepare<QueuedRead>(
      `SELECT ${columnList(owedReads, QUEUED)} FROM owed_reads WHERE ${IS_DUE}
       ORDER BY attempts, coalesce(due_at, since), order_id LIMIT @limit`,
    )
    .all({ at, limit });
}

export function countDueReads(store: Store, at: string): number {
  return onlyRow(store.prepare<{ n: number }>(`SELECT count(*) AS n FROM owed_reads WHERE ${IS_DUE}`).get({ at })).n;
}

type QueuedSince = QueuedRead & Pick<typeof owedReads.$inferSelect, "since" | "dueAt">;

export function loadQueuedRead(store: Store, orderId: string): QueuedSince | undefined {
  return findRow(store, owedReads, { orderId });
}

/** Whether one of these orders is still to be read. */
export function loadAwaited(store: Store, ids: readonly string[]): boolean {
  const found = store
    .prepare("SELECT 1 FROM json_each(?) ids CROSS JOIN owed_reads ON order_id = ids.value LIMIT 1")
    .get(JSON.stringify(ids));
  return found !== undefined;
}

/** Settles a read. Fenced by the record that caused it: a newer change in between stays queued. */
export function deleteQueuedRead(store: Store, orderId: string, recordHash: Buffer): boolean {
  return deleteRows(store, owedReads, { orderId, recordHash }) > 0;
}

/** The read waits until `dueAt`, and others go first. `attempts`: how often the order itself is known to have failed. */
export function postponeRead(
  store: Store,
  orderId: string,
  { error, ...wait }: { attempts: number; error: string; dueAt: string },
): void {
  updateRows(store, owedReads, { orderId }, { ...wait, lastError: error });
}

/** What the updates named of these orders before, as `pass/seen-changes.ts` writes it; orders that they did not name are left out. */
export function loadSeenChanges(store: Store, orderIds: readonly string[]): NamedRow<typeof seenChanges>[] {
  return store
    .prepare<NamedRow<typeof seenChanges>>(
      `SELECT order_id AS orderId, seen FROM json_each(?) AS asked CROSS JOIN seen_changes ON order_id = asked.value`,
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

/** Whether a pass over changes has ever come to its end. */
export function hasFollowed(store: Store): boolean {
  return (
    store.prepare("SELECT 1 FROM flows WHERE flow = 'updates' AND last_success_at IS NOT NULL").get() !== undefined
  );
}

/** Whether GET /orders has been answered well before: until then there is nothing whose changes could be asked for. */
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

/** Of so many of the newest orders one is as a batch has brought it; the others were read since, and may have another form. */
const NEWEST_MAX = 20;

/** The timestamps of the newest orders that are as a batch has brought them, the newest one first. */
export function loadNewestServed(store: Store): string[] {
  return store
    .prepare<{ timestamp: string }>(
      `SELECT service_updated_at AS timestamp FROM (SELECT order_key, payload_source, service_updated_at FROM orders ORDER BY order_key DESC LIMIT ${NEWEST_MAX})
       WHERE payload_source = 'batch' AND service_updated_at IS NOT NULL ORDER BY order_key DESC`,
    )
    .all()
    .map(({ timestamp }) => timestamp);
}

/** The timestamp of the order that came last: how the service writes its times, before any change has shown it. */
export function loadNewestTimestamp(store: Store): string | null {
  return select(store, orders, ["serviceUpdatedAt"], "ORDER BY order_key DESC LIMIT 1").get()?.serviceUpdatedAt ?? null;
}
