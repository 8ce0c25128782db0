/*
 * The bridge's own tables, triggers, indexes and views: whether they are as the migrations make them. A tool that makes a table of the
 * ERP's anew, to add a column for instance, drops those of that table without a word, and SQLite's RENAME writes other names into
 * triggers and views: marks would take nothing out of the queue, and the ERP could read nothing. What differs is made again, but for
 * tables: their rows are the ERP's.
 */

import type Database from "better-sqlite3";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { encodingOf, type MadeObject, objectsMadeBy } from "./made-objects.ts";
import { type Migration, statementsOf } from "./migrations.ts";
import { quoteName } from "./quote-name.ts";
import * as schema from "./schema.ts";
import { faultCodeOf } from "./sqlite-errors.ts";

/** The ERP's own to make as it likes: a feed reports itself what it lacks there. */
export const FEED_TABLES: ReadonlySet<string> = new Set(["stock", "prices", "products", "images"]);

/** Their columns stand in the configuration. */
const CONFIGURED = /^((orders|order_lines)_wide|(stock|prices|products|images)_sent)$/;

export type OwnObjects = ReadonlyMap<string, MadeObject>;

const known = new WeakMap<readonly Migration[], Map<string, OwnObjects>>();

/** What these migrations make of a database in this encoding. */
export function ownObjectsOf(db: Database.Database, migrations: readonly Migration[]): OwnObjects {
  const encoding = encodingOf(db);
  const kept = known.get(migrations)?.get(encoding);
  if (kept !== undefined) return kept;
  const own = objectsMadeBy(statementsOf(migrations), encoding);
  known.set(migrations, (known.get(migrations) ?? new Map<string, OwnObjects>()).set(encoding, own));
  return own;
}

export interface OwnState {
  /** Triggers, indexes and views that are gone or differ; not those of a table that lacks something. */
  changed: readonly MadeObject[];
  /** What tables lack, which only the ERP can give back: `erp_orders`, `erp_orders.state`, `erp_orders (PRIMARY KEY)`. */
  lacking: readonly string[];
}

/**
 * Only reads.
 * @param configured texts of views that the configuration asks for, by their names
 * @param tables what tables must have
 */
export function inspectOwn(
  db: Database.Database,
  own: OwnObjects,
  {
    configured = {},
    tables = TABLES,
  }: { configured?: Readonly<Record<string, string>>; tables?: readonly OwnTable[] } = {},
): OwnState {
  const standing = new Map(
    db
      .prepare<[string], MadeObject>(
        `SELECT type, lower(name) AS name, lower(tbl_name) AS "table", sql FROM sqlite_schema
         WHERE lower(name) IN (SELECT value FROM json_each(?))`,
      )
      .all(JSON.stringify([...own.keys()]))
      .map((object) => [`${object.type} ${object.name}`, object]),
  );
  const columns = db.prepare<[string], Column>(
    `SELECT lower(c.name) AS name, pk FROM sqlite_schema t, pragma_table_xinfo(t.name) c
     WHERE t.type = 'table' AND lower(t.name) = ?`,
  );
  const lacks = new Map(
    tables.filter(({ name }) => own.has(name)).map((table) => [table.name, lackOf(table, columns.all(table.name))]),
  );
  const changed = [...own.values()].flatMap((object) => {
    const { type, name, table } = object;
    if (type === "table" || (lacks.get(table)?.length ?? 0) > 0) return [];
    const wanted = { ...object, sql: configured[name] ?? object.sql };
    const found = standing.get(`${type} ${name}`);
    if (found?.table !== table) return [wanted];
    const isFree = CONFIGURED.test(name) && configured[name] === undefined;
    return (isFree ? isReadable(db, name) : found.sql === wanted.sql) ? [] : [wanted];
  });
  return { changed, lacking: [...lacks.values()].flat() };
}

function isReadable(db: Database.Database, view: string): boolean {
  try {
    return db.prepare(`SELECT 1 FROM ${quoteName(view)}`).reader;
  } catch (error) {
    if (faultCodeOf(error) !== "SQLITE_ERROR") throw error;
    return false;
  }
}

interface OwnTable {
  name: string;
  columns: string[];
  key: string[];
}

const TABLES: readonly OwnTable[] = Object.values(schema)
  .filter((declared) => is(declared, SQLiteTable))
  .map((table) => getTableConfig(table))
  .filter(({ name }) => !FEED_TABLES.has(name))
  .map(({ name, columns, primaryKeys }) => ({
    name,
    columns: columns.map((column) => column.name),
    key: [...columns.filter(({ primary }) => primary), ...primaryKeys.flatMap((key) => key.columns)].map(
      (column) => column.name,
    ),
  }));

interface Column {
  name: string;
  /** Its place in the primary key, from 1 on; 0 where it is in none. */
  pk: number;
}

function lackOf({ name, columns, key }: OwnTable, there: readonly Column[]): string[] {
  if (there.length === 0) return [name];
  const gone = columns.filter((column) => !there.some((found) => found.name === column));
  if (gone.length > 0) return gone.map((column) => `${name}.${column}`);
  const keyed = there.filter(({ pk }) => pk > 0).map((column) => column.name);
  return keyed.sort().join() === key.toSorted().join() ? [] : [`${name} (PRIMARY KEY)`];
}

/**
 * Before what is pending changes these objects, and for a command that writes. What hinders it hinders what follows as well, which
 * reports it.
 */
export function restoreAtOpening(db: Database.Database, applied: readonly Migration[], isNewest: boolean): void {
  if (applied.length === 0) return;
  const look = () => inspectOwn(db, ownObjectsOf(db, applied), isNewest ? {} : { tables: [] });
  try {
    if (look().changed.length > 0) db.transaction(() => makeAgain(db, look())).immediate();
  } catch {
    // The transaction has left nothing.
  }
}

/** In one line, for a person; empty where all is as it should be. */
export function describeOwn({ changed, lacking }: OwnState): string {
  return [...lacking, ...changed.map(({ name }) => name)].join(", ");
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
