/*
 * The everyday statements on one table, of which the schema gives names and types: queries of drizzle's, each built and
 * prepared once for a store. For what is not run for every record; everything else is a query of its room's.
 */
import { and, type Column, eq, getTableColumns, getTableName, isNull, type SQL, sql } from "drizzle-orm";
import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Store } from "./store.ts";

export type Query = BetterSQLite3Database;
type Select<T extends SQLiteTable> = T["$inferSelect"];
type NameIn<T extends SQLiteTable> = keyof Select<T> & string;

/** The row in which these columns have these values. */
export function findRow<T extends SQLiteTable>(
  store: Store,
  table: T,
  where: Partial<Select<T>>,
): Select<T> | undefined {
  const find = (query: Query) => query.select().from(table).where(matching(table, where)).prepare();
  return store.prepared(find, `find ${getTableName(table)} ${soughtOf(where)}`).get(encode(table, where, "where"));
}

/** Returns the number of the new row. */
export function insertRow<T extends SQLiteTable>(store: Store, table: T, values: T["$inferInsert"]): number {
  const insert = (query: Query) => query.insert(table).values(given(values)).prepare();
  const { lastInsertRowid } = store
    .prepared(insert, `insert ${getTableName(table)} ${namesOf(values)}`)
    .run(encode(table, values));
  return Number(lastInsertRowid);
}

/**
 * Inserts a row, or changes these columns of the one with the same key. Returns whether anything was written: where they have
 * these values already, nothing is.
 */
export function upsertRow<T extends SQLiteTable>(
  store: Store,
  table: T,
  values: T["$inferInsert"],
  { key, set }: { key: readonly NameIn<T>[]; set: readonly NameIn<T>[] },
): boolean {
  const columns = columnsOf(table);
  const taken = (name: string) => sql`excluded.${sql.identifier(columns[name]?.name ?? name)}`;
  const upsert = (query: Query) =>
    query
      .insert(table)
      .values(given(values))
      .onConflictDoUpdate({
        target: key.map((name) => columns[name] as never),
        set: Object.fromEntries(set.map((name) => [name, taken(name)])) as never,
        setWhere: sql.join(
          set.map((name) => sql`${columns[name]} IS NOT ${taken(name)}`),
          sql` OR `,
        ),
      })
      .prepare();
  const { changes } = store
    .prepared(upsert, `upsert ${getTableName(table)} ${namesOf(values)} ${set.join()}`)
    .run(encode(table, values));
  return changes > 0;
}

/** Returns how many rows it has changed. */
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
  const query = store.prepared(update, `update ${getTableName(table)} ${namesOf(set)} ${soughtOf(where)}`);
  return query.run({ ...encode(table, set), ...encode(table, where, "where") }).changes;
}

/** Returns how many rows it has removed. */
export function deleteRows<T extends SQLiteTable>(store: Store, table: T, where: Partial<Select<T>>): number {
  const remove = (query: Query) => query.delete(table).where(matching(table, where)).prepare();
  return store.prepared(remove, `delete ${getTableName(table)} ${soughtOf(where)}`).run(encode(table, where, "where"))
    .changes;
}

type Values = Readonly<Record<string, unknown>>;

const columnsOf = (table: SQLiteTable): Record<string, Column> => getTableColumns(table);

const namesOf = (values: Values) => Object.keys(values).join();
/** A NULL is looked for by another query. */
const soughtOf = (where: Values) =>
  Object.keys(where)
    .map((name) => (where[name] === null ? `${name}?` : name))
    .join();

function matching(table: SQLiteTable, where: Values): SQL | undefined {
  const columns = columnsOf(table);
  const match = (name: string, column: Column) =>
    where[name] === null ? isNull(column) : eq(column, sql`${sql.placeholder(`where ${name}`)}`);
  return and(...Object.keys(where).map((name) => match(name, columns[name] as Column)));
}

function given(values: Values) {
  return Object.fromEntries(Object.keys(values).map((name) => [name, sql`${sql.placeholder(name)}`])) as never;
}

/** As the driver takes them. drizzle itself would make the text `null` of a JSON column's NULL, and false of a flag's. */
function encode(table: SQLiteTable, values: Values, prefix = ""): Values {
  const columns = columnsOf(table);
  const encoded = Object.entries(values).map(([name, value]) => [
    `${prefix} ${name}`.trim(),
    value === null || value === undefined ? null : columns[name]?.mapToDriverValue(value),
  ]);
  return Object.fromEntries(encoded) as Values;
}
