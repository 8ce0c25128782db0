/**
 * Compares drizzle's folder of migrations with drizzle's table of applied ones. An edited, missing or reordered migration
 * and the database of a newer program are refused before anything is written.
 */

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type Database from "better-sqlite3";
import { readMigrationFiles } from "drizzle-orm/migrator";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { refuseForeignTables, schemaNames } from "./file/file-checks.ts";
import { openFile } from "./file/open-file.ts";
import { namesMadeBy } from "./objects/made-objects.ts";
import { machineFaultOf } from "./sqlite-errors.ts";

/** "ERPB": identifies the file for `file(1)`. The ERP may change it, so {@link isBridgeDatabase} does not depend on it. */
export const APPLICATION_ID = 0x45525042;

export interface Migration {
  tag: string;
  /** Milliseconds since the epoch: drizzle's identity of a migration. */
  when: number;
  /** SHA-256 of the file's text, hexadecimal, as drizzle computes it. */
  hash: string;
  statements: string[];
}

export interface AppliedMigration {
  when: number;
  hash: string;
}

/** The folder of the migrations: one level above the bundle, two above this source. */
export const MIGRATIONS_FOLDER = ["../drizzle", "../../drizzle"]
  .map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
  .reduce((first, second) => (existsSync(first) ? first : second));

export const MIGRATIONS_TABLE = "__drizzle_migrations";

export function statementsOf(migrations: readonly Migration[]): string[] {
  return migrations.flatMap(({ statements }) => statements);
}

/** The migrations of this version; read once per process. */
let shipped: readonly Migration[] | undefined;

/** Reads a folder of drizzle-kit. Adds the tags, which drizzle does not return: errors and copies name migrations by them. */
export function loadMigrations(folder: string): readonly Migration[] {
  if (folder !== MIGRATIONS_FOLDER) return readMigrations(folder);
  shipped ??= readMigrations(folder);
  return shipped;
}

function readMigrations(folder: string): Migration[] {
  try {
    const read = readMigrationFiles({ migrationsFolder: folder });
    const journal = JSON.parse(readFileSync(path.join(folder, "meta", "_journal.json"), "utf8")) as {
      entries: { tag: string }[];
    };
    const tagOf = (index: number) => journal.entries[index]?.tag ?? "";
    return read.map(({ folderMillis: when, hash, sql }, index) => {
      if ((read[index - 1]?.folderMillis ?? 0) >= when)
        throw new BridgeError("internal", m.database.migrationDated({ tag: tagOf(index), before: tagOf(index - 1) }));
      return { tag: tagOf(index), when, hash, statements: sql.filter((statement) => statement.trim() !== "") };
    });
  } catch (error) {
    const fault = machineFaultOf(error, m.database.opening);
    if (fault?.code === "disk_failed") throw fault;
    const why = error instanceof BridgeError ? error.text : error instanceof Error ? error.message : String(error);
    throw new BridgeError("internal", m.database.migrationsUnreadable({ folder, why }), {
      hint: m.database.reinstall,
      cause: error,
    });
  }
}

/**
 * Compares the program's migrations with those applied to the database. Returns the pending ones.
 * @throws BridgeError `database_newer`, `migration_edited`
 */
export function planMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const newest = known.at(-1)?.when ?? 0;
  const ahead = applied.filter(({ when }) => when > newest);
  if (ahead.length > 0) {
    throw new BridgeError("database_newer", m.database.newerBridge, { hint: m.database.installNewer });
  }
  const edited = (what: Message) =>
    new BridgeError("migration_edited", m.database.nothingChanged({ what }), { hint: m.database.installItsVersion });
  applied.forEach(({ when, hash }, index) => {
    const migration = known[index];
    if (migration === undefined || migration.when !== when) {
      const stray = known.find((candidate) => candidate.when === when);
      throw edited(
        stray === undefined
          ? m.database.unknownMigration({ at: new Date(when).toISOString() })
          : m.database.migrationWithout({ tag: stray.tag, other: migration?.tag ?? m.database.earlierOne }),
      );
    }
    if (migration.hash !== hash) throw edited(m.database.otherMigration({ tag: migration.tag }));
  });
  return known.slice(applied.length);
}

function hasMigrationsTable(db: Database.Database): boolean {
  return (
    db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(MIGRATIONS_TABLE) !== undefined
  );
}

function loadApplied(db: Database.Database): AppliedMigration[] {
  if (!hasMigrationsTable(db)) return [];
  return db
    .prepare<[], { hash: string; created_at: unknown }>(
      `SELECT hash, created_at FROM ${MIGRATIONS_TABLE} ORDER BY rowid`,
    )
    .all()
    .map((row) => ({ hash: row.hash, when: Number(row.created_at) }));
}

/**
 * Reads the state of an open database. Returns the pending migrations.
 * @param file names the database in errors
 * @throws BridgeError `database_refused`, `database_newer`, `migration_edited`
 */
export function inspectDatabase(db: Database.Database, known: readonly Migration[], file: string): Migration[] {
  const applied = loadApplied(db);
  const id = db.pragma("application_id", { simple: true });
  const hashes = new Set(known.map((migration) => migration.hash));
  const recognised = isBridgeDatabase(db) || applied.some(({ hash }) => hashes.has(hash));
  if (!recognised && (applied.length > 0 || id !== 0)) {
    throw new BridgeError("database_refused", m.database.foreignDatabase({ file }), { hint: m.database.ownFile });
  }
  if (applied.length === 0 && schemaNames(db).length > 0)
    refuseForeignTables(db, namesMadeBy(statementsOf(known)), file);
  return planMigrations(known, applied);
}

/** Whether a bridge has created this file: by its `application_id`, or by tables that no other program has together. */
export function isBridgeDatabase(db: Database.Database): boolean {
  if (db.pragma("application_id", { simple: true }) === APPLICATION_ID) return true;
  const tables = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('${MIGRATIONS_TABLE}', 'pull_mark', 'feed_sent')`;
  return db.prepare<[], number>(tables).pluck().get() === 3;
}

/**
 * Whether a bridge has created its tables in a file: any program creates a file by opening a missing database. Returns
 * true for a file that cannot be read, because opening it reports why. Not while this process has a connection to it.
 */
export function isOwnDatabase(file: string): boolean {
  let db: Database.Database | undefined;
  try {
    db = openFile(file, { readonly: true, fileMustExist: true });
    return isBridgeDatabase(db);
  } catch {
    return true;
  } finally {
    db?.close();
  }
}
