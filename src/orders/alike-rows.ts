/*
 * Changes that name no order and differ in each answer (heartbeats, marks of a page's end): those that call themselves the same, and beyond a
 * number those of one shape, share a row of the quarantine. Never what may be of a stored order, of which it may say what nothing else says,
 * or what a batch holds: a record without an id is an order there.
 */
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import { loadHeldUnnamed } from "../pass/held-rows.ts";
import type { BadRecord } from "../pass/quarantine-rows.ts";
import type { OrderMapping } from "../records/order-mapping.ts";
import { keysOf } from "../records/same-order.ts";
import { findStoredOrders } from "./named-orders.ts";

/** Rows of one shape without any id: more of them say no more. */
const ALIKE_MAX = 20;
/** With something in the place of the id: each may be another order, which is looked for as it comes. */
const ALIKE_WITH_ID_MAX = 200;
/** Rows of all shapes. */
const UNNAMED_MAX = 1_000;

/**
 * Puts a new record into the row that came last of those which call themselves the same, or of its shape, once there are so many, or of any
 * shape. Returns whether it did. Inside a transaction.
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
