/**
 * The only way to a connection that writes; see `connection.ts`. A file that is not ours, damaged or newer is refused before anything
 * is written: it is first looked at through a read-only connection. A crash while opening leaves an empty or unchanged database.
 */

import { statSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { readAllTexts } from "../messages/catalogues.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Troubles } from "../platform/troubles.ts";
import {
  assertDurable,
  BUSY_TIMEOUT_MS,
  configure,
  connect,
  type OpenMode,
  openingError,
  refuseRemovedLog,
} from "./connection.ts";
import { checkDatabaseFile, createDatabaseFile, refuseUnfinishedSwap, resolveDatabasePath } from "./file-checks.ts";
import { FileWatch } from "./file-watch.ts";
import { refuseForeignJournal } from "./foreign-journal.ts";
import { isLocked } from "./instance-lock.ts";
import { LogKeeper } from "./log-keeper.ts";
import { restoreAtOpening } from "./make-own.ts";
import { migrateDatabase } from "./migrate.ts";
import { inspectDatabase, loadMigrations, type Migration } from "./migrations.ts";
import { ProgressNote } from "./progress-note.ts";
import { setJournalAside } from "./set-journal-aside.ts";
import { faultCodeOf } from "./sqlite-errors.ts";
import { Store } from "./store.ts";
import { refuseSavedCopy } from "./swap-files.ts";

export type WritingMode = Exclude<OpenMode, "readonly">;

export interface OpenOptions {
  path: string;
  migrationsFolder: string;
  /** daemon: writes, and never waits long for a lock; command: writes beside a running daemon. */
  mode: WritingMode;
  /** Where the copy before a migration goes; beside the database if absent. */
  backupFolder?: string;
  now?: () => number;
  /** Where the store's troubles are kept; one of its own if absent. */
  troubles?: Troubles | undefined;
}

/** What comes later was hardly moved from the log. */
const MOVED_WITHIN_MS = 60_000;

/** After an unclean end so much is verified at once, in a second or two; more would keep the daemon from its work. */
const VERIFIED_BYTES_MAX = 256_000_000;

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

/** The last connection to close moves the log: where one is left, a program was killed or still works. */
function isLogLeft(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** A running daemon of the former version would go on writing to a newer schema. */
function refuseMigrationBesideDaemon(db: Database.Database, known: readonly Migration[], file: string): void {
  if (inspectDatabase(db, known, file).length === 0) return;
  const lock = isLocked(file);
  if (lock === undefined || lock.holder?.pid === process.pid) return;
  throw new BridgeError("instance_running", m.database.formerVersion({ file }), { hint: m.database.restartDaemon });
}

/**
 * Opens, checks and, unless readonly, creates and migrates the database. Throws BridgeErrors only: database_refused,
 * database_newer, migration_edited, database_corrupt, database_busy, disk_full, disk_failed, instance_running, internal.
 */
export function openStore(options: OpenOptions): Store {
  readAllTexts("en");
  const { mode } = options;
  const file = resolveDatabasePath(options.path);
  let db: Database.Database | undefined;
  try {
    refuseUnfinishedSwap(file);
    const known = loadMigrations(options.migrationsFolder);
    const size = checkDatabaseFile(file, "write");
    if (size === undefined) createDatabaseFile(file);
    if (mode === "daemon") refuseSavedCopy(file);
    else refuseForeignJournal(file);
    const journalAside = mode === "daemon" ? setJournalAside(file) : undefined;
    if (size !== undefined && size > 0) refuseRemovedLog(file, mode);
    const isSmall = size !== undefined && size <= VERIFIED_BYTES_MAX;
    const isMixed = mode === "daemon" && (isWrittenAfterLog(file) || (isSmall && isLogLeft(file)));
    if (size !== undefined && size > 0) inspectReadOnly(file, known);
    db = connect(file, false);
    if (mode === "command") refuseMigrationBesideDaemon(db, known, file);
    configure(db, mode);
    assertDurable(db, file, mode);
    const pending = inspectDatabase(db, known, file).length;
    if (mode === "command" || pending > 0)
      restoreAtOpening(db, pending === 0 ? known : known.slice(0, -pending), pending === 0);
    const backupFolder = options.backupFolder ?? path.dirname(file);
    const migrated = migrateDatabase(db, { known, file, backupFolder, nowMs: (options.now ?? Date.now)() });
    assertDurable(db, file, mode);
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS[mode]}`);
    const files = new FileWatch(file);
    if (mode === "command") return new Store(db, file, { files, migrated });
    db.pragma("wal_autocheckpoint = 0"); // the log's keeper moves it
    const [keeper, note] = [new LogKeeper(file), new ProgressNote(file)];
    return new Store(db, file, { files, migrated, keeper, note, isMixed, journalAside, troubles: options.troubles });
  } catch (error) {
    db?.close();
    throw openingError(error, file);
  }
}
