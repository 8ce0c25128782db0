/*
 * What every former order had and this record has not: where a table of the service does not answer, it gives `null`, `[]` or lines
 * without an article for every order. That is no statement about an order, until it was read so twice, ten minutes apart, while another one
 * was answered with it (`updates/lost-looks.ts`), or the service has said it for a day.
 */
import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import { hasPassed, type Moment } from "./missing-order.ts";
import type { OrderValues } from "./order-mapping.ts";

/** Former orders that are looked at, the newest. */
const FORMER_MAX = 100;
/** So long a record without is held; then it counts. */
export const HELD_MS = 24 * 3_600_000;

export type LostPart = "status" | "lines";

interface Former {
  /** How many stored orders were looked at. */
  orders: number;
  withoutStatus: number;
  withoutLines: number;
}

/** Of the newest orders and of this one. */
function loadFormer(store: Store, orderId: string, limit: number): Former {
  return store
    .prepare<Former>(
      `SELECT count(*) AS orders, coalesce(sum(status IS NULL OR trim(status) = ''), 0) AS withoutStatus,
         coalesce(sum(NOT EXISTS (SELECT 1 FROM order_line_rows l WHERE l.order_key = o.order_key AND l.sku IS NOT NULL)), 0)
           AS withoutLines
       FROM (SELECT order_key, status FROM orders WHERE order_key IN (SELECT order_key FROM orders ORDER BY order_key DESC LIMIT ?)
         UNION SELECT order_key, status FROM orders WHERE order_id = ?) o`,
    )
    .get(limit, orderId) as Former;
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

/** What the record lacks although every former order had it. Asks the database only where something is missing. */
export function findLost(
  store: Store,
  order: { orderId: string; values: OrderValues; isCancelled: boolean },
): LostPart | undefined {
  const lacking = findLacking(order);
  if (lacking.length === 0) return undefined;
  // Where orders never have it, the last one tells at once.
  for (const limit of [1, FORMER_MAX]) {
    const former = loadFormer(store, order.orderId, limit);
    const without = { status: former.withoutStatus, lines: former.withoutLines };
    const lost = lacking.find((part) => without[part] === 0);
    if (former.orders === 0 || lost === undefined) return undefined;
    if (limit === FORMER_MAX) return lost;
  }
  return undefined;
}

/** A total of zero, or none. */
function isNothing(total: string | null): boolean {
  return total === null || Number(total.replace(",", ".")) === 0;
}

/** Since when records of the order are held. */
export function isHeldForLong(store: Store, kind: string, orderId: string, at: string): boolean {
  const since = onlyRow(
    store
      .prepare<string | null>(
        `SELECT min(first_seen_at) FROM quarantine INDEXED BY quarantine_record
       WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held'`,
      )
      .pluck()
      .get(kind, orderId),
  );
  return since !== null && Date.parse(at) - Date.parse(since) >= HELD_MS;
}

/** When the order was first read without, beside another one with it, by the service's clock. */
export function loadFirstLook(store: Store, orderId: string): Moment | undefined {
  const row = store
    .prepare<{ serviceDate: string }>("SELECT service_date AS serviceDate FROM lost_values WHERE order_id = ?")
    .get(orderId);
  return row === undefined ? undefined : momentOf(row.serviceDate);
}

/** A look of more than a day ago was of another trouble: this one takes its place. */
export function saveFirstLook(store: Store, orderId: string, serviceDate: string): void {
  store.prepare("INSERT OR REPLACE INTO lost_values (order_id, service_date) VALUES (?, ?)").run(orderId, serviceDate);
}

/** The order was answered otherwise, or what it lacks counts. */
export function deleteFirstLook(store: Store, orderId: string): void {
  // Asked for every record, and nearly always in vain.
  if (store.prepare("SELECT 1 FROM lost_values LIMIT 1").get() === undefined) return;
  store.prepare("DELETE FROM lost_values WHERE order_id = ?").run(orderId);
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
