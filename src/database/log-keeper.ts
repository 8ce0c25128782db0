/*
 * Keeps what was committed in the write-ahead log until the database file itself has it on disk, whatever other programs
 * do. A connection with `synchronous = OFF` moves the log into the database without a flush, and the next writer begins
 * the log anew: after a power cut both would be without the rows. So one of two connections here always holds a read
 * transaction, which keeps every program from beginning the log anew, until the database was flushed. Nor can a program move what is not flushed in the log itself: half a
 * transaction would be in the database, and the other half nowhere.
 *
 * What SQLite guarantees for that: no frames are moved behind a reader's mark, the log is not begun anew while a reader
 * has a mark in it, and a reader that finds the whole log moved reads the database alone and keeps other programs from moving
 * anything more (walTryBeginRead, walRestartLog and walCheckpoint in SQLite's wal.c). Needs no clean end: after a crash the
 * next start flushes first.
 */
import { type ChildProcess, fork } from "node:child_process";
import type Database from "better-sqlite3";
import { childProgram } from "../platform/child-program.ts";
import type { CheckpointMessage, CheckpointOrder } from "./checkpoint-child.ts";
import { DatabaseCheck } from "./database-check.ts";
import { HeldFile } from "./held-file.ts";
import { type Frames, LogCheck } from "./log-check.ts";
import { openFile } from "./open-file.ts";

/** Frames of a log that is moved into the database: what SQLite itself takes. */
const MOVED_FROM_FRAMES = 1000;
/** More than this is moved by a process of its own: it would stop the event loop. */
const ASIDE_FROM_FRAMES = 4000;
const CACHE_KIB = 256;
/** So many looks at a log must agree that it was cut. */
const LOOKS = 3;
/** Kept from the garbage collector, which would close them. */
const ABANDONED: Database.Database[] = [];

export class LogKeeper {
  readonly #file: string;
  #holding: Database.Database;
  #idle: Database.Database;
  /** What the last `settle` left to be moved; no more is tried until the log has grown by as much as is worth it. */
  #triedAtFrames = 0;
  /** Everything up to the last `settle` was flushed, and the log may begin anew. */
  #isSettled = false;
  /** The log and the database; the log is the one that these connections use, also where it has lost its name. */
  readonly #flushed: readonly HeldFile[];
  readonly #check: LogCheck;
  readonly #database: DatabaseCheck;
  #child: ChildProcess | undefined;

  /** Beside an open connection that has its log open. */
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

  /** Whether the database that is open has no name anywhere any more. */
  isDatabaseRemoved(): boolean {
    return this.#flushed.at(-1)?.isRemoved() === true;
  }

  /** After a commit: moves the log where it has grown enough. Never throws: what fails is tried again later. */
  tend({ again = false } = {}): void {
    if (this.#child !== undefined) return;
    let frames: Frames;
    try {
      frames = this.#frames();
    } catch {
      return;
    }
    const { log, checkpointed } = frames;
    // A checkpoint that has died is made good: what was done to the file meanwhile could not be distinguished from it.
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
   * Moves the log into the database and flushes both. True where everything that was committed before is on disk in the
   * database file itself; false where a reader, another checkpoint or the disk stands in the way: then it is on disk in
   * the log, which is kept. Never throws.
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
    // A reader that begins now has nothing left in the log, unless something was written since: so it may begin anew.
    this.#advance();
    return true;
  }

  /** The same, but what is too much for the event loop is left to a process of its own. */
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
   * Whether the log has lost what was committed to it: the file was truncated, or written over. Moved into the
   * database, what is left would destroy it. Under a transaction of ours no other program changes the log; without one, two
   * looks may fall on both sides of a change, so several must agree. Never throws.
   */
  isCut(): boolean {
    try {
      for (let look = 0; look < LOOKS; look++) if (!this.#check.isCut(this.#frames())) return false;
      return true;
    } catch {
      return false; // any other defect of it fails the next read or write
    }
  }

  /** Whether another program has written into the database file itself, past SQLite: nothing may be added to what is left. Never throws. */
  isOverwritten(): boolean {
    try {
      return this.#database.isOverwritten();
    } catch {
      return false; // as above
    }
  }

  /** Of a log that was cut: whether all of it was in the database already, and the log could be begun anew. Never throws. */
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

  /** Nothing is moved any more, and no connection is closed: the last one to be closed would move what is left. */
  abandon(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    ABANDONED.push(this.#holding, this.#idle);
  }

  /** Gives everything back; what `settle` could not move stays in the log. Never throws. */
  close(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    for (const db of [this.#holding, this.#idle]) if (db.open) db.close();
  }

  /** The newest state is held from now on. What others have written or moved up to it is flushed before the former is let go. */
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
      // Flushed over there: what is left to be flushed here is little.
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

/** Undefined before the first table that counts its rows. */
function pageOfBatches(db: Database.Database): number | undefined {
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_sequence'";
  return db.prepare<[], number>(sql).pluck().get();
}

/** From here on until `end` this connection reads one snapshot, and has a read mark in the log. */
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

/** Asked twice at each commit, so it is prepared once. */
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
