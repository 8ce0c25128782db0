/*
 * Checks whether the bridge's own tables, triggers, indexes and views are as the migrations create them. A tool that
 * recreates a table of the ERP's, for instance to add a column, silently drops its triggers and indexes, and SQLite's
 * RENAME changes names inside triggers and views: rows in `erp_orders` would no longer remove orders from the queue, and
 * views could not be read. `make-own.ts` recreates what differs.
 */

import type Database from "better-sqlite3";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { loadMigrations, MIGRATIONS_FOLDER, type Migration, statementsOf } from "../migrations.ts";
import { onlyRow } from "../only-row.ts";
import * as schema from "../schema.ts";
import { faultCodeOf } from "../sqlite-errors.ts";
import type { Store } from "../store.ts";
import { encodingOf, type MadeObject, objectsMadeBy } from "./made-objects.ts";

/** Tables that the ERP may define as it likes: each feed reports the columns that it lacks. */
export const FEED_TABLES: ReadonlySet<string> = new Set(["stock", "prices", "products", "images"]);

/** Views whose columns depend on the configuration. */
const CONFIGURED = /^((orders|order_lines)_wide|(stock|prices|products|images)_sent)$/;

export type OwnObjects = ReadonlyMap<string, MadeObject>;

const known = new WeakMap<readonly Migration[], Map<string, OwnObjects>>();

/** The objects that these migrations create in a database of this encoding. */
export function ownObjectsOf(db: Database.Database, migrations: readonly Migration[]): OwnObjects {
  const encoding = encodingOf(db);
  const kept = known.get(migrations)?.get(encoding);
  if (kept !== undefined) return kept;
  const own = objectsMadeBy(statementsOf(migrations), encoding);
  known.set(migrations, (known.get(migrations) ?? new Map<string, OwnObjects>()).set(encoding, own));
  return own;
}

/** The objects that the migrations of this version create. */
export function ownObjects(db: Database.Database): OwnObjects {
  return ownObjectsOf(db, loadMigrations(MIGRATIONS_FOLDER));
}

export interface OwnState {
  /** Triggers, indexes and views that are missing or differ; without those of tables in `lacking`. */
  changed: readonly MadeObject[];
  /** Missing tables and their parts, which only the ERP can restore: `erp_orders`, `erp_orders.state`, `erp_orders (PRIMARY KEY)`. */
  lacking: readonly string[];
}

/**
 * Only reads.
 * @param configured SQL of the views that depend on the configuration, by name
 * @param tables the tables to check, with the columns and keys that they must have
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
  /** Position in the primary key, from 1 on; 0 where it is not part of it. */
  pk: number;
}

function lackOf({ name, columns, key }: OwnTable, there: readonly Column[]): string[] {
  if (there.length === 0) return [name];
  const gone = columns.filter((column) => !there.some((found) => found.name === column));
  if (gone.length > 0) return gone.map((column) => `${name}.${column}`);
  const keyed = there.filter(({ pk }) => pk > 0).map((column) => column.name);
  return keyed.sort().join() === key.toSorted().join() ? [] : [`${name} (PRIMARY KEY)`];
}

/** Differs after any object was created, changed or dropped. */
export function schemaVersion(store: Store): number {
  return onlyRow(
    store.prepare<{ version: number }>("SELECT schema_version AS version FROM pragma_schema_version").get(),
  ).version;
}

/** One line for a person; empty where nothing is missing or changed. */
export function describeOwn({ changed, lacking }: OwnState): string {
  return [...lacking, ...changed.map(({ name }) => name)].join(", ");
}
