/*
 * The ERP's side of a feed: its table and the dirty keys. Reading waits for no lock. A crash between reading and writing
 * loses nothing, because a dirty key is deleted only in the transaction that has processed it.
 */

import { onlyRow } from "../../database/only-row.ts";
import { quoteName } from "../../database/quote-name.ts";
import type { Store } from "../../database/store.ts";
import { type StoredText, storedText } from "../../database/stored-text.ts";
import type { FeedRules, SourceRules } from "../feed.ts";
import {
  bytesOf,
  type ColumnValue,
  firstOf,
  keyText,
  keyTexts,
  ROW_BYTES_MAX,
  type SourceRow,
  TOO_LARGE,
} from "../feed-record.ts";
import { paddedKey } from "../feed-rows.ts";

/** Text that a JavaScript string cannot represent (invalid UTF-8, or half a surrogate pair): such a key is looked up by bytes. */
class RawText {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** Key values of a row, with their types in the table; NULL also where the key is too large to be read. */
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
  const columns = DIRTY.slice(0, rules.keys.length);
  const found = readValues(store, [columns], {
    sql: (list) => `SELECT ${list} FROM feed_dirty WHERE feed_id = ? LIMIT ?`,
    values: [rules.feedId, limit],
    isPage: true,
  });
  return found.map(({ values }) => values);
}

const DIRTY = ["k0", "k1", "k2", "k3"];

/** Marks the row to be read again, as if the ERP had written it. */
export function markKeyDirty(store: Store, rules: FeedRules, key: readonly string[]): void {
  store
    .prepare("INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
    .run(rules.feedId, ...paddedKey(key));
}

/**
 * Removes a processed key. Returns the number of removed keys: 0 where it was not dirty. Keys that are too large are
 * removed together.
 */
export function deleteDirtyKey(store: Store, rules: FeedRules, key: KeyValues): number {
  if (key.includes(null)) {
    const isTooLarge = `${bytesInSql(DIRTY.slice(0, rules.keys.length))} > ${ROW_BYTES_MAX}`;
    return store.prepare(`DELETE FROM feed_dirty WHERE feed_id = ? AND ${isTooLarge}`).run(rules.feedId).changes;
  }
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
  const texts = wanted.every((value) => value !== undefined)
    ? keyTexts(rules, rowOf(rules.keys, { values: wanted, bytes: 0 }))
    : undefined;
  if (texts !== undefined)
    return findRows(rules, texts, ({ where, values, limit }) =>
      readRows(store, rules, {
        sql: (list) => `SELECT ${list} FROM ${from} WHERE ${where} LIMIT ?`,
        values: [...values, limit],
      }),
    );
  const where = rules.keys.map((column, index) => `${keyColumn(column)} = ${markOf(key[index] ?? null)}`).join(" AND ");
  return readRows(store, rules, {
    sql: (list) => `SELECT ${list} FROM ${from} WHERE ${where} LIMIT ?`,
    values: [...key.map(bindOf), LOOKALIKES],
  });
}

/** The rows of the next keys, as many as are in memory at a time. */
export function loadRowsOf<K extends KeyValues>(
  store: Store,
  rules: FeedRules,
  keys: Iterable<K>,
): { key: K; rows: SourceRow[] }[] {
  const load = function* () {
    for (const key of keys) yield { key, rows: loadSourceRows(store, rules, key) };
  };
  return firstOf(load(), ({ rows }) => bytesOf(rows.flatMap((row) => Object.values(row))));
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

/** Where reading a table continues: so many rows after the one with these values of the ordering columns, or after the beginning. */
export interface PageEnd {
  after: KeyValues | undefined;
  skip: number;
}

export interface SourcePage {
  rows: SourceRow[];
  /** The key of each row. */
  keys: KeyValues[];
  /** Undefined where there is no row. */
  end: PageEnd | undefined;
}

/**
 * The next rows, in the table's storage order, and their keys: at most `limit`, and as many as are in memory at a time. This
 * needs no index on the key and does not depend on its collation. Rows with a NULL in the key are excluded.
 */
export function loadSourcePage(store: Store, rules: FeedRules, from: PageEnd | undefined, limit: number): SourcePage {
  const order = orderOf(store, rules);
  const orderNames = order.map(({ name }) => name);
  const named = order.map(({ name, collation }) => `${quoteName(name)}${collation}`);
  const { after: begin, skip: skipped } = from ?? { after: undefined, skip: 0 };
  const beyond = begin === undefined ? [] : [`(${named.join(", ")}) > (${begin.map(markOf).join(", ")})`];
  const where = [...beyond, ...rules.keys.map((column) => `${quoteName(column)} IS NOT NULL`)].join(" AND ");
  const found = readValues(store, [rules.columns, rules.keys, orderNames], {
    sql: (list) =>
      `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${where} ORDER BY ${named.join(", ")} LIMIT ? OFFSET ?`,
    values: [...(begin ?? []).map(bindOf), limit, skipped],
    isPage: true,
  });
  const columns = columnsOf([rules.columns, rules.keys, orderNames]);
  const pick = (names: readonly string[]) => {
    const places = names.map((name) => columns.indexOf(name));
    return ({ values }: Found): KeyValues => places.map((place) => values[place] ?? null);
  };
  const ends = found.map(pick(orderNames));
  const last = ends.findLastIndex((values) => !values.includes(null));
  const after = ends[last] ?? begin;
  const skip = found.length - 1 - last + (last < 0 ? skipped : 0);
  return {
    // The columns of the record come first.
    rows: found.map((one) => rowOf(rules.columns, one)),
    keys: found.map(pick(rules.keys)),
    end: found.length === 0 ? undefined : { after, skip },
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

/** Rows that no key can name: with NULL in it, or too much. */
export function loadUnnamedRows(store: Store, rules: FeedRules, limit: number): SourceRow[] {
  const isNull = rules.keys.map((column) => `${quoteName(column)} IS NULL`).join(" OR ");
  return readRows(store, rules, {
    sql: (list) =>
      `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${isNull} OR ${bytesInSql(rules.keys)} > ${ROW_BYTES_MAX} LIMIT ?`,
    values: [limit],
    isPage: true,
  });
}

/** Reads rows, integers as bigint. Text that a string cannot represent is a Buffer, so that no altered text is sent. */
function readRows(store: Store, rules: SourceRules, query: SourceQuery): SourceRow[] {
  return readValues(store, [rules.columns, rules.keys], query).map((found) => rowOf(rules.columns, found));
}

interface SourceQuery {
  sql: (list: string) => string;
  values: readonly (ColumnValue | number)[];
  /** Other rows than the first that are in memory at a time are left out. */
  isPage?: boolean;
}

/** The values of a row in the order of its columns, and the bytes of those that count. */
interface Found {
  values: KeyValues;
  bytes: number;
}

/** The same, with the values of each row in order; text that a string cannot represent is {@link RawText}. */
function readValues(store: Store, parts: ListParts, { sql, values, isPage = false }: SourceQuery): Found[] {
  const texts = storedText(store.db);
  const read = (exactly: boolean) => {
    const statement = store
      .prepare<ColumnValue[]>(sql(listInSql(parts, { exactly })))
      .safeIntegers(true)
      .raw(true);
    return isPage ? firstOf(statement.iterate(...values), bytesOf) : statement.all(...values);
  };
  const plain = read(false);
  if (!plain.some((row) => row.some(texts.mayDiffer))) return plain.map(foundIn);
  // Read again, each value with its bytes: in one statement, so that both are of the same snapshot.
  return read(true).map((row) => exactIn(row, texts));
}

/** The columns that count, then groups of others that are read in any case, as far as a group is not too large itself. */
type ListParts = readonly [counted: readonly string[], ...others: (readonly string[])[]];

function columnsOf(parts: ListParts): string[] {
  return [...new Set(parts.flat())];
}

/** SQL: the bytes in these columns. SQLite finds them without reading the values, except where it computes these. */
export function bytesInSql(columns: readonly string[]): string {
  return columns.map((column) => `ifnull(octet_length(${quoteName(column)}), 0)`).join(" + ");
}

/** How rows are read. */
export interface HowRead {
  /** Text that a string cannot represent is a Buffer, at twice the cost. */
  exactly: boolean;
  /** All rows were measured a moment ago, and none is too large: so what a view computes is computed once. */
  areSmall?: boolean;
}

/**
 * SQL: the columns and the size of a row. A large value is NULL where all values together are too large. A value that is
 * small is read in any case: so the size of an ordinary row is determined once, not for each column.
 */
export function listInSql(parts: ListParts, { exactly, areSmall = false }: HowRead): string {
  const [counted, ...others] = parts;
  const columns = columnsOf(parts);
  const small = Math.floor(ROW_BYTES_MAX / columns.length);
  const list = columns.flatMap((column) => {
    const name = quoteName(column);
    const all = bytesInSql(others.find((group) => group.includes(column)) ?? counted);
    const isLarge = `octet_length(${name}) > ${small} AND ${all} > ${ROW_BYTES_MAX}`;
    const values = exactly ? [name, `CAST(${name} AS BLOB)`] : [name];
    return areSmall ? values : values.map((value) => `iif(${isLarge}, NULL, ${value})`);
  });
  return [...list, areSmall ? "0" : bytesInSql(counted)].join(", ");
}

/** A row as read by {@link listInSql}. */
export function foundIn(row: readonly ColumnValue[]): Found {
  return { values: row.slice(0, -1), bytes: Number(row.at(-1)) };
}

/** The same where it was read `exactly`. */
export function exactIn(row: readonly ColumnValue[], texts: StoredText): Found {
  const { values, bytes } = foundIn(row);
  const exact = Array.from({ length: values.length / 2 }, (_, index) => {
    const [value = null, raw] = row.slice(2 * index, 2 * index + 2);
    const isRaw = texts.mayDiffer(value) && Buffer.isBuffer(raw) && !texts.isExact(value, raw);
    return isRaw ? new RawText(raw) : value;
  });
  return { values: exact, bytes };
}

/** A row by column names; surplus values are ignored. Of one that is too large only what was read. */
export function rowOf(columns: readonly string[], { values, bytes }: Found): SourceRow {
  const row: Record<string, ColumnValue> = {};
  const isTooLarge = bytes > ROW_BYTES_MAX;
  columns.forEach((column, index) => {
    const value = values[index] ?? null;
    if (!isTooLarge || value !== null) row[column] = value instanceof RawText ? value.bytes : value;
  });
  if (isTooLarge) row[TOO_LARGE] = BigInt(bytes);
  return row;
}

function markOf(value: ColumnValue | RawText): string {
  return value instanceof RawText ? "CAST(? AS TEXT)" : "?";
}

function bindOf(value: ColumnValue | RawText): ColumnValue {
  return value instanceof RawText ? value.bytes : value;
}
