/*
 * Keeps commits in the write-ahead log until they are on disk in the database file, whatever other programs do. A
 * connection with `synchronous = OFF` checkpoints without an fsync, and the next writer restarts the log: after a power
 * cut neither file would have the rows. So one of two connections here always holds a read transaction, which prevents
 * every other program from restarting the log. It also prevents checkpoints of frames that are not flushed in the log
 * itself: after a power cut half a transaction would be in the database, and the other half nowhere.
 *
 * The log is restarted here alone, once the database was flushed. A writer with `synchronous = OFF` does not flush the
 * new header of a restarted log before the frames behind it: after a power cut the former header may precede a few former
 * frames, and a recovery would put their old pages into the newer database.
 *
 * This depends on three rules of SQLite (walTryBeginRead, walRestartLog and walCheckpoint in wal.c): a checkpoint copies
 * no frames beyond a reader's mark; the log is not restarted while a reader has a mark in it; and a reader that finds the
 * log completely checkpointed has no mark in it, reads only the database and prevents further checkpoints. No clean
 * shutdown is needed: after a crash the next start flushes first.
 */
import { type ChildProcess, fork } from "node:child_process";
import type Database from "better-sqlite3";
import { childProgram } from "../../platform/child-program.ts";
import { LOG_BYTES_KEPT } from "../connection.ts";
import { DatabaseCheck } from "../file/database-check.ts";
import { openFile } from "../file/open-file.ts";
import { SqliteFile } from "../file/sqlite-file.ts";
import type { CheckpointMessage, CheckpointOrder } from "./checkpoint-child.ts";
import { type Frames, LogCheck } from "./log-check.ts";

/** A log of so many frames is checkpointed and restarted: SQLite's own default. */
const MOVED_FROM_FRAMES = 1000;
/** More frames than this are checkpointed by a child process: they would block the event loop. */
const ASIDE_FROM_FRAMES = 4000;
const CACHE_KIB = 256;
/** How long a restart of the log waits for another writer. */
const LOCK_WAIT_MS = 50;
/** Another program may write between two steps of a restart. */
const RESTARTS_MAX = 3;
/** After a restart that a reader prevented. Each one writes a frame. */
const RESTART_AGAIN_FRAMES = 100;
const RESTART_AGAIN_MS = 60_000;
/** So many checks in a row must agree that a log was truncated. */
const LOOKS = 3;
/** Referenced for ever: garbage collection would close them. */
const ABANDONED: Database.Database[] = [];

export class LogKeeper {
  readonly #file: string;
  #holding: Database.Database;
  #idle: Database.Database;
  readonly #writing: Database.Database;
  /** Frames at the last try; the next one waits until the log has grown by `MOVED_FROM_FRAMES`. */
  #triedAtFrames = 0;
  /** Everything up to the last `settle` is in the database and flushed. */
  #isSettled = false;
  /** The read transaction prevents a restart of the log; false where it began with a log that was completely checkpointed. */
  #isKept = false;
  /** The next restart is due with so many frames, or at this time (monotonic). */
  #restart = { frames: MOVED_FROM_FRAMES, atMs: Number.POSITIVE_INFINITY };
  /** The log and the database, as these connections have them open, even after a name was removed. */
  readonly #log: SqliteFile;
  readonly #flushed: readonly SqliteFile[];
  readonly #check: LogCheck;
  readonly #database: DatabaseCheck;
  #child: ChildProcess | undefined;

  /** Requires that another connection of this process has the database and its log open. */
  constructor(file: string) {
    this.#file = file;
    this.#holding = connect(file);
    this.#idle = connect(file);
    this.#writing = connect(file, LOCK_WAIT_MS);
    const log = new SqliteFile(`${file}-wal`);
    const database = new SqliteFile(file);
    this.#log = log;
    this.#flushed = [log, database];
    this.#check = new LogCheck(log);
    try {
      this.#flush();
      begin(this.#holding);
      this.#database = new DatabaseCheck(database, new SqliteFile(`${file}-shm`), () => pageOfBatches(this.#idle));
      this.#isKept = this.#database.hasUnmoved();
    } catch (error) {
      this.close();
      throw error;
    }
    this.settle();
    this.#keep();
  }

  /** Whether the open database file has no name left. */
  isDatabaseRemoved(): boolean {
    return this.#flushed.at(-1)?.isRemoved() === true;
  }

  /**
   * To be called after a commit: checkpoints and restarts the log where it has grown enough. Never throws: failures are retried
   * later.
   * @param again tries also where the log has not grown since the last try
   */
  tend({ again = false } = {}): void {
    if (this.#child !== undefined) return;
    let frames: Frames;
    try {
      frames = this.#frames();
    } catch {
      return;
    }
    const { log, checkpointed } = frames;
    // Completes a checkpoint that was killed: until then a foreign write to the file could not be distinguished from it.
    if (again && log - checkpointed <= ASIDE_FROM_FRAMES && this.#isBlind()) this.settle();
    if (again) this.#keep();
    if (log < MOVED_FROM_FRAMES) {
      this.#triedAtFrames = 0;
      return;
    }
    if (checkpointed === log && this.#isSettled) {
      this.#restartLog();
      return;
    }
    const hasGrown = log < this.#triedAtFrames || log >= this.#triedAtFrames + MOVED_FROM_FRAMES;
    if (!hasGrown && !again) return;
    this.#triedAtFrames = log;
    if (log - checkpointed > ASIDE_FROM_FRAMES) this.#moveAside();
    else if (this.settle()) this.#restartLog();
  }

  /**
   * Checkpoints the log and flushes both files. Returns true where all earlier commits are on disk in the database file
   * itself; false where a reader, another checkpoint or the disk prevents it: the commits are then in the log, which is
   * kept. Never throws.
   */
  settle(): boolean {
    this.#isSettled = false;
    if (this.#isSpoilt() || !this.#advance()) return false;
    try {
      const { log, checkpointed } = checkpoint(this.#idle, "PASSIVE");
      this.#flush();
      this.#database.note();
      if (checkpointed < log) return false;
    } catch {
      return false;
    }
    this.#isSettled = true;
    return true;
  }

  /** As `settle`, but a log too long for the event loop is left to a child process, and false is returned. */
  secure(): boolean {
    try {
      const { log, checkpointed } = this.#frames();
      if (log === checkpointed && this.#isSettled) return true;
      if (this.#child === undefined && log - checkpointed <= ASIDE_FROM_FRAMES) return this.settle();
    } catch {
      return false;
    }
    this.tend({ again: true });
    return false;
  }

  /**
   * Whether the log has lost commits because the file was truncated or overwritten. Checkpointing the rest would corrupt
   * the database. Another program may write to the log between reading the count and the file, so several checks must
   * agree; inside a write transaction of ours none can. Never throws.
   */
  isCut(): boolean {
    try {
      for (let look = 0; look < LOOKS; look++) if (!this.#check.isCut(this.#frames())) return false;
      return true;
    } catch {
      return false; // any other damage fails the next read or write
    }
  }

  /** Whether another program has overwritten the database file bypassing SQLite: it must not be written to. Never throws. */
  isOverwritten(): boolean {
    try {
      return this.#database.isOverwritten();
    } catch {
      return false; // as above
    }
  }

  /** Restarts a truncated log where the database already has all of it. Returns whether that succeeded. Never throws. */
  renew(): boolean {
    try {
      const { log, checkpointed } = this.#frames();
      if (checkpointed < log || this.isOverwritten()) return false;
      this.#flush();
      end(this.#holding);
      try {
        checkpoint(this.#idle, "TRUNCATE");
      } finally {
        begin(this.#holding);
      }
      this.#isKept = this.#database.hasUnmoved();
      this.#flush();
      this.#database.note();
      return this.#frames().log === 0;
    } catch {
      return false;
    }
  }

  /** Stops checkpoints and leaves the connections open: closing the last one would checkpoint the rest of the log. */
  abandon(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    ABANDONED.push(this.#holding, this.#idle, this.#writing);
  }

  /** Closes the connections; commits that `settle` could not move stay in the log. Never throws. */
  close(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    for (const db of [this.#holding, this.#idle, this.#writing]) if (db.open) db.close();
  }

  /**
   * Moves the held snapshot to the newest state. Writes and checkpoints up to it are flushed before the former is released.
   * The former stays where the log is completely checkpointed: it is the newest then, and a new one would have no mark.
   */
  #advance(): boolean {
    try {
      begin(this.#idle);
    } catch {
      return false;
    }
    try {
      this.#flush();
      // Read after `begin`: without a mark in the log, it prevents that frames appended since are moved.
      if (!this.#database.hasUnmoved()) {
        end(this.#idle);
        return true;
      }
    } catch {
      end(this.#idle);
      return false;
    }
    this.#exchange();
    this.#isKept = true;
    return true;
  }

  /**
   * Restarts a log that is completely checkpointed and flushed, so that the next frames overwrite it. The write lock keeps
   * other writers out from before the mark in the log is released until a commit of this process has restarted the log and
   * flushed its header. Where a reader prevents that, the log goes on. Never throws.
   */
  #restartLog(): void {
    try {
      const { log } = this.#frames();
      // Nothing is overwritten in an empty file.
      if (log === 0 && this.#log.size() === 0) return;
      const isDue = log >= this.#restart.frames || performance.now() >= this.#restart.atMs;
      if (this.#isKept && !isDue) return;
      this.#restart = { frames: log + RESTART_AGAIN_FRAMES, atMs: performance.now() + RESTART_AGAIN_MS };
      for (let tried = 0; tried < RESTARTS_MAX && this.#settleAlone(); tried++) if (this.#commitAnew()) break;
      if (this.#frames().log < log) this.#restart = { frames: MOVED_FROM_FRAMES, atMs: Number.POSITIVE_INFINITY };
    } catch {
      // Tried again later.
    }
  }

  /** `settle` while no other program writes: what is left to move and flush is little. */
  #settleAlone(): boolean {
    this.#writing.exec("BEGIN IMMEDIATE");
    try {
      return this.settle() && !this.#log.isRemoved();
    } finally {
      end(this.#writing);
    }
  }

  /** Returns false where another program has written since. */
  #commitAnew(): boolean {
    const db = this.#writing;
    db.exec("BEGIN IMMEDIATE");
    try {
      if (this.#database.hasUnmoved()) return false;
      end(this.#holding);
      this.#isKept = false;
      // Without a mark in the log. It keeps others from checkpointing the new frames before `advance` has flushed them.
      begin(this.#holding);
      const version = db.pragma("user_version", { simple: true });
      db.pragma(`user_version = ${version}`); // writes a page and changes nothing
      db.exec("COMMIT");
    } finally {
      if (db.inTransaction) db.exec("ROLLBACK");
    }
    this.#database.note();
    this.#advance();
    return true;
  }

  /** A read transaction without a mark in the log prevents a restart only while the log has frames that are not checkpointed. */
  #keep(): void {
    if (this.#isKept) return;
    try {
      if (this.#database.hasUnmoved()) this.#advance();
    } catch {
      return;
    }
    if (!this.#isKept) this.#restartLog();
  }

  #exchange(): void {
    end(this.#holding);
    [this.#holding, this.#idle] = [this.#idle, this.#holding];
  }

  #isSpoilt(): boolean {
    return this.isCut() || this.isOverwritten();
  }

  #isBlind(): boolean {
    try {
      return this.#database.isBlind();
    } catch {
      return false;
    }
  }

  #frames(): Frames {
    return framesOf(this.#idle);
  }

  #flush(): void {
    for (const file of this.#flushed) file.flush();
  }

  #moveAside(): void {
    const child = fork(childProgram("checkpoint-child", import.meta.url), [], {
      env: {},
      execArgv: ["--disable-sigusr1"],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child = child;
    child.unref();
    child.channel?.unref();
    const send = (order: CheckpointOrder) => void child.send(order, () => {});
    child.on("message", (message: CheckpointMessage) => {
      // The child has flushed both files, so the flush here is short.
      if (message === "flushed" && this.#child === child && !this.#isSpoilt() && this.#advance())
        send({ step: "move", file: this.#file });
      else child.kill("SIGKILL");
    });
    const over = () => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.tend({ again: true });
    };
    child.once("exit", over);
    child.once("error", over);
    send({ step: "flush", file: this.#file });
  }
}

function connect(file: string, timeout = 0): Database.Database {
  const db = openFile(file, { fileMustExist: true, timeout });
  db.pragma("synchronous = FULL");
  db.pragma("wal_autocheckpoint = 0");
  db.pragma(`journal_size_limit = ${LOG_BYTES_KEPT}`);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  return db;
}

/** The root page of `sqlite_sequence`; undefined before the first AUTOINCREMENT table exists. */
function pageOfBatches(db: Database.Database): number | undefined {
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_sequence'";
  return db.prepare<[], number>(sql).pluck().get();
}

/** Until `end` this connection reads one snapshot and has a read mark in the log. */
function begin(db: Database.Database): void {
  db.exec("BEGIN");
  try {
    db.pragma("schema_version");
  } catch (error) {
    end(db);
    throw error;
  }
}

function end(db: Database.Database): void {
  if (db.inTransaction) db.exec("COMMIT");
}

/** Executed twice at each commit, so it is prepared once. */
const looks = new WeakMap<Database.Database, Database.Statement<[], Frames>>();

function framesOf(db: Database.Database): Frames {
  const look = looks.get(db) ?? db.prepare<[], Frames>("PRAGMA wal_checkpoint(NOOP)");
  looks.set(db, look);
  return look.get() ?? { log: 0, checkpointed: 0 };
}

function checkpoint(db: Database.Database, how: "PASSIVE" | "TRUNCATE"): Frames {
  const [row] = db.pragma(`wal_checkpoint(${how})`) as (Frames & { busy: number })[];
  return row ?? { log: 0, checkpointed: 0 };
}
