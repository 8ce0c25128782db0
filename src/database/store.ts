/**
 * The open database. Keeps the guarantee that everything else stands on: when `write` returns, its rows are on disk
 * (`synchronous=FULL`), in the file that bears the database's name. When it throws, this process reads none of them; after a
 * failed fsync and then a crash they may be found stored after all, so callers repeat a failed step and never assume it undone.
 * A crash inside `write` leaves the state before it. The write lock is held only while a synchronous function runs, never
 * across a network call, and a full or failing disk leaves the connection usable for the next try.
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
import type { FileWatch } from "./file-watch.ts";
import { foreignJournalError, journalSince } from "./foreign-journal.ts";
import type { LogKeeper } from "./log-keeper.ts";
import type { MigrationReport } from "./migrate.ts";
import { plannedOnce } from "./planned-once.ts";
import {
  type DoubtKind,
  doubtOf,
  isBehind,
  isUnnoted,
  NOTED,
  type Note,
  type Progress,
  type Standing,
  type Suspicion,
} from "./progress.ts";
import { countStart, markNoted, type ProgressNote, progressOf, raiseSequences } from "./progress-note.ts";
import { faultCodeOf, machineFaultOf } from "./sqlite-errors.ts";

/** The program's own statements are far fewer; the bound is for statements that carry a feed's names. */
const STATEMENTS_MAX = 500;

/** Texts whose messages are kept, the last used ones: more than are ever held and shown. */
const MESSAGES_MAX = 10_000;

/**
 * What has happened to the files under an open database. `log removed`: there is no other log; `saved` says whether
 * everything committed is in the database file by now. `replaced`: another program works with a file of the same name, or the
 * database itself has lost its name. `older`: the content went back, by whatever means. `damaged`: the log was cut, the
 * database was overwritten or is corrupt; nothing is written any more.
 */
export type FileTrouble =
  | { kind: "log removed"; saved: boolean }
  | { kind: "lock removed" }
  | { kind: "older"; error: BridgeError }
  | { kind: "damaged"; error: BridgeError }
  | { kind: "replaced"; error: BridgeError };

/** What is asked of the files of a database that is written to. */
type Watched = Pick<FileWatch, "databaseState" | "logState" | "refuseReplacedDatabase">;

interface OpenedDatabase {
  files?: Watched;
  migrated?: MigrationReport;
  /** Keeps the log from other programs that move it without a flush. */
  keeper?: LogKeeper;
  note?: ProgressNote;
  isMixed?: boolean;
  journalAside?: string | undefined;
  troubles?: Troubles | undefined;
}

const NOT_MIGRATED: MigrationReport = { applied: [], backup: undefined };

/** A connection that only reads reads what it has opened. */
const UNWATCHED: Watched = { databaseState: () => "same", logState: () => "same", refuseReplacedDatabase: () => {} };

/** Kept from the garbage collector, which would close them. */
const ABANDONED: Database.Database[] = [];

/** Met inside a transaction, which is rolled back before anything is decided. */
class FilesSpoilt extends Error {}

/** Whether the file itself is damaged. The content of a virtual table, and an object that SQLite cannot parse, the ERP can put right. */
function isOfFile({ cause }: BridgeError): boolean {
  const fault = faultCodeOf(cause) ?? "";
  if (!/^SQLITE_(CORRUPT|NOTADB)/.test(fault) || fault === "SQLITE_CORRUPT_VTAB") return false;
  return !(cause instanceof Error && cause.message.startsWith("malformed database schema"));
}

export class Store {
  readonly db: Database.Database;
  /** The database file, its folder resolved. */
  readonly path: string;
  /** What opening changed: for one line in the log. */
  readonly migrated: MigrationReport;
  /** Whether the file may be another one than its log belongs to, or was left unclean: then it must be verified before it is used. */
  readonly isMixed: boolean;
  /** What a file DATABASE-journal that opening found is called from now on. */
  readonly journalAside: string | undefined;
  /** What stands in the way of writing, which therefore cannot be written down. */
  readonly troubles: Troubles;
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>();
  readonly #files: Watched;
  readonly #keeper: LogKeeper | undefined;
  readonly #note: ProgressNote | undefined;
  /** Called with trouble of the files, each time that it shows. */
  onTrouble: (trouble: FileTrouble) => void = () => {};
  #drizzle: BetterSQLite3Database | undefined;
  readonly #queries = new Map<unknown, object>();
  #writing = false;
  #rollBackOwed = false;
  #longestWriteMs = 0;
  /** Whether the note is of this database, as a start has found and verified it. */
  #isTrusted = false;
  /** Why nothing is written any more. */
  #damage: BridgeError | undefined;

  /** Takes over an open, configured connection: use `openStore` or `openReadOnly`. */
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
   * Notes how far the database has come, once that is on disk. The note never goes back: where it is ahead, or another
   * database is here, this is not the one that it was written for.
   * @throws BridgeError `database_refused`
   */
  #noteProgress(): void {
    const own = this.#compareProgress();
    const last = this.#note?.last;
    if (own === undefined || (last?.database === own.database && last.suspect !== null)) return;
    this.#writeNote(own, null);
  }

  /** An earlier copy can be brought in through SQLite itself, which changes no file: then only the content shows it. */
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

  /** Why the database must be verified, as it was found. */
  findDoubt(): { kind: DoubtKind; isBehind: boolean; note: Note } | undefined {
    const note = this.#note?.last;
    const own = progressOf(this.db, note);
    const kind = doubtOf(own, note);
    return kind === undefined || own === undefined || note === undefined
      ? undefined
      : { kind, isBehind: isBehind(own, note), note };
  }

  /** Whether another file of this database, a copy, has come further. */
  isBehind(other: Progress | undefined): boolean {
    if (other === undefined) return false;
    const asNote = { ...other, n: 0, at: "", suspect: null };
    const own = progressOf(this.db, asNote);
    return own !== undefined && isBehind({ ...own, mark: undefined }, asNote);
  }

  /** Whether a start has worked with this database before. */
  get wasNoted(): boolean {
    return this.#note !== undefined && progressOf(this.db, this.#note.last)?.mark !== undefined;
  }

  /** Whether there was a note beside this database, and is none now. */
  get isUnnoted(): boolean {
    const note = this.#note?.last;
    return this.#note !== undefined && isUnnoted(progressOf(this.db, note), note);
  }

  /** After the database was verified, and what it may lack was reported. */
  trustProgress(): void {
    const own = progressOf(this.db, this.#note?.last);
    if (own === undefined) return;
    this.#writeNote(own, null);
    if (own.mark !== NOTED) this.write(() => markNoted(this.db));
    this.#isTrusted = true;
    try {
      this.write(() => countStart(this.db));
    } catch (error) {
      // A full disk is no reason not to start: `write` has noted it.
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

  /** A query of drizzle's, built and prepared when it is first used. `key`: what it is found by again; `build` is a constant of its file. */
  prepared<Prepared extends object>(build: (query: BetterSQLite3Database) => Prepared, key: unknown = build): Prepared {
    let query = this.#queries.get(key);
    if (query === undefined) {
      this.#drizzle ??= drizzle(this.db);
      query = build(this.#drizzle);
      this.#queries.set(key, query);
    }
    return query as Prepared;
  }

  /** The longest time, in milliseconds, that `write` has held the write lock since the store was opened. */
  get longestWriteMs(): number {
    return this.#longestWriteMs;
  }

  /**
   * Runs `fn` in one IMMEDIATE transaction and commits. Throws what `fn` throws, after rolling back; faults of the
   * machine as database_busy (nothing was done, try again later), disk_full, disk_failed, database_refused or
   * database_corrupt. `fn` must not swallow such faults: SQLite may have rolled back already.
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
      // An error of `fn` itself is no evidence about the database.
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
      // SQLite ends a transaction by itself on some faults; what ran after that would have been committed row by row.
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
   * The prepared statement of this text, prepared once. Its modes (`pluck`, `raw`, `safeIntegers`) stay with it, so one
   * text has one user; iterating it while it is used again is refused by better-sqlite3. No plan depends on the values that are bound.
   * `Row` is what the statement gives, best made of the schema: `Pick<Row<typeof orders>, …>` or `$inferSelect`.
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

  /** The English text of a message, for a column; `messageOf` gives the message in any language. Inside a transaction. */
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

  /** The message of a stored text; a text of which nothing is known, such as one of an earlier version, stays as it is. */
  messageOf(text: string): Message;
  messageOf(text: string | null): Message | null;
  messageOf(text: string | null): Message | null {
    if (text === null) return null;
    const sql = "SELECT message FROM stored_messages WHERE text = ?";
    const row = this.prepare<{ message: string }>(sql).get(text);
    return messageBehind(text, JSON.parse(row?.message ?? "null"));
  }

  /** Size of the write-ahead log in bytes, 0 where there is none. By metadata only: reading it would drop locks. */
  walBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Puts all that was committed into the database file, flushed. False where it stays in the log, on disk. Never throws. */
  settle(): boolean {
    return this.#damage === undefined && (this.#keeper?.settle() ?? false);
  }

  /**
   * Before something is said that cannot be taken back: the files are where they belong, and what was committed is in the
   * database file itself, flushed, unless another connection reads: then it is in the log, which cannot be begun anew.
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

  /** A look from time to time, also where nothing is written: at the files, and at a log that others have filled. */
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
    // Whether it is over, also where nothing is to be confirmed.
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

  /** Where the files are that the connections hold: with its folder a database goes away as a whole, and may come back so. */
  whereFiles(): "there" | "away" | "lost" {
    const [database, log] = [this.#files.databaseState(), this.#files.logState()];
    if (database === "same" && log === "same") return "there";
    const isAway = database === "gone" && log !== "another" && this.#keeper?.isDatabaseRemoved() === false;
    return isAway ? "away" : "lost";
  }

  /** Called with the failure of a pass or a look. Of a damaged database nothing is written or said any more; the next start verifies it. */
  notice(error: BridgeError): void {
    if (error.code === "database_corrupt" && this.#keeper !== undefined && isOfFile(error)) this.#stop(error);
  }

  /** The same as `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Moves the log into the database where no other connection prevents it, and closes. Never throws; may be called twice. */
  close(): void {
    if (!this.db.open) return;
    if (this.#damage === undefined && this.#isOverwritten()) this.#stop(this.#overwritten());
    if (this.#damage !== undefined) {
      // The last connection to be closed would move what is left of the log.
      this.#keeper?.abandon();
      ABANDONED.push(this.db);
      return;
    }
    this.#keeper?.settle();
    this.#keeper?.close();
    this.#note?.close();
    try {
      this.db.pragma("busy_timeout = 0"); // a daemon beside this command always reads
      // A log that has lost its name stays as it is, for others who have it open and for a person.
      if (!this.db.readonly && this.#files.logState() === "same") this.db.pragma("wal_checkpoint(TRUNCATE)");
    } catch {
      // A reader or a full disk: the log stays and is read at the next start.
    }
    try {
      this.db.close();
    } catch {
      // A statement is still being iterated: the process ends soon, and the log is complete without a clean close.
    }
  }

  #noteWritten(startedAt: number): void {
    this.#longestWriteMs = Math.max(this.#longestWriteMs, performance.now() - startedAt);
  }

  #begin(): void {
    this.#refuseDamage();
    if (this.#writing) throw new Error("A write transaction was begun inside another.");
    try {
      // Only after a ROLLBACK that failed (see below) is a transaction open here that is no mistake of the caller's.
      if (this.#rollBackOwed) this.#rollBack();
      if (this.db.inTransaction) throw new Error("A write transaction was begun inside another.");
      this.prepare("BEGIN IMMEDIATE").run();
    } catch (error) {
      throw machineFaultOf(error, m.database.writing, this.path) ?? error;
    }
    this.#writing = true;
  }

  #rollBack(): void {
    this.#rollBackOwed = false;
    if (!this.db.inTransaction) return;
    try {
      this.prepare("ROLLBACK").run();
    } catch {
      this.#rollBackOwed = this.db.inTransaction;
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

  /** For the next start, and for `status` until then. What is known is kept: the database may not be readable any more. */
  #noteSuspicion(suspect: Suspicion): void {
    try {
      const own = this.#note?.last ?? progressOf(this.db, undefined);
      if (own !== undefined) this.#note?.write(own, suspect);
    } catch {
      // The next start finds the damage where it reads it.
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

  /** Under another log than ours another program may move what it likes: that is reported as it stands. */
  #isOverwritten(): boolean {
    return this.#keeper?.isOverwritten() === true && this.#files.logState() === "same";
  }

  #overwritten(): BridgeError {
    return new BridgeError("disk_failed", m.database.overwritten({ file: this.path }), {
      hint: m.database.restartBringBack,
    });
  }

  /** A log that was truncated in place: what is left of it must not be added to, nor moved into the database. */
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
   * What was committed must be where the next start finds it. Where the log has lost its name and no program has made
   * another, the open connection still has it: it is moved into the database at once, and then the commit stands.
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
