/* Makes the bridge's own triggers, indexes and views again where they are gone or differ; not tables, whose rows are the ERP's. */

import type Database from "better-sqlite3";
import type { MadeObject } from "./made-objects.ts";
import type { Migration } from "./migrations.ts";
import { inspectOwn, type OwnState, ownObjectsOf } from "./own-objects.ts";
import { quoteName } from "./quote-name.ts";
import { faultCodeOf } from "./sqlite-errors.ts";

/** Before what is pending changes these objects, and for a command that writes. What hinders it hinders what follows as well, which reports it. */
export function restoreAtOpening(db: Database.Database, applied: readonly Migration[], isNewest: boolean): void {
  if (applied.length === 0) return;
  const look = () => inspectOwn(db, ownObjectsOf(db, applied), isNewest ? {} : { tables: [] });
  try {
    if (look().changed.length > 0) db.transaction(() => makeAgain(db, look())).immediate();
  } catch {
    // The transaction has left nothing.
  }
}

/**
 * Makes again what can be made, inside a write transaction, and works out what it would have kept: which orders the ERP has still to
 * take, and that of the requests made meanwhile it is unknown which revision the ERP had read. Gives the names of what it made: a
 * table of the ERP's may have one, and a view that would read nothing is left as it is.
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
 * What the queue lacks, or has too much, by the orders and the marks of the ERP. An order that was put aside in a revision before its last
 * stays open where the queue has it as open: it changed since.
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
