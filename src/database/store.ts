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
import { type BetterSQLite3Database, drizzle } from "drizzle-orm/better-sqlite3";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { messageBehind, packed } from "../messages/pack.ts";
import { asError, BridgeError, isMachineFault } from "../platform/errors.ts";
import { type TroubleOf, Troubles } from "../platform/troubles.ts";
import type { FileWatch } from "./file/file-watch.ts";
import { foreignJournalError, journalSince } from "./file/foreign-journal.ts";
import type { LogKeeper } from "./log/log-keeper.ts";
import {
  type DatabaseProblem,
  isBehind,
  isUnnoted,
  NOTED,
  type Note,
  type Progress,
  problemOf,
  type Standing,
  type Suspicion,
} from "./log/progress.ts";
import { countStart, markNoted, type ProgressNote, progressOf, raiseSequences } from "./log/progress-note.ts";
import type { MigrationReport } from "./migrate.ts";
import { plannedOnce } from "./planned-once.ts";
import { addSameName } from "./same-name.ts";
import { faultCodeOf, machineFaultOf } from "./sqlite-errors.ts";

/** The program's own statements are far fewer; the limit is for statements that contain names from a feed. */
const STATEMENTS_MAX = 500;

/** Stored texts whose messages are kept, the most recently used ones: more than are ever shown. */
const MESSAGES_MAX = 10_000;

/**
 * Damage to the files of an open database. `log removed`: the log was removed, and there is no other; `saved`: whether all
 * commits are in the database file by now. `replaced`: another program uses a new file of the same name, or the database
 * itself was removed. `older`: the content is an earlier state. `damaged`: the log was truncated, or the database was
 * overwritten or is corrupt; nothing is written any more.
 */
export type FileTrouble =
  | { kind: "log removed"; saved: boolean }
  | { kind: "lock removed" }
  | { kind: "older"; error: BridgeError }
  | { kind: "damaged"; error: BridgeError }
  | { kind: "replaced"; error: BridgeError };

/** The checks of the files of a database that is written to. */
type Watched = Pick<FileWatch, "databaseState" | "logState" | "refuseReplacedDatabase">;

interface OpenedDatabase {
  files?: Watched;
  migrated?: MigrationReport;
  /** Protects the log from checkpoints without an fsync by other programs. */
  keeper?: LogKeeper;
  note?: ProgressNote;
  isMixed?: boolean;
  journalAside?: string | undefined;
  troubles?: Troubles | undefined;
}

const NOT_MIGRATED: MigrationReport = { applied: [], backup: undefined };

/** For a read-only connection: it reads the files that it has opened, whatever their names. */
const UNWATCHED: Watched = { databaseState: () => "same", logState: () => "same", refuseReplacedDatabase: () => {} };

/** Referenced for ever: garbage collection would close them. */
const ABANDONED: Database.Database[] = [];

/** Thrown inside a transaction, so that it is rolled back before the cause is handled. */
class FilesSpoilt extends Error {}

/** Whether the file itself is damaged; not a virtual table's content or an object that SQLite cannot parse, which the ERP can repair. */
function isOfFile({ cause }: BridgeError): boolean {
  const fault = faultCodeOf(cause) ?? "";
  if (!/^SQLITE_(CORRUPT|NOTADB)/.test(fault) || fault === "SQLITE_CORRUPT_VTAB") return false;
  return !(cause instanceof Error && cause.message.startsWith("malformed database schema"));
}

export class Store {
  readonly db: Database.Database;
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
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>();
  readonly #files: Watched;
  readonly #keeper: LogKeeper | undefined;
  readonly #note: ProgressNote | undefined;
  /** Called each time that trouble of the files is detected. */
  onTrouble: (trouble: FileTrouble) => void = () => {};
  #drizzle: BetterSQLite3Database | undefined;
  readonly #queries = new Map<unknown, object>();
  #writing = false;
  #rollBackPending = false;
  #longestWriteMs = 0;
  /** Whether the start has verified the database, and the note is of it. */
  #isTrusted = false;
  /** Set once the database is damaged: nothing is written any more. */
  #damage: BridgeError | undefined;

  /** Owns an open, configured connection from now on: use `openStore` or `openReadOnly`. */
  constructor(
    db: Database.Database,
    file: string,
    {
      files = UNWATCHED,
      migrated = NOT_MIGRATED,
      keeper,
      note,
      isMixed = false,
      journalAside,
      troubles = new Troubles(),
    }: OpenedDatabase = {},
  ) {
    addSameName(db);
    this.db = db;
    this.path = file;
    this.migrated = migrated;
    this.isMixed = isMixed;
    this.journalAside = journalAside;
    this.troubles = troubles;
    for (const former of ["files", "write", "secure"] as const) troubles.end(former);
    this.#files = files;
    this.#keeper = keeper;
    this.#note = note;
  }

  /**
   * Writes the database's progress, already on disk, to the note. The note never decreases: where it is ahead, or of
   * another database, this is not the database that it was written for.
   * @throws BridgeError `database_refused`
   */
  #noteProgress(): void {
    const own = this.#compareProgress();
    const last = this.#note?.last;
    if (own === undefined || (last?.database === own.database && last.suspect !== null)) return;
    this.#writeNote(own, null);
  }

  /** An earlier copy can be loaded through SQLite itself, which replaces no file: only the content reveals it. */
  #compareProgress(): Standing | undefined {
    if (this.#note === undefined) return undefined;
    const { last } = this.#note;
    const own = this.#readProgress(last);
    const isAnother = this.#isTrusted && (own?.database !== last?.database || own?.mark !== NOTED);
    if (isAnother || (own !== undefined && isBehind(own, last))) {
      const error = new BridgeError("database_refused", m.database.older({ file: this.path }), {
        hint: m.database.restartVerifies,
      });
      if (this.#isTrusted) this.onTrouble({ kind: "older", error });
      throw error;
    }
    if (this.#isTrusted && own?.isReset === true) this.write(() => raiseSequences(this.db, own));
    return own;
  }

  #readProgress(note: Note | undefined): Standing | undefined {
    try {
      return progressOf(this.db, note);
    } catch (error) {
      // The tables of another database, or none.
      if (this.#isTrusted && faultCodeOf(error) === "SQLITE_ERROR") return undefined;
      throw machineFaultOf(error, m.database.reading, this.path) ?? error;
    }
  }

  /** Why the database must be verified before use; undefined where there is no reason. */
  findProblem(): { kind: DatabaseProblem; isBehind: boolean; note: Note } | undefined {
    const note = this.#note?.last;
    const own = progressOf(this.db, note);
    const kind = problemOf(own, note);
    return kind === undefined || own === undefined || note === undefined
      ? undefined
      : { kind, isBehind: isBehind(own, note), note };
  }

  /** Whether a copy of this database has progressed further. */
  isBehind(other: Progress | undefined): boolean {
    if (other === undefined) return false;
    const asNote = { ...other, n: 0, at: "", suspect: null };
    const own = progressOf(this.db, asNote);
    return own !== undefined && isBehind({ ...own, mark: undefined }, asNote);
  }

  /** Whether a daemon has used this database before. */
  get wasNoted(): boolean {
    return this.#note !== undefined && progressOf(this.db, this.#note.last)?.mark !== undefined;
  }

  /** Whether this database once had a note and has none now. */
  get isUnnoted(): boolean {
    const note = this.#note?.last;
    return this.#note !== undefined && isUnnoted(progressOf(this.db, note), note);
  }

  /** To be called after the database was verified and possible losses were reported. */
  trustProgress(): void {
    const own = progressOf(this.db, this.#note?.last);
    if (own === undefined) return;
    this.#writeNote(own, null);
    if (own.mark !== NOTED) this.write(() => markNoted(this.db));
    this.#isTrusted = true;
    try {
      this.write(() => countStart(this.db));
    } catch (error) {
      // A full disk does not prevent the start; `write` has recorded it.
      if (!isMachineFault(asError(error))) throw error;
    }
  }

  #writeNote(own: Progress, suspect: Suspicion | null): void {
    try {
      this.#note?.write(own, suspect);
    } catch (error) {
      throw machineFaultOf(error, m.database.writingBeside, `${this.path}.progress`) ?? error;
    }
  }

  /**
   * A drizzle query, built and prepared at its first use.
   * @param build a constant of its file, unless `key` is given
   * @param key identifies the query
   */
  prepared<Prepared extends object>(build: (query: BetterSQLite3Database) => Prepared, key: unknown = build): Prepared {
    let query = this.#queries.get(key);
    if (query === undefined) {
      this.#drizzle ??= drizzle(this.db);
      query = build(this.#drizzle);
      this.#queries.set(key, query);
    }
    return query as Prepared;
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
      if (error !== thrown) this.#noteTrouble("write", error);
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
      this.#refuseReplacedDatabase();
      if (this.#keeper?.isCut() || this.#isOverwritten()) throw new FilesSpoilt();
      this.prepare("COMMIT").run();
      this.#noteWritten(startedAt);
      this.#lookAtLog();
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.#noteWritten(startedAt);
      this.#rollBack();
      if (error instanceof FilesSpoilt) this.#refuseSpoilt();
      throw this.#noticed(machineFaultOf(error, m.database.writing, this.path) ?? error);
    } finally {
      this.#writing = false;
    }
  }

  /**
   * A prepared statement, cached by its text. Its modes (`pluck`, `raw`, `safeIntegers`) stay set, so each text must have
   * only one user; better-sqlite3 refuses to run it while it is being iterated. Plans do not depend on bound values.
   * `Row` is the type of its rows, preferably from the schema: `Pick<Row<typeof orders>, …>` or `$inferSelect`.
   */
  prepare<Row = unknown, Params extends unknown[] = unknown[]>(sql: string): Database.Statement<Params, Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const [oldest] = this.#statements.keys();
      if (this.#statements.size >= STATEMENTS_MAX && oldest !== undefined) this.#statements.delete(oldest);
      statement = this.db.prepare<unknown[], unknown>(plannedOnce(sql));
      this.#statements.set(sql, statement);
    }
    return statement as unknown as Database.Statement<Params, Row>;
  }

  /** The English text of a message, for a column; `messageOf` converts it back. Inside a transaction. */
  textOf(message: Message): string;
  textOf(message: Message | null): string | null;
  textOf(message: Message | null): string | null {
    if (message === null) return null;
    const text = String(message);
    this.prepare("REPLACE INTO stored_messages (text, message) VALUES (?, ?)").run(
      text,
      JSON.stringify(packed(message)),
    );
    this.prepare("DELETE FROM stored_messages WHERE rowid <= last_insert_rowid() - ?").run(MESSAGES_MAX);
    return text;
  }

  /** The message of a stored text; an unknown text, such as one of an earlier version, stays plain text. */
  messageOf(text: string): Message;
  messageOf(text: string | null): Message | null;
  messageOf(text: string | null): Message | null {
    if (text === null) return null;
    const sql = "SELECT message FROM stored_messages WHERE text = ?";
    const row = this.prepare<{ message: string }>(sql).get(text);
    return messageBehind(text, JSON.parse(row?.message ?? "null"));
  }

  /** Size of the write-ahead log in bytes, 0 where there is none. Uses metadata only: reading the file would drop locks. */
  walBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Checkpoints and flushes all commits. False where they remain in the log, on disk. Never throws. */
  settle(): boolean {
    return this.#damage === undefined && (this.#keeper?.settle() ?? false);
  }

  /**
   * To be called before an irreversible request such as a confirm. Checks the files, and makes commits durable in the
   * database file itself; while another connection reads, they stay in the log, which cannot restart meanwhile.
   * @throws BridgeError where a check fails
   */
  secure(): void {
    this.#attempt("secure", () => {
      this.#refuseDamage();
      this.#refuseReplacedDatabase();
      this.#refuseSpoilt();
      if (journalSince(this.path) !== undefined) throw foreignJournalError(this.path);
      if (this.#keeper?.secure() !== true) this.#lookAtLog();
      this.#noteProgress();
    });
  }

  /** A periodic check of the files, also where nothing is written; checkpoints a log that others have filled. */
  look(): void {
    if (!this.db.open) return;
    this.#attempt("files", () => {
      this.#refuseDamage();
      this.#refuseReplacedDatabase();
      this.#refuseSpoilt();
      this.#lookAtLog();
      this.#compareProgress();
      this.#keeper?.tend({ again: true });
    });
    // Ends this trouble even where nothing is to be confirmed.
    if (this.troubles.has("secure")) this.secure();
  }

  #attempt(of: TroubleOf, fn: () => void): void {
    try {
      fn();
      this.troubles.end(of);
    } catch (error) {
      this.#noteTrouble(of, error);
      throw error;
    }
  }

  #noteTrouble(of: TroubleOf, thrown: unknown): void {
    const error = machineFaultOf(thrown, m.database.lookingAt, this.path);
    if (error !== undefined && isMachineFault(error)) this.troubles.note(of, error, path.dirname(this.path));
  }

  /** Whether the open files have their names. `away`: all names are missing, as after its folder was moved or unmounted. */
  whereFiles(): "there" | "away" | "lost" {
    const [database, log] = [this.#files.databaseState(), this.#files.logState()];
    if (database === "same" && log === "same") return "there";
    const isAway = database === "gone" && log !== "another" && this.#keeper?.isDatabaseRemoved() === false;
    return isAway ? "away" : "lost";
  }

  /** To be called with errors of passes and checks. A damaged database is no longer written to; the next start verifies it. */
  notice(error: BridgeError): void {
    if (error.code === "database_corrupt" && this.#keeper !== undefined && isOfFile(error)) this.#stop(error);
  }

  /** `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Checkpoints the log where no other connection prevents it, and closes. Never throws; may be called twice. */
  close(): void {
    if (!this.db.open) return;
    if (this.#damage === undefined && this.#isOverwritten()) this.#stop(this.#overwritten());
    if (this.#damage !== undefined) {
      // Closing the last connection would checkpoint the rest of the log.
      this.#keeper?.abandon();
      ABANDONED.push(this.db);
      return;
    }
    this.#keeper?.settle();
    this.#keeper?.close();
    this.#note?.close();
    try {
      this.db.pragma("busy_timeout = 0"); // a daemon beside this command always holds a read transaction
      // A log that was removed or replaced is left as it is, for other programs that have it open and for a person.
      if (!this.db.readonly && this.#files.logState() === "same") this.db.pragma("wal_checkpoint(TRUNCATE)");
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
    this.#refuseDamage();
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

  #refuseDamage(): void {
    if (this.#damage === undefined) return;
    this.onTrouble({ kind: "damaged", error: this.#damage });
    throw this.#damage;
  }

  #stop(error: BridgeError): void {
    if (this.#damage === undefined) {
      this.#damage = error;
      this.#noteSuspicion(error.code === "database_corrupt" ? "damage" : "log");
    }
    this.onTrouble({ kind: "damaged", error: this.#damage });
  }

  /** For the next start, and for `status` until then. Uses the last note: the database may be unreadable by now. */
  #noteSuspicion(suspect: Suspicion): void {
    try {
      const own = this.#note?.last ?? progressOf(this.db, undefined);
      if (own !== undefined) this.#note?.write(own, suspect);
    } catch {
      // The next start detects the damage when it reads it.
    }
  }

  #noticed(error: unknown): unknown {
    if (error instanceof BridgeError) this.notice(error);
    return error;
  }

  #refuseSpoilt(): void {
    if (this.#isOverwritten()) {
      this.#stop(this.#overwritten());
      this.#refuseDamage();
    }
    this.#refuseCutLog();
  }

  /** Where the log was replaced, another program may checkpoint its own log; the replacement is reported instead. */
  #isOverwritten(): boolean {
    return this.#keeper?.isOverwritten() === true && this.#files.logState() === "same";
  }

  #overwritten(): BridgeError {
    return new BridgeError("disk_failed", m.database.overwritten({ file: this.path }), {
      hint: m.database.restartBringBack,
    });
  }

  /** A log that was truncated in place must be neither appended to nor checkpointed. */
  #refuseCutLog(): void {
    if (this.#keeper?.isCut() !== true) return;
    if (this.#keeper.renew()) throw new BridgeError("database_busy", m.database.logTruncated({ file: this.path }));
    this.#stop(
      new BridgeError("disk_failed", m.database.logSpoilt({ file: this.path }), { hint: m.database.restartNeverTouch }),
    );
    this.#refuseDamage();
  }

  #refuseReplacedDatabase(): void {
    try {
      this.#files.refuseReplacedDatabase();
    } catch (error) {
      if (error instanceof BridgeError && this.#files.databaseState() !== "same")
        this.onTrouble({ kind: "replaced", error });
      this.#noteTrouble("files", error);
      throw error;
    }
  }

  /**
   * Commits must be where the next start finds them. Where the log was removed and no program has created another, the
   * open connection still has it: it is checkpointed at once, and the commit is valid.
   */
  #lookAtLog(): void {
    const state = this.#files.logState();
    if (state === "same") {
      this.#keeper?.tend();
      return;
    }
    if (state === "gone") {
      const saved = this.settle();
      this.onTrouble({ kind: "log removed", saved });
      if (saved) return;
    }
    const error = new BridgeError(
      "database_refused",
      state === "gone" ? m.database.logRemoved({ file: this.path }) : m.database.logReplaced({ file: this.path }),
      { hint: m.database.closeAndRestart },
    );
    if (state === "another") this.onTrouble({ kind: "replaced", error });
    throw error;
  }
}
