/**
 * The schema's versions: drizzle's folder, read by drizzle, and drizzle's table of applied migrations. An edited, missing or
 * reordered migration and a database of a newer program are refused with nothing written.
 */

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type Database from "better-sqlite3";
import { readMigrationFiles } from "drizzle-orm/migrator";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { refuseForeignTables, schemaNames } from "./file-checks.ts";
import { namesMadeBy } from "./made-objects.ts";
import { openFile } from "./open-file.ts";
import { machineFaultOf } from "./sqlite-errors.ts";

/** "ERPB": marks the file for `file(1)`. The ERP may write another one, so {@link isBridgeDatabase} does not depend on it. */
export const APPLICATION_ID = 0x45525042;

export interface Migration {
  tag: string;
  /** Milliseconds, drizzle's identity of a migration. */
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

/** Of this version; read once in a process. */
let shipped: readonly Migration[] | undefined;

/** Reads the folder that drizzle-kit lays out. The tags, which drizzle leaves out, name migrations in errors and copies. */
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

/** Compares the program's migrations with those that were applied to the database. Gives what is to be applied, or refuses. */
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
 * Reads the state of an open database and refuses what must not be touched. Gives the pending migrations.
 * `file` only names it in errors. Throws database_refused, database_newer, migration_edited.
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

/** Whether a bridge works on this file, this one or another: by its mark, or by tables that no other program has together. */
export function isBridgeDatabase(db: Database.Database): boolean {
  if (db.pragma("application_id", { simple: true }) === APPLICATION_ID) return true;
  const tables = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('${MIGRATIONS_TABLE}', 'pull_mark', 'feed_sent')`;
  return db.prepare<[], number>(tables).pluck().get() === 3;
}

/**
 * Whether the bridge has made its tables in a file: any program makes a file by opening a database that is not there. A file that
 * cannot be read counts as its own: the one who opens it says why. Not while a connection of this process is open on it.
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
