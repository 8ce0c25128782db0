/*
 * Detects writes to the open database file that are no checkpoints, such as `cp`, `dd` or `rsync --inplace` over it: its
 * new pages would be mixed with those of the log and the caches, and the database would be corrupt. In WAL mode only
 * checkpoints write to the file, and the log's shared memory records each one. Used while `LogKeeper` holds its read
 * transaction. Compares size and modification time, and reads two pages where these have changed.
 */
import { endianness } from "node:os";
import type { SqliteFile } from "./sqlite-file.ts";

// Offsets in SQLite's file format, section 1.3, and in the WAL index (wal.c: WalIndexHdr, WalCkptInfo).
const HEADER_BYTES = 100;
const MAGIC = /^SQLite format 3/;
const PAGE_BYTES_AT = 16;
const COUNTER_AT = 24;
const FRAMES_AT = 16;
const SALTS_AT = 32;
const SALTS_END = 40;
const MOVED_AT = 96;
const ATTEMPTED_AT = 128;
const INDEX_BYTES = 132;

/** The state of the log and of checkpoints, from the shared memory. */
interface Moved {
  /** Changed each time the log restarts. */
  salts: string;
  frames: number;
  /** Frames that checkpoints have written to the database (`nBackfill`). */
  done: number;
  /** More than `done` while a checkpoint runs, or after one was killed (`nBackfillAttempted`). */
  attempted: number;
}

interface Known {
  moved: Moved;
  version: string;
  /** Undefined where the file is no database. */
  counter: number | undefined;
  pages: string;
}

export class DatabaseCheck {
  readonly #database: SqliteFile;
  readonly #sharedMemory: SqliteFile;
  /** Returns the number of a page that every stored batch changes. */
  readonly #pageOfBatches: () => number | undefined;
  #known: Known;
  #page: number | undefined;

  constructor(database: SqliteFile, sharedMemory: SqliteFile, pageOfBatches: () => number | undefined) {
    this.#database = database;
    this.#sharedMemory = sharedMemory;
    this.#pageOfBatches = pageOfBatches;
    this.#page = pageOfBatches();
    this.#known = this.#see(this.#moved());
  }

  /** To be called after each checkpoint of this process. */
  note(): void {
    const moved = this.#moved(); // read first, so that the next check finds any later change
    this.#page = this.#pageOfBatches();
    this.#known = this.#see(moved);
  }

  isOverwritten(): boolean {
    const before = this.#moved();
    if (this.#database.version() === this.#known.version) return false;
    const now = this.#see(before);
    // Read last: a checkpoint that changed the pages just read is recorded by now.
    const after = this.#moved();
    if (now.counter === undefined || isLess(now.counter, this.#known.counter)) return true;
    if (!isMovedBetween(this.#known.moved, after) && now.pages !== this.#known.pages) return true;
    this.#known = now;
    return false;
  }

  /** Whether a checkpoint has begun and not ended: meanwhile a foreign write cannot be distinguished from it. */
  isBlind(): boolean {
    const { done, attempted } = this.#moved();
    return attempted > done;
  }

  /** Whether the log has frames that no checkpoint has written to the database. */
  hasUnmoved(): boolean {
    const { frames, done } = this.#moved();
    return done < frames;
  }

  #see(moved: Moved): Known {
    const version = this.#database.version();
    const header = this.#database.read(0, HEADER_BYTES);
    const isDatabase = header.length === HEADER_BYTES && MAGIC.test(header.toString("latin1"));
    if (!isDatabase) return { moved, version, counter: undefined, pages: "" };
    const stored = header.readUInt16BE(PAGE_BYTES_AT);
    const pageBytes = stored === 1 ? 65_536 : stored;
    const batches = this.#page === undefined ? "" : this.#database.read((this.#page - 1) * pageBytes, pageBytes);
    const pages = [this.#database.size(), header.toString("latin1"), batches.toString("latin1")].join("|");
    return { moved, version, counter: header.readUInt32BE(COUNTER_AT), pages };
  }

  #moved(): Moved {
    const index = this.#sharedMemory.read(0, INDEX_BYTES);
    const numberAt = (at: number) => (endianness() === "LE" ? index.readUInt32LE(at) : index.readUInt32BE(at));
    return {
      salts: index.toString("hex", SALTS_AT, SALTS_END),
      frames: numberAt(FRAMES_AT),
      done: numberAt(MOVED_AT),
      attempted: numberAt(ATTEMPTED_AT),
    };
  }
}

/**
 * Whether a checkpoint may have written to the file in between. Where the log restarted after it had been checkpointed
 * completely, none has: the read transaction of `LogKeeper` prevents checkpoints of such a log and the restart of any other.
 */
function isMovedBetween(before: Moved, now: Moved): boolean {
  if (now.attempted > now.done) return true;
  if (now.salts === before.salts) return now.done !== before.done || now.attempted !== before.attempted;
  return before.done < before.frames || now.done > 0;
}

/** Compares counters that wrap around at 2^32. */
function isLess(now: number, before: number | undefined): boolean {
  return before !== undefined && ((now - before) | 0) < 0;
}
