/*
 * The bridge's own tables, triggers, indexes and views: whether they are as the migrations make them. A tool that makes a table of the
 * ERP's anew, to add a column for instance, drops those of that table without a word, and SQLite's RENAME writes other names into
 * triggers and views: marks would take nothing out of the queue, and the ERP could read nothing. `make-own.ts` makes again what differs.
 */

import type Database from "better-sqlite3";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { encodingOf, type MadeObject, objectsMadeBy } from "./made-objects.ts";
import { loadMigrations, MIGRATIONS_FOLDER, type Migration, statementsOf } from "./migrations.ts";
import { onlyRow } from "./only-row.ts";
import * as schema from "./schema.ts";
import { faultCodeOf } from "./sqlite-errors.ts";
import type { Store } from "./store.ts";

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

/** What this version's migrations make. */
export function ownObjects(db: Database.Database): OwnObjects {
  return ownObjectsOf(db, loadMigrations(MIGRATIONS_FOLDER));
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
  const columns = new Map<string, Column[]>(tables.filter(({ name }) => own.has(name)).map(({ name }) => [name, []]));
  const found = db.prepare<[string], Column>(
    `SELECT lower(t.name) AS "table", lower(c.name) AS name, pk FROM sqlite_schema t, pragma_table_xinfo(t.name) c
     WHERE t.type = 'table' AND lower(t.name) IN (SELECT value FROM json_each(?))`,
  );
  for (const column of found.all(JSON.stringify([...columns.keys()]))) columns.get(column.table)?.push(column);
  const lacks = new Map(
    tables.flatMap((table) => {
      const there = columns.get(table.name);
      return there === undefined ? [] : [[table.name, lackOf(table, there)] as const];
    }),
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
    return db.prepare(`SELECT 1 FROM ${view}`).reader;
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
  table: string;
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

/** Another one where any object was made, changed or dropped. */
export function schemaVersion(store: Store): number {
  return onlyRow(
    store.prepare<{ version: number }>("SELECT schema_version AS version FROM pragma_schema_version").get(),
  ).version;
}

/** In one line, for a person; empty where all is as it should be. */
export function describeOwn({ changed, lacking }: OwnState): string {
  return [...lacking, ...changed.map(({ name }) => name)].join(", ");
}
