import type { Store } from "../database/store.ts";

export interface Candidate {
  orderKey: number;
  orderId: string;
  serviceId: string;
}

export const CANDIDATE = "order_key AS orderKey, order_id AS orderId, coalesce(service_id, order_id) AS serviceId";

/**
 * The newest orders of which nothing speaks against it that the service has them, and answers for them. Where every order
 * has failed before, one that has.
 */
export function loadControls(store: Store, except: readonly string[], limit: number): Candidate[] {
  const load = (more: string) =>
    store
      .prepare<Candidate>(
        `SELECT ${CANDIDATE} FROM orders
         WHERE removed_at IS NULL AND order_id NOT IN (SELECT value FROM json_each(?))
           AND order_id NOT IN (SELECT order_id FROM missing_orders) ${more}
         ORDER BY order_key DESC LIMIT ?`,
      )
      .all(JSON.stringify(except), limit);
  const sound = load("AND order_id NOT IN (SELECT order_id FROM owed_reads WHERE attempts > 0)");
  return sound.length > 0 ? sound : load("");
}

/** Events and orders among which a later change is looked for. */
const RECENT_EVENTS = 200;
const RECENT_ORDERS = 50;

/** Orders that came or were changed last, each with the timestamp of what is stored of it. */
export function loadRecentlyStamped(store: Store, except: readonly string[]): (Candidate & { timestamp: string })[] {
  return store
    .prepare<Candidate & { timestamp: string }>(
      `SELECT ${CANDIDATE}, service_updated_at AS timestamp FROM orders
       WHERE order_key IN (
           SELECT order_key FROM (SELECT order_key FROM order_event_rows ORDER BY seq DESC LIMIT ${RECENT_EVENTS})
           UNION SELECT order_key FROM (SELECT order_key FROM orders ORDER BY order_key DESC LIMIT ${RECENT_ORDERS}))
         AND removed_at IS NULL AND service_updated_at IS NOT NULL
         AND order_id NOT IN (SELECT value FROM json_each(?)) AND order_id NOT IN (SELECT order_id FROM missing_orders)
         AND order_id NOT IN (SELECT order_id FROM owed_reads)`,
    )
    .all(JSON.stringify(except));
}

export interface Range {
  after: number;
  upTo: number;
  limit: number;
}

/** The next orders that are open, or are not, and that the service still knew when it was asked last. */
export function loadToCompare(store: Store, range: Range & { isOpen: boolean }): Candidate[] {
  return store
    .prepare<Candidate>(
      `SELECT ${CANDIDATE} FROM orders INDEXED BY orders_to_compare
       WHERE is_open = ? AND removed_at IS NULL AND order_key > ? AND order_key <= ? ORDER BY order_key LIMIT ?`,
    )
    .all(Number(range.isOpen), range.after, range.upTo, range.limit);
}
