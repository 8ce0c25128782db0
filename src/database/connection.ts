/**
 * Settings of every connection, and the read-only connection. Guarantees durability: `synchronous=FULL` and WAL are set
 * and read back each time, because better-sqlite3 opens an existing WAL database with NORMAL, which loses confirmed
 * orders in a power cut.
 */

import { statSync } from "node:fs";
import { endianness } from "node:os";
import type Database from "better-sqlite3";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { checkDatabaseFile, readStart, refuseUnfinishedSwap, resolveDatabasePath } from "./file/file-checks.ts";
import { refuseForeignJournal } from "./file/foreign-journal.ts";
import { lookAtLog } from "./file/log-rights.ts";
import { openFile } from "./file/open-file.ts";
import { inspectDatabase, loadMigrations, MIGRATIONS_FOLDER, type Migration } from "./migrations.ts";
import { asBridgeError, describePermissions, faultCodeOf } from "./sqlite-errors.ts";
import { Store } from "./store.ts";

export type OpenMode = "daemon" | "command" | "readonly";

/**
 * How long one statement may wait for another program's lock. SQLite blocks the whole process meanwhile: the daemon's
 * limit is a fraction of the 1.2 s for which its event loop may stop, and its callers retry asynchronously. A command
 * has nothing else to do. A reader waits only while a log is recovered.
 */
export const BUSY_TIMEOUT_MS: Record<OpenMode, number> = { daemon: 100, command: 5000, readonly: 1000 };

/** Nothing else runs in the process during opening, so a migration may wait for an ERP's short transaction to end. */
const OPENING_TIMEOUT_MS = 5000;

/** A starting daemon creates its log within moments. */
const LOG_WITHIN_MS = 3_000;
const LOG_LOOK_MS = 50;

/**
 * Page cache of a connection, in KiB. SQLite never releases it, and the operating system caches the same pages; with a
 * million orders, four times as much made nothing faster.
 */
const CACHE_KIB = 4096;

/**
 * SQLite does not shrink a write-ahead log by itself: after one large transaction of an ERP it would look like a log
 * that a reader keeps from being reset. The next commit that restarts the log truncates it to this size.
 */
export const LOG_BYTES_KEPT = 16 * 1024 * 1024;

export function configure(db: Database.Database, mode: OpenMode): void {
  db.pragma("trusted_schema = OFF"); // views and triggers that an ERP adds cannot call functions with side effects
  db.pragma("cell_size_check = ON"); // detects damaged pages when they are read
  db.pragma("recursive_triggers = OFF"); // OR REPLACE fires no delete triggers, as the schema's triggers expect
  // better-sqlite3 enforces them by default, and a foreign key of the ERP's to a table of the bridge could fail every
  // write to that table. The bridge's own need no enforcement: all reference `orders`, whose rows are never deleted.
  db.pragma("foreign_keys = OFF");
  if (mode === "readonly") db.pragma("query_only = ON");
  else {
    db.pragma("journal_mode = WAL");
    db.pragma(`journal_size_limit = ${LOG_BYTES_KEPT}`);
  }
  db.pragma("synchronous = FULL");
  db.pragma(`cache_size = -${CACHE_KIB}`);
}

/** Reads back the pragmas that durability depends on: SQLite ignores one without an error. */
export function assertDurable(db: Database.Database, file: string, mode: OpenMode): void {
  // A copy put in place of the database is in another journal mode until a daemon has opened it.
  const expected = { synchronous: 2, foreign_keys: 0, ...(mode === "readonly" ? {} : { journal_mode: "wal" }) };
  for (const [pragma, value] of Object.entries(expected)) {
    const actual = db.pragma(pragma, { simple: true });
    if (actual !== value) {
      throw new BridgeError(
        "database_refused",
        m.database.pragmaRefused({ file, pragma, value: String(value), actual: String(actual) }),
        { hint: m.database.closeOthers },
      );
    }
  }
}

export function connect(file: string, readonly: boolean): Database.Database {
  return openFile(file, { readonly, fileMustExist: true, timeout: OPENING_TIMEOUT_MS });
}

/** Errors of opening: a file that is no database gets its own error, unlike one that was damaged while in use. */
export function openingError(error: unknown, file: string): BridgeError {
  if (faultCodeOf(error) !== "SQLITE_NOTADB") return asBridgeError(error, m.database.opening, file);
  return new BridgeError("database_refused", m.database.notDatabase({ file }), {
    hint: m.database.restoreIfRight({ copy: m.daemon.copyName }),
    cause: error,
  });
}

/**
 * Refuses to open a database that another program has open while the file of the log is missing. The log was removed
 * under that program: no one else can read what it writes, and creating a second log would destroy it.
 * @throws BridgeError `database_busy`
 */
export function refuseRemovedLog(file: string, mode: OpenMode): void {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; waitedMs < LOG_WITHIN_MS; waitedMs += LOG_LOOK_MS) {
    const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size;
    if ((bytes ?? 0) > 0 || isOpenedByNobody(file) || (bytes === 0 && !hasFrames(file))) return;
    Atomics.wait(clock, 0, 0, LOG_LOOK_MS);
  }
  throw new BridgeError("database_busy", m.database.logRemovedOpen({ file }), {
    hint: mode === "daemon" ? m.database.closeHolders : m.database.waitForDaemon,
  });
}

/** Whether the log's shared memory counts frames: offset 16 of its header, `mxFrame` in wal.c. */
function hasFrames(file: string): boolean {
  try {
    const header = readStart(`${file}-shm`, 20);
    return (endianness() === "LE" ? header.readUInt32LE(16) : header.readUInt32BE(16)) > 0;
  } catch {
    return false;
  }
}

function isOpenedByNobody(file: string): boolean {
  let db: Database.Database | undefined;
  try {
    db = openFile(file, { fileMustExist: true, timeout: 0 });
    db.pragma("locking_mode = EXCLUSIVE");
    db.pragma("schema_version");
    return true;
  } catch (error) {
    // Any other fault is reported by opening the database.
    return !faultCodeOf(error)?.startsWith("SQLITE_BUSY");
  } finally {
    db?.close();
  }
}

function refusePending(db: Database.Database, known: readonly Migration[], file: string): void {
  const pending = inspectDatabase(db, known, file);
  if (pending.length === 0) return;
  const never = pending.length === known.length;
  throw new BridgeError("database_refused", never ? m.database.notOurs({ file }) : m.database.olderBridge({ file }), {
    hint: never ? m.database.makeWithInit : m.database.startOnce,
  });
}

/** Refuses to read where the log that reading makes, or has made, keeps out the daemon or the ERP. */
function refuseLockingOut(file: string): void {
  const found = lookAtLog(file);
  if (found === undefined) return;
  const rights = describePermissions(file);
  throw found === "own"
    ? new BridgeError("database_refused", m.database.logKeepsOut({ file, rights }), {
        hint: m.database.giveLogBack({ file }),
      })
    : new BridgeError("database_refused", m.database.logWouldKeepOut({ file, rights }), {
        hint: m.database.runAsWriter,
      });
}

/**
 * Opens an existing database of the program's schema version, read-only. Throws BridgeErrors only, as `openStore` does.
 * @param migrationsFolder defines the expected schema version; the program's own by default
 */
export function openReadOnly(databasePath: string, migrationsFolder = MIGRATIONS_FOLDER): Store {
  const file = resolveDatabasePath(databasePath);
  let db: Database.Database | undefined;
  try {
    refuseUnfinishedSwap(file);
    const known = loadMigrations(migrationsFolder);
    const size = checkDatabaseFile(file, "read");
    if (size === undefined) {
      throw new BridgeError("database_refused", m.database.missing({ file }), { hint: m.database.initOrFix });
    }
    refuseForeignJournal(file);
    db = connect(file, true);
    // SQLite makes the log at the first read.
    refuseLockingOut(file);
    if (size > 0) refuseRemovedLog(file, "readonly");
    refusePending(db, known, file);
    configure(db, "readonly");
    assertDurable(db, file, "readonly");
    // The daemon may have stopped, and removed its log, since that look.
    refuseLockingOut(file);
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS.readonly}`);
    return new Store(db, file);
  } catch (error) {
    db?.close();
    throw openingError(error, file);
  }
}
