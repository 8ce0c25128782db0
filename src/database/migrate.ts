/**
 * Brings the schema to the program's version: drizzle's folder, read by drizzle, and drizzle's table of applied migrations.
 * An edited, missing or reordered migration and a database of a newer program are refused with nothing written, and a database
 * that holds anything is copied, and the copy checked, before it changes.
 * All pending migrations are one IMMEDIATE transaction: a crash in the middle leaves the old state, and perhaps a
 * `.partial` copy that the next start replaces.
 *
 * They are not applied by drizzle's `migrate()`, which reads what was applied before it begins its own transaction, commits
 * that itself and cannot run inside another one. So two processes may apply a migration twice, and one that leaves orphans
 * is committed before anything can look (test/database/migrate.test.ts shows both).
 */

import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, readFileSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { readMigrationFiles } from "drizzle-orm/migrator";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { createFile, freshName, leftNames, removeName, setMode, syncFile, syncFolder } from "../platform/fresh-file.ts";
import { refuseForeignTables, schemaNames } from "./file-checks.ts";
import { machineFaultOf } from "./sqlite-errors.ts";
import { isUnknownHere, verifyTables } from "./verify-tables.ts";

/** "ERPB": marks the file as ours for `file(1)` and for ourselves. */
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

export interface MigrationReport {
  /** Tags applied now, in order; empty where the database was up to date. */
  applied: string[];
  /** The copy made before, where there was something to copy. */
  backup: string | undefined;
}

/** The folder of the migrations: one level above the bundle, two above this source. */
export const MIGRATIONS_FOLDER = ["../drizzle", "../../drizzle"]
  .map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
  .reduce((first, second) => (existsSync(first) ? first : second));

const MIGRATIONS_TABLE = "__drizzle_migrations";

/** Reads the folder that drizzle-kit lays out. The tags, which drizzle leaves out, name migrations in errors and copies. */
export function loadMigrations(folder: string): Migration[] {
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

/** Compares what the program knows with what the database has had. Gives what is to be applied, or refuses. */
export function planMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const newest = known.at(-1)?.when ?? 0;
  const ahead = applied.filter(({ when }) => when > newest);
  if (ahead.length > 0) {
    throw new BridgeError("database_newer", m.database.newerBridge, {
      hint: m.database.installNewer,
    });
  }
  const edited = (what: Message) =>
    new BridgeError("migration_edited", m.database.nothingChanged({ what }), {
      hint: m.database.installItsVersion,
    });
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
 * The names that the migrations make, in lower case, read from their text: running them to find out would cost what they
 * cost. A name that this misses makes the migration itself fail and be undone.
 */
function namesMadeBy(migrations: readonly Migration[]): string[] {
  const made =
    /\bCREATE\s+(?:UNIQUE\s+)?(?:TABLE|VIEW|INDEX|TRIGGER)\s+(?:IF\s+NOT\s+EXISTS\s+)?["'`[]?(\w+)|\bRENAME\s+TO\s+["'`[]?(\w+)/gi;
  const text = migrations.flatMap((migration) => migration.statements).join("\n");
  return [...text.matchAll(made)].map((match) => (match[1] ?? match[2] ?? "").toLowerCase());
}

/**
 * Reads the state of an open database and refuses what must not be touched. Gives the pending migrations.
 * `file` only names it in errors. Throws database_refused, database_newer, migration_edited.
 */
export function inspectDatabase(db: Database.Database, known: readonly Migration[], file: string): Migration[] {
  const applied = loadApplied(db);
  const id = db.pragma("application_id", { simple: true });
  const hashes = new Set(known.map((migration) => migration.hash));
  const recognised = id === APPLICATION_ID || applied.some(({ hash }) => hashes.has(hash));
  if (!recognised && (applied.length > 0 || id !== 0)) {
    throw new BridgeError("database_refused", m.database.foreignDatabase({ file }), {
      hint: m.database.ownFile,
    });
  }
  if (applied.length === 0 && schemaNames(db).length > 0) refuseForeignTables(db, namesMadeBy(known), file);
  return planMigrations(known, applied);
}

/**
 * One moment of the database in a file. What SQLite does by itself it gives up where a table of the ERP's needs a collation or
 * a function that only the ERP has; then the files are copied as they are, by another program: closing a descriptor of the
 * database here would drop this process's locks.
 */
function copyInto(db: Database.Database, file: string, target: string): void {
  try {
    db.prepare("VACUUM INTO ?").run(target);
    return;
  } catch (error) {
    if (!isUnknownHere(error)) throw error;
  }
  // Nobody writes meanwhile, and a checkpoint that runs leaves the log that it reads.
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const suffix of ["", "-wal"]) {
      const from = `${file}${suffix}`;
      if (statSync(from, { throwIfNoEntry: false }) === undefined) continue;
      if (suffix !== "") closeSync(createFile(`${target}${suffix}`, 0o600));
      execFileSync("cp", ["--", from, `${target}${suffix}`], { env: { PATH: process.env["PATH"] } });
    }
  } finally {
    db.exec("ROLLBACK");
  }
  const copy = new Database(target);
  try {
    copy.pragma("journal_mode = DELETE");
  } finally {
    copy.close();
  }
}

/** A checked, durable copy, `NAME.before-TAG-TIME.db`, readable by whom the database is readable. */
function backUp(db: Database.Database, file: string, folder: string, tag: string, nowMs: number): string {
  const stem = path.join(folder, `${path.basename(file).replace(/\.(db|sqlite3?)$/i, "")}.before-${tag}`);
  const partial = freshName(stem, "partial");
  const final = `${stem}-${new Date(nowMs).toISOString().replace(/[-:.]/g, "")}.db`;
  const mode = statSync(file).mode & 0o777;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o750 });
    for (const left of leftNames(stem, "partial")) removeName(left);
    // VACUUM INTO takes an existing empty file: so the copy of customers' data is never readable by more than its source.
    closeSync(createFile(partial, 0o600));
    copyInto(db, file, partial);
    const copy = new Database(partial, { readonly: true });
    try {
      const [found] = verifyTables(copy, "quick_check", 5).problems;
      if (found !== undefined) {
        throw new BridgeError("database_corrupt", m.database.copyDamaged({ file, found }), {
          hint: m.database.likelyDamaged,
        });
      }
    } finally {
      copy.close();
    }
    setMode(partial, mode);
    syncFile(partial);
    renameSync(partial, final);
    syncFolder(folder);
    return final;
  } catch (error) {
    for (const suffix of ["", "-wal", "-shm"]) removeName(`${partial}${suffix}`);
    throw machineFaultOf(error, m.database.copyingBefore({ folder }), final) ?? error;
  }
}

/** Rows of our tables that break a foreign key. There may be some: an ERP's own connection need not enforce them. */
function countForeignKeyViolations(db: Database.Database, known: readonly Migration[]): number {
  const ours = new Set(namesMadeBy(known));
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  const check = db.prepare<[string], number>("SELECT count(*) FROM pragma_foreign_key_check(?)").pluck();
  return tables
    .filter((table) => ours.has(table.toLowerCase()))
    .reduce((count, table) => count + (check.get(table) ?? 0), 0);
}

/** A statement with these words is for databases in UTF-16: SQL itself cannot ask. */
const ONLY_UTF16 = /^-- Only in UTF-16\./m;

function applyPending(db: Database.Database, known: readonly Migration[], file: string): string[] {
  // Read again inside the lock: another process may have migrated while this one copied.
  const pending = inspectDatabase(db, known, file);
  const before = countForeignKeyViolations(db, known);
  // drizzle's own table, to the letter, so that drizzle's tools see the same state.
  db.exec(
    `CREATE TABLE IF NOT EXISTS "${MIGRATIONS_TABLE}" (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)`,
  );
  const isUtf16 = db.pragma("encoding", { simple: true }) !== "UTF-8";
  const record = db.prepare(`INSERT INTO "${MIGRATIONS_TABLE}" (hash, created_at) VALUES (?, ?)`);
  for (const { tag, statements, hash, when } of pending) {
    try {
      for (const statement of statements) if (isUtf16 || !ONLY_UTF16.test(statement)) db.exec(statement);
      record.run(hash, when);
    } catch (error) {
      const fault = machineFaultOf(error, m.database.applying({ tag }), file);
      const text = error instanceof Error ? error.message : String(error);
      throw fault ?? new BridgeError("internal", m.database.migrationFailed({ tag, why: text }), { cause: error });
    }
    if (!db.inTransaction) throw new BridgeError("internal", m.database.migrationEndsTransaction({ tag }));
  }
  const broken = countForeignKeyViolations(db, known) - before;
  if (broken > 0) throw new BridgeError("internal", m.database.foreignKeysBroken({ broken }));
  db.pragma(`application_id = ${APPLICATION_ID}`);
  return pending.map((migration) => migration.tag);
}

/** Copies, then migrates, in that order. Leaves `foreign_keys` ON. Does nothing where nothing is pending. */
export function migrateDatabase(
  db: Database.Database,
  options: { known: readonly Migration[]; file: string; backupFolder: string; nowMs: number },
): MigrationReport {
  const { known, file } = options;
  const [first] = inspectDatabase(db, known, file);
  if (first === undefined) return { applied: [], backup: undefined };
  const hasContent = schemaNames(db).length > 0;
  const backup = hasContent ? backUp(db, file, options.backupFolder, first.tag, options.nowMs) : undefined;
  // A table made anew must not cascade into its children; the setting cannot change inside a transaction.
  db.pragma("foreign_keys = OFF");
  try {
    db.exec("BEGIN IMMEDIATE");
    const applied = applyPending(db, known, file);
    db.exec("COMMIT");
    return { applied, backup };
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw machineFaultOf(error, m.database.migrating, file) ?? error;
  } finally {
    db.pragma("foreign_keys = ON");
  }
}
