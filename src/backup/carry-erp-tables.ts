/*
 * Brings over what is the ERP's: its tables with all their rows, its views, indexes and triggers. Where the replaced file
 * is what became of the copy, all of it is as it was there last, and what is gone there is gone here. Triggers are
 * taken off while rows move, so that none of them takes it for the ERP's work. Works on the file that is being made, so a
 * crash leaves nothing but that file.
 */

import type Database from "better-sqlite3";
import { quoteName } from "../database/quote-name.ts";
import { faultCodeOf } from "../database/sqlite-errors.ts";
import { storedText } from "../database/stored-text.ts";
import { isUnknownHere } from "../database/verify-tables.ts";
import { m } from "../messages/messages.ts";
import { errorCodeFor } from "../platform/machine-fault.ts";
import type { CarryOptions } from "./carry-orders.ts";
import { copyRows } from "./carry-tables.ts";
import { columnList, columnsOf, isDamage, withReplaced, writeMain } from "./rows.ts";

export interface SchemaObject {
  type: "table" | "view" | "index" | "trigger";
  name: string;
  /** The table it belongs to. */
  table: string;
  sql: string;
}

/** The triggers that note what the ERP touched: the daemon puts them on again, and then compares everything. */
const OWN_TRIGGERS = /^erp_bridge_/;
/** The bridge needs it, whatever an ERP did to it. */
const MARKS = "erp_orders";

export function listObjects(db: Database.Database, type: SchemaObject["type"]): SchemaObject[] {
  return db
    .prepare<unknown[], SchemaObject>(
      `SELECT type, name, tbl_name AS "table", sql FROM main.sqlite_schema
       WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`,
    )
    .all(type);
}

/** Takes every trigger off; what is given back puts them on again. */
export function takeOffTriggers({ to }: Pick<CarryOptions, "to">): SchemaObject[] {
  const triggers = listObjects(to.db, "trigger");
  to.write(() => {
    for (const { name } of triggers) to.db.exec(`DROP TRIGGER ${quoteName(name)}`);
  });
  return triggers;
}

/** What the bridge's migrations make, and which tables of it are the ERP's all the same; in lower case. */
export interface Owned {
  own: ReadonlySet<string>;
  erpTables: readonly string[];
}

/**
 * Everything of the ERP's but its triggers. In `unsafeMode` rows of the schema can be written, which is the only way to
 * virtual tables of any module and to statements that are not UTF-8.
 */
export function carryErpObjects(options: CarryOptions, owned: Owned): void {
  const { from, to, continues } = options;
  to.db.unsafeMode(true);
  to.db.pragma("ignore_check_constraints = ON"); // the ERP checked its rows with its own functions
  withReplaced(options, () => {
    if (continues) dropGone(options, owned);
    for (const tables of listTables(from, owned)) carryTables(options, tables);
    for (const type of ["view", "index"] as const)
      for (const object of listObjects(from, type)) if (isErps(object, owned)) make(options, object);
  });
}

/** Puts triggers on again: the bridge's own, which are those of the copy, brought up to this version, and the ERP's. */
export function putOnTriggers(options: CarryOptions, owned: Owned, taken: readonly SchemaObject[]): void {
  const { from, to, continues } = options;
  const isOwn = ({ name }: SchemaObject) => owned.own.has(name.toLowerCase());
  const kept = taken.filter((trigger) => isOwn(trigger) || !continues);
  const theirs = listObjects(from, "trigger").filter((trigger) => !isOwn(trigger));
  for (const trigger of [...kept, ...theirs]) if (!OWN_TRIGGERS.test(trigger.name)) make(options, trigger);
  takeTexts(options);
  to.db.pragma("ignore_check_constraints = OFF");
  to.db.unsafeMode(false);
}

function isErps({ name, type }: Pick<SchemaObject, "name" | "type">, { own, erpTables }: Owned): boolean {
  const lower = name.toLowerCase();
  if (erpTables.includes(lower)) return type !== "view" || lower !== MARKS;
  return !own.has(lower) && lower !== "__drizzle_migrations";
}

/** Also what is made again; but a table stays with its indexes until another takes its place, because that may not be readable. */
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

/** Each table alone, and a virtual one with the tables that its module keeps for it, which are of no use without one another. */
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

/** All of them or none: what cannot be brought over is named, and the copy's stays. */
function carryTables(options: CarryOptions, tables: readonly SchemaObject[]): void {
  const { from, to, report, continues, isSound } = options;
  const [table] = tables.slice(-1);
  if (table === undefined) return;
  const { name } = table;
  const standing = findObject(to.db, name);
  const isMarks = name.toLowerCase() === MARKS;
  // Rows that a damaged file lost without an error are not orders that the ERP has given back.
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

/** For the ERP, which may not start without it; that its rows are missing is named. */
function makeEmpty(options: CarryOptions, table: SchemaObject): void {
  try {
    writeMain(options.to, () => create(options, table));
  } catch {
    // What is wrong with it is named, too.
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
      // With its indexes or not at all: without a unique one the ERP's upserts fail.
      for (const index of listObjects(from, "index")) if (index.table === table.name) create(options, index);
    }
    return true;
  });
}

/** A table or an index, with no row; an index over the rows that are there. Inside a transaction. */
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
 * What SQLite reads in a schema and refuses in a statement, such as text in double quotes (`CHECK (state <> "bad")`), is written into the
 * schema as it stands there, over empty pages.
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

/** Every row under the number that it has, from the table itself: an index may lack some. */
function fill(from: Database.Database, to: Database.Database, table: string): void {
  const columns = columnsOf(from, table);
  const isTaken = new Set(columns.map((column) => column.toLowerCase()));
  const rowid = hasRowid(from, table) ? ["rowid", "_rowid_", "oid"].find((name) => !isTaken.has(name)) : undefined;
  const list = columnList(rowid === undefined ? columns : [rowid, ...columns]);
  const name = quoteName(table);
  // ABORT also where the table itself says that a row is to be left out or to take the place of another.
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

/** The module of a virtual table may be the ERP's own. */
function writeSchema(db: Database.Database, sql: string, ...params: (string | null)[]): void {
  db.pragma("writable_schema = ON");
  db.prepare(sql).run(...params);
  db.pragma("writable_schema = RESET");
}

/** Gives the statements that were made from JavaScript the bytes that they have in the replaced file. */
function takeTexts(options: CarryOptions): void {
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

/** An object that stands already stays. */
function make(options: CarryOptions, object: SchemaObject): void {
  const { to } = options;
  const { type, name } = object;
  const standing = to.db
    .prepare("SELECT 1 FROM main.sqlite_schema WHERE type = ? AND name = ? COLLATE NOCASE")
    .get(type, name);
  if (standing === undefined) attempt(options, object, () => writeMain(to, () => create(options, object)));
}

/** The rest must not fail for what damage, or what only the ERP has, keeps from being brought over: it is named. */
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
