/*
 * What reconciling reads and stores: whose turn it is, what an order was compared with, payloads and their hashes.
 * The turn is saved in the transaction of the findings that it covers, or after orders that gave none; after a crash
 * a few orders are read twice, which changes nothing. SQL names the index, and reads payloads as bytes.
 */
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { onlyValue } from "../database/only-row.ts";
import { findRow, select, upsertRow } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { comparedOrders, orders } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { CANDIDATE, type Candidate, type Range } from "../updates/control-rows.ts";

/** The parts of a round, in their order. */
export const PHASES = ["scrub", "damaged", "open", "others", "lately", "removed"] as const;
export type Phase = (typeof PHASES)[number];

export interface ReconcileState {
  /** The last order that was looked at, by part: the next round goes on behind it. */
  after: Record<Exclude<Phase, "damaged">, number>;
  /** The round that is under way. */
  round: Round | null;
  /** When the last round ended. */
  finishedAt: string | null;
}

export interface Round {
  phase: Phase;
  /** Where this part began, and whether it has come to the end of the table since: a round reads no order twice. */
  from: number;
  wrapped: boolean;
  /** Orders that this part may still look at. */
  left: number;
  /** Bytes that scrubbing may still read. */
  bytesLeft: number;
  counts: Record<string, number>;
}

export function loadReconcileState(store: Store): ReconcileState {
  const begin = { after: { scrub: 0, open: 0, others: 0, lately: 0, removed: 0 }, round: null, finishedAt: null };
  const saved = loadMetaJson<ReconcileState>(store, "reconcile") ?? begin;
  return { ...saved, after: { ...begin.after, ...saved.after } };
}

export function saveReconcileState(store: Store, state: ReconcileState): void {
  saveMetaJson(store, "reconcile", state);
}

/** A start begins with a round from the beginning. */
export function oweReconcile(store: Store): void {
  const { after } = loadReconcileState(store);
  saveReconcileState(store, { after, round: null, finishedAt: null });
}

/** The next orders that are marked as removed. */
export function loadRemoved(store: Store, range: Range): Candidate[] {
  return store
    .prepare<Candidate>(
      `SELECT ${CANDIDATE} FROM orders INDEXED BY orders_removed
       WHERE is_open = 0 AND removed_at IS NOT NULL AND order_key > ? AND order_key <= ? ORDER BY order_key LIMIT ?`,
    )
    .all(range.after, range.upTo, range.limit);
}

/** The same among those that were marked since then. */
export function loadRemovedSince(store: Store, since: string, range: Range): Candidate[] {
  return store
    .prepare<Candidate>(
      `SELECT ${CANDIDATE} FROM orders INDEXED BY orders_removed_at
       WHERE removed_at >= ? AND order_key > ? AND order_key <= ? ORDER BY order_key LIMIT ?`,
    )
    .all(since, range.after, range.upTo, range.limit);
}

export function loadCandidate(store: Store, orderId: string): Candidate | undefined {
  return store.prepare<Candidate>(`SELECT ${CANDIDATE} FROM orders WHERE order_id = ?`).get(orderId);
}

/** What the service said of this order when its present payload was last compared. */
export function loadComparedContent(store: Store, orderKey: number, payloadHash: Buffer): Buffer | undefined {
  return findRow(store, comparedOrders, { orderKey, payloadHash })?.contentHash;
}

export function saveComparedContent(
  store: Store,
  compared: { orderKey: number; payloadHash: Buffer; contentHash: Buffer },
): void {
  upsertRow(store, comparedOrders, compared, { key: ["orderKey"], set: ["payloadHash", "contentHash"] });
}

const STORED = ["orderKey", "orderId", "payloadHash", "payload"] as const;
/** The payload as text: bytes that are not UTF-8 are replaced in it, so that it cannot have the hash of what was stored. */
export type StoredPayload = NamedRow<typeof orders, (typeof STORED)[number]>;

export function loadPayloads(store: Store, range: { after: number; upTo: number; limit: number }): StoredPayload[] {
  const rest = "WHERE order_key > ? AND order_key <= ? ORDER BY order_key LIMIT ?";
  return select(store, orders, STORED, rest).all(range.after, range.upTo, range.limit);
}

/** The bytes as they are on disk. */
export function loadPayloadBytes(store: Store, orderKey: number): Buffer {
  return onlyValue<Buffer>(store, "SELECT CAST(payload AS BLOB) FROM orders WHERE order_key = ?", orderKey);
}
