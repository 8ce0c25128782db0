/* Orders to read as controls, and orders to compare. SQL, because it names indexes and lists of ids. */

import type { LostPart } from "../../completeness/lost-values.ts";
import type { NamedRow } from "../../database/row.ts";
import type { orders } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";

export type Candidate = NamedRow<typeof orders, "orderKey" | "orderId"> & { serviceId: string };

export const CANDIDATE = "order_key AS orderKey, order_id AS orderId, coalesce(service_id, order_id) AS serviceId";

const IS_SOUND = "AND order_id NOT IN (SELECT order_id FROM owed_reads WHERE attempts > 0)";

/** The newest orders that the service is known to have and that match the condition `more`. */
function loadNewest(store: Store, except: readonly string[], more: string, limit: number): Candidate[] {
  return store
    .prepare<Candidate>(
      `SELECT ${CANDIDATE} FROM orders
       WHERE removed_at IS NULL AND order_id NOT IN (SELECT value FROM json_each(?))
         AND order_id NOT IN (SELECT order_id FROM missing_orders) ${more}
       ORDER BY order_key DESC LIMIT ?`,
    )
    .all(JSON.stringify(except), limit);
}

/**
 * The newest orders that the service has and answers for, as far as known. If reads of all of them have failed, one of
 * these.
 */
export function loadControls(store: Store, except: readonly string[], limit: number): Candidate[] {
  const sound = loadNewest(store, except, IS_SOUND, limit);
  return sound.length > 0 ? sound : loadNewest(store, except, "", limit);
}

const HAS_LINE = "EXISTS (SELECT 1 FROM order_line_rows l WHERE l.order_key = orders.order_key AND l.sku IS NOT NULL)";
/** `other`: what an order needs so that another one in its place can be told. */
const HAS_PART: Record<LostPart | "other", string> = {
  other: "number IS NOT NULL",
  status: "trim(status)<>''",
  lines: HAS_LINE,
  number: "number IS NOT NULL",
  total: "total IS NOT NULL",
  currency: "currency IS NOT NULL",
  quantity: HAS_LINE,
  price: HAS_LINE,
  count: "EXISTS (SELECT 1 FROM order_line_rows l WHERE l.order_key = orders.order_key AND l.line_no > 1)",
};

/** Of these, orders that have the part which another one lacks. */
export function loadControlsWith(
  store: Store,
  part: LostPart | "other",
  except: readonly string[],
  limit: number,
): Candidate[] {
  return loadNewest(store, except, `AND ${HAS_PART[part]} ${IS_SOUND}`, limit);
}

export interface Range {
  after: number;
  upTo: number;
  limit: number;
}

/** The next open or closed orders that the service had at the last read. */
export function loadToCompare(store: Store, range: Range & { isOpen: boolean }): Candidate[] {
  return store
    .prepare<Candidate>(
      `SELECT ${CANDIDATE} FROM orders INDEXED BY orders_to_compare
       WHERE is_open = ? AND removed_at IS NULL AND order_key > ? AND order_key <= ? ORDER BY order_key LIMIT ?`,
    )
    .all(Number(range.isOpen), range.after, range.upTo, range.limit);
}
