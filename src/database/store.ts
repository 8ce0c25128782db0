/**
 * The open database, with the guarantee that everything else depends on: when `write` returns, its rows are on disk
 * (`synchronous=FULL`), in the file that has the database's name. When it throws, its rows are not visible to this process;
 * after a failed fsync and a crash they may turn out to be stored, so callers repeat a failed step and never assume that it
 * was undone. A crash inside `write` leaves the state before it. The write lock is held only while a synchronous function
 * runs, never across a network call. After a full or failing disk the connection can still be used.
 */

import { statSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { m } from "../messages/messages.ts";
import { BridgeError, isMachineFault } from "../platform/errors.ts";
import { type TroubleOf, Troubles } from "../platform/troubles.ts";
import { foreignJournalError, journalSince } from "./file/foreign-journal.ts";
import type { ProgressCheck } from "./log/progress-check.ts";
import type { MigrationReport } from "./migrate.ts";
import { addFoldArticle, addSameName } from "./same-name.ts";
import { machineFaultOf } from "./sqlite-errors.ts";
import { Statements } from "./statements.ts";
import type { FileTrouble, StoreFiles } from "./store-files.ts";

interface OpenedDatabase {
  files?: (store: Store) => StoreFiles;
  migrated?: MigrationReport;
  progress?: (store: Store) => ProgressCheck;
  isMixed?: boolean;
  journalAside?: string | undefined;
  troubles?: Troubles | undefined;
}

const NOT_MIGRATED: MigrationReport = { applied: [], backup: undefined };

/** Referenced for ever: garbage collection would close them. */
const ABANDONED: Database.Database[] = [];

/** Thrown inside a transaction, so that it is rolled back before the cause is handled. */
class FilesSpoilt extends Error {}

export class Store extends Statements {
  /** The database file, its folder resolved. */
  readonly path: string;
  /** Migrations applied while opening. */
  readonly migrated: MigrationReport;
  /** Whether the log may belong to another database file, or was left after an unclean end: verify before use. */
  readonly isMixed: boolean;
  /** The new name of a file DATABASE-journal that was found while opening. */
  readonly journalAside: string | undefined;
  /** Troubles that prevent writing, and therefore cannot be recorded in the database. */
  readonly troubles: Troubles;
  /** Checks of the files; undefined for a connection that only reads. */
  readonly files: StoreFiles | undefined;
  /** The database compared with the note beside it; only for the daemon's connection. */
  readonly progress: ProgressCheck | undefined;
  /** Called each time that trouble of the files is detected. */
  onTrouble: (trouble: FileTrouble) => void = () => {};
  #writing = false;
  #rollBackPending = false;
  #longestWriteMs = 0;

  /** Owns an open, configured connection from now on: use `openStore` or `openReadOnly`. */
  constructor(
    db: Database.Database,
    file: string,
    {
      files,
      migrated = NOT_MIGRATED,
      progress,
      isMixed = false,
      journalAside,
      troubles = new Troubles(),
    }: OpenedDatabase = {},
  ) {
    super(db);
    addSameName(db);
    addFoldArticle(db);
    this.path = file;
    this.migrated = migrated;
    this.isMixed = isMixed;
    this.journalAside = journalAside;
    this.troubles = troubles;
    for (const former of ["files", "write", "secure"] as const) troubles.end(former);
    this.files = files?.(this);
    this.progress = progress?.(this);
  }

  /** The longest time in milliseconds for which `write` has held the write lock since the store was opened. */
  get longestWriteMs(): number {
    return this.#longestWriteMs;
  }

  /**
   * Runs `fn` in one IMMEDIATE transaction and commits. Rethrows errors of `fn` after a rollback; throws faults of the
   * machine as database_busy (nothing was written, retry later), disk_full, disk_failed, database_refused or
   * database_corrupt. `fn` must not catch such faults: SQLite may already have rolled back.
   */
  write<T>(fn: () => T): T {
    let thrown: unknown;
    const step = () => {
      try {
        return fn();
      } catch (error) {
        thrown = error;
        throw error;
      }
    };
    try {
      const result = this.#transact(step);
      this.troubles.end("write");
      return result;
    } catch (error) {
      // An error of `fn` itself is no trouble of the database.
      if (error !== thrown) this.noteTrouble("write", error);
      throw error;
    }
  }

  #transact<T>(fn: () => T): T {
    this.#begin();
    const startedAt = performance.now();
    try {
      const result = fn();
      if (result instanceof Promise) throw new Error("A write transaction was given an async function.");
      // SQLite rolls back by itself on some faults; later statements would have been committed one by one.
      if (!this.db.inTransaction) throw new BridgeError("disk_failed", m.database.gaveUp);
      this.files?.refuseReplaced();
      if (this.files?.isSpoilt() === true) throw new FilesSpoilt();
      this.prepare("COMMIT").run();
      this.#noteWritten(startedAt);
      this.files?.lookAtLog();
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.#noteWritten(startedAt);
      this.#rollBack();
      if (error instanceof FilesSpoilt) this.files?.refuseSpoilt();
      const fault = machineFaultOf(error, m.database.writing, this.path);
      if (fault !== undefined) this.files?.notice(fault);
      throw fault ?? error;
    } finally {
      this.#writing = false;
    }
  }

  /** Size of the write-ahead log in bytes, 0 where there is none. Uses metadata only: reading the file would drop locks. */
  walBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Checkpoints and flushes all commits. False where they remain in the log, on disk. Never throws. */
  settle(): boolean {
    return this.files?.settle() === true;
  }

  /**
   * To be called before an irreversible request such as a confirm. Checks the files, and makes commits durable in the
   * database file itself; while another connection reads, they stay in the log, which cannot restart meanwhile.
   * @throws BridgeError where a check fails
   */
  secure(): void {
    this.#attempt("secure", () => {
      this.files?.check();
      if (journalSince(this.path) !== undefined) throw foreignJournalError(this.path);
      this.files?.secure();
      this.progress?.save();
    });
  }

  /** A periodic check of the files, also where nothing is written; checkpoints a log that others have filled. */
  look(): void {
    if (!this.db.open) return;
    this.#attempt("files", () => {
      this.files?.check();
      this.files?.lookAtLog();
      this.progress?.save();
      this.files?.tend();
    });
    // Ends this trouble even where nothing is to be confirmed.
    if (this.troubles.has("secure")) this.secure();
  }

  #attempt(of: TroubleOf, fn: () => void): void {
    try {
      fn();
      this.troubles.end(of);
    } catch (error) {
      this.noteTrouble(of, error);
      throw error;
    }
  }

  /** Errors that are no fault of the machine are not recorded. */
  noteTrouble(of: TroubleOf, thrown: unknown): void {
    const error = machineFaultOf(thrown, m.database.lookingAt, this.path);
    if (error !== undefined && isMachineFault(error)) this.troubles.note(of, error, path.dirname(this.path));
  }

  /** `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Checkpoints the log where no other connection prevents it, and closes. Never throws; may be called twice. */
  close(): void {
    if (!this.db.open) return;
    if (this.files?.release() === false) {
      // Closing the last connection would checkpoint the rest of the log.
      ABANDONED.push(this.db);
      return;
    }
    if (this.files?.where() === "there") this.progress?.saveLast();
    this.progress?.close();
    try {
      this.db.pragma("busy_timeout = 0"); // a daemon beside this command always holds a read transaction
      if (!this.db.readonly && this.files?.hasLog() !== false) this.db.pragma("wal_checkpoint(TRUNCATE)");
    } catch {
      // A reader or a full disk: the log remains and is used at the next start.
    }
    try {
      this.db.close();
    } catch {
      // A statement is still being iterated: the process is about to end, and the log is complete without a clean close.
    }
  }

  #noteWritten(startedAt: number): void {
    this.#longestWriteMs = Math.max(this.#longestWriteMs, performance.now() - startedAt);
  }

  #begin(): void {
    this.files?.refuseDamage();
    if (this.#writing) throw new Error("A write transaction was begun inside another.");
    try {
      // After a failed ROLLBACK a transaction is still open; any other open one is a mistake of the caller.
      if (this.#rollBackPending) this.#rollBack();
      if (this.db.inTransaction) throw new Error("A write transaction was begun inside another.");
      this.prepare("BEGIN IMMEDIATE").run();
    } catch (error) {
      throw machineFaultOf(error, m.database.writing, this.path) ?? error;
    }
    this.#writing = true;
  }

  #rollBack(): void {
    this.#rollBackPending = false;
    if (!this.db.inTransaction) return;
    try {
      this.prepare("ROLLBACK").run();
    } catch {
      this.#rollBackPending = this.db.inTransaction;
    }
  }
}
