/*
 * Single rows of the quarantine: showing, releasing and dropping them. The state of a record changes in the transaction that
 * stores or drops it, so it is never in both places and never in neither; after a crash it is where it was before. Raw SQL,
 * because it names the index of held rows; released ones cost nothing.
 */

import { bodyLength, loadBody } from "../database/body-parts.ts";
import { findRow, select, updateRows } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { batches, quarantine } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { deleteHold } from "./hold-rows.ts";
import type { BadRecord, QuarantineRow } from "./quarantine-rows.ts";

const RECORD = [
  ...(["id", "kind", "reference", "reason", "payload", "payloadHash"] as const),
  ...(["state", "firstSeenAt", "lastSeenAt", "times"] as const),
] as const;
type Stored = NamedRow<typeof quarantine, (typeof RECORD)[number]>;
export type QuarantinedRecord = Omit<Stored, "reason"> & { reason: Message };

export function loadQuarantined(store: Store, id: number): QuarantinedRecord | undefined {
  const row = select(store, quarantine, [...RECORD, "bodyId"], "WHERE id = ?").get(id);
  if (row === undefined) return undefined;
  const { bodyId, ...record } = row;
  const said = withReason(store, record);
  return bodyId === null ? said : { ...said, payload: loadBody(store, { body: null, bodyId }).toString("utf8") };
}

function withReason(store: Store, row: Stored): QuarantinedRecord {
  return { ...row, reason: store.messageOf(row.reason) };
}

/** Held records after `id`, with their payloads. */
export function loadHeldAfter(store: Store, id: number, limit: number): QuarantinedRecord[] {
  const rest = "INDEXED BY quarantine_held_id WHERE state = 'held' AND id > ? ORDER BY id LIMIT ?";
  return select(store, quarantine, RECORD, rest)
    .all(id, limit)
    .map((row) => withReason(store, row));
}

/** Held records of these kinds that came before a time, the newest first, with their payloads. */
export function loadHeldSince(
  store: Store,
  kinds: readonly BadRecord["kind"][],
  range: { before: number; limit: number; since: string },
): QuarantinedRecord[] {
  const ids = heldIds(kinds, "quarantine_held_id", "length(reference) = 36 AND first_seen_at <= @since");
  const rest = `WHERE id IN (${ids}) ORDER BY id DESC`;
  return select(store, quarantine, RECORD, rest)
    .all(range)
    .map((row) => withReason(store, row));
}

/** The orders of held records of one kind. */
export function loadHeldReferences(store: Store, kind: BadRecord["kind"], limit: number): string[] {
  const rows = store
    .prepare<{ reference: string }>(
      `SELECT DISTINCT reference FROM quarantine INDEXED BY quarantine_held
       WHERE state = 'held' AND kind = ? AND reference IS NOT NULL ORDER BY reference LIMIT ?`,
    )
    .all(kind, limit);
  return rows.map(({ reference }) => reference);
}

/** Larger records are not searched. */
const LOOKED_INTO_BYTES = 1_000_000;

const HELD_TEXT = `iif(octet_length(payload) <= ${LOOKED_INTO_BYTES}, payload, '') AS text, first_seen_at AS since, first_seen_ms AS sinceMs`;

interface HeldText {
  text: string;
  since: string;
  /** Milliseconds since the machine's start; null where it is not known. */
  sinceMs: number | null;
}

/** A held record of one order. `payload` is empty if the record is too large. */
export function loadHeldOf(store: Store, kind: BadRecord["kind"], reference: string): HeldText[] {
  return store
    .prepare<HeldText>(
      `SELECT ${HELD_TEXT} FROM quarantine INDEXED BY quarantine_record
       WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held'`,
    )
    .all(kind, reference);
}

/**
 * The same of all records under the order's id, alone or with a number after a space (`orderReference`). The character
 * after the space is `!`.
 */
export function loadHeldUnder(store: Store, kind: BadRecord["kind"], orderId: string): HeldText[] {
  return store
    .prepare<HeldText>(
      `SELECT ${HELD_TEXT} FROM quarantine INDEXED BY quarantine_record WHERE kind = @kind AND state = 'held'
         AND coalesce(reference, '') >= @orderId AND coalesce(reference, '') < @orderId || '!'`,
    )
    .all({ kind, orderId });
}

/** Releases the held snapshots of one order under references with a number, but that one (`orderReference`). */
export function releaseSnapshotsOfOthers(store: Store, orderId: string, reference: string): void {
  // Runs for every snapshot, and nearly always finds nothing.
  if (store.prepare("SELECT 1 FROM quarantine WHERE state = 'held' LIMIT 1").get() === undefined) return;
  store
    .prepare(
      `UPDATE quarantine INDEXED BY quarantine_record SET state = 'released' WHERE kind = 'snapshot' AND state = 'held'
         AND coalesce(reference, '') >= @orderId || ' ' AND coalesce(reference, '') < @orderId || '!'
         AND coalesce(reference, '') <> @reference`,
    )
    .run({ orderId, reference });
}

export interface HeldOrder {
  id: number;
  /** The order's id, without a number. */
  reference: string;
  /** The id as the service writes it, if the order or the record names it. */
  serviceId: string | null;
}

/** Held records of some kinds below an id, the newest first: by the index alone, however many there are. */
const heldIds = (kinds: readonly BadRecord["kind"][], index: string, more: string) =>
  `SELECT id FROM quarantine INDEXED BY ${index} WHERE state = 'held' AND id < @before AND ${more}
     AND kind IN (${kinds.map((kind) => `'${kind}'`).join(", ")}) ORDER BY id DESC LIMIT @limit`;

/** The orders of held records of these kinds, those that were held last first. */
export function loadHeldOrders(
  store: Store,
  kinds: readonly BadRecord["kind"][],
  range: { before: number; limit: number },
): HeldOrder[] {
  const id = "substr(reference, 1, 36)";
  const place = `instr(lower(payload), lower(${id}))`;
  const isNamed = "(length(reference) = 36 OR substr(reference, 37, 1) = ' ')";
  return store
    .prepare<HeldOrder>(
      `SELECT id, ${id} AS reference, coalesce((SELECT coalesce(service_id, order_id) FROM orders WHERE order_id = lower(${id})),
         CASE WHEN ${place} > 0 THEN substr(payload, ${place}, 36) END) AS serviceId
       FROM quarantine WHERE id IN (${heldIds(kinds, "quarantine_held_id", isNamed)}) ORDER BY id DESC`,
    )
    .all(range);
}

const UNNAMED = ["id", "kind", "reference", "payload", "firstSeenAt", "firstSeenMs", "lastSeenAt"] as const;
export type HeldUnnamed = NamedRow<typeof quarantine, (typeof UNNAMED)[number]>;

/** Held records of these kinds that name no order, the newest first. */
export function loadHeldUnnamed(
  store: Store,
  kinds: readonly BadRecord["kind"][],
  range: { before: number; limit: number },
): HeldUnnamed[] {
  const ids = heldIds(kinds, "quarantine_unnamed", "length(coalesce(reference, '')) <> 36");
  return select(store, quarantine, UNNAMED, `WHERE id IN (${ids}) ORDER BY id DESC`).all(range);
}

/** So many records without an id are searched for one order, the newest first. */
const LOOKED_THROUGH = 2_000;

/** Held records that name no order, and in which the beginning of an id or a number stands. */
export function loadHeldWith(
  store: Store,
  kinds: readonly BadRecord["kind"][],
  { id, number }: { id: string; number: string | null },
): (HeldText & Pick<BadRecord, "kind">)[] {
  const ids = heldIds(kinds, "quarantine_unnamed", "length(coalesce(reference, '')) <> 36");
  return store
    .prepare<HeldText & Pick<BadRecord, "kind">>(
      `SELECT kind, payload AS text, first_seen_at AS since, first_seen_ms AS sinceMs FROM quarantine
       WHERE id IN (${ids}) AND octet_length(payload) <= ${LOOKED_INTO_BYTES}
         AND (instr(lower(payload), @id) > 0 OR instr(payload, @number) > 0)`,
    )
    .all({ before: Number.MAX_SAFE_INTEGER, limit: LOOKED_THROUGH, id, number });
}

/** Which of these are orders that are stored, or held in quarantine, and when the last content of each was stored. */
export function loadKnownOrders(store: Store, ids: readonly string[]): Map<string, string> {
  const rows = store
    .prepare<{ id: string; changedAt: string }>(
      `SELECT ids.value AS id, coalesce(orders.changed_at, '9999') AS changedAt
       FROM json_each(?) ids LEFT JOIN orders ON orders.order_id = ids.value
       WHERE orders.order_id IS NOT NULL OR EXISTS (
         SELECT 1 FROM quarantine WHERE kind IN ('order', 'change', 'snapshot') AND coalesce(reference, '') = ids.value)`,
    )
    .all(JSON.stringify(ids));
  return new Map(rows.map(({ id, changedAt }) => [id, changedAt]));
}

/** An order against which a record is held that names none. */
export interface StoredCopy {
  orderId: string;
  payload: string;
  /** Its timestamp, as the service wrote it. */
  updatedAt: string | null;
  /** When its content was stored or changed last. */
  writtenAt: string;
}

const COPY = `order_id AS orderId, payload, service_updated_at AS updatedAt,
  CASE WHEN removed_at IS NULL THEN changed_at ELSE received_at END AS writtenAt`;
/** A shop may give one number to several orders; more than these do not narrow the search. */
const SAME_NUMBER_MAX = 20;

export function loadOrdersByNumber(store: Store, number: string): StoredCopy[] {
  return store
    .prepare<StoredCopy>(`SELECT ${COPY} FROM orders WHERE number = ? ORDER BY order_key DESC LIMIT ${SAME_NUMBER_MAX}`)
    .all(number);
}

export function loadNewestOrders(store: Store, limit: number): StoredCopy[] {
  return store.prepare<StoredCopy>(`SELECT ${COPY} FROM orders ORDER BY order_key DESC LIMIT ?`).all(limit);
}

/** Releases the record, which is stored as this order; the reason names the order. */
export function releaseStored(store: Store, id: number, orderId: string): boolean {
  return release(store, id, (reason) => m.quarantine.storedSince({ reason, id: orderId }));
}

/** Releases a change that names no order, after all orders were read since it came; the reason says so. */
export function releaseRead(store: Store, id: number): boolean {
  return release(store, id, (reason) => m.quarantine.ordersReadSince({ reason }));
}

function release(store: Store, id: number, why: (reason: Message) => Message): boolean {
  const held = findRow(store, quarantine, { id, state: "held" });
  if (held === undefined) return false;
  updateRows(store, quarantine, { id }, { state: "released", reason: store.textOf(why(store.messageOf(held.reason))) });
  return true;
}

/** Records released at once; a person decides about the rest. */
const RELEASED_MAX = 1_000;

/** Releases the records without an id that were held since `since` and have been served again with ids. Returns how many. */
export function releaseUnnamed(store: Store, kind: BadRecord["kind"], since: string): number {
  const held = select(
    store,
    quarantine,
    ["id", "reason"],
    "INDEXED BY quarantine_unnamed WHERE state = 'held' AND length(coalesce(reference, '')) <> 36 AND kind = ? AND first_seen_at >= ? LIMIT ?",
  ).all(kind, since, RELEASED_MAX);
  for (const { id, reason } of held) {
    const text = store.textOf(m.quarantine.servedSince({ reason: store.messageOf(reason) }));
    updateRows(store, quarantine, { id }, { state: "released", reason: text });
  }
  return held.length;
}

/** Longer payloads hold something. */
const EMPTY_BYTES = 200;

/** Releases records without content that were held since `since`, after their batch has come without such. Returns how many. */
export function releaseEmpty(
  store: Store,
  { kind, since, isEmpty }: { kind: BadRecord["kind"]; since: string; isEmpty: (payload: string) => boolean },
): number {
  const held = select(
    store,
    quarantine,
    ["id", "reason", "payload"],
    `INDEXED BY quarantine_unnamed WHERE state = 'held' AND length(coalesce(reference, '')) <> 36 AND kind = ?
       AND first_seen_at >= ? AND octet_length(payload) <= ${EMPTY_BYTES} LIMIT ?`,
  )
    .all(kind, since, RELEASED_MAX)
    .filter(({ payload }) => isEmpty(payload ?? ""));
  for (const { id, reason } of held) {
    const text = store.textOf(m.quarantine.batchCameSince({ reason: store.messageOf(reason) }));
    updateRows(store, quarantine, { id }, { state: "released", reason: text });
  }
  return held.length;
}

export function markQuarantined(store: Store, id: number, state: QuarantineRow["state"]): boolean {
  return store.prepare("UPDATE quarantine SET state = ? WHERE id = ? AND state <> ?").run(state, id, state).changes > 0;
}

/** The record was tried again and cannot be stored for this reason. */
export function markStillBad(store: Store, id: number, reason: Message): void {
  updateRows(store, quarantine, { id }, { state: "held", reason: store.textOf(reason) });
}

// ------------------------------------------------------------------------------------------------- unread batches

export type UnreadBatch = NamedRow<typeof batches, "id" | "receivedAt"> & { lastError: Message | null; bytes: number };

/** Without `lastError` the body is being stored in parts. */
export function loadUnreadBatches(store: Store, limit: number): UnreadBatch[] {
  return store
    .prepare<Omit<UnreadBatch, "lastError"> & { lastError: string | null }>(
      `SELECT id, received_at AS receivedAt, ${bodyLength("batches")} AS bytes, last_error AS lastError
       FROM batches INDEXED BY batches_unread WHERE state = 'unread' ORDER BY id LIMIT ?`,
    )
    .all(limit)
    .map((row) => ({ ...row, lastError: store.messageOf(row.lastError) }));
}

export function loadUnreadBatch(store: Store, id: number): (UnreadBatch & { body: Buffer }) | undefined {
  const row = findRow(store, batches, { id, state: "unread" });
  if (row === undefined) return undefined;
  const body = loadBody(store, row);
  return { id, receivedAt: row.receivedAt, lastError: store.messageOf(row.lastError), bytes: body.length, body };
}

/** Makes the next pull try the body again, without waiting for a probe. */
export function markUnreadUntried(store: Store, id: number): boolean {
  deleteHold(store, "orders", "unread");
  return updateRows(store, batches, { id, state: "unread" }, { readWith: null }) > 0;
}
