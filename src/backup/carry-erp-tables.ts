/*
 * Brings over what belongs to the ERP: its tables with all rows, its views, indexes and triggers. Where the replaced
 * file continues the copy, all of it is as it was there last, and what was deleted there is deleted here. Triggers are
 * dropped while rows move, so that none of them takes the restore for the ERP's work. Writes only to the new file, so a
 * crash leaves nothing but that file.
 */

import type Database from "better-sqlite3";
import { isUnknownHere } from "../database/objects/verify-tables.ts";
import { quoteName } from "../database/quote-name.ts";
import { faultCodeOf } from "../database/sqlite-errors.ts";
import { storedText } from "../database/stored-text.ts";
import { m } from "../messages/messages.ts";
import { errorCodeFor } from "../platform/machine-fault.ts";
import type { CarryOptions } from "./carry-orders.ts";
import { copyRows } from "./carry-tables.ts";
import { columnList, columnsOf, isDamage, withReplaced, writeMain } from "./rows.ts";

export interface SchemaObject {
  type: "table" | "view" | "index" | "trigger";
  name: string;
  /** The table that it belongs to. */
  table: string;
  sql: string;
}

/** Triggers that record the ERP's writes. The daemon creates them again and then compares everything. */
const OWN_TRIGGERS = /^erp_bridge_/;
/** The bridge needs this table, whatever an ERP did to it. */
const MARKS = "erp_orders";

export function listObjects(db: Database.Database, type: SchemaObject["type"]): SchemaObject[] {
  return db
    .prepare<unknown[], SchemaObject>(
      `SELECT type, name, tbl_name AS "table", sql FROM main.sqlite_schema
       WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`,
    )
    .all(type);
}

/** Drops all triggers; returns them for {@link restoreTriggers}. */
export function dropTriggers({ to }: Pick<CarryOptions, "to">): SchemaObject[] {
  const triggers = listObjects(to.db, "trigger");
  to.write(() => {
    for (const { name } of triggers) to.db.exec(`DROP TRIGGER ${quoteName(name)}`);
  });
  return triggers;
}

/**
 * Names in lower case: everything that the bridge's migrations create, and which of those tables nevertheless belong to
 * the ERP.
 */
export interface Owned {
  own: ReadonlySet<string>;
  erpTables: readonly string[];
}

/**
 * Brings over everything of the ERP's except triggers. `unsafeMode` allows writing rows of the schema, the only way to
 * copy virtual tables of any module and statements that are not UTF-8.
 */
export function carryErpObjects(options: CarryOptions, owned: Owned): void {
  const { from, to, continues } = options;
  to.db.unsafeMode(true);
  to.db.pragma("ignore_check_constraints = ON"); // the ERP checked its rows with functions of its own
  withReplaced(options, () => {
    if (continues) dropGone(options, owned);
    for (const tables of listTables(from, owned)) carryTables(options, tables);
    for (const type of ["view", "index"] as const)
      for (const object of listObjects(from, type)) if (isErps(object, owned)) make(options, object);
  });
}

/** Creates triggers again: the bridge's own in the version of the migrated copy, and the ERP's. */
export function restoreTriggers(options: CarryOptions, owned: Owned, taken: readonly SchemaObject[]): void {
  const { from, to, continues } = options;
  const isOwn = ({ name }: SchemaObject) => owned.own.has(name.toLowerCase());
  const kept = taken.filter((trigger) => isOwn(trigger) || !continues);
  const theirs = listObjects(from, "trigger").filter((trigger) => !isOwn(trigger));
  for (const trigger of [...kept, ...theirs]) if (!OWN_TRIGGERS.test(trigger.name)) make(options, trigger);
  restoreTexts(options);
  to.db.pragma("ignore_check_constraints = OFF");
  to.db.unsafeMode(false);
}

function isErps({ name, type }: Pick<SchemaObject, "name" | "type">, { own, erpTables }: Owned): boolean {
  const lower = name.toLowerCase();
  if (erpTables.includes(lower)) return type !== "view" || lower !== MARKS;
  return !own.has(lower) && lower !== "__drizzle_migrations";
}

/**
 * Drops what the replaced file lacks or what is created again. A table and its indexes stay until the replacement has
 * been read, because that may fail.
 */
function dropGone({ from, to }: CarryOptions, owned: Owned): void {
  const tables = new Set(listObjects(from, "table").map(({ name }) => name.toLowerCase()));
  const indexes = new Map(listObjects(from, "index").map(({ name, sql }) => [name, sql]));
  const gone = [
    ...listObjects(to.db, "view"),
    ...listObjects(to.db, "index").filter(
      ({ name, table, sql }) => indexes.get(name) !== sql && !isErps({ type: "table", name: table }, owned),
    ),
    ...listObjects(to.db, "table").filter(({ name }) => !tables.has(name.toLowerCase()) && name !== MARKS),
  ].filter((object) => isErps(object, owned));
  writeMain(to, () => {
    for (const object of gone) drop(to.db, object);
  });
}

/**
 * Groups of tables: each table alone, a virtual one with its module's shadow tables, because they are useless without
 * one another.
 */
function listTables(db: Database.Database, owned: Owned): SchemaObject[][] {
  const shadows = db
    .prepare<unknown[], string>("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'")
    .pluck()
    .all();
  const tables = listObjects(db, "table").filter((table) => isErps(table, owned));
  const isShadowOf = (name: string, { name: of }: SchemaObject) => shadows.includes(name) && name.startsWith(`${of}_`);
  const virtual = tables.filter(isVirtual);
  return tables
    .filter(({ name }) => !virtual.some((table) => isShadowOf(name, table)))
    .map((table) => [...(isVirtual(table) ? tables.filter(({ name }) => isShadowOf(name, table)) : []), table]);
}

function isVirtual({ sql }: SchemaObject): boolean {
  return /^\s*CREATE\s+VIRTUAL\b/i.test(sql);
}

/** Brings over all tables of a group or none; on failure the group is reported, and the copy's tables stay. */
function carryTables(options: CarryOptions, tables: readonly SchemaObject[]): void {
  const { from, to, report, continues, isSound } = options;
  const [table] = tables.slice(-1);
  if (table === undefined) return;
  const { name } = table;
  const standing = findObject(to.db, name);
  const isMarks = name.toLowerCase() === MARKS;
  // Rows that a damaged file lost without an error must not count as orders that the ERP has returned.
  const isKept =
    isMarks && (!isSound || columnsOf(to.db, name).some((column) => !columnsOf(from, name).includes(column)));
  const isWhole = attempt(options, table, () => {
    if (standing === undefined || (continues && !isKept)) return carryWhole(options, tables);
    if (standing.type === "table" && tables.every((each) => !isVirtual(each)))
      return copyRows(options, name, { replace: false });
    throw Object.assign(new Error(`${name} is another here`), { code: "SQLITE_CONSTRAINT" });
  });
  if (isWhole === true) report.add("tables of the ERP", 1);
  else if (standing === undefined) makeEmpty(options, table);
}

/** Creates an empty table, because the ERP may not start without it; its missing rows are reported. */
function makeEmpty(options: CarryOptions, table: SchemaObject): void {
  try {
    writeMain(options.to, () => create(options, table));
  } catch {
    // Its fault is reported already.
  }
}

function carryWhole(options: CarryOptions, tables: readonly SchemaObject[]): boolean {
  const { from, to } = options;
  return writeMain(to, () => {
    for (const { name } of tables.toReversed()) drop(to.db, findObject(to.db, name));
    for (const table of tables) {
      if (isVirtual(table)) {
        writeSchema(
          to.db,
          `INSERT INTO main.sqlite_schema SELECT * FROM replaced.sqlite_schema WHERE type = 'table' AND name = ?`,
          table.name,
        );
        continue;
      }
      create(options, table);
      fill(from, to.db, table.name);
      // With its indexes or not at all: without a unique index the ERP's upserts fail.
      for (const index of listObjects(from, "index")) if (index.table === table.name) create(options, index);
    }
    return true;
  });
}

/** Creates an empty table, or an index over existing rows. Inside a transaction. */
function create(options: CarryOptions, object: SchemaObject): void {
  const { db } = options.to;
  try {
    db.exec(object.sql);
  } catch (error) {
    const names = "SELECT 1 FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE";
    const isTaken = db.prepare(names).get(object.name) !== undefined;
    if (isTaken || (object.type !== "table" && object.type !== "index") || !isUnknownHere(error)) throw error;
    try {
      createInSchema(options, object);
    } catch (other) {
      throw isUnknownHere(other) || isDamage(other) ? error : other;
    }
  }
}

/**
 * Copies an object that SQLite accepts in an existing schema but not in a statement, such as double-quoted text (`CHECK
 * (state <> "bad")`): writes its row of the schema over empty pages.
 */
function createInSchema({ from, to: { db } }: CarryOptions, { type, name }: SchemaObject): void {
  const rows = from
    .prepare<unknown[], SchemaObject>(
      `SELECT type, name, tbl_name AS "table", sql FROM main.sqlite_schema
       WHERE (type = @type AND name = @name) OR (@type = 'table' AND type = 'index' AND tbl_name = @name AND sql IS NULL) ORDER BY rowid`,
    )
    .all({ type, name });
  for (const [index, row] of rows.entries()) {
    const hasTree = row.type === "table" && hasRowid(from, name);
    const empty = `erp_bridge_empty_${index}`;
    db.exec(`CREATE TABLE main.${empty} (a${hasTree ? ")" : " PRIMARY KEY) WITHOUT ROWID"}`);
    const write = "UPDATE main.sqlite_schema SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE name = ?";
    writeSchema(db, write, row.type, row.name, row.table, row.sql, empty);
  }
  if (type === "index") db.exec(`REINDEX main.${quoteName(name)}`);
}

/** Copies every row with its rowid, reading the table itself, because an index may lack rows. */
function fill(from: Database.Database, to: Database.Database, table: string): void {
  const columns = columnsOf(from, table);
  const isTaken = new Set(columns.map((column) => column.toLowerCase()));
  const rowid = hasRowid(from, table) ? ["rowid", "_rowid_", "oid"].find((name) => !isTaken.has(name)) : undefined;
  const list = columnList(rowid === undefined ? columns : [rowid, ...columns]);
  const name = quoteName(table);
  // ABORT overrides the table's own conflict clauses, which could drop or replace rows.
  to.exec(`INSERT OR ABORT INTO main.${name} (${list}) SELECT ${list} FROM replaced.${name} NOT INDEXED`);
  const count = (of: string) => to.prepare(`SELECT count(*) FROM ${of}.${name} NOT INDEXED`).pluck().get();
  if (count("main") !== count("replaced"))
    throw Object.assign(new Error(`rows of ${table} are missing`), { code: "SQLITE_CORRUPT" });
  to.prepare("DELETE FROM main.sqlite_sequence WHERE name = ?").run(table);
  to.prepare("INSERT INTO main.sqlite_sequence SELECT name, seq FROM replaced.sqlite_sequence WHERE name = ?").run(
    table,
  );
}

function hasRowid(db: Database.Database, table: string): boolean {
  const sql = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?";
  return db.prepare(sql).pluck().get(table) === 0;
}

function findObject(db: Database.Database, name: string): SchemaObject | undefined {
  return [...listObjects(db, "table"), ...listObjects(db, "view")].find(
    (object) => object.name.toLowerCase() === name.toLowerCase(),
  );
}

function drop(db: Database.Database, object: SchemaObject | undefined): void {
  if (object === undefined) return;
  const { type, name } = object;
  if (!isVirtual(object)) db.exec(`DROP ${type} IF EXISTS main.${quoteName(name)}`);
  else writeSchema(db, "DELETE FROM main.sqlite_schema WHERE type = 'table' AND name = ?", name);
}

/** Writes the schema directly, because the module of a virtual table may exist in the ERP only. */
function writeSchema(db: Database.Database, sql: string, ...params: (string | null)[]): void {
  db.pragma("writable_schema = ON");
  db.prepare(sql).run(...params);
  db.pragma("writable_schema = RESET");
}

/** Restores the exact bytes of statements that were created from JavaScript strings. */
function restoreTexts(options: CarryOptions): void {
  const { from, to } = options;
  const types = ["table", "view", "index", "trigger"] as const;
  const changed = types.flatMap((type) => listObjects(from, type)).filter(({ sql }) => storedText(from).mayDiffer(sql));
  if (changed.length === 0) return;
  const theirs = "SELECT sql FROM replaced.sqlite_schema WHERE type = mine.type AND name = mine.name";
  const take = `UPDATE main.sqlite_schema AS mine SET sql = (${theirs}) WHERE type = ? AND name = ? AND sql = ?`;
  withReplaced(options, () =>
    writeMain(to, () => {
      for (const { type, name, sql } of changed) writeSchema(to.db, take, type, name, sql);
    }),
  );
}

/** Creates an object unless it exists. */
function make(options: CarryOptions, object: SchemaObject): void {
  const { to } = options;
  const { type, name } = object;
  const standing = to.db
    .prepare("SELECT 1 FROM main.sqlite_schema WHERE type = ? AND name = ? COLLATE NOCASE")
    .get(type, name);
  if (standing === undefined) attempt(options, object, () => writeMain(to, () => create(options, object)));
}

/** Runs `fn`. Damage, and objects that only the ERP can create, are reported so that the rest continues. */
function attempt<T>({ report }: CarryOptions, { type, name }: SchemaObject, fn: () => T): T | undefined {
  try {
    return fn();
  } catch (error) {
    const fault = faultCodeOf(error);
    const isOfMachine = fault === undefined || errorCodeFor(fault) !== undefined;
    if (isOfMachine && !isDamage(error)) throw error;
    const needsErp = type === "table" && isUnknownHere(error);
    if (!isDamage(error))
      report.notes.push(needsErp ? m.backup.rowsNeedErp({ table: name }) : m.backup.notMadeAgain({ type, name }));
    report.damaged.add(name);
    return undefined;
  }
}
