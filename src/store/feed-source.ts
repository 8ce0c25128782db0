/*
 * The ERP's side of a feed: its table, read as it is, and the keys that were noted as touched. Reading takes no lock
 * that anybody waits for; a crash between reading and writing loses nothing, because a touch is forgotten only in the
 * transaction that dealt with it.
 */
import { isUtf8 } from "node:buffer";
import { type ColumnValue, type FeedRules, keyTexts, type SourceRow } from "../domain/feed.ts";
import type { Store } from "./store.ts";

/** Text that is not UTF-8, which no JavaScript string can carry: a key of it finds its row again only by its bytes. */
export class RawText {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** Native key values of a row, as the table holds them. */
export type KeyValues = readonly (ColumnValue | RawText)[];

/** What SQLite's text becomes where its bytes are no UTF-8; only such a value is worth a second look. */
const REPLACED = "\uFFFD";
/** Rows that a key with a case-blind or blank-blind collation may stand for at once. */
const LOOKALIKES_MAX = 20;

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Keys that were touched, as the triggers noted them. */
export function loadDirtyKeys(store: Store, rules: FeedRules, limit: number): KeyValues[] {
  const columns = ["k0", "k1", "k2", "k3"].slice(0, rules.keys.length);
  const { rows, keys } = readRows(store, columns, columns, {
    sql: (list) => `SELECT ${list} FROM feed_dirty WHERE feed_id = ? LIMIT ?`,
    values: [rules.feedId, limit],
  });
  return rows.map((_, index) => keys(index));
}

/** What was noted of a key is dealt with. */
export function deleteDirtyKey(store: Store, rules: FeedRules, key: KeyValues): void {
  const parts = [...key, "", "", "", ""].slice(0, 4);
  const where = parts.map((value, index) => `k${index} = ${markOf(value)}`).join(" AND ");
  store.prepare(`DELETE FROM feed_dirty WHERE feed_id = ? AND ${where}`).run(rules.feedId, ...parts.map(bindOf));
}

export function countSourceRows(store: Store, rules: FeedRules, limit: number): number {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${quoteName(rules.table)} LIMIT ?)`;
  return (store.prepare(sql).get(limit) as { n: number }).n;
}

/**
 * The rows of one key; more than one means that the table does not keep its key unique. The column's own affinity
 * compares, so that a key that was noted as text finds an integer too; its collation does not decide: `a` is not `A`.
 */
export function loadSourceRows(store: Store, rules: FeedRules, key: KeyValues): SourceRow[] {
  const wanted = key.map((value) => (value instanceof RawText || value === null ? undefined : value));
  const texts = wanted.every((value) => value !== undefined) ? keyTexts(rules, rowOf(rules.keys, wanted)) : undefined;
  const find = (values: KeyValues) => {
    const where = rules.keys
      .map((column, index) => `${quoteName(column)} = ${markOf(values[index] ?? null)}`)
      .join(" AND ");
    const { rows } = readRows(store, rules.columns, rules.keys, {
      sql: (list) => `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${where} LIMIT ${LOOKALIKES_MAX}`,
      values: values.map(bindOf),
    });
    if (texts === undefined) return rows;
    return rows.filter((row) => keyTexts(rules, row)?.every((text, index) => text === texts[index]));
  };
  const rows = find(key);
  if (rows.length > 0) return rows;
  const numeric = key.map((value) =>
    typeof value === "string" && /^-?(0|[1-9]\d{0,17})$/.test(value) ? BigInt(value) : value,
  );
  return numeric.every((value, index) => value === key[index]) ? rows : find(numeric);
}

/** The next rows in the order of the key, after `after`, and the key of the last. Rows with a NULL in the key are not among them. */
export function loadSourcePage(
  store: Store,
  rules: FeedRules,
  after: KeyValues | undefined,
  limit: number,
): { rows: SourceRow[]; keys: KeyValues[] } {
  const { rows, keys } = readRows(store, rules.columns, rules.keys, {
    sql: (list) => pageSql(rules, list, after),
    values: [...(after ?? []).map(bindOf), limit],
  });
  return { rows, keys: rows.map((_, index) => keys(index)) };
}

/** The statement of a page, for those who ask SQLite how it would run it. */
export function pageSql(rules: FeedRules, list: string, after: KeyValues | undefined): string {
  const keys = rules.keys.map(quoteName).join(", ");
  const named = rules.keys.map((column) => `${quoteName(column)} IS NOT NULL`);
  const beyond = after === undefined ? [] : [`(${keys}) > (${after.map(markOf).join(", ")})`];
  const where = [...beyond, ...named].join(" AND ");
  return `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${where} ORDER BY ${keys} LIMIT ?`;
}

/** Rows that no key can name. */
export function loadUnnamedRows(store: Store, rules: FeedRules, limit: number): SourceRow[] {
  const where = rules.keys.map((column) => `${quoteName(column)} IS NULL`).join(" OR ");
  return readRows(store, rules.columns, rules.keys, {
    sql: (list) => `SELECT ${list} FROM ${quoteName(rules.table)} WHERE ${where} LIMIT ?`,
    values: [limit],
  }).rows;
}

/**
 * Reads rows, integers as bigint. Text that is no UTF-8 comes as a Buffer, so that nothing is sent that the ERP did
 * not write; its key comes as {@link RawText}.
 */
function readRows(
  store: Store,
  columns: readonly string[],
  keyColumns: readonly string[],
  query: { sql: (list: string) => string; values: readonly (ColumnValue | number)[] },
): { rows: SourceRow[]; keys: (index: number) => KeyValues } {
  const read = (list: string) =>
    store
      .prepare(query.sql(list))
      .safeIntegers(true)
      .raw(true)
      .all(...query.values) as ColumnValue[][];
  const plain = read(columns.map(quoteName).join(", "));
  const isDoubtful = plain.some((values) =>
    values.some((value) => typeof value === "string" && value.includes(REPLACED)),
  );
  const values: KeyValues[] = isDoubtful ? withRawText(read, columns) : plain;
  return {
    rows: values.map((row) =>
      rowOf(
        columns,
        row.map((value) => (value instanceof RawText ? value.bytes : value)),
      ),
    ),
    keys: (index) => keyColumns.map((column) => values[index]?.[columns.indexOf(column)] ?? null),
  };
}

/** The same rows once more, each value with its bytes: in one statement, so that both are of one moment. */
function withRawText(read: (list: string) => ColumnValue[][], columns: readonly string[]): KeyValues[] {
  const list = columns.flatMap((column) => [quoteName(column), `CAST(${quoteName(column)} AS BLOB)`]).join(", ");
  return read(list).map((row) =>
    columns.map((_, index) => {
      const value = row[2 * index] ?? null;
      const bytes = row[2 * index + 1];
      return typeof value === "string" && Buffer.isBuffer(bytes) && !isUtf8(bytes) ? new RawText(bytes) : value;
    }),
  );
}

function rowOf(columns: readonly string[], values: readonly ColumnValue[]): SourceRow {
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
}

function markOf(value: ColumnValue | RawText): string {
  return value instanceof RawText ? "CAST(? AS TEXT)" : "?";
}

function bindOf(value: ColumnValue | RawText): ColumnValue {
  return value instanceof RawText ? value.bytes : value;
}
