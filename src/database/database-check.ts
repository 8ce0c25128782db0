/*
 * Whether the database file is still what checkpoints have made of it, while a log's keeper holds its transaction. In WAL mode nothing else writes to it, and each one
 * that does is shown by the memory shared over the log. `cp`, `dd` or `rsync --inplace` over the open file is shown by nothing:
 * its pages go together with those of the log and of the caches, and destroy the database. Looks at the file's size and time,
 * and reads two pages where these have changed.
 */
import { endianness } from "node:os";
import type { HeldFile } from "./held-file.ts";

// Places in SQLite's file format, section 1.3, and in the index of the log (wal.c: WalIndexHdr, WalCkptInfo).
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

/** What the shared memory says of the log and of checkpoints. */
interface Moved {
  /** Others once the log is begun anew. */
  salts: string;
  frames: number;
  /** Of the frames, those that checkpoints have moved. */
  done: number;
  /** More than those that are done: a checkpoint is under way, or has died. */
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
  readonly #database: HeldFile;
  readonly #sharedMemory: HeldFile;
  /** Gives the page that each stored batch changes. */
  readonly #pageOfBatches: () => number | undefined;
  #known: Known;
  #page: number | undefined;

  constructor(database: HeldFile, sharedMemory: HeldFile, pageOfBatches: () => number | undefined) {
    this.#database = database;
    this.#sharedMemory = sharedMemory;
    this.#pageOfBatches = pageOfBatches;
    this.#page = pageOfBatches();
    this.#known = this.#see(this.#moved());
  }

  /** After a checkpoint of our own. */
  note(): void {
    const moved = this.#moved(); // first: what comes after it is found by the next look
    this.#page = this.#pageOfBatches();
    this.#known = this.#see(moved);
  }

  isOverwritten(): boolean {
    const before = this.#moved();
    if (this.#database.version() === this.#known.version) return false;
    const now = this.#see(before);
    // Last: a checkpoint that changed what was just read has left its trace by now.
    const after = this.#moved();
    if (now.counter === undefined || isLess(now.counter, this.#known.counter)) return true;
    if (!isMovedBetween(this.#known.moved, after) && now.pages !== this.#known.pages) return true;
    this.#known = now;
    return false;
  }

  /** Whether a checkpoint has begun that is not over: as long as this lasts little can be compared. */
  isBlind(): boolean {
    const { done, attempted } = this.#moved();
    return attempted > done;
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
 * Whether a checkpoint may have written to the file. A log that had been moved whole was begun anew without one: the
 * transaction that the keeper holds keeps other programs from moving anything from such a log, and from beginning any other one anew.
 */
function isMovedBetween(before: Moved, now: Moved): boolean {
  if (now.attempted > now.done) return true;
  if (now.salts === before.salts) return now.done !== before.done || now.attempted !== before.attempted;
  return before.done < before.frames || now.done > 0;
}

/** Of two counters that begin anew after 2^32. */
function isLess(now: number, before: number | undefined): boolean {
  return before !== undefined && ((now - before) | 0) < 0;
}
