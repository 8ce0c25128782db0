/*
 * The triggers on the ERP's tables that note which keys were touched by whatever program. They only remember keys, so
 * they hold for any writer, cost little, and never make a write of the ERP fail. They are compared by name, table and
 * text, because a table that was renamed keeps its triggers and one that was made again has none.
 */
import { BridgeError } from "../domain/errors.ts";
import { type FeedRules, sourceOf } from "../domain/feed.ts";
import { pageSql, quoteName } from "./feed-source.ts";
import type { Store } from "./store.ts";

/** How changes of a feed's rows are found. */
export type SourceKind = "tracked" | "scanned";

const OPERATIONS = ["insert", "update", "move", "delete"] as const;

/**
 * Whether triggers can note the changes of a feed's rows, or its rows must be read and compared: those of a view, of a
 * virtual table, of a SELECT and of another file.
 * @throws BridgeError `table_missing` where it is a table of this database that is not there or lacks a column.
 */
export function readSourceKind(store: Store, rules: FeedRules): SourceKind {
  if (rules.query !== null || rules.file !== null) return "scanned";
  const object = store
    .prepare("SELECT type, sql FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')")
    .get(rules.table) as { type: string; sql: string } | undefined;
  if (object === undefined) throw missingTable(rules);
  if (object.type === "view" || /^CREATE\s+VIRTUAL/i.test(object.sql)) return "scanned";
  checkColumns(
    rules,
    (store.db.prepare("SELECT name FROM pragma_table_xinfo(?)").all(rules.table) as { name: string }[]).map(
      ({ name }) => name,
    ),
  );
  return "tracked";
}

export function missingTable(rules: FeedRules): BridgeError {
  const place = rules.file === null ? "the database" : rules.file;
  return new BridgeError("table_missing", `${rules.name}: there is no table ${rules.table} in ${place}.`, {
    hint: `Make the table again, or set imports.${rules.name}.table. Nothing is sent meanwhile, and nothing is deleted on the site.`,
  });
}

/** Columns that a feed names and its source does not have. */
export class MissingColumns extends BridgeError {
  readonly missing: readonly string[];
  /** What the source has. */
  readonly there: readonly string[];

  constructor(rules: FeedRules, missing: readonly string[], there: readonly string[]) {
    const which = `column${missing.length > 1 ? "s" : ""} ${missing.join(", ")}`;
    super("table_missing", `${rules.name}: ${sourceOf(rules)} has no ${which}.`, {
      hint: `Add the ${which}, or set imports.${rules.name}.record, key and available to columns that there are.`,
    });
    this.missing = missing;
    this.there = there;
  }
}

/** @throws MissingColumns naming what the rows lack. */
export function checkColumns(rules: FeedRules, columns: readonly string[]): void {
  const there = new Set(columns.map((column) => column.toLowerCase()));
  const missing = rules.columns.filter((column) => !there.has(column.toLowerCase()));
  if (missing.length > 0) throw new MissingColumns(rules, missing, columns);
}

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
 */
export function armTriggers(store: Store, rules: FeedRules): void {
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
  // A key that is named in an UPDATE is looked at by the trigger for moves, so the other one need not compare it.
  const values = rules.columns.filter((column) => !rules.keys.includes(column));
  const event = {
    insert: { on: "INSERT", when: "", notes: ["NEW"] },
    update: { on: "UPDATE", when: ` WHEN ${values.length === 0 ? "0" : differs(values)}`, notes: ["NEW"] },
    // A key that moves touches two rows: the one that appeared and the one that is gone.
    move: { on: `UPDATE OF ${keys}`, when: ` WHEN ${differs(rules.keys)}`, notes: ["OLD", "NEW"] },
    delete: { on: "DELETE", when: "", notes: ["OLD"] },
  } as const;
  return OPERATIONS.map((operation) => {
    const name = `${triggerPrefix(rules)}${operation}`;
    const { on, when, notes } = event[operation];
    const body = notes.map((row) => noteKey(rules, row)).join("");
    return {
      name,
      sql: `CREATE TRIGGER ${quoteName(name)} AFTER ${on} ON ${quoteName(rules.table)}${when} BEGIN${body} END`,
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
