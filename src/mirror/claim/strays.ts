/*
 * Strays: orders ingested by a machine that continued without a connection to PostgreSQL, while another one took over its
 * shop. Once it finds that out, it lists them in PostgreSQL, and the other machine reads them from the service: they are
 * confirmed, so the service delivers them to neither again. What the first machine sent of feeds is unknown, so the other
 * one sends all rows again. SQL, because each side writes many rows with one statement.
 */
import { FEED_NAMES } from "../../config/feed-names.ts";
import type { Store } from "../../database/store.ts";
import { invalidateAcknowledged } from "../../feeds/acknowledged-rows.ts";
import { m } from "../../messages/messages.ts";
import type { MirrorLink, MirrorTx } from "../connection.ts";
import { loadMirrorState } from "../mirror-state.ts";
import { queueMirroredRead } from "./bring-orders.ts";

/** Events or rows per statement. */
const ROWS_MAX = 2_000;

interface Taken {
  seq: number;
  orderId: string;
  serviceId: string | null;
}

/**
 * Lists the orders that this database has and PostgreSQL lacks, among the events after the last one known to be mirrored.
 * Returns how many.
 */
export async function leaveStrays(
  link: MirrorLink,
  store: Store,
  { shop, host }: { shop: string; host: string },
): Promise<number> {
  const known = Number(loadMirrorState(store, "mirrored") ?? 0);
  return await link.transaction(async (tx) => {
    let left = 0;
    for (let page = listTaken(store, known); page.length > 0; page = listTaken(store, page.at(-1)?.seq ?? 0)) {
      left += await tx.run(
        `INSERT INTO strays (shop, host, order_id, service_id)
         SELECT DISTINCT ON (x."orderId") $1, $2, x."orderId", x."serviceId"
         FROM json_to_recordset($3::json) AS x("orderId" uuid, "serviceId" text)
         WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.shop = $1 AND o.order_id = x."orderId")
         ON CONFLICT DO NOTHING`,
        [shop, host, JSON.stringify(page)],
      );
    }
    await tx.run("INSERT INTO strays (shop, host) VALUES ($1, $2)", [shop, host]);
    return left;
  });
}

function listTaken(store: Store, after: number): Taken[] {
  return store
    .prepare<Taken>(
      `SELECT e.seq, o.order_id AS orderId, o.service_id AS serviceId FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key
       WHERE e.seq > ? AND o.removed_at IS NULL ORDER BY e.seq LIMIT ${ROWS_MAX}`,
    )
    .all(after);
}

export interface Stray {
  id: string;
  host: string | null;
  orderId: string | null;
  serviceId: string | null;
}

export async function readStrays(link: MirrorLink, shop: string): Promise<Stray[]> {
  return await link.look<Stray>(
    `SELECT id::text AS id, host, order_id::text AS "orderId", service_id AS "serviceId" FROM strays
     WHERE shop = $1 ORDER BY strays.id LIMIT ${ROWS_MAX}`,
    [shop],
  );
}

/** Queues the listed orders to be read from the service. Inside a transaction; may be repeated. Returns how many were queued. */
export function takeStrays(store: Store, strays: readonly Stray[], at: string): number {
  let orders = 0;
  for (const { orderId, serviceId } of strays) {
    if (orderId === null) {
      invalidateAcknowledged(store, FEED_NAMES, { since: "", at, because: m.mirror.takeoverWasElsewhere });
    } else if (store.prepare("SELECT 1 FROM orders WHERE order_id = ?").get(orderId) === undefined) {
      queueMirroredRead(store, { orderId, serviceId }, at);
      orders += 1;
    }
  }
  return orders;
}

export async function deleteStrays(tx: MirrorTx, shop: string, strays: readonly Stray[]): Promise<void> {
  const ids = strays.map(({ id }) => id);
  await tx.run("DELETE FROM strays WHERE shop = $1 AND id = ANY ($2::bigint[])", [shop, ids]);
}
