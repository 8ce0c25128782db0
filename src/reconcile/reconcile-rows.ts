/*
 * Rows of reconciling: positions, the content that an order was last compared with, payloads and their hashes. A
 * position is saved in the transaction of the results that it covers, or after orders without any; after a crash a few
 * orders are read twice, which is harmless. SQL names the index, and reads payloads as bytes.
 */
import { MetaValue } from "../database/meta.ts";
import { onlyValue } from "../database/only-row.ts";
import { findRow, select, upsertRow } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { comparedOrders, orders } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { CANDIDATE, type Candidate, type Range } from "../updates/reads/control-rows.ts";

/** The phases of a round, in order. */
export const PHASES = ["scrub", "damaged", "open", "others", "lately", "removed"] as const;
export type Phase = (typeof PHASES)[number];

export interface ReconcileState {
  /** Key of the last order by phase; the next round continues after it. */
  after: Record<Exclude<Phase, "damaged">, number>;
  /** The running round. */
  round: Round | null;
  /** When the last round ended. */
  finishedAt: string | null;
}

export interface Round {
  phase: Phase;
  /**
   * Where this phase started, and whether it has continued from the start of the table since, so that a round reads no
   * order twice.
   */
  from: number;
  wrapped: boolean;
  /** Orders that this phase may still process. */
  left: number;
  /** Bytes that scrubbing may still read. */
  bytesLeft: number;
  counts: Record<string, number>;
}

const BEGIN = { scrub: 0, open: 0, others: 0, lately: 0, removed: 0 };
export const RECONCILE_STATE = new MetaValue<ReconcileState>("reconcile", {
  after: BEGIN,
  round: null,
  finishedAt: null,
});

export function loadReconcileState(store: Store): ReconcileState {
  const saved = RECONCILE_STATE.load(store);
  return { ...saved, after: { ...BEGIN, ...saved.after } };
}

/** Makes the next start run a whole round. */
export function requestReconcile(store: Store): void {
  const { after } = loadReconcileState(store);
  RECONCILE_STATE.save(store, { after, round: null, finishedAt: null });
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

/** The same, of those marked since `since`. */
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

/** Hash of the service's content when the present payload was last compared. */
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
/** The payload as text. Bytes that are not UTF-8 are replaced in it, so that it then never matches the stored hash. */
export type StoredPayload = NamedRow<typeof orders, (typeof STORED)[number]>;

export function loadPayloads(store: Store, range: { after: number; upTo: number; limit: number }): StoredPayload[] {
  const rest = "WHERE order_key > ? AND order_key <= ? ORDER BY order_key LIMIT ?";
  return select(store, orders, STORED, rest).all(range.after, range.upTo, range.limit);
}

/** The bytes as stored. */
export function loadPayloadBytes(store: Store, orderKey: number): Buffer {
  return onlyValue<Buffer>(store, "SELECT CAST(payload AS BLOB) FROM orders WHERE order_key = ?", orderKey);
}
