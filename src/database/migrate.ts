/**
 * Brings the schema to the program's version. A database that holds anything is copied, and the copy checked, before it changes.
 * All pending migrations are one IMMEDIATE transaction: a crash in the middle leaves the old state, and perhaps a
 * `.partial` copy that the next start replaces.
 *
 * They are not applied by drizzle's `migrate()`, which reads what was applied before it begins its own transaction, commits
 * that itself and cannot run inside another one. So two processes may apply a migration twice, and one that leaves orphans
 * is committed before anything can look (test/database/migrate.test.ts shows both).
 */

import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { createFile, freshName, leftNames, removeName, setMode, syncFile, syncFolder } from "../platform/fresh-file.ts";
import { ERP_TABLES } from "./erp-objects.ts";
import { schemaNames } from "./file-checks.ts";
import { encodingOf, isFor, namesMadeBy } from "./made-objects.ts";
import { APPLICATION_ID, inspectDatabase, MIGRATIONS_TABLE, type Migration, statementsOf } from "./migrations.ts";
import { openFile } from "./open-file.ts";
import { machineFaultOf } from "./sqlite-errors.ts";
import { isUnknownHere, verifyTables } from "./verify-tables.ts";

export interface MigrationReport {
  /** Tags applied now, in order; empty where the database was up to date. */
  applied: string[];
  /** The copy made before, where there was something to copy. */
  backup: string | undefined;
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
  // Nothing is written meanwhile, and a checkpoint that runs leaves the log that it reads.
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

/** Rows of our tables that break a foreign key. There may be some: no connection need enforce them. */
function countForeignKeyViolations(db: Database.Database, known: readonly Migration[]): number {
  // One that the ERP made anew may have foreign keys that SQLite cannot even check.
  const ours = new Set(namesMadeBy(statementsOf(known)).filter((name) => !ERP_TABLES.has(name)));
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  const check = db.prepare<[string], number>("SELECT count(*) FROM pragma_foreign_key_check(?)").pluck();
  return tables
    .filter((table) => ours.has(table.toLowerCase()))
    .reduce((count, table) => count + (check.get(table) ?? 0), 0);
}

function applyPending(db: Database.Database, known: readonly Migration[], file: string): string[] {
  // Read again inside the lock: another process may have migrated while this one copied.
  const pending = inspectDatabase(db, known, file);
  const before = countForeignKeyViolations(db, known);
  // drizzle's own table, to the letter, so that drizzle's tools see the same state.
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

/** Copies, then migrates, in that order. Does nothing where nothing is pending. */
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
  }
}
