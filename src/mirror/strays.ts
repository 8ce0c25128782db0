/*
 * A machine that does not reach PostgreSQL goes on, and may have lost its shop to another one meanwhile. When it learns of that it leaves the
 * orders that it took for the other machine, which reads them from the service: they were confirmed, and are served to neither again. What it sent
 * of feeds is unknown, so everything is sent once more. SQL, because each side writes many rows with one statement.
 */
import { FEED_NAMES } from "../config/feed-names.ts";
import type { Store } from "../database/store.ts";
import { invalidateAcknowledged } from "../feeds/acknowledged-rows.ts";
import { m } from "../messages/messages.ts";
import { oweMirroredRead } from "./bring-orders.ts";
import type { MirrorLink, MirrorTx } from "./connection.ts";
import { loadMirrorState } from "./mirror-state.ts";

/** Events read, and rows written or deleted, at a time. */
const ROWS_MAX = 2_000;

interface Taken {
  seq: number;
  orderId: string;
  serviceId: string | null;
}

/** Orders that this database has and PostgreSQL lacks, of events behind what it is known to have. Returns how many. */
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

/** Inside a transaction; repeated after a crash it does no harm. Returns how many orders are read from the service. */
export function takeStrays(store: Store, strays: readonly Stray[], at: string): number {
  let orders = 0;
  for (const { orderId, serviceId } of strays) {
    if (orderId === null) {
      invalidateAcknowledged(store, FEED_NAMES, { since: "", at, because: m.mirror.takeoverWasElsewhere });
    } else if (store.prepare("SELECT 1 FROM orders WHERE order_id = ?").get(orderId) === undefined) {
      oweMirroredRead(store, { orderId, serviceId }, at);
      orders += 1;
    }
  }
  return orders;
}

export async function deleteStrays(tx: MirrorTx, shop: string, strays: readonly Stray[]): Promise<void> {
  const ids = strays.map(({ id }) => id);
  await tx.run("DELETE FROM strays WHERE shop = $1 AND id = ANY ($2::bigint[])", [shop, ids]);
}
