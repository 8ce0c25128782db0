/*
 * Keeps commits in the write-ahead log until they are on disk in the database file, whatever other programs do. A
 * connection with `synchronous = OFF` checkpoints without an fsync, and the next writer restarts the log: after a power
 * cut neither file would have the rows. So one of two connections here always holds a read transaction, which prevents
 * every program from restarting the log, until the database was flushed. It also prevents checkpoints of frames that are
 * not flushed in the log itself: after a power cut half a transaction would be in the database, and the other half nowhere.
 *
 * This depends on three rules of SQLite (walTryBeginRead, walRestartLog and walCheckpoint in wal.c): a checkpoint copies
 * no frames beyond a reader's mark; the log is not restarted while a reader has a mark in it; and a reader that finds the
 * log completely checkpointed reads only the database and prevents further checkpoints. No clean shutdown is needed:
 * after a crash the next start flushes first.
 */
import { type ChildProcess, fork } from "node:child_process";
import type Database from "better-sqlite3";
import { childProgram } from "../../platform/child-program.ts";
import { DatabaseCheck } from "../file/database-check.ts";
import { HeldFile } from "../file/held-file.ts";
import { openFile } from "../file/open-file.ts";
import type { CheckpointMessage, CheckpointOrder } from "./checkpoint-child.ts";
import { type Frames, LogCheck } from "./log-check.ts";

/** A log of so many frames is checkpointed: SQLite's own default. */
const MOVED_FROM_FRAMES = 1000;
/** More frames than this are checkpointed by a child process: they would block the event loop. */
const ASIDE_FROM_FRAMES = 4000;
const CACHE_KIB = 256;
/** So many checks in a row must agree that a log was truncated. */
const LOOKS = 3;
/** Referenced for ever: garbage collection would close them. */
const ABANDONED: Database.Database[] = [];

export class LogKeeper {
  readonly #file: string;
  #holding: Database.Database;
  #idle: Database.Database;
  /** Frames at the last try; the next one waits until the log has grown by `MOVED_FROM_FRAMES`. */
  #triedAtFrames = 0;
  /** Everything up to the last `settle` is in the database and flushed, and the log may restart. */
  #isSettled = false;
  /** The log and the database, as these connections have them open, even after a name was removed. */
  readonly #flushed: readonly HeldFile[];
  readonly #check: LogCheck;
  readonly #database: DatabaseCheck;
  #child: ChildProcess | undefined;

  /** Requires that another connection of this process has the database and its log open. */
  constructor(file: string) {
    this.#file = file;
    this.#holding = connect(file);
    this.#idle = connect(file);
    const log = new HeldFile(`${file}-wal`);
    const database = new HeldFile(file);
    this.#flushed = [log, database];
    this.#check = new LogCheck(log);
    try {
      this.#flush();
      begin(this.#holding);
      this.#database = new DatabaseCheck(database, new HeldFile(`${file}-shm`), () => pageOfBatches(this.#idle));
    } catch (error) {
      this.close();
      throw error;
    }
    this.settle();
  }

  /** Whether the open database file has no name left. */
  isDatabaseRemoved(): boolean {
    return this.#flushed.at(-1)?.isRemoved() === true;
  }

  /**
   * To be called after a commit: checkpoints the log where it has grown enough. Never throws: failures are retried later.
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
    if (log < MOVED_FROM_FRAMES) {
      this.#triedAtFrames = 0;
      return;
    }
    if (checkpointed === log && this.#isSettled) return;
    const hasGrown = log < this.#triedAtFrames || log >= this.#triedAtFrames + MOVED_FROM_FRAMES;
    if (!hasGrown && !again) return;
    this.#triedAtFrames = log;
    if (log - checkpointed > ASIDE_FROM_FRAMES) this.#moveAside();
    else this.settle();
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
    // A read transaction that begins now has no mark in the log unless there was another write: so the log may restart.
    this.#advance();
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
    ABANDONED.push(this.#holding, this.#idle);
  }

  /** Closes the connections; commits that `settle` could not move stay in the log. Never throws. */
  close(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    for (const db of [this.#holding, this.#idle]) if (db.open) db.close();
  }

  /** Moves the held snapshot to the newest state. Writes and checkpoints up to it are flushed before the former is released. */
  #advance(): boolean {
    try {
      begin(this.#idle);
    } catch {
      return false;
    }
    try {
      this.#flush();
    } catch {
      end(this.#idle);
      return false;
    }
    this.#exchange();
    return true;
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

function connect(file: string): Database.Database {
  const db = openFile(file, { fileMustExist: true, timeout: 0 });
  db.pragma("synchronous = FULL");
  db.pragma("wal_autocheckpoint = 0");
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
