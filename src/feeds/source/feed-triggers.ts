/*
 * The triggers on the ERP's tables that note which keys were changed by whatever program, and that rows were updated at
 * all. They only note that, so they hold for any writer, cost little, and never make a write of the ERP fail. They are
 * compared by name, table and text, because a table that was renamed keeps its triggers and one that was made again has
 * none.
 */

import { tableProblem } from "../../config/source-text.ts";
import { onlyRow, onlyValue } from "../../database/only-row.ts";
import { quoteName } from "../../database/quote-name.ts";
import type { Store } from "../../database/store.ts";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type FeedRules, type SourceRules, sourceOf } from "../feed.ts";
import { countSourceRows, keyColumn } from "./feed-source.ts";

/** How changes of a feed's rows are found. */
export type SourceKind = "tracked" | "scanned";

/** An index over so many rows is made in less than the half second for which a writer of the ERP may have to wait. */
const INDEXED_ROWS_MAX = 200_000;

const OPERATIONS = ["insert", "update", "move", "delete", "write", "replace", "displace"] as const;

/**
 * Whether triggers can note the changes of a feed's rows, or its rows must be read and compared: those of a view, of a
 * virtual table, of a SELECT, of another file, of a table with a computed key or in the order of a collation, and of a
 * table without an index that finds its key that is too large for one to be made.
 * @throws BridgeError `table_missing` where it is a table of this database that is not there or lacks a column.
 */
export function readSourceKind(store: Store, rules: FeedRules): SourceKind {
  if (rules.query !== null || rules.file !== null) return "scanned";
  if (tableProblem(rules.table, true) !== null) throw ownTable(rules);
  const object = store
    .prepare<{ type: string; sql: string }>(
      "SELECT type, sql FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')",
    )
    .get(rules.table);
  if (object === undefined) throw missingTable(rules);
  if (object.type === "view" || /^CREATE\s+VIRTUAL/i.test(object.sql)) return "scanned";
  const columns = readTableColumns(store, rules);
  checkColumns(
    rules,
    columns.map(({ name }) => name),
  );
  if (isKeyComputed(rules, columns) || isOrderedByCollation(store, rules)) return "scanned";
  return isTooLarge(store, rules) ? "scanned" : "tracked";
}

/** WITHOUT ROWID and in the order of a collation, which an ERP may have replaced: no search finds each row of it then. */
function isOrderedByCollation(store: Store, rules: FeedRules): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM pragma_table_list(@table) t, pragma_index_list(@table) i, pragma_index_xinfo(i.name) x
    WHERE t.schema = 'main' AND t.wr = 1 AND i.origin = 'pk' AND x.key = 1 AND x.coll <> 'BINARY') AS "is"`;
  return onlyRow(store.prepare<{ is: number }>(sql).get({ table: rules.table })).is === 1;
}

/** A key that is computed whenever it is read: with the functions of the reading program, of which an ERP may have replaced one. */
function isKeyComputed(rules: FeedRules, columns: readonly TableColumn[]): boolean {
  const computed = columns.filter(({ hidden }) => hidden === 2);
  return computed.some(({ name }) => rules.keys.some((key) => key.toLowerCase() === name.toLowerCase()));
}

function isTooLarge(store: Store, rules: FeedRules): boolean {
  return !isKeyFound(store, rules) && countSourceRows(store, rules, INDEXED_ROWS_MAX + 1) > INDEXED_ROWS_MAX;
}

/** A source that is not the ERP's. */
export function ownTable({ name, table }: SourceRules): BridgeError {
  return new BridgeError("table_missing", m.feeds.notErpTable({ name, table }), {
    hint: m.feeds.setErpTable({ name }),
  });
}

export function missingTable(rules: SourceRules): BridgeError {
  const place = rules.file === null ? m.feeds.theDatabase : rules.file;
  return new BridgeError("table_missing", m.feeds.noTable({ name: rules.name, table: rules.table, place }), {
    hint: m.feeds.makeTable({ name: rules.name }),
  });
}

/** Columns that a feed names and its source does not have. */
export class MissingColumns extends BridgeError {
  readonly missing: readonly string[];
  /** What the source has. */
  readonly there: readonly string[];

  constructor(rules: SourceRules, missing: readonly string[], there: readonly string[]) {
    const { name } = rules;
    super("table_missing", m.feeds.columnsMissing({ name, source: sourceOf(rules), columns: missing }), {
      hint: m.feeds.addColumns({ name, columns: missing }),
    });
    this.missing = missing;
    this.there = there;
  }
}

/** @throws MissingColumns naming what the rows lack. */
export function checkColumns(rules: SourceRules, columns: readonly string[]): void {
  const there = new Set(columns.map((column) => column.toLowerCase()));
  const missing = rules.columns.filter((column) => !there.has(column.toLowerCase()));
  if (missing.length > 0) throw new MissingColumns(rules, missing, columns);
}

/** True where the triggers stand as they should. */
export function areTriggersArmed(store: Store, rules: FeedRules): boolean {
  const standing = store
    .prepare<{ name: string; tableName: string; sql: string }>(
      "SELECT name, tbl_name AS tableName, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE ?",
    )
    .all(`${triggerPrefix(rules)}%`);
  return triggersOf(store, rules).every(({ name, sql }) =>
    standing.some(
      (trigger) =>
        trigger.name === name && trigger.tableName.toLowerCase() === rules.table.toLowerCase() && trigger.sql === sql,
    ),
  );
}

/**
 * The places of the table and its triggers in the schema: others than before where one of them was made again, also with
 * the same text, as long as something of the schema stands behind them. A VACUUM may change them too.
 */
export function readTablePlaces(store: Store, rules: FeedRules): string {
  return onlyValue<string>(
    store,
    `SELECT coalesce(group_concat(rowid), '') FROM (SELECT rowid FROM sqlite_schema
     WHERE type = 'table' AND name = ? COLLATE NOCASE OR type = 'trigger' AND name LIKE ? ORDER BY rowid)`,
    rules.table,
    `${triggerPrefix(rules)}%`,
  );
}

/** Puts the triggers on the feed's table. */
export function armTriggers(store: Store, rules: FeedRules): void {
  for (const operation of OPERATIONS) {
    store.db.exec(`DROP TRIGGER IF EXISTS ${quoteName(`${triggerPrefix(rules)}${operation}`)}`);
  }
  for (const { sql } of triggersOf(store, rules)) store.db.exec(sql);
}

/** Whether a key is found without reading the whole table, or as well as an index of the bridge's own lets it be. */
export function isKeyFound(store: Store, rules: FeedRules): boolean {
  return loadOwnIndex(store, rules)?.isRight ?? isKeyIndexed(store, rules);
}

/** Makes an index over the key where the table has none, and takes away one of an earlier table or key. */
export function indexKey(store: Store, rules: FeedRules): void {
  const own = loadOwnIndex(store, rules);
  if (own?.isRight) return;
  if (own !== undefined) store.db.exec(`DROP INDEX ${quoteName(ownIndex(rules))}`);
  if (!isKeyIndexed(store, rules)) store.db.exec(ownIndexSql(rules));
}

function ownIndex(rules: FeedRules): string {
  return `erp_bridge_${rules.name}_key`;
}

function ownIndexSql(rules: FeedRules): string {
  const columns = rules.keys.map(keyColumn).join(", ");
  return `CREATE INDEX ${quoteName(ownIndex(rules))} ON ${quoteName(rules.table)} (${columns})`;
}

function loadOwnIndex(store: Store, rules: FeedRules): { isRight: boolean } | undefined {
  const standing = store
    .prepare<{ tableName: string; sql: string }>(
      "SELECT tbl_name AS tableName, sql FROM sqlite_schema WHERE type = 'index' AND name = ?",
    )
    .get(ownIndex(rules));
  if (standing === undefined) return undefined;
  const isHere = standing.tableName.toLowerCase() === rules.table.toLowerCase();
  // An earlier version wrote IF NOT EXISTS, which SQLite leaves out of what it keeps.
  return { isRight: isHere && standing.sql === ownIndexSql(rules) };
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

/** Asks SQLite itself, which applies collations, rowids and affinities better than any list of columns. */
function isKeyIndexed(store: Store, rules: FeedRules): boolean {
  const where = rules.keys.map((column) => `${keyColumn(column)} IN (?, ?, ?)`).join(" AND ");
  // Prepared anew each time: SQLite does not notice that the schema has changed under a kept EXPLAIN.
  const plan = store.db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN SELECT 1 FROM ${quoteName(rules.table)} WHERE ${where}`)
    .all(...rules.keys.flatMap(() => ["", "", ""]));
  return plan.every(({ detail }) => detail.startsWith("SEARCH"));
}

function triggerPrefix(rules: Pick<FeedRules, "name">): string {
  return `erp_bridge_${rules.name}_`;
}

function triggersOf(store: Store, rules: FeedRules): { name: string; sql: string }[] {
  const differs = (columns: readonly string[]) =>
    columns.map((column) => `OLD.${quoteName(column)} COLLATE BINARY IS NOT NEW.${quoteName(column)}`).join(" OR ");
  const generated = readGenerated(store, rules);
  // A key that is named in an UPDATE is looked at by the trigger for moves, so the other one need not compare it.
  const values = rules.columns.filter((column) => !rules.keys.includes(column));
  // A row that is written as it was may say that its file is another one.
  const readsFiles = rules.images !== null && rules.images.send !== "url";
  const event = {
    insert: { on: "INSERT", when: "", notes: ["NEW"] },
    update: {
      on: "UPDATE",
      when: readsFiles ? "" : ` WHEN ${values.length === 0 ? "0" : differs(values)}`,
      notes: ["NEW"],
    },
    // A key that moves touches two rows: the one that appeared and the one that is gone.
    move: { on: updateOf(rules.keys, generated), when: ` WHEN ${differs(rules.keys)}`, notes: ["OLD", "NEW"] },
    delete: { on: "DELETE", when: "", notes: ["OLD"] },
  } as const;
  const trigger = (operation: (typeof OPERATIONS)[number], when: string, body: string) => {
    const name = `${triggerPrefix(rules)}${operation}`;
    return { name, sql: `CREATE TRIGGER ${quoteName(name)} ${when} BEGIN${body} END` };
  };
  const table = quoteName(rules.table);
  const after = (["insert", "update", "move", "delete"] as const).map((operation) => {
    const { on, when, notes } = event[operation];
    return trigger(operation, `AFTER ${on} ON ${table}${when}`, notes.map((row) => noteKey(rules, row)).join(""));
  });
  // An update to equal values makes no key dirty. Of 100,000 updated rows the first is noted; each other costs a search in one row.
  const isNoted = `EXISTS (SELECT 1 FROM feed_writes WHERE feed_id = ${rules.feedId})`;
  const note = ` INSERT INTO feed_writes (feed_id) VALUES (${rules.feedId}) ON CONFLICT DO NOTHING;`;
  after.push(trigger("write", `AFTER UPDATE ON ${table} WHEN NOT ${isNoted}`, note));
  const others = readOtherKeys(store, rules);
  if (others.length === 0) return after;
  const body = others.map((columns) => noteReplaced(rules, columns)).join("");
  const changing = [...new Set(others.flat().map(({ name }) => name))];
  // Before an update SQLite has loaded of the other columns only those that a trigger names, and generates from these alone.
  const isGenerated = changing.some((column) => generated.has(column.toLowerCase()));
  const when = isGenerated ? ` WHEN ${differs(readStored(store, rules))}` : "";
  return [
    ...after,
    trigger("replace", `BEFORE INSERT ON ${table}`, body),
    trigger("displace", `BEFORE ${updateOf(changing, generated)} ON ${table}${when}`, body),
  ];
}

/** Names of the rowid, by which an UPDATE may also set an INTEGER PRIMARY KEY. */
const ROWID = ["rowid", "_rowid_", "oid"] as const;

/** The updates that may change one of the columns. A generated one is never named in an UPDATE: any may change it. */
function updateOf(columns: readonly string[], generated: ReadonlySet<string>): string {
  if (columns.some((column) => generated.has(column.toLowerCase()))) return "UPDATE";
  return `UPDATE OF ${[...new Set([...columns, ...ROWID])].map(quoteName).join(", ")}`;
}

interface TableColumn {
  name: string;
  /** 2 and 3: generated, as it is read or as it is stored. */
  hidden: number;
  /** What SQLite puts in for NULL under REPLACE; null where it does not. */
  instead: string | null;
}

function readTableColumns(store: Store, rules: FeedRules): TableColumn[] {
  return store
    .prepare<TableColumn>(
      `SELECT name, hidden, CASE WHEN "notnull" = 1 THEN dflt_value END AS instead FROM pragma_table_xinfo(@table)`,
    )
    .all({ table: rules.table });
}

/** In lower case. */
function readGenerated(store: Store, rules: FeedRules): Set<string> {
  const columns = readTableColumns(store, rules).filter(({ hidden }) => hidden > 1);
  return new Set(columns.map(({ name }) => name.toLowerCase()));
}

function readStored(store: Store, rules: FeedRules): string[] {
  return readTableColumns(store, rules).flatMap(({ name, hidden }) => (hidden > 1 ? [] : [name]));
}

interface UniqueColumn {
  name: string;
  collation: string;
  /** What stands there where NEW says NULL, as SQL. */
  instead: string | null;
}

/**
 * Columns besides the feed's key that no two rows may share, the rowid too: a REPLACE that conflicts with another row there
 * deletes it, and no delete trigger runs. Unique indexes of a part of the rows, or over an expression, are left to
 * the nightly comparison.
 */
function readOtherKeys(store: Store, rules: FeedRules): UniqueColumn[][] {
  const rows = store
    .prepare<{ index: string; origin: string; name: string | null; collation: string }>(
      `SELECT i.name AS "index", i.origin, x.name, x.coll AS collation
       FROM pragma_index_list(@table) i, pragma_index_xinfo(i.name) x
       WHERE i."unique" = 1 AND i.partial = 0 AND x.key = 1 ORDER BY i.name, x.seqno`,
    )
    .all({ table: rules.table });
  const table = readTableColumns(store, rules);
  const isKey = (column: string) => rules.keys.some((key) => key.toLowerCase() === column.toLowerCase());
  const uniques = [...Map.groupBy(rows, ({ index }) => index).values()].flatMap((columns) => {
    const named = columns.flatMap(({ name, collation }) => {
      const instead = literalOf(table.find((column) => column.name === name)?.instead ?? null);
      return name === null ? [] : [{ name, collation, instead }];
    });
    const isOwn = rules.keys.every((key) =>
      named.some(({ name, collation }) => name.toLowerCase() === key.toLowerCase() && collation === "BINARY"),
    );
    return named.length < columns.length || isOwn ? [] : [named];
  });
  const primary = store
    .prepare<{ name: string | null }>(
      `SELECT c.name FROM pragma_table_list(@table) t LEFT JOIN pragma_table_info(@table) c
         ON c.pk = 1 AND upper(c.type) = 'INTEGER' AND (SELECT count(*) FROM pragma_table_info(@table) WHERE pk > 0) = 1
       WHERE t.schema = 'main' AND t.wr = 0`,
    )
    .get({ table: rules.table });
  if (primary === undefined) return uniques;
  // One that has an index is no other name of the rowid: it was declared DESC.
  const alias = rows.some(({ origin }) => origin === "pk") ? null : primary.name;
  if (alias !== null && rules.keys.length === 1 && isKey(alias)) return uniques;
  const rowid = alias ?? ROWID.find((name) => !table.some((column) => column.name.toLowerCase() === name));
  return rowid === undefined ? uniques : [...uniques, [{ name: rowid, collation: "BINARY", instead: null }]];
}

/** A default that is the same wherever it is written; what is computed is not. A word in double quotes is a text. */
function literalOf(text: string | null): string | null {
  if (text === null) return null;
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^0x[\da-f]+$|^x?'([^']|'')*'$|^(true|false)$/i.test(text)) return text;
  return /^"[^"']*"$/.test(text) ? `'${text.slice(1, -1)}'` : null;
}

function noteReplaced(rules: FeedRules, columns: readonly UniqueColumn[]): string {
  const values = [0, 1, 2, 3].map((index) => {
    const column = rules.keys[index];
    return column === undefined ? "''" : `ifnull(t.${quoteName(column)}, x'')`;
  });
  const newOf = ({ name, instead }: UniqueColumn) =>
    instead === null ? `NEW.${quoteName(name)}` : `ifnull(NEW.${quoteName(name)}, ${instead})`;
  const where = columns
    .map((column) => `t.${quoteName(column.name)} = ${newOf(column)} COLLATE ${quoteName(column.collation)}`)
    .join(" AND ");
  return ` INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3) SELECT ${rules.feedId}, ${values.join(", ")} FROM ${quoteName(rules.table)} AS t WHERE ${where} ON CONFLICT DO NOTHING;`;
}

/** An upsert clause, not OR IGNORE: an outer OR REPLACE would override that. NULL becomes an empty blob, which is no key. */
function noteKey(rules: FeedRules, row: "OLD" | "NEW"): string {
  const values = [0, 1, 2, 3].map((index) => {
    const column = rules.keys[index];
    return column === undefined ? "''" : `ifnull(${row}.${quoteName(column)}, x'')`;
  });
  return ` INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3) VALUES (${rules.feedId}, ${values.join(", ")}) ON CONFLICT DO NOTHING;`;
}
