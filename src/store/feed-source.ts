/*
 * The ERP's side of a feed: its table, read as it is, and the triggers on it that note which keys were touched by
 * whatever program. The triggers only remember keys, so they hold for any writer, cost little, and never make a write
 * of the ERP fail. They are compared by name, table and text, because a table that was renamed keeps its triggers and
 * one that was made again has none.
 */
import { isUtf8 } from "node:buffer";
import { BridgeError } from "../domain/errors.ts";
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

const OPERATIONS = ["insert", "update", "move", "delete"] as const;
/** What SQLite's text becomes where its bytes are no UTF-8; only such a value is worth a second look. */
const REPLACED = "\uFFFD";
/** Rows that a key with a case-blind or blank-blind collation may stand for at once. */
const LOOKALIKES_MAX = 20;

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

// ------------------------------------------------------------------------------------------------------- tracking

/** True where the triggers stand as they should. */
export function areTriggersArmed(store: Store, rules: FeedRules): boolean {
  const standing = store
    .prepare("SELECT name, tbl_name AS tableName, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE ?")
    .all(`${triggerPrefix(rules)}%`) as { name: string; tableName: string; sql: string }[];
  return triggersOf(rules).every(({ name, sql }) =>
    standing.some(
      (trigger) =>
        trigger.name === name && trigger.tableName.toLowerCase() === rules.table.toLowerCase() && trigger.sql === sql,
    ),
  );
}

/**
 * Puts the triggers on the feed's table, and an index over the key where the table has none: without it every look
 * at a key would read the whole table.
 * @throws BridgeError `table_missing` naming what the table lacks.
 */
export function armTriggers(store: Store, rules: FeedRules): void {
  checkTable(store, rules);
  for (const { name, sql } of triggersOf(rules)) {
    store.db.exec(`DROP TRIGGER IF EXISTS ${quoteName(name)}`);
    store.db.exec(sql);
  }
  if (!isKeyIndexed(store, rules)) {
    const columns = rules.keys.map(quoteName).join(", ");
    store.db.exec(
      `CREATE INDEX IF NOT EXISTS ${quoteName(`erp_bridge_${rules.name}_key`)} ON ${quoteName(rules.table)} (${columns})`,
    );
  }
}

/** Takes the triggers of a feed away, wherever they stand: it was switched off. */
export function disarmTriggers(store: Store, name: string): boolean {
  const standing = OPERATIONS.map((operation) => `erp_bridge_${name}_${operation}`).filter(
    (trigger) =>
      store.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = ?").get(trigger) !== undefined,
  );
  for (const trigger of standing) store.db.exec(`DROP TRIGGER ${quoteName(trigger)}`);
  return standing.length > 0;
}

/** @throws BridgeError `table_missing` */
export function checkTable(store: Store, rules: FeedRules): void {
  const refuse = (what: string, hint: string) => {
    throw new BridgeError("table_missing", `${rules.name}: ${what}.`, { hint });
  };
  const object = store
    .prepare("SELECT type, sql FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')")
    .get(rules.table) as { type: string; sql: string } | undefined;
  if (object === undefined) {
    refuse(
      `there is no table ${rules.table} in the database`,
      `Make the table again, or set imports.${rules.name}.table. Nothing is sent meanwhile, and nothing is deleted on the site.`,
    );
  }
  if (object?.type === "view" || /^CREATE\s+VIRTUAL/i.test(object?.sql ?? "")) {
    const what = object?.type === "view" ? "a view" : "a virtual table";
    refuse(`${rules.table} is ${what}, whose changes cannot be noted`, `Set imports.${rules.name}.table to a table.`);
  }
  const columns = new Set(
    (store.db.prepare("SELECT name FROM pragma_table_xinfo(?)").all(rules.table) as { name: string }[]).map(
      ({ name }) => name.toLowerCase(),
    ),
  );
  const missing = rules.columns.filter((column) => !columns.has(column.toLowerCase()));
  if (missing.length > 0) {
    const which = `column${missing.length > 1 ? "s" : ""} ${missing.join(", ")}`;
    refuse(
      `table ${rules.table} has no ${which}`,
      `Add the ${which}, or set imports.${rules.name}.record, key and available to columns that there are.`,
    );
  }
}

// -------------------------------------------------------------------------------------------------------- reading

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

function pageSql(rules: FeedRules, list: string, after: KeyValues | undefined): string {
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

/** Asks SQLite itself, which knows collations, rowids and affinities better than any list of columns. */
function isKeyIndexed(store: Store, rules: FeedRules): boolean {
  const key = rules.keys.map(() => "");
  const plan = (sql: string) =>
    (
      store.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...key, ...(sql.endsWith("LIMIT ?") ? [1] : [])) as {
        detail: string;
      }[]
    )
      .map(({ detail }) => detail)
      .join("\n");
  const where = rules.keys.map((column) => `${quoteName(column)} = ?`).join(" AND ");
  const one = plan(`SELECT 1 FROM ${quoteName(rules.table)} WHERE ${where}`);
  const page = plan(pageSql(rules, "1", key));
  return one.startsWith("SEARCH") && page.startsWith("SEARCH") && !page.includes("TEMP B-TREE");
}

function triggerPrefix(rules: Pick<FeedRules, "name">): string {
  return `erp_bridge_${rules.name}_`;
}

function triggersOf(rules: FeedRules): { name: string; sql: string }[] {
  const differs = (columns: readonly string[]) =>
    columns.map((column) => `OLD.${quoteName(column)} COLLATE BINARY IS NOT NEW.${quoteName(column)}`).join(" OR ");
  const keys = rules.keys.map(quoteName).join(", ");
  const event = {
    insert: { on: "INSERT", when: "", note: "NEW" },
    update: { on: "UPDATE", when: ` WHEN ${differs(rules.columns)}`, note: "NEW" },
    // A key that moves touches two rows: the one that appeared, noted above, and the one that is gone.
    move: { on: `UPDATE OF ${keys}`, when: ` WHEN ${differs(rules.keys)}`, note: "OLD" },
    delete: { on: "DELETE", when: "", note: "OLD" },
  } as const;
  return OPERATIONS.map((operation) => {
    const name = `${triggerPrefix(rules)}${operation}`;
    const { on, when, note } = event[operation];
    return {
      name,
      sql: `CREATE TRIGGER ${quoteName(name)} AFTER ${on} ON ${quoteName(rules.table)}${when} BEGIN${noteKey(rules, note)} END`,
    };
  });
}

/** An upsert clause, not OR IGNORE: an outer OR REPLACE would override that. NULL becomes an empty blob, which is no key. */
function noteKey(rules: FeedRules, row: "OLD" | "NEW"): string {
  const values = [0, 1, 2, 3].map((index) => {
    const column = rules.keys[index];
    return column === undefined ? "''" : `ifnull(${row}.${quoteName(column)}, x'')`;
  });
  return ` INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3) VALUES (${rules.feedId}, ${values.join(", ")}) ON CONFLICT DO NOTHING;`;
}
