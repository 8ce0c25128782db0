/*
 * What nearly every former order has and this record has not: where a table of the service does not answer, it gives `null`, `[]` or lines
 * without an article for every order. That is no statement about an order, until it was read so twice, ten minutes apart, while another one
 * was answered with it (`updates/lost-looks.ts`), or the service has said it for a day. SQL counts lines and names an index.
 */
import { onlyValue } from "../database/only-row.ts";
import { deleteRows, findRow, upsertRow } from "../database/queries.ts";
import { lostValues } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { hasPassed, type Moment } from "./missing-order.ts";
import type { OrderValues } from "./order-mapping.ts";

/**
 * The newest orders that are looked at, and how many of them in a hundred may be without what is to be missed. Where many lack it, a few tell at
 * once. One that lost it for good must not let the next trouble take it from all others.
 */
const FORMER = [
  { limit: 10, withoutMax: 50 },
  { limit: 100, withoutMax: 10 },
] as const;
/** So long a record without is held; then it counts. */
export const HELD_MS = 24 * 3_600_000;

export type LostPart = "status" | "lines";

interface Former extends Record<LostPart, number> {
  isOwn: number;
}

/** What the newest orders and this one lack although they should have it. */
function loadFormer(store: Store, orderId: string, limit: number): Former[] {
  return store
    .prepare<Former>(
      `SELECT order_id = @orderId AS isOwn, coalesce(trim(status), '') = '' AS status,
         NOT is_cancelled AND trim(coalesce(total, ''), '0.,+- ') <> '' AND NOT EXISTS (
           SELECT 1 FROM order_line_rows l WHERE l.order_key = o.order_key AND l.sku IS NOT NULL) AS lines
       FROM orders o WHERE order_key IN (SELECT order_key FROM orders ORDER BY order_key DESC LIMIT @limit)
         OR order_id = @orderId`,
    )
    .all({ orderId, limit });
}

export function hasPart({ status, lines }: OrderValues, part: LostPart): boolean {
  return part === "status" ? (status ?? "").trim() !== "" : lines.some(({ sku }) => sku !== null);
}

/** What the record lacks that an order has as a rule. */
export function findLacking({ values, isCancelled }: { values: OrderValues; isCancelled: boolean }): LostPart[] {
  // Of a cancelled order, and of one that costs nothing, there may be nothing left.
  const mayLackLines = isCancelled || isNothing(values.total);
  const parts: readonly LostPart[] = mayLackLines ? ["status"] : ["status", "lines"];
  return parts.filter((part) => !hasPart(values, part));
}

/** What the record lacks although nearly every former order has it, and this one had. Asks the database only where something is missing. */
export function findLost(
  store: Store,
  order: { orderId: string; values: OrderValues; isCancelled: boolean },
): LostPart | undefined {
  let lost = findLacking(order);
  for (const { limit, withoutMax } of FORMER) {
    if (lost.length === 0) return undefined;
    const former = loadFormer(store, order.orderId, limit);
    const isUsual = (part: LostPart) =>
      former.some((each) => each.isOwn && each[part]) ||
      former.filter((each) => each[part]).length * 100 > former.length * withoutMax;
    lost = former.length === 0 ? [] : lost.filter((part) => !isUsual(part));
  }
  return lost[0];
}

/** A total of zero, or none. */
function isNothing(total: string | null): boolean {
  return total === null || Number(total.replace(",", ".")) === 0;
}

/** Since when records of the order are held. */
export function isHeldForLong(store: Store, kind: string, orderId: string, at: string): boolean {
  const sql = `SELECT min(first_seen_at) FROM quarantine INDEXED BY quarantine_record
    WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held'`;
  const since = onlyValue<string | null>(store, sql, kind, orderId);
  return since !== null && Date.parse(at) - Date.parse(since) >= HELD_MS;
}

/** When the order was first read without, beside another one with it, by the service's clock. */
export function loadFirstLook(store: Store, orderId: string): Moment | undefined {
  const row = findRow(store, lostValues, { orderId });
  return row === undefined ? undefined : momentOf(row.serviceDate);
}

/** A look of more than a day ago was of another trouble: this one takes its place. */
export function saveFirstLook(store: Store, orderId: string, serviceDate: string): void {
  upsertRow(store, lostValues, { orderId, serviceDate }, { key: ["orderId"], set: ["serviceDate"] });
}

/** The order was answered otherwise, or what it lacks counts. */
export function deleteFirstLook(store: Store, orderId: string): void {
  // Asked for every record, and nearly always in vain.
  if (store.prepare("SELECT 1 FROM lost_values LIMIT 1").get() === undefined) return;
  deleteRows(store, lostValues, { orderId });
}

/** So long lies between the two looks that make a lack the order's own. */
const LOOKS_APART_MS = 10 * 60_000;

/** What a look at the service's time would be: it is in vain where the first was minutes ago, or no clock tells. */
export function judgeLook(first: Moment | undefined, serviceDate: string | undefined): "first" | "second" | "vain" {
  if (serviceDate === undefined) return "vain";
  const now = momentOf(serviceDate);
  if (first === undefined || hasPassed(first, now, HELD_MS)) return "first";
  return hasPassed(first, now, LOOKS_APART_MS) ? "second" : "vain";
}

function momentOf(serviceDate: string): Moment {
  return { monotonicMs: undefined, serviceDate };
}
