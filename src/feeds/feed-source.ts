/*
 * The ERP's side of a feed: its table, read as it is, and the keys that are dirty. Reading takes no lock
 * that is waited for; a crash between reading and writing loses nothing, because a dirty key is deleted only in the
 * transaction that dealt with it.
 */

import { onlyRow } from "../database/only-row.ts";
import { quoteName } from "../database/quote-name.ts";
import type { Store } from "../database/store.ts";
import { type StoredText, storedText } from "../database/stored-text.ts";
import { type ColumnValue, type FeedRules, keyText, keyTexts, type SourceRow, type SourceRules } from "./feed.ts";
import { paddedKey } from "./feed-rows.ts";

/** Text that no JavaScript string can carry (not UTF-8, or half a surrogate pair): a key of it finds its row again only by its bytes. */
export class RawText {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** Native key values of a row, as the table holds them. */
export type KeyValues = readonly (ColumnValue | RawText)[];

/** Rows that the forms of a key may stand for; more are read where they are there. */
const LOOKALIKES = 20;

/** A key as text; undefined where nothing can be called by it. */
export function textsOf(values: KeyValues): string[] | undefined {
  const texts = values.map((value) => (value instanceof RawText ? undefined : keyText(value)));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

/** Dirty keys, as the triggers noted them. */
export function loadDirtyKeys(store: Store, rules: FeedRules, limit: number): KeyValues[] {
  const columns = ["k0", "k1", "k2", "k3"].slice(0, rules.keys.length);
  return readValues(store, columns, {
    sql: (list) => `SELECT ${list} FROM feed_dirty WHERE feed_id = ? LIMIT ?`,
    values: [rules.feedId, limit],
  });
}

/** The row is to be read again, as if the ERP had written it. */
export function markKeyDirty(store: Store, rules: FeedRules, key: readonly string[]): void {
  store
    .prepare("INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
    .run(rules.feedId, ...paddedKey(key));
}

/** The key is dealt with. Returns how many keys that were: 0 where it was not dirty. */
export function deleteDirtyKey(store: Store, rules: FeedRules, key: KeyValues): number {
  const parts = [...key, "", "", "", ""].slice(0, 4);
  const where = parts.map((value, index) => `k${index} = ${markOf(value)}`).join(" AND ");
  const statement = store.prepare(`DELETE FROM feed_dirty WHERE feed_id = ? AND ${where}`);
  return statement.run(rules.feedId, ...parts.map(bindOf)).changes;
}

export function countSourceRows(store: Store, rules: FeedRules, limit: number): number {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${quoteName(rules.table)} LIMIT ?)`;
  return onlyRow(store.prepare<{ n: number }>(sql).get(limit)).n;
}

/**
 * The rows of one key; two mean that the table does not keep its key unique. A key is its text: `1`, `1.0` and `'1'` are
 * one, `a` and `A` are two, whatever types and collations the columns have.
 */
export function loadSourceRows(store: Store, rules: FeedRules, key: KeyValues): SourceRow[] {
  const from = quoteName(rules.table);
  const wanted = key.map((value) => (value instanceof RawText || value === null ? undefined : value));
  const texts = wanted.every((value) => value !== undefined) ? keyTexts(rules, rowOf(rules.keys, wanted)) : undefined;
  if (texts !== undefined)
    return findRows(rules, texts, ({ where, values, limit }) =>
      readRows(store, rules.columns, {
        sql: (list) => `SELECT ${list} FROM ${from} WHERE ${where} LIMIT ?`,
        values: [...values, limit],
      }),
    );
  const where = rules.keys.map((column, index) => `${keyColumn(column)} = ${markOf(key[index] ?? null)}`).join(" AND ");
  return readRows(store, rules.columns, {
    sql: (list) => `SELECT ${list} FROM ${from} WHERE ${where} LIMIT ?`,
    values: [...key.map(bindOf), LOOKALIKES],
  });
}

/** What to look for where a key is given as text. */
export interface KeySearch {
  where: string;
  values: readonly ColumnValue[];
  limit: number;
}

/** The rows whose key has this text, whatever types and collations the columns have: `1`, `1.0` and `'1'` are one, `a` and `A` are two. */
export function findRows(
  rules: SourceRules,
  key: readonly string[],
  read: (search: KeySearch) => SourceRow[],
): SourceRow[] {
  const forms = key.map(formsOf);
  const where = rules.keys
    .map((column, index) => `${keyColumn(column)} IN (${(forms[index] ?? []).map(() => "?").join(", ")})`)
    .join(" AND ");
  for (let limit = LOOKALIKES; ; limit *= 10) {
    const rows = read({ where, values: forms.flat(), limit });
    const same = rows.filter((row) => keyTexts(rules, row)?.every((text, index) => text === key[index]));
    // Rows under another form of the key may stand before the ones that are meant.
    if (same.length > 1 || rows.length < limit) return same;
  }
}

/**
 * A key column as it is looked up and indexed: by its bytes. An ERP may have replaced NOCASE by one that folds more letters, and an index
 * in the order of that one hides rows from a program that has SQLite's own.
 */
export function keyColumn(name: string): string {
  return `${quoteName(name)} COLLATE BINARY`;
}

/** The values that a column may hold under one text: one or three, so that statements are few. */
function formsOf(text: string): ColumnValue[] {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(number)) return [text];
  const integer = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  const isStored = integer !== undefined && BigInt.asIntN(64, integer) === integer && integer.toString() === text;
  return [text, isStored ? integer : text, keyText(number) === text ? number : text];
}

/** Where a reading of a table goes on: the values of what orders it, after which the next row comes. */
export type PageEnd = KeyValues;

export interface SourcePage {
  rows: SourceRow[];
  /** The key of each row. */
  keys: KeyValues[];
  /** Undefined where there is no row. */
  end: PageEnd | undefined;
}

/**
 * The next rows in the order in which the table itself is kept, after `after`, and their keys. Neither depends on an
 * index of the key or on what its collation takes for the same. Rows with a NULL in the key are not among them.
 */
export function loadSourcePage(store: Store, rules: FeedRules, after: PageEnd | undefined, limit: number): SourcePage {
  const order = orderOf(store, rules);
  const named = order.map(({ name, collation }) => `${quoteName(name)}${collation}`);
  const columns = [...new Set([...rules.columns, ...order.map(({ name }) => name)])];
  const beyond = after === undefined ? [] : [`(${named.join(", ")}) > (${after.map(markOf).join(", ")})`];
  const where = [...beyond, ...rules.keys.map((column) => `${quoteName(column)} IS NOT NULL`)].join(" AND ");
  const values = readValues(store, columns, {
    sql: (list) => `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${where} ORDER BY ${named.join(", ")} LIMIT ?`,
    values: [...(after ?? []).map(bindOf), limit],
  });
  const pick = (names: readonly string[]) => {
    const places = names.map((name) => columns.indexOf(name));
    return (row: KeyValues): KeyValues => places.map((place) => row[place] ?? null);
  };
  const last = values.at(-1);
  return {
    // The columns of the record come first.
    rows: values.map((row) => rowOf(rules.columns, row)),
    keys: values.map(pick(rules.keys)),
    end: last === undefined ? undefined : pick(order.map(({ name }) => name))(last),
  };
}

/** What a table is kept by, and unique by: its rowid, or its primary key. */
function orderOf(store: Store, rules: FeedRules): { name: string; collation: string }[] {
  const columns = store
    .prepare<{ name: string }>("SELECT name FROM pragma_table_xinfo(?)")
    .all(rules.table)
    .map(({ name }) => name.toLowerCase());
  const rowid = ["rowid", "_rowid_", "oid"].find((name) => !columns.includes(name));
  const primary = store
    .prepare<{ name: string }>(
      `SELECT x.name FROM pragma_table_list(@table) t, pragma_index_list(@table) i, pragma_index_xinfo(i.name) x
       WHERE t.schema = 'main' AND t.wr = 1 AND i.origin = 'pk' AND x.key = 1 ORDER BY x.seqno`,
    )
    .all({ table: rules.table });
  if (primary.length > 0) {
    const plain = primary.map(({ name }) => ({ name, collation: "" }));
    return isFollowed(store, rules, plain) ? plain : primary.map(({ name }) => byBytes(name));
  }
  if (rowid !== undefined) return [{ name: rowid, collation: "" }];
  // All three names are taken: the key it is, as far as it distinguishes rows.
  return rules.keys.map(byBytes);
}

function byBytes(name: string): { name: string; collation: string } {
  return { name, collation: " COLLATE BINARY" };
}

/**
 * Whether SQLite goes on in this order from where a page ended. With its collation written out it reads from the first
 * row on for every page, even where the column has that collation; without, another collation than the key's would do so.
 */
function isFollowed(store: Store, rules: FeedRules, order: readonly { name: string }[]): boolean {
  const columns = order.map(({ name }) => quoteName(name)).join(", ");
  const marks = order.map(() => "?").join(", ");
  // Prepared anew each time, as in feed-triggers.ts.
  const plan = store.db
    .prepare<unknown[], { detail: string }>(
      `EXPLAIN QUERY PLAN SELECT 1 FROM ${quoteName(rules.table)} WHERE (${columns}) > (${marks}) ORDER BY ${columns}`,
    )
    .all(...order.map(() => ""));
  return plan.every(({ detail }) => detail.startsWith("SEARCH"));
}

/** Rows that no key can name. */
export function loadUnnamedRows(store: Store, rules: FeedRules, limit: number): SourceRow[] {
  const where = rules.keys.map((column) => `${quoteName(column)} IS NULL`).join(" OR ");
  return readRows(store, rules.columns, {
    sql: (list) => `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${where} LIMIT ?`,
    values: [limit],
  });
}

/** Reads rows, integers as bigint. Text that no string carries comes as a Buffer, so that nothing is sent that the ERP did not write. */
function readRows(store: Store, columns: readonly string[], query: SourceQuery): SourceRow[] {
  return readValues(store, columns, query).map((values) => rowOf(columns, values));
}

interface SourceQuery {
  sql: (list: string) => string;
  values: readonly (ColumnValue | number)[];
}

/** The same, the values of each row in order; text that no string carries comes as {@link RawText}. */
function readValues(store: Store, columns: readonly string[], query: SourceQuery): KeyValues[] {
  const read = (list: string) =>
    store
      .prepare<ColumnValue[]>(query.sql(list))
      .safeIntegers(true)
      .raw(true)
      .all(...query.values);
  const plain = read(columns.map(quoteName).join(", "));
  const texts = storedText(store.db);
  return plain.some((values) => values.some(texts.mayDiffer)) ? withRawText(read, columns, texts) : plain;
}

/** The same rows once more, each value with its bytes: in one statement, so that both are of one moment. */
function withRawText(
  read: (list: string) => ColumnValue[][],
  columns: readonly string[],
  texts: StoredText,
): KeyValues[] {
  const list = columns.flatMap((column) => [quoteName(column), `CAST(${quoteName(column)} AS BLOB)`]).join(", ");
  return read(list).map((row) =>
    columns.map((_, index) => {
      const value = row[2 * index] ?? null;
      const bytes = row[2 * index + 1];
      const isRaw = texts.mayDiffer(value) && Buffer.isBuffer(bytes) && !texts.isExact(value, bytes);
      return isRaw ? new RawText(bytes) : value;
    }),
  );
}

/** The columns of a row by their names; more values than columns are left out. */
export function rowOf(columns: readonly string[], values: KeyValues): SourceRow {
  const row: Record<string, ColumnValue> = {};
  columns.forEach((column, index) => {
    const value = values[index] ?? null;
    row[column] = value instanceof RawText ? value.bytes : value;
  });
  return row;
}

function markOf(value: ColumnValue | RawText): string {
  return value instanceof RawText ? "CAST(? AS TEXT)" : "?";
}

function bindOf(value: ColumnValue | RawText): ColumnValue {
  return value instanceof RawText ? value.bytes : value;
}
