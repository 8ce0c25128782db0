/*
 * Brings over what is the ERP's: its tables with all their rows, its views, indexes and triggers. Where the replaced file
 * is what became of the copy, its tables stand for what the ERP wrote last, rows that it deleted included. Triggers are
 * taken off while rows move, so that none of them takes it for the ERP's work. Works on the file that is being made, so a
 * crash leaves nothing but that file.
 */

import type Database from "better-sqlite3";
import { quoteName } from "../database/quote-name.ts";
import { m } from "../messages/messages.ts";
import type { CarryOptions } from "./carry-orders.ts";
import { copyRows } from "./carry-tables.ts";
import { hasTable } from "./rows.ts";

export interface SchemaObject {
  type: "table" | "view" | "index" | "trigger";
  name: string;
  /** The table it belongs to. */
  table: string;
  sql: string;
}

/** The triggers that note what the ERP touched: the daemon puts them on again, and then compares everything. */
const OWN_TRIGGERS = /^erp_bridge_/;

export function listObjects(db: Database.Database, type: SchemaObject["type"]): SchemaObject[] {
  return db
    .prepare<unknown[], SchemaObject>(
      `SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema
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

/** @param own names that the bridge's own migrations make, in lower case */
export function carryErpTables(options: CarryOptions, own: ReadonlySet<string>, erpTables: readonly string[]): void {
  const { from, report } = options;
  const isErps = (name: string) =>
    erpTables.includes(name) || (!own.has(name.toLowerCase()) && name !== "__drizzle_migrations");
  const unusual = new Set(
    from
      .prepare<unknown[], string>("SELECT name FROM pragma_table_list WHERE type IN ('virtual', 'shadow')")
      .pluck()
      .all(),
  );
  for (const table of listObjects(from, "table").filter(({ name }) => isErps(name))) {
    if (unusual.has(table.name)) report.notes.push(m.backup.virtualTable({ table: table.name }));
    else if (carryTable(options, table)) report.add("tables of the ERP", 1);
  }
}

function carryTable(options: CarryOptions, table: SchemaObject): boolean {
  const { from, to, continues } = options;
  const isNew = !hasTable(to.db, table.name);
  if (!isNew && !continues) return copyRows(options, table.name, { replace: false });
  const isChanged = !isNew && listObjects(to.db, "table").find(({ name }) => name === table.name)?.sql !== table.sql;
  if (!isNew && !isChanged) return copyRows(options, table.name, { replace: true });
  to.write(() => {
    if (isChanged) to.db.exec(`DROP TABLE ${quoteName(table.name)}`);
    to.db.exec(table.sql);
  });
  const isWhole = copyRows(options, table.name, { replace: true });
  for (const index of listObjects(from, "index").filter((each) => each.table === table.name)) make(options, index);
  return isWhole;
}

/**
 * Puts triggers on again, and brings over views, indexes and triggers of the ERP's that the copy lacks. The bridge's own
 * are those of the copy, which was brought up to this version.
 */
export function putOnObjects(options: CarryOptions, own: ReadonlySet<string>, taken: readonly SchemaObject[]): void {
  const { from, to, continues } = options;
  const isOwn = ({ name }: SchemaObject) => own.has(name.toLowerCase());
  const theirs = (type: SchemaObject["type"]) =>
    listObjects(from, type).filter((object) => !isOwn(object) && !OWN_TRIGGERS.test(object.name));
  for (const object of [...theirs("view"), ...theirs("index")]) make(options, object);
  const kept = taken.filter((trigger) => !OWN_TRIGGERS.test(trigger.name) && (isOwn(trigger) || !continues));
  for (const trigger of [...kept, ...theirs("trigger")]) make(options, trigger);
  to.db.pragma("foreign_keys = ON");
}

/** An object that stands already stays; one that does not fit is noted, because the rest must not fail for it. */
function make({ to, report }: CarryOptions, { type, name, sql }: SchemaObject): void {
  const standing = to.db
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = ? AND name = ? COLLATE NOCASE")
    .get(type, name);
  if (standing !== undefined) return;
  try {
    to.write(() => to.db.exec(sql));
  } catch {
    report.notes.push(m.backup.notMadeAgain({ type, name }));
  }
}
