/**
 * Brings the schema to the program's version. A non-empty database is copied, and the copy verified, before it changes.
 * All pending migrations run in one IMMEDIATE transaction: a crash leaves the old state, and perhaps a `.partial` copy
 * that the next start replaces.
 *
 * drizzle's `migrate()` is not used: it reads the applied migrations before it begins its transaction, commits that itself
 * and cannot run inside another one. So two processes could apply a migration twice, and a migration that breaks foreign
 * keys would be committed before a check (test/database/migrate.test.ts shows both).
 */

import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { createFile, freshName, leftNames, removeName, setMode, syncFile, syncFolder } from "../platform/fresh-file.ts";
import { schemaNames } from "./file/file-checks.ts";
import { openFile } from "./file/open-file.ts";
import { APPLICATION_ID, inspectDatabase, MIGRATIONS_TABLE, type Migration, statementsOf } from "./migrations.ts";
import { ERP_TABLES } from "./objects/erp-objects.ts";
import { encodingOf, isFor, namesMadeBy } from "./objects/made-objects.ts";
import { isUnknownHere, verifyTables } from "./objects/verify-tables.ts";
import { machineFaultOf } from "./sqlite-errors.ts";

export interface MigrationReport {
  /** Tags of the applied migrations, in order; empty where the database was up to date. */
  applied: string[];
  /** Path of the copy made before; undefined where nothing was pending or the database was empty. */
  backup: string | undefined;
}

/**
 * Writes one snapshot of the database to a file. VACUUM INTO fails where a table of the ERP's needs a collation or a
 * function that only the ERP has; then `cp` copies the files, in another process, because closing a descriptor of the
 * database here would drop this process's locks.
 */
function copyInto(db: Database.Database, file: string, target: string): void {
  try {
    db.prepare("VACUUM INTO ?").run(target);
    return;
  } catch (error) {
    if (!isUnknownHere(error)) throw error;
  }
  // Prevents writes meanwhile; a concurrent checkpoint leaves the frames in the log.
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
  const copy = openFile(target);
  try {
    copy.pragma("journal_mode = DELETE");
  } finally {
    copy.close();
  }
}

/** A verified, durable copy, `NAME.before-TAG-TIME.db`, with the permissions of the database. */
function backUp(db: Database.Database, file: string, folder: string, tag: string, nowMs: number): string {
  const stem = path.join(folder, `${path.basename(file).replace(/\.(db|sqlite3?)$/i, "")}.before-${tag}`);
  const partial = freshName(stem, "partial");
  const final = `${stem}-${new Date(nowMs).toISOString().replace(/[-:.]/g, "")}.db`;
  const mode = statSync(file).mode & 0o777;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o750 });
    for (const left of leftNames(stem, "partial")) removeName(left);
    // VACUUM INTO accepts an existing empty file, so the copy is never readable by more users than its source.
    closeSync(createFile(partial, 0o600));
    copyInto(db, file, partial);
    const copy = openFile(partial, { readonly: true });
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

/** Rows of our tables that violate a foreign key. Some may exist, because connections do not enforce them. */
function countForeignKeyViolations(db: Database.Database, known: readonly Migration[]): number {
  // A table that the ERP has recreated may have foreign keys that SQLite cannot check.
  const ours = new Set(namesMadeBy(statementsOf(known)).filter((name) => !ERP_TABLES.has(name)));
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  const check = db.prepare<[string], number>("SELECT count(*) FROM pragma_foreign_key_check(?)").pluck();
  return tables
    .filter((table) => ours.has(table.toLowerCase()))
    .reduce((count, table) => count + (check.get(table) ?? 0), 0);
}

function applyPending(db: Database.Database, known: readonly Migration[], file: string): string[] {
  // Read again under the lock: another process may have migrated during the copy.
  const pending = inspectDatabase(db, known, file);
  const before = countForeignKeyViolations(db, known);
  // Identical to the table that drizzle creates, so that drizzle's tools see the same state.
  db.exec(
    `CREATE TABLE IF NOT EXISTS "${MIGRATIONS_TABLE}" (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)`,
  );
  const encoding = encodingOf(db);
  const record = db.prepare(`INSERT INTO "${MIGRATIONS_TABLE}" (hash, created_at) VALUES (?, ?)`);
  for (const { tag, statements, hash, when } of pending) {
    try {
      for (const statement of statements) if (isFor(encoding, statement)) db.exec(statement);
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

/** Copies, then migrates. Does nothing where no migration is pending. */
export function migrateDatabase(
  db: Database.Database,
  options: { known: readonly Migration[]; file: string; backupFolder: string; nowMs: number },
): MigrationReport {
  const { known, file } = options;
  const [first] = inspectDatabase(db, known, file);
  if (first === undefined) return { applied: [], backup: undefined };
  const hasContent = schemaNames(db).length > 0;
  const backup = hasContent ? backUp(db, file, options.backupFolder, first.tag, options.nowMs) : undefined;
  // Recreating a table must not cascade to its children; the setting cannot be changed inside a transaction.
  db.pragma("foreign_keys = OFF");
  try {
    db.exec("BEGIN IMMEDIATE");
    const applied = applyPending(db, known, file);
    db.exec("COMMIT");
    return { applied, backup };
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw machineFaultOf(error, m.database.migrating, file) ?? error;
  }
}
