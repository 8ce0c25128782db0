/**
 * What every connection has. Keeps the guarantee that it is durable: `synchronous=FULL` and WAL are set and read back each time,
 * because better-sqlite3 opens an existing WAL database with NORMAL, which loses confirmed orders in a power cut. And the
 * connection that only reads.
 */

import { statSync } from "node:fs";
import { endianness } from "node:os";
import type Database from "better-sqlite3";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { checkDatabaseFile, readStart, refuseUnfinishedSwap, resolveDatabasePath } from "./file-checks.ts";
import { refuseForeignJournal } from "./foreign-journal.ts";
import { inspectDatabase, loadMigrations, MIGRATIONS_FOLDER, type Migration } from "./migrations.ts";
import { openFile } from "./open-file.ts";
import { asBridgeError, faultCodeOf } from "./sqlite-errors.ts";
import { Store } from "./store.ts";

export type OpenMode = "daemon" | "command" | "readonly";

/**
 * How long one statement may wait for another program's lock. SQLite waits by blocking the whole process: the daemon's
 * wait is a fraction of the 1.2 s for which its event loop may stop, and its callers try again asynchronously. A
 * command has nothing else to do. A reader waits only while a log is recovered.
 */
export const BUSY_TIMEOUT_MS: Record<OpenMode, number> = { daemon: 100, command: 5000, readonly: 1000 };

/** While opening nothing else runs in the process yet; a migration may wait out an ERP's short transaction. */
const OPENING_TIMEOUT_MS = 5000;

/** A daemon that starts has its log within a moment. */
const LOG_WITHIN_MS = 3_000;
const LOG_LOOK_MS = 50;

/**
 * Pages that a connection keeps in memory, in KiB. What it once took is never given back, and the operating system
 * keeps the same pages; four times as many made nothing faster with a million orders.
 */
const CACHE_KIB = 4096;

/**
 * SQLite never shrinks the file of a write-ahead log by itself: after one large transaction of an ERP its size would go on to look like
 * that of a log which a reader keeps. The next commit that begins the log anew cuts it to this size.
 */
const LOG_BYTES_KEPT = 16 * 1024 * 1024;

export function configure(db: Database.Database, mode: OpenMode): void {
  db.pragma("trusted_schema = OFF"); // views and triggers that an ERP adds reach no function with side effects
  db.pragma("cell_size_check = ON"); // damaged pages are noticed when read, not written on
  db.pragma("recursive_triggers = OFF"); // an OR REPLACE fires no delete triggers: the schema's triggers expect that
  // better-sqlite3 enforces them, and one that the ERP keeps to a table of the bridge's would refuse every write to that table.
  // Nothing rests on the bridge's own: all lead to `orders`, of which no row is ever deleted.
  db.pragma("foreign_keys = OFF");
  if (mode === "readonly") db.pragma("query_only = ON");
  else {
    db.pragma("journal_mode = WAL");
    db.pragma(`journal_size_limit = ${LOG_BYTES_KEPT}`);
  }
  db.pragma("synchronous = FULL");
  db.pragma(`cache_size = -${CACHE_KIB}`);
}

/** Reads back what durability rests on: a pragma that does not take effect is silent. */
export function assertDurable(db: Database.Database, file: string, mode: OpenMode): void {
  // A copy that was put in the place of the database is in another mode until a daemon has opened it.
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

/** Opening, with a file that is no database distinguished from one that was damaged while in use. */
export function openingError(error: unknown, file: string): BridgeError {
  if (faultCodeOf(error) !== "SQLITE_NOTADB") return asBridgeError(error, m.database.opening, file);
  return new BridgeError("database_refused", m.database.notDatabase({ file }), {
    hint: m.database.restoreIfRight({ copy: m.daemon.copyName }),
    cause: error,
  });
}

/**
 * A database in use has its log beside it. Where the log is missing and another program has the database open all the same, it was
 * removed under it: what it writes is read by no other one, and a second log would destroy that.
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

/** Whether the memory that is shared over the log names frames in it: the number at 16 of its header, in wal.c `mxFrame`. */
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
    // Opening it reports whatever else is wrong.
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

/**
 * Opens a database that must exist and be at the program's version, to read it. Throws BridgeErrors only, as `openStore` does.
 * @param migrationsFolder other versions of the schema than the program's
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
    if (size > 0) refuseRemovedLog(file, "readonly");
    db = connect(file, true);
    refusePending(db, known, file);
    configure(db, "readonly");
    assertDurable(db, file, "readonly");
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS.readonly}`);
    return new Store(db, file);
  } catch (error) {
    db?.close();
    throw openingError(error, file);
  }
}
