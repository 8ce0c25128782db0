/**
 * The only way to a connection. Keeps the guarantee that every connection is durable and checked: `synchronous=FULL`,
 * WAL and foreign keys are set and read back each time, because better-sqlite3 opens an existing WAL database with NORMAL,
 * which loses confirmed orders in a power cut. A file that is not ours, damaged or newer is refused before anything is
 * written: it is first looked at through a read-only connection. A crash while opening leaves an empty or unchanged database.
 */

import { readFileSync, statSync } from "node:fs";
import { endianness } from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Troubles } from "../platform/troubles.ts";
import { ownObjectsOf } from "./erp-objects.ts";
import { checkDatabaseFile, createDatabaseFile, resolveDatabasePath } from "./file-checks.ts";
import { refuseForeignJournal, setJournalAside } from "./foreign-journal.ts";
import { isLocked } from "./instance-lock.ts";
import { inspectDatabase, loadMigrations, type Migration, type MigrationReport, migrateDatabase } from "./migrate.ts";
import { asBridgeError, faultCodeOf } from "./sqlite-errors.ts";
import { Store } from "./store.ts";
import { refuseSavedCopy, refuseUnfinishedSwap } from "./swap-files.ts";

export type OpenMode = "daemon" | "command" | "readonly";

export interface OpenOptions {
  path: string;
  migrationsFolder: string;
  /**
   * daemon: writes, and never waits long for a lock; command: writes beside a running daemon; readonly: the database
   * must exist and be at the program's version.
   */
  mode: OpenMode;
  /** Where the copy before a migration goes; beside the database if absent. */
  backupFolder?: string;
  now?: () => number;
  /** Where what the store meets is kept; one of its own if absent. */
  troubles?: Troubles | undefined;
}

/**
 * How long one statement may wait for another program's lock. SQLite waits by blocking the whole process: the daemon's
 * wait is a fraction of the 1.2 s for which its event loop may stop, and its callers try again asynchronously. A
 * command has nothing else to do. A reader waits only while a log is recovered.
 */
const BUSY_TIMEOUT_MS: Record<OpenMode, number> = { daemon: 100, command: 5000, readonly: 1000 };

/** While opening nothing else runs in the process yet; a migration may wait out an ERP's short transaction. */
const OPENING_TIMEOUT_MS = 5000;

/** A daemon that starts has its log within a moment. */
const LOG_WITHIN_MS = 3_000;
const LOG_LOOK_MS = 50;
/** What comes later was hardly moved from the log. */
const MOVED_WITHIN_MS = 60_000;

/** After an unclean end so much is verified at once, in a second or two; more would keep the daemon from its work. */
const VERIFIED_BYTES_MAX = 256_000_000;

/**
 * Pages that a connection keeps in memory, in KiB. What it once took is never given back, and the operating system
 * keeps the same pages; four times as many made nothing faster with a million orders.
 */
const CACHE_KIB = 4096;

function configure(db: Database.Database, mode: OpenMode): void {
  db.pragma("trusted_schema = OFF"); // views and triggers that an ERP adds reach no function with side effects
  db.pragma("cell_size_check = ON"); // damaged pages are noticed when read, not written on
  db.pragma("recursive_triggers = OFF"); // an OR REPLACE fires no delete triggers: the schema's triggers expect that
  db.pragma("foreign_keys = ON");
  if (mode === "readonly") db.pragma("query_only = ON");
  else db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma(`cache_size = -${CACHE_KIB}`);
}

/** Reads back what durability rests on: a pragma that does not take effect is silent. */
function assertDurable(db: Database.Database, file: string, mode: OpenMode): void {
  // A copy that was put in the place of the database is in another mode until a daemon has opened it.
  const expected = { synchronous: 2, foreign_keys: 1, ...(mode === "readonly" ? {} : { journal_mode: "wal" }) };
  for (const [pragma, value] of Object.entries(expected)) {
    const actual = db.pragma(pragma, { simple: true });
    if (actual !== value) {
      throw new BridgeError(
        "database_refused",
        m.database.pragmaRefused({ file, pragma, value: String(value), actual: String(actual) }),
        {
          hint: m.database.closeOthers,
        },
      );
    }
  }
}

function connect(file: string, readonly: boolean): Database.Database {
  return new Database(file, { readonly, fileMustExist: true, timeout: OPENING_TIMEOUT_MS });
}

/** Opening, with a file that is no database distinguished from one that was damaged while in use. */
function openingError(error: unknown, file: string): BridgeError {
  if (faultCodeOf(error) !== "SQLITE_NOTADB") return asBridgeError(error, m.database.opening, file);
  return new BridgeError("database_refused", m.database.notDatabase({ file }), {
    hint: m.database.restoreIfRight({ copy: m.daemon.copyName }),
    cause: error,
  });
}

/** Refuses a file that is not ours to write, without the traces (a checkpoint, a new log) of a writing connection. */
function inspectReadOnly(file: string, known: readonly Migration[]): void {
  let db: Database.Database | undefined;
  try {
    db = connect(file, true);
    inspectDatabase(db, known, file);
  } catch (error) {
    // A read-only connection can not roll back a hot journal: the same inspection follows on a writing one.
    if (!/^SQLITE_(READONLY|CANTOPEN)/.test(faultCodeOf(error) ?? "")) throw error;
  } finally {
    db?.close();
  }
}

/**
 * A database in use has its log beside it. Where the log is missing and somebody has the database open all the same, it was
 * removed under them: they go on writing where nobody else reads, and a second log would destroy what they have.
 */
function refuseRemovedLog(file: string, mode: OpenMode): void {
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

/**
 * Whether the database file was written long after its log. What is moved from a log into its database is moved within
 * moments or by the last one who closes it, so this may be another file that was copied over the database beside its log:
 * pages of two databases.
 */
function isWrittenAfterLog(file: string): boolean {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  const database = statSync(file, { throwIfNoEntry: false });
  if (log === undefined || database === undefined || log.size === 0) return false;
  return database.mtimeMs > log.mtimeMs + MOVED_WITHIN_MS;
}

/** Whoever closes a database last moves its log: where one is left, somebody was killed or still works. */
function isLogLeft(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Whether the memory that is shared over the log speaks of something in it: the number at 16 of its header, in wal.c `mxFrame`. */
function hasFrames(file: string): boolean {
  try {
    const header = readFileSync(`${file}-shm`).subarray(0, 20);
    return (endianness() === "LE" ? header.readUInt32LE(16) : header.readUInt32BE(16)) > 0;
  } catch {
    return false;
  }
}

function isOpenedByNobody(file: string): boolean {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { fileMustExist: true, timeout: 0 });
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

/** A running daemon of the former version would go on writing to a schema it does not know. */
function refuseMigrationBesideDaemon(db: Database.Database, known: readonly Migration[], file: string): void {
  if (inspectDatabase(db, known, file).length === 0) return;
  const lock = isLocked(file);
  if (lock === undefined || lock.holder?.pid === process.pid) return;
  throw new BridgeError("instance_running", m.database.formerVersion({ file }), {
    hint: m.database.restartDaemon,
  });
}

/**
 * Opens, checks and, unless readonly, creates and migrates the database. Throws BridgeErrors only: database_refused,
 * database_newer, migration_edited, database_corrupt, database_busy, disk_full, disk_failed, instance_running, internal.
 */
export function openStore(options: OpenOptions): Store {
  const { mode } = options;
  const file = resolveDatabasePath(options.path);
  refuseUnfinishedSwap(file);
  const known = loadMigrations(options.migrationsFolder);
  const size = checkDatabaseFile(file, mode === "readonly" ? "read" : "write");
  if (mode === "readonly" && size === undefined) {
    throw new BridgeError("database_refused", m.database.missing({ file }), {
      hint: m.database.initOrFix,
    });
  }
  if (size === undefined) createDatabaseFile(file);
  if (mode === "daemon") refuseSavedCopy(file);
  else refuseForeignJournal(file);
  const journalAside = mode === "daemon" ? setJournalAside(file) : undefined;
  if (size !== undefined && size > 0) refuseRemovedLog(file, mode);
  const isSmall = size !== undefined && size <= VERIFIED_BYTES_MAX;
  const isMixed = mode === "daemon" && (isWrittenAfterLog(file) || (isSmall && isLogLeft(file)));
  let db: Database.Database | undefined;
  try {
    if (mode !== "readonly" && size !== undefined && size > 0) inspectReadOnly(file, known);
    db = connect(file, mode === "readonly");
    if (mode === "readonly") refusePending(db, known, file);
    if (mode === "command") refuseMigrationBesideDaemon(db, known, file);
    configure(db, mode);
    assertDurable(db, file, mode);
    let migrated: MigrationReport = { applied: [], backup: undefined };
    if (mode !== "readonly") {
      const backupFolder = options.backupFolder ?? path.dirname(file);
      migrated = migrateDatabase(db, { known, file, backupFolder, nowMs: (options.now ?? Date.now)() });
      assertDurable(db, file, mode);
    }
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS[mode]}`);
    if (mode === "daemon") db.pragma("wal_autocheckpoint = 0"); // the log's keeper moves it
    return new Store(db, {
      file,
      migrated,
      keepsLog: mode === "daemon",
      isMixed,
      journalAside,
      troubles: options.troubles,
      own: ownObjectsOf(known.flatMap(({ statements }) => statements)),
    });
  } catch (error) {
    db?.close();
    throw openingError(error, file);
  }
}
