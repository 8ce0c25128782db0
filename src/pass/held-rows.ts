/*
 * Single rows of the quarantine, for looking at them and for the way back. What becomes of a record is decided and
 * written in the transaction that also stores or drops it, so that it is never in both places and never in neither;
 * after a crash it is where it was before.
 */
import { hash } from "node:crypto";
import { type BodyPlace, bodyLength, loadBody } from "../database/body-parts.ts";
import type { Store } from "../database/store.ts";
import { deleteHold } from "./hold-rows.ts";
import type { BadRecord, QuarantineRow } from "./quarantine-rows.ts";

export interface QuarantinedRecord {
  id: number;
  kind: BadRecord["kind"];
  reference: string | null;
  reason: string;
  payload: string | null;
  payloadHash: Buffer;
  state: QuarantineRow["state"];
  firstSeenAt: string;
  lastSeenAt: string;
  times: number;
}

const COLUMNS = `id, kind, reference, reason, payload, payload_hash AS payloadHash, state, first_seen_at AS firstSeenAt,
  last_seen_at AS lastSeenAt, times`;

export function loadQuarantined(store: Store, id: number): QuarantinedRecord | undefined {
  const row = store.prepare(`SELECT ${COLUMNS}, body_id AS bodyId FROM quarantine WHERE id = ?`).get(id) as
    | (QuarantinedRecord & { bodyId: number | null })
    | undefined;
  if (row === undefined) return undefined;
  const { bodyId, ...record } = row;
  return bodyId === null ? record : { ...record, payload: loadBody(store, { body: null, bodyId }).toString("utf8") };
}

/** Held records after `id`, with their payloads. */
export function loadHeldAfter(store: Store, id: number, limit: number): QuarantinedRecord[] {
  return store
    .prepare<QuarantinedRecord>(
      `SELECT ${COLUMNS} FROM quarantine INDEXED BY quarantine_held_id WHERE state = 'held' AND id > ? ORDER BY id LIMIT ?`,
    )
    .all(id, limit);
}

/** Held records of these kinds that came before a time, the newest first, with their payloads. */
export function loadHeldSince(
  store: Store,
  kinds: readonly BadRecord["kind"][],
  range: { before: number; limit: number; since: string },
): QuarantinedRecord[] {
  return store
    .prepare<QuarantinedRecord>(
      `SELECT ${COLUMNS} FROM quarantine
       WHERE id IN (${heldIds(kinds, "quarantine_held_id", "length(reference) = 36 AND first_seen_at <= @since")}) ORDER BY id DESC`,
    )
    .all(range);
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

export interface HeldOrder {
  id: number;
  reference: string;
  /** As the service writes it, where the order or the record tells. */
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
  const place = "instr(lower(payload), lower(reference))";
  return store
    .prepare<HeldOrder>(
      `SELECT id, reference, coalesce((SELECT coalesce(service_id, order_id) FROM orders WHERE order_id = lower(reference)),
         CASE WHEN ${place} > 0 THEN substr(payload, ${place}, length(reference)) END) AS serviceId
       FROM quarantine WHERE id IN (${heldIds(kinds, "quarantine_held_id", "length(reference) = 36")}) ORDER BY id DESC`,
    )
    .all(range);
}

export interface HeldUnnamed {
  id: number;
  kind: BadRecord["kind"];
  payload: string | null;
  firstSeenAt: string;
}

/** Held records of these kinds that name no order, the newest first. */
export function loadHeldUnnamed(
  store: Store,
  kinds: readonly BadRecord["kind"][],
  range: { before: number; limit: number },
): HeldUnnamed[] {
  return store
    .prepare<HeldUnnamed>(
      `SELECT id, kind, payload, first_seen_at AS firstSeenAt FROM quarantine
       WHERE id IN (${heldIds(kinds, "quarantine_unnamed", "length(coalesce(reference, '')) <> 36")}) ORDER BY id DESC`,
    )
    .all(range);
}

/** An order against which a record is held that names none. */
export interface StoredCopy {
  orderId: string;
  payload: string;
  /** When its content was stored or changed last. */
  writtenAt: string;
}

const COPY =
  "order_id AS orderId, payload, CASE WHEN removed_at IS NULL THEN changed_at ELSE received_at END AS writtenAt";
/** A shop may give a number to several orders; more of them tell no more. */
const SAME_NUMBER_MAX = 20;

export function loadOrdersByNumber(store: Store, number: string): StoredCopy[] {
  return store
    .prepare<StoredCopy>(`SELECT ${COPY} FROM orders WHERE number = ? ORDER BY order_key DESC LIMIT ${SAME_NUMBER_MAX}`)
    .all(number);
}

export function loadNewestOrders(store: Store, limit: number): StoredCopy[] {
  return store.prepare<StoredCopy>(`SELECT ${COPY} FROM orders ORDER BY order_key DESC LIMIT ?`).all(limit);
}

/** The record is stored as this order: released, with a trace of it. */
export function releaseStored(store: Store, id: number, orderId: string): boolean {
  return (
    store
      .prepare(
        "UPDATE quarantine SET state = 'released', reason = reason || '; stored since as order ' || ? WHERE id = ? AND state = 'held'",
      )
      .run(orderId, id).changes > 0
  );
}

export function markQuarantined(store: Store, id: number, state: QuarantineRow["state"]): boolean {
  return store.prepare("UPDATE quarantine SET state = ? WHERE id = ? AND state <> ?").run(state, id, state).changes > 0;
}

/** It was tried again and is bad for this reason now. */
export function markStillBad(store: Store, id: number, reason: string): void {
  store.prepare("UPDATE quarantine SET state = 'held', reason = ? WHERE id = ?").run(reason, id);
}

/** The payload as it came, or undefined where the database could not keep it to the letter (bytes that are no UTF-8). */
export function exactPayload({ payload, payloadHash }: QuarantinedRecord): Buffer | undefined {
  if (payload === null) return undefined;
  const bytes = Buffer.from(payload, "utf8");
  return hash("sha256", bytes, "buffer").equals(payloadHash) ? bytes : undefined;
}

// ------------------------------------------------------------------------------------------------- unread batches

export interface UnreadBatch {
  id: number;
  receivedAt: string;
  bytes: number;
  /** Null while it is being stored in parts. */
  lastError: string | null;
}

export function loadUnreadBatches(store: Store, limit: number): UnreadBatch[] {
  return store
    .prepare<UnreadBatch>(
      `SELECT id, received_at AS receivedAt, ${bodyLength("batches")} AS bytes, last_error AS lastError
       FROM batches INDEXED BY batches_unread WHERE state = 'unread' ORDER BY id LIMIT ?`,
    )
    .all(limit);
}

export function loadUnreadBatch(store: Store, id: number): (UnreadBatch & { body: Buffer }) | undefined {
  const row = store
    .prepare<Omit<UnreadBatch, "bytes"> & BodyPlace>(
      `SELECT id, received_at AS receivedAt, last_error AS lastError, body, body_id AS bodyId
       FROM batches WHERE id = ? AND state = 'unread'`,
    )
    .get(id);
  if (row === undefined) return undefined;
  const body = loadBody(store, row);
  return { id, receivedAt: row.receivedAt, lastError: row.lastError, bytes: body.length, body };
}

/** The next pull tries it again, whatever it was tried with before, and waits for no probe. */
export function markUnreadUntried(store: Store, id: number): boolean {
  deleteHold(store, "orders", "unread");
  return store.prepare("UPDATE batches SET read_with = NULL WHERE id = ? AND state = 'unread'").run(id).changes > 0;
}
