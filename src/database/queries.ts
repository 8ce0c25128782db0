/*
 * Common statements on one table, with names and types from the schema: drizzle queries, built and prepared once per
 * store, and `select` for what drizzle cannot express. Statements that run for every record or join tables are SQL in
 * their rooms.
 */
import type { Statement } from "better-sqlite3";
import { and, type Column, eq, getTableColumns, getTableName, isNull, type SQL, sql, type Table } from "drizzle-orm";
import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { NamedRow } from "./row.ts";
import type { Store } from "./store.ts";

export type Query = BetterSQLite3Database;
type Select<T extends SQLiteTable> = T["$inferSelect"];
type NameIn<T extends SQLiteTable> = keyof Select<T> & string;

/** A row in which these columns have these values; null matches NULL. */
export function findRow<T extends SQLiteTable>(
  store: Store,
  table: T,
  where: Partial<Select<T>>,
): Select<T> | undefined {
  const find = (query: Query) => query.select().from(table).where(matching(table, where)).prepare();
  return store.prepared(find, keyOf("find", table, soughtOf(where))).get(encode(table, where, "where"));
}

/** All such rows, sorted by the columns `order`. */
export function listRows<T extends SQLiteTable>(
  store: Store,
  table: T,
  where: Partial<Select<T>>,
  order: readonly NameIn<T>[],
): Select<T>[] {
  const by = order.map((name) => columnsOf(table)[name] as SQLiteColumn);
  const list = (query: Query) =>
    query
      .select()
      .from(table)
      .where(matching(table, where))
      .orderBy(...by)
      .prepare();
  return store.prepared(list, keyOf("list", table, soughtOf(where), order.join())).all(encode(table, where, "where"));
}

/**
 * `SELECT order_key AS orderKey, revision FROM orders …rest`, with the type of its rows; flags are 0 and 1, JSON is text.
 * For INDEXED BY, functions and lists of values, which drizzle cannot express, or only at length.
 */
export function select<T extends SQLiteTable, Name extends NameIn<T>>(
  store: Store,
  table: T,
  names: readonly Name[],
  rest: string,
): Statement<unknown[], NamedRow<T, Name>> {
  return store.prepare(`SELECT ${columnList(table, names)} FROM ${getTableName(table)} ${rest}`);
}

/** `order_key AS orderKey, revision`. `of`: the alias of the table in the statement. */
export function columnList<T extends Table>(table: T, names: readonly (keyof T["_"]["columns"])[], of = ""): string {
  const columns: Record<PropertyKey, Column> = getTableColumns(table);
  const place = of === "" ? "" : `${of}.`;
  return names.map((name) => `${place}${columns[name]?.name} AS ${String(name)}`).join(", ");
}

/** Returns the rowid of the new row. */
export function insertRow<T extends SQLiteTable>(store: Store, table: T, values: T["$inferInsert"]): number {
  const insert = (query: Query) => query.insert(table).values(given(values)).prepare();
  const { lastInsertRowid } = store
    .prepared(insert, keyOf("insert", table, namesOf(values)))
    .run(encode(table, values));
  return Number(lastInsertRowid);
}

/**
 * Inserts a row, or updates the columns `set` of the row with the same `key`; an empty `set` leaves that row unchanged.
 * Returns whether anything was written.
 */
export function upsertRow<T extends SQLiteTable>(
  store: Store,
  table: T,
  values: T["$inferInsert"],
  { key, set }: { key: readonly NameIn<T>[]; set: readonly NameIn<T>[] },
): boolean {
  const columns = columnsOf(table);
  const target = key.map((name) => columns[name] as never);
  const taken = (name: string) => sql`excluded.${sql.identifier(columns[name]?.name ?? name)}`;
  const isNew = set.map((name) => sql`${columns[name]} IS NOT ${taken(name)}`);
  const upsert = (query: Query) => {
    const insert = query.insert(table).values(given(values));
    if (set.length === 0) return insert.onConflictDoNothing({ target }).prepare();
    const taking = Object.fromEntries(set.map((name) => [name, taken(name)])) as never;
    return insert.onConflictDoUpdate({ target, set: taking, setWhere: sql.join(isNew, sql` OR `) }).prepare();
  };
  const { changes } = store
    .prepared(upsert, keyOf("upsert", table, namesOf(values), set.join()))
    .run(encode(table, values));
  return changes > 0;
}

/** Returns the number of updated rows. */
export function updateRows<T extends SQLiteTable>(
  store: Store,
  table: T,
  where: Partial<Select<T>>,
  set: Partial<Select<T>>,
): number {
  const update = (query: Query) =>
    query
      .update(table)
      .set(given(set) as never)
      .where(matching(table, where))
      .prepare();
  const query = store.prepared(update, keyOf("update", table, namesOf(set), soughtOf(where)));
  return query.run({ ...encode(table, set), ...encode(table, where, "where") }).changes;
}

/** Returns the number of deleted rows. */
export function deleteRows<T extends SQLiteTable>(store: Store, table: T, where: Partial<Select<T>>): number {
  const remove = (query: Query) => query.delete(table).where(matching(table, where)).prepare();
  return store.prepared(remove, keyOf("delete", table, soughtOf(where))).run(encode(table, where, "where")).changes;
}

type Values = Readonly<Record<string, unknown>>;

const columnsOf = (table: SQLiteTable): Record<string, SQLiteColumn> => getTableColumns(table);

const keyOf = (verb: string, table: SQLiteTable, ...columns: string[]) =>
  [verb, getTableName(table), ...columns].join(" ");
const namesOf = (values: Values) => Object.keys(values).join();
/** Comparing with NULL needs another query (IS NULL). */
const soughtOf = (where: Values) =>
  Object.keys(where)
    .map((name) => (where[name] === null ? `${name}?` : name))
    .join();

/** A parameter is an expression: see `plannedOnce`. */
function matching(table: SQLiteTable, where: Values): SQL | undefined {
  const columns = columnsOf(table);
  const match = (name: string, column: SQLiteColumn) =>
    where[name] === null ? isNull(column) : eq(column, sql`+${sql.placeholder(`where ${name}`)}`);
  return and(...Object.keys(where).map((name) => match(name, columns[name] as SQLiteColumn)));
}

function given(values: Values) {
  return Object.fromEntries(Object.keys(values).map((name) => [name, sql`${sql.placeholder(name)}`])) as never;
}

/** Values for the driver. drizzle itself would store a NULL as the text `null` in JSON columns, and as false in flags. */
function encode(table: SQLiteTable, values: Values, prefix = ""): Values {
  const columns = columnsOf(table);
  const encoded = Object.entries(values).map(([name, value]) => [
    `${prefix} ${name}`.trim(),
    value === null || value === undefined ? null : columns[name]?.mapToDriverValue(value),
  ]);
  return Object.fromEntries(encoded) as Values;
}
