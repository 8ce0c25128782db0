/* Recreates the bridge's own triggers, indexes and views where they are missing or changed; not tables, which hold the ERP's rows. */

import type Database from "better-sqlite3";
import type { Migration } from "../migrations.ts";
import { quoteName } from "../quote-name.ts";
import { faultCodeOf } from "../sqlite-errors.ts";
import type { MadeObject } from "./made-objects.ts";
import { inspectOwn, type OwnState, ownObjectsOf } from "./own-objects.ts";

/**
 * Called before pending migrations change these objects, and when a command opens the database. Errors are ignored: the
 * following steps fail for the same reason and report it.
 */
export function restoreAtOpening(db: Database.Database, applied: readonly Migration[], isNewest: boolean): void {
  if (applied.length === 0) return;
  const look = () => inspectOwn(db, ownObjectsOf(db, applied), isNewest ? {} : { tables: [] });
  try {
    if (look().changed.length > 0) db.transaction(() => makeAgain(db, look())).immediate();
  } catch {
    // The transaction was rolled back.
  }
}

/**
 * Recreates what can be recreated, inside a write transaction, and repairs the data that missing triggers did not maintain:
 * the queue of orders for the ERP, and `known_revision` of requests inserted meanwhile, which becomes 0 (unknown). Returns
 * the names of the recreated objects: creation fails where a table of the ERP's has the name, or a view cannot be read.
 */
export function makeAgain(db: Database.Database, { changed, lacking }: OwnState): string[] {
  const made = changed.filter((object) => tryToMake(db, object));
  const names = made.map(({ name }) => name);
  const isThere = !lacking.some((lack) => /^erp_orders\b/.test(lack));
  const isNoted = ({ type, table }: MadeObject) => type === "trigger" && (table === "orders" || table === "erp_orders");
  if (isThere && made.some(isNoted)) mendQueue(db);
  if (names.includes("status_requests_known"))
    db.exec("UPDATE status_requests SET known_revision = 0 WHERE known_revision IS NULL AND state = 'pending'");
  if (names.includes("status_requests_mirror"))
    db.exec(
      `INSERT INTO mirror_changes (kind, key) SELECT 'request', request_id FROM mirror_requests WHERE request_id IS NOT NULL
       ON CONFLICT DO NOTHING`,
    );
  return names;
}

/** Inside a write transaction. */
export function tryToMake(db: Database.Database, { type, name, sql }: MadeObject): boolean {
  try {
    db.transaction(() => {
      db.exec(`DROP ${type} IF EXISTS ${quoteName(name)}`);
      db.exec(sql);
      if (type === "view") db.prepare(`SELECT 1 FROM ${quoteName(name)}`);
    })();
    return true;
  } catch (error) {
    if (!/^SQLITE_(ERROR|CONSTRAINT)/.test(faultCodeOf(error) ?? "")) throw error;
    return false;
  }
}

/**
 * Makes `erp_queue` agree with `orders` and `erp_orders`. An order that was blocked at an earlier revision than its newest
 * stays unblocked where the queue has it so: it has changed since.
 */
export function mendQueue(db: Database.Database): void {
  db.exec(
    `DELETE FROM erp_queue WHERE order_key IN (SELECT o.order_key FROM erp_orders e JOIN orders o ON o.order_id = lower(e.order_id)
       WHERE e.state <> 'blocked' AND o.erp_revision <= e.seen_revision);
     UPDATE erp_queue SET blocked = 0 WHERE blocked = 1 AND order_key NOT IN (
       SELECT o.order_key FROM erp_orders e JOIN orders o ON o.order_id = lower(e.order_id) WHERE e.state = 'blocked');
     UPDATE erp_queue SET blocked = 1, block_seen = e.seen_revision FROM erp_orders e JOIN orders o ON o.order_id = lower(e.order_id)
       WHERE erp_queue.order_key = o.order_key AND e.state = 'blocked' AND o.erp_revision <= e.seen_revision;
     INSERT INTO erp_queue (order_key, blocked, since, block_seen)
     SELECT o.order_key, coalesce(e.state, '') = 'blocked', o.changed_at, iif(e.state = 'blocked', e.seen_revision, NULL)
     FROM orders o LEFT JOIN erp_orders e ON e.order_id = o.order_id
     WHERE e.state = 'blocked' OR o.erp_revision > coalesce(e.seen_revision, 0)
     ON CONFLICT (order_key) DO NOTHING`,
  );
}
