/*
 * Brings over everything from the database that a restore replaces, in the order of dependencies: orders before their
 * history, both before tables that refer to them. Writes only to the new file, so a crash leaves nothing but that file.
 */
import Database from "better-sqlite3";
import { loadMigrations } from "../database/migrations.ts";
import { quoteName } from "../database/quote-name.ts";
import { carryErpObjects, dropTriggers, listObjects, restoreTriggers } from "./carry-erp-tables.ts";
import { type CarryOptions, carryEvents, carryOrders, listOrderKeys } from "./carry-orders.ts";
import { carryTables, lowerMarks, RULES } from "./carry-tables.ts";
import { columnsOf, hasTable } from "./rows.ts";
import { settleQueue } from "./settle.ts";

const ERP_TABLES = [...Object.keys(RULES).filter((table) => RULES[table] === "erp"), "erp_orders"];

interface Settings {
  migrationsFolder: string;
  zone: string;
}

export function carryOver(options: CarryOptions, { migrationsFolder, zone }: Settings): void {
  const { from, to, continues } = options;
  const owned = { own: ownNames(migrationsFolder), erpTables: ERP_TABLES };
  const triggers = dropTriggers(options);
  addColumns(options);
  if (continues)
    for (const name of ["user_version", "application_id"])
      to.db.pragma(`${name} = ${from.pragma(name, { simple: true })}`);
  const known = listOrderKeys(options);
  const keys = carryOrders(options);
  carryEvents(options, keys, known);
  carryTables(options, zone);
  carryErpObjects(options, owned);
  lowerMarks(to);
  settleQueue(to);
  restoreTriggers(options, owned, triggers);
}

/**
 * Adds columns that the ERP has added to tables that stay, including the bridge's own. Only between files of one
 * version, because columns differ between versions.
 */
function addColumns({ from, to, report, continues }: CarryOptions): void {
  const version = (db: Database.Database) => db.prepare("SELECT count(*) FROM __drizzle_migrations").pluck().get();
  if (version(from) !== version(to.db)) return;
  for (const { name: table } of listObjects(from, "table")) {
    const rule = RULES[table] ?? "erp";
    if (rule === "anew" || (rule === "erp" && continues) || !hasTable(to.db, table)) continue;
    const mine = new Set(columnsOf(to.db, table));
    const sql = "SELECT name, type, dflt_value AS value FROM pragma_table_xinfo(?) WHERE hidden = 0";
    const theirs = from.prepare<unknown[], { name: string; type: string; value: string | null }>(sql).all(table);
    for (const { name, type, value } of theirs.filter((column) => !mine.has(column.name))) {
      const added = `ALTER TABLE main.${quoteName(table)} ADD COLUMN ${quoteName(name)} ${type} DEFAULT ${defaultOf(value)}`;
      report.tolerate(table, () => to.write(() => to.db.exec(added)));
    }
  }
}

/** A bare word is text only where it is not in parentheses: `DEFAULT new`, `DEFAULT "new"`. */
function defaultOf(value: string | null): string {
  return value !== null && /^("([^"]|"")*"|[\p{L}_][\p{L}\p{N}_$]*)$/u.test(value) ? value : `(${value ?? "NULL"})`;
}

/** Names of everything that the bridge's migrations create, in lower case. */
function ownNames(migrationsFolder: string): ReadonlySet<string> {
  const db = new Database(":memory:");
  try {
    for (const { statements } of loadMigrations(migrationsFolder))
      for (const statement of statements) db.exec(statement);
    return new Set(db.prepare<unknown[], string>("SELECT lower(name) FROM sqlite_schema").pluck().all());
  } finally {
    db.close();
  }
}
