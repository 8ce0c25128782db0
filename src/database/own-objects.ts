/*
 * The bridge's own triggers, indexes and views. A tool that makes a table of the ERP's anew, to add a column for instance, drops those
 * of that table without a word: marks would take nothing out of the queue, and a status would not know which
 * revision the ERP had read. They are made again as the migrations have them.
 */

import Database from "better-sqlite3";
import { loadMigrations, MIGRATIONS_FOLDER } from "./migrations.ts";
import { quoteName } from "./quote-name.ts";
import type { Store } from "./store.ts";

const CHANGE =
  /^\s*(CREATE|DROP)\s+(?:UNIQUE\s+)?(TABLE|TRIGGER|INDEX|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"?(\w+)([\s\S]*)/i;
const ON_TABLE = /\bON\s+"?(\w+)/i;

/** The triggers, indexes and views that migrations leave behind, each with its table; a view's is itself. In small letters. */
export function lastingObjects(statements: readonly string[]): Map<string, string> {
  const lasting = new Map<string, string>();
  for (const statement of statements) {
    const [, verb = "", type = "", named = "", rest = ""] = CHANGE.exec(withoutComments(statement)) ?? [];
    const [name, kind] = [named.toLowerCase(), type.toUpperCase()];
    if (kind === "TABLE") {
      if (verb.toUpperCase() === "DROP") for (const [each, table] of lasting) if (table === name) lasting.delete(each);
    } else if (verb.toUpperCase() === "DROP") lasting.delete(name);
    else if (kind !== "") lasting.set(name, kind === "VIEW" ? name : (ON_TABLE.exec(rest)?.[1] ?? "").toLowerCase());
  }
  return lasting;
}

function withoutComments(statement: string): string {
  return statement.replace(/^\s*--.*$/gm, "");
}

/** Read once in a process. */
let known: Map<string, string> | undefined;

/** The names of those that are gone, or stand on another table, such as a renamed one; not those of a table that is gone itself. Only reads. */
export function findGone(store: Store): string[] {
  known ??= lastingObjects(statementsOf());
  const rows = store
    .prepare<{ type: string; name: string; table: string }>(
      `SELECT type, lower(name) AS name, lower(tbl_name) AS "table" FROM sqlite_schema WHERE type IN ('table', 'trigger', 'index', 'view')`,
    )
    .all();
  const tables = new Set(rows.filter(({ type }) => type === "table").map(({ name }) => name));
  const standing = new Map(rows.filter(({ type }) => type !== "table").map(({ name, table }) => [name, table]));
  const canBeMade = (name: string, table: string) => name === table || tables.has(table);
  return [...known].flatMap(([name, table]) => (standing.get(name) !== table && canBeMade(name, table) ? [name] : []));
}

/**
 * Makes them again, inside a write transaction, and works out what they would have kept: which orders the ERP has still to take, and
 * that of the requests made meanwhile it is unknown which revision the ERP had read.
 */
export function restoreGone(store: Store, gone: readonly string[]): void {
  const made = madeByMigrations(gone);
  for (const { type, name, sql } of made) {
    store.db.exec(`DROP ${type} IF EXISTS ${quoteName(name)}`);
    store.db.exec(sql);
  }
  const tables = new Set(made.map(({ table }) => table));
  if (tables.has("orders") || tables.has("erp_orders")) mendQueue(store);
  if (gone.includes("status_requests_known"))
    store.db.exec("UPDATE status_requests SET known_revision = 0 WHERE known_revision IS NULL AND state = 'pending'");
}

interface SchemaRow {
  type: "trigger" | "index" | "view";
  name: string;
  table: string;
  sql: string;
}

/** In the order in which they are made: one view may read another. */
function madeByMigrations(names: readonly string[]): SchemaRow[] {
  const db = new Database(":memory:");
  try {
    for (const statement of statementsOf()) db.exec(statement);
    return db
      .prepare<[string], SchemaRow>(
        `SELECT type, name, lower(tbl_name) AS "table", sql FROM sqlite_schema
         WHERE type IN ('trigger', 'index', 'view') AND lower(name) IN (SELECT value FROM json_each(?)) ORDER BY rowid`,
      )
      .all(JSON.stringify(names));
  } finally {
    db.close();
  }
}

function statementsOf(): string[] {
  return loadMigrations(MIGRATIONS_FOLDER).flatMap(({ statements }) => statements);
}

/** An order that was put aside in a revision before its last stays open where the queue has it as open: it changed since. */
function mendQueue(store: Store): void {
  store.db.exec(
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
