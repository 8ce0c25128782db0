/*
 * Everything that a restore brings over from the database that it replaces, in the order in which one part needs the
 * other: orders before their history, both before what names them. Works on the file that is being made, so a crash leaves
 * nothing but that file.
 */
import Database from "better-sqlite3";
import { loadMigrations } from "../database/migrations.ts";
import { carryErpTables, putOnObjects, takeOffTriggers } from "./carry-erp-tables.ts";
import { type CarryOptions, carryEvents, carryOrders, listOrderKeys } from "./carry-orders.ts";
import { carryTables, RULES } from "./carry-tables.ts";
import { rebuildQueue } from "./settle.ts";

const ERP_TABLES = Object.keys(RULES).filter((table) => RULES[table] === "erp");

export function carryOver(options: CarryOptions, settings: { migrationsFolder: string; zone: string }): void {
  const own = ownNames(settings.migrationsFolder);
  const triggers = takeOffTriggers(options);
  options.to.db.pragma("foreign_keys = OFF");
  const known = listOrderKeys(options);
  const keys = carryOrders(options);
  carryEvents(options, keys, known);
  carryTables(options, settings.zone);
  carryErpTables(options, own, ERP_TABLES);
  rebuildQueue(options.to);
  putOnObjects(options, own, triggers);
}

/** Names of whatever the bridge's own migrations make, in lower case. */
export function ownNames(migrationsFolder: string): ReadonlySet<string> {
  const db = new Database(":memory:");
  try {
    for (const { statements } of loadMigrations(migrationsFolder))
      for (const statement of statements) db.exec(statement);
    return new Set(db.prepare<unknown[], string>("SELECT lower(name) FROM sqlite_schema").pluck().all());
  } finally {
    db.close();
  }
}
