/*
 * The ERP's side of a feed: its table, read as it is, and the triggers on it that note which keys were touched by
 * whatever program. The triggers only remember keys, so they hold for any writer, cost little, and never make a write
 * of the ERP fail. They are compared by name, table and text, because a table that was renamed keeps its triggers and
 * one that was made again has none.
 */
import { BridgeError } from "../domain/errors.ts";
import type { ColumnValue, FeedRules, SourceRow } from "../domain/feed.ts";
import type { Store } from "./store.ts";

/** Native key values of a row, as the table holds them. */
export type KeyValues = readonly ColumnValue[];

const OPERATIONS = ["insert", "update", "delete"] as const;

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** True where the triggers stand as they should. */
export function areTriggersArmed(store: Store, rules: FeedRules): boolean {
  const standing = store
    .prepare("SELECT name, tbl_name AS tableName, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE ?")
    .all(`${triggerPrefix(rules)}%`) as { name: string; tableName: string; sql: string }[];
  return triggersOf(rules).every(({ name, sql }) =>
    standing.some((trigger) => trigger.name === name && trigger.tableName === rules.table && trigger.sql === sql),
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
  if (!hasKeyIndex(store, rules)) {
    const columns = rules.keys.map(quoteName).join(", ");
    store.db.exec(
      `CREATE INDEX IF NOT EXISTS ${quoteName(`erp_bridge_${rules.name}_key`)} ON ${quoteName(rules.table)} (${columns})`,
    );
  }
}

/** Takes the triggers of a feed away, wherever they stand: it was switched off. */
export function disarmTriggers(store: Store, name: string): boolean {
  const standing = OPERATIONS.map((operation) => `erp_bridge_${name}_${operation}`).filter(
    (trigger) => store.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = ?").get(trigger) !== undefined,
  );
  for (const trigger of standing) store.db.exec(`DROP TRIGGER ${quoteName(trigger)}`);
  return standing.length > 0;
}

/** @throws BridgeError `table_missing` */
export function checkTable(store: Store, rules: FeedRules): void {
  const object = store.prepare("SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')").get(rules.table) as
    | { type: string }
    | undefined;
  if (object === undefined) {
    throw new BridgeError("table_missing", `${rules.name}: there is no table ${rules.table} in the database.`, {
      hint: `Make the table again, or set imports.${rules.name}.table. Nothing is sent meanwhile, and nothing is deleted on the site.`,
    });
  }
  if (object.type === "view") {
    throw new BridgeError("table_missing", `${rules.name}: ${rules.table} is a view, and changes of a view cannot be noted.`);
  }
  const columns = new Set(
    (store.db.prepare(`SELECT name FROM pragma_table_xinfo(?)`).all(rules.table) as { name: string }[]).map(({ name }) => name.toLowerCase()),
  );
  const missing = rules.columns.filter((column) => !columns.has(column.toLowerCase()));
  if (missing.length > 0) {
    throw new BridgeError("table_missing", `${rules.name}: table ${rules.table} has no column ${missing.join(", ")}.`, {
      hint: `Add it, or set imports.${rules.name}.record, key and available.`,
    });
  }
}

export function countSourceRows(store: Store, rules: FeedRules, limit: number): number {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${quoteName(rules.table)} LIMIT ?)`;
  return (store.prepare(sql).get(limit) as { n: number }).n;
}

/**
 * The rows of one key, two at the most: more than one means that the table does not keep its key unique. The column's
 * own affinity compares; a key that was noted as text finds an integer too.
 */
export function loadSourceRows(store: Store, rules: FeedRules, key: KeyValues): SourceRow[] {
  const where = rules.keys.map((column) => `${quoteName(column)} = ?`).join(" AND ");
  const sql = `SELECT ${columnList(rules)} FROM ${quoteName(rules.table)} WHERE ${where} LIMIT 2`;
  const statement = store.prepare(sql).safeIntegers(true);
  const rows = statement.all(...key) as SourceRow[];
  if (rows.length > 0) return rows;
  const numeric = key.map((value) => (typeof value === "string" && /^-?(0|[1-9]\d{0,17})$/.test(value) ? BigInt(value) : value));
  return numeric.every((value, index) => value === key[index]) ? rows : (statement.all(...numeric) as SourceRow[]);
}

/** The next rows in the order of the key, after `after`. Rows with a NULL in the key are not among them. */
export function loadSourceAfter(store: Store, rules: FeedRules, after: KeyValues | undefined, limit: number): SourceRow[] {
  const keys = rules.keys.map(quoteName).join(", ");
  const marks = rules.keys.map(() => "?").join(", ");
  const where = after === undefined ? `${rules.keys.map((column) => `${quoteName(column)} IS NOT NULL`).join(" AND ")}` : `(${keys}) > (${marks})`;
  const sql = `SELECT ${columnList(rules)} FROM ${quoteName(rules.table)} WHERE ${where} ORDER BY ${keys} LIMIT ?`;
  return store
    .prepare(sql)
    .safeIntegers(true)
    .all(...(after ?? []), limit) as SourceRow[];
}

/** Rows that no key can name. */
export function loadUnnamedRows(store: Store, rules: FeedRules, limit: number): SourceRow[] {
  const where = rules.keys.map((column) => `${quoteName(column)} IS NULL`).join(" OR ");
  const sql = `SELECT ${columnList(rules)} FROM ${quoteName(rules.table)} WHERE ${where} LIMIT ?`;
  return store.prepare(sql).safeIntegers(true).all(limit) as SourceRow[];
}

function columnList(rules: FeedRules): string {
  return rules.columns.map((column) => `${quoteName(column)} AS ${quoteName(column)}`).join(", ");
}

function hasKeyIndex(store: Store, rules: FeedRules): boolean {
  const wanted = new Set(rules.keys.map((column) => column.toLowerCase()));
  const indexes = store.db.prepare("SELECT name FROM pragma_index_list(?) WHERE partial = 0").all(rules.table) as { name: string }[];
  return indexes.some(({ name }) => {
    const columns = store.db.prepare("SELECT name FROM pragma_index_info(?) ORDER BY seqno LIMIT ?").all(name, wanted.size) as {
      name: string | null;
    }[];
    return columns.length === wanted.size && columns.every((column) => column.name !== null && wanted.has(column.name.toLowerCase()));
  });
}

function triggerPrefix(rules: Pick<FeedRules, "name">): string {
  return `erp_bridge_${rules.name}_`;
}

function triggersOf(rules: FeedRules): { name: string; sql: string }[] {
  const table = quoteName(rules.table);
  const changed = rules.columns.map((column) => `OLD.${quoteName(column)} IS NOT NEW.${quoteName(column)}`).join(" OR ");
  const body = {
    insert: noteKey(rules, "NEW"),
    // A key that moves touches two rows: the one that is gone and the one that appeared.
    update: `${noteKey(rules, "OLD")}${noteKey(rules, "NEW")}`,
    delete: noteKey(rules, "OLD"),
  };
  return OPERATIONS.map((operation) => {
    const name = `${triggerPrefix(rules)}${operation}`;
    const when = operation === "update" ? ` WHEN ${changed}` : "";
    return {
      name,
      sql: `CREATE TRIGGER ${quoteName(name)} AFTER ${operation.toUpperCase()} ON ${table}${when} BEGIN${body[operation]} END`,
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
