/*
 * When an order was first read with a content that is in doubt: it lacks a value (`completeness/lost-values.ts`), or is
 * another order (`orders/other-order.ts`). A row is deleted when the order is stored, and replaced when the doubt is another
 * one; after a crash the read is repeated. SQL where every record asks.
 */
import { deleteRows, findRow, upsertRow } from "../database/queries.ts";
import { firstLooks } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { leastAgoMs } from "./machine-clock.ts";

/** Milliseconds since the machine's start; undefined where the order was not read so, or with another doubt. */
export function loadFirstLook(store: Store, orderId: string, doubt: string): number | undefined {
  return findRow(store, firstLooks, { orderId, doubt })?.machineMs;
}

export function saveFirstLook(store: Store, orderId: string, look: { doubt: string; machineMs: number }): void {
  upsertRow(store, firstLooks, { orderId, ...look }, { key: ["orderId"], set: ["doubt", "machineMs"] });
}

/** Call where the order is stored, or has shown what is stored of it. */
export function deleteFirstLook(store: Store, orderId: string): void {
  // Called for every record, and the table is nearly always empty.
  if (store.prepare("SELECT 1 FROM first_looks LIMIT 1").get() === undefined) return;
  deleteRows(store, firstLooks, { orderId });
}

/** The minimum time between the two reads after which the content counts. */
const LOOKS_APART_MS = 10 * 60_000;
/** A read longer ago belongs to another fault. */
const FORGOTTEN_MS = 24 * 3_600_000;

/** Classifies a read: `vain` where the first was less than ten minutes ago. Both times are since the machine's start. */
export function judgeLook(firstMs: number | undefined, nowMs: number): "first" | "second" | "vain" {
  const agoMs = firstMs === undefined ? FORGOTTEN_MS : leastAgoMs(firstMs, nowMs);
  if (agoMs >= FORGOTTEN_MS) return "first";
  return agoMs >= LOOKS_APART_MS ? "second" : "vain";
}
