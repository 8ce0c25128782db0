/*
 * The ERP's side of a feed: its table and the dirty keys. Reading waits for no lock. A crash between reading and writing
 * loses nothing, because a dirty key is deleted only in the transaction that has processed it.
 */

import { onlyRow } from "../../database/only-row.ts";
import { quoteName } from "../../database/quote-name.ts";
import type { Store } from "../../database/store.ts";
import { type StoredText, storedText } from "../../database/stored-text.ts";
import { type ColumnValue, type FeedRules, keyText, keyTexts, type SourceRow, type SourceRules } from "../feed.ts";
import { paddedKey } from "../feed-rows.ts";

/** Text that a JavaScript string cannot represent (invalid UTF-8, or half a surrogate pair): such a key is looked up by bytes. */
export class RawText {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** Key values of a row, with their types in the table. */
export type KeyValues = readonly (ColumnValue | RawText)[];

/** First limit of rows whose key equals one of the forms of a text; more are read if there are more. */
const LOOKALIKES = 20;

/** A key as text; undefined where a value cannot be a key, such as NULL. */
export function textsOf(values: KeyValues): string[] | undefined {
  const texts = values.map((value) => (value instanceof RawText ? undefined : keyText(value)));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

/** Dirty keys, as recorded by the triggers. */
export function loadDirtyKeys(store: Store, rules: FeedRules, limit: number): KeyValues[] {
  const columns = ["k0", "k1", "k2", "k3"].slice(0, rules.keys.length);
  return readValues(store, columns, {
    sql: (list) => `SELECT ${list} FROM feed_dirty WHERE feed_id = ? LIMIT ?`,
    values: [rules.feedId, limit],
  });
}

/** Marks the row to be read again, as if the ERP had written it. */
export function markKeyDirty(store: Store, rules: FeedRules, key: readonly string[]): void {
  store
    .prepare("INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
    .run(rules.feedId, ...paddedKey(key));
}

/** Removes a processed key. Returns the number of removed keys: 0 where it was not dirty. */
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
 * The rows of one key; two mean that the key is not unique in the table. Keys are compared as text: `1`, `1.0` and `'1'`
 * are equal, `a` and `A` are not, whatever types and collations the columns have.
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

/** The search for a key given as text. */
export interface KeySearch {
  where: string;
  values: readonly ColumnValue[];
  limit: number;
}

/** The rows whose key has this text, compared as in {@link loadSourceRows}. */
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
    // Rows with another form of the key may precede the matching ones.
    if (same.length > 1 || rows.length < limit) return same;
  }
}

/**
 * A key column for lookups and indexes, compared by bytes. An ERP may have replaced NOCASE by a collation that folds more
 * letters; a program with SQLite's own NOCASE would miss rows in an index with that order.
 */
export function keyColumn(name: string): string {
  return `${quoteName(name)} COLLATE BINARY`;
}

/** The values of a column that have this text: one or three, so that there are few different statements. */
function formsOf(text: string): ColumnValue[] {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(number)) return [text];
  const integer = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  const isStored = integer !== undefined && BigInt.asIntN(64, integer) === integer && integer.toString() === text;
  return [text, isStored ? integer : text, keyText(number) === text ? number : text];
}

/** Where reading a table continues: the values of the ordering columns in the last row. */
export type PageEnd = KeyValues;

export interface SourcePage {
  rows: SourceRow[];
  /** The key of each row. */
  keys: KeyValues[];
  /** Undefined where there is no row. */
  end: PageEnd | undefined;
}

/**
 * The next rows after `after`, in the table's storage order, and their keys. This needs no index on the key and does not
 * depend on its collation. Rows with a NULL in the key are excluded.
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

/** The unique storage order of a table: its rowid, or its primary key. */
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
  // All three names of the rowid are columns: the feed's key is used, as far as it distinguishes rows.
  return rules.keys.map(byBytes);
}

function byBytes(name: string): { name: string; collation: string } {
  return { name, collation: " COLLATE BINARY" };
}

/**
 * Whether SQLite continues in this order by a search from the end of a page. With an explicit collation it scans from the
 * first row for every page, even where the column has that collation; without, it does so where the collation differs from
 * the key's.
 */
function isFollowed(store: Store, rules: FeedRules, order: readonly { name: string }[]): boolean {
  const columns = order.map(({ name }) => quoteName(name)).join(", ");
  const marks = order.map(() => "?").join(", ");
  // Not cached, as in feed-triggers.ts.
  const plan = store.db
    .prepare<unknown[], { detail: string }>(
      `EXPLAIN QUERY PLAN SELECT 1 FROM ${quoteName(rules.table)} WHERE (${columns}) > (${marks}) ORDER BY ${columns}`,
    )
    .all(...order.map(() => ""));
  return plan.every(({ detail }) => detail.startsWith("SEARCH"));
}

/** Rows with NULL in the key. */
export function loadUnnamedRows(store: Store, rules: FeedRules, limit: number): SourceRow[] {
  const where = rules.keys.map((column) => `${quoteName(column)} IS NULL`).join(" OR ");
  return readRows(store, rules.columns, {
    sql: (list) => `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${where} LIMIT ?`,
    values: [limit],
  });
}

/** Reads rows, integers as bigint. Text that a string cannot represent is a Buffer, so that no altered text is sent. */
function readRows(store: Store, columns: readonly string[], query: SourceQuery): SourceRow[] {
  return readValues(store, columns, query).map((values) => rowOf(columns, values));
}

interface SourceQuery {
  sql: (list: string) => string;
  values: readonly (ColumnValue | number)[];
}

/** The same, with the values of each row in order; text that a string cannot represent is {@link RawText}. */
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

/** Reads the rows again, each value with its bytes: in one statement, so that both are of the same snapshot. */
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

/** A row by column names; surplus values are ignored. */
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
