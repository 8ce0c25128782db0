/**
 * The only way to open a writing connection; see `connection.ts`. A foreign, damaged or newer file is refused before
 * anything is written: a read-only connection inspects it first. A crash leaves an empty or unchanged database.
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
import {
  checkDatabaseFile,
  createDatabaseFile,
  refuseUnfinishedSwap,
  resolveDatabasePath,
} from "./file/file-checks.ts";
import { FileWatch } from "./file/file-watch.ts";
import { refuseForeignJournal } from "./file/foreign-journal.ts";
import { isLocked } from "./file/instance-lock.ts";
import { setJournalAside } from "./file/set-journal-aside.ts";
import { refuseSavedCopy } from "./file/swap-files.ts";
import { LogKeeper } from "./log/log-keeper.ts";
import { ProgressCheck } from "./log/progress-check.ts";
import { ProgressNote } from "./log/progress-note.ts";
import { migrateDatabase } from "./migrate.ts";
import { inspectDatabase, loadMigrations, type Migration } from "./migrations.ts";
import { restoreAtOpening } from "./objects/make-own.ts";
import { faultCodeOf } from "./sqlite-errors.ts";
import { Store } from "./store.ts";
import { StoreFiles } from "./store-files.ts";

export type WritingMode = Exclude<OpenMode, "readonly">;

export interface OpenOptions {
  path: string;
  migrationsFolder: string;
  /** `daemon`: never waits long for a lock. `command`: may run beside a daemon. */
  mode: WritingMode;
  /** Folder for the copy made before a migration; the database's folder if absent. */
  backupFolder?: string;
  now?: () => number;
  /** Collects the store's troubles; a new one if absent. */
  troubles?: Troubles | undefined;
}

/** A checkpoint writes the database file within this time of the last write to the log. */
const MOVED_WITHIN_MS = 60_000;

/** Up to this size a database is verified at the start after an unclean end, in a second or two; more would delay the daemon. */
const VERIFIED_BYTES_MAX = 256_000_000;

/** Refuses a foreign file without the side effects of a writing connection (a checkpoint, a new log). */
function inspectReadOnly(file: string, known: readonly Migration[]): void {
  let db: Database.Database | undefined;
  try {
    db = connect(file, true);
    inspectDatabase(db, known, file);
  } catch (error) {
    // A read-only connection cannot roll back a hot journal; the same inspection is repeated on the writing one.
    if (!/^SQLITE_(READONLY|CANTOPEN)/.test(faultCodeOf(error) ?? "")) throw error;
  } finally {
    db?.close();
  }
}

/**
 * Whether the database file was written long after its log. Checkpoints run within moments of a commit or when the last
 * connection closes, so another file may have been copied over the database while the log stayed: a mix of two databases.
 */
function isWrittenAfterLog(file: string): boolean {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  const database = statSync(file, { throwIfNoEntry: false });
  if (log === undefined || database === undefined || log.size === 0) return false;
  return database.mtimeMs > log.mtimeMs + MOVED_WITHIN_MS;
}

/** The last connection to close removes the log: where one remains, a program was killed or is still running. */
function isLogLeft(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Otherwise a running daemon of the former version would go on writing to the newer schema. */
function refuseMigrationBesideDaemon(db: Database.Database, known: readonly Migration[], file: string): void {
  if (inspectDatabase(db, known, file).length === 0) return;
  const lock = isLocked(file);
  if (lock === undefined || lock.holder?.pid === process.pid) return;
  throw new BridgeError("instance_running", m.database.formerVersion({ file }), { hint: m.database.restartDaemon });
}

/**
 * Creates, checks, migrates and opens the database. Throws BridgeErrors only: database_refused, database_newer,
 * migration_edited, database_corrupt, database_busy, disk_full, disk_failed, instance_running, internal.
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
    const watch = new FileWatch(file);
    if (mode === "command") return new Store(db, file, { migrated, files: (store) => new StoreFiles(store, watch) });
    db.pragma("wal_autocheckpoint = 0"); // `LogKeeper` does it
    const [keeper, note] = [new LogKeeper(file), new ProgressNote(file)];
    return new Store(db, file, {
      files: (store) => new StoreFiles(store, watch, keeper),
      progress: (store) => new ProgressCheck(store, note),
      ...{ migrated, isMixed, journalAside, troubles: options.troubles },
    });
  } catch (error) {
    db?.close();
    throw openingError(error, file);
  }
}
