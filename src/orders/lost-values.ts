/*
 * What every former order had and this record has not: where a table of the service does not answer, it gives `null`, `[]` or lines
 * without an article for every order. That is no statement about an order, until the service has said it for a day.
 */
import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { OrderValues } from "./order-mapping.ts";

/** Former orders that are looked at, the newest. */
const FORMER_MAX = 100;
/** So long a record without is held; then it counts. */
const HELD_MS = 24 * 3_600_000;

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

/** What the record lacks although every former order had it. Asks the database only where something is missing. */
export function findLost(
  store: Store,
  order: { orderId: string; values: OrderValues; isCancelled: boolean },
): LostPart | undefined {
  const { values } = order;
  const lacksStatus = (values.status ?? "").trim() === "";
  // Of a cancelled order, and of one that costs nothing, there may be nothing left.
  const mayLackLines = order.isCancelled || isNothing(values.total);
  const lacksLines = !mayLackLines && values.lines.every(({ sku }) => sku === null);
  if (!lacksStatus && !lacksLines) return undefined;
  // Where orders never have it, the last one tells at once.
  for (const limit of [1, FORMER_MAX]) {
    const former = loadFormer(store, order.orderId, limit);
    const isStatusLost = lacksStatus && former.withoutStatus === 0;
    if (former.orders === 0 || !(isStatusLost || (lacksLines && former.withoutLines === 0))) return undefined;
    if (limit === FORMER_MAX) return isStatusLost ? "status" : "lines";
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
