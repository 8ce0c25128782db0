/*
 * Changes that name no order and differ in each answer (heartbeats, end-of-page markers) share rows of the quarantine:
 * those with the same reference, and beyond a limit those of the same shape. Never a record that may belong to a stored
 * order, nor one of a batch, where a record without an id is an order: its content may exist nowhere else.
 */
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import { loadHeldUnnamed } from "../pass/held-rows.ts";
import type { BadRecord } from "../pass/quarantine-rows.ts";
import type { OrderMapping } from "../records/order-mapping.ts";
import { keysOf } from "../records/same-order.ts";
import { findStoredOrders } from "./named-orders.ts";

/** Limit of rows of one shape without any id. */
const ALIKE_MAX = 20;
/** The limit where the place of the id has a value: each may be another order, which is looked up when it comes. */
const ALIKE_WITH_ID_MAX = 200;
/** Limit of rows of all shapes. */
const UNNAMED_MAX = 1_000;

/**
 * Overwrites the newest row with the same reference or, at the limit, of the same shape, or of any shape. Returns
 * whether it did. To be called inside a transaction.
 */
export function replaceAlike(
  store: Store,
  mapping: OrderMapping,
  bad: BadRecord & { kind: "change"; payload: string },
): boolean {
  const range = { before: Number.MAX_SAFE_INTEGER, limit: ALIKE_WITH_ID_MAX };
  const held = loadHeldUnnamed(store, [bad.kind], range).filter(({ payload }) => payload !== null);
  const isOfNone = ({ payload }: { payload: string | null }) =>
    findStoredOrders(store, { text: payload ?? "", mapping }).length === 0;
  const findAlike = () => {
    const same = bad.reference === null ? [] : held.filter(({ reference }) => reference === bad.reference);
    const shape = keysOf(bad.payload);
    const alike = held.filter(({ payload }) => keysOf(payload ?? "") === shape);
    const isFull = alike.length >= (bad.reference === null ? ALIKE_MAX : ALIKE_WITH_ID_MAX);
    return same.find(isOfNone) ?? (isFull ? alike.find(isOfNone) : undefined);
  };
  const alike = isOfNone(bad) ? findAlike() : undefined;
  const id = alike?.id ?? (countUnnamed(store) >= UNNAMED_MAX ? held[0]?.id : undefined);
  if (id === undefined) return false;
  store
    .prepare(
      `UPDATE quarantine SET reference = ?, reason = ?, payload = ?, payload_hash = ?, last_seen_at = ?, times = times + 1
       WHERE id = ?`,
    )
    .run(bad.reference, store.textOf(bad.reason), bad.payload, bad.hash, bad.at, id);
  return true;
}

function countUnnamed(store: Store): number {
  return onlyValue(
    store,
    `SELECT count(*) FROM (SELECT 1 FROM quarantine INDEXED BY quarantine_unnamed
       WHERE state = 'held' AND length(coalesce(reference, '')) <> 36 AND kind = 'change' LIMIT ${UNNAMED_MAX})`,
  );
}
