/*
 * Checks that the file of the write-ahead log still has the frames that its shared memory counts. A log that another
 * program truncates in place loses commits, and the next write leaves a hole of zeros, which a checkpoint would copy into
 * the database. Reads only headers: the file's, and those of the frames added since the last check.
 */
import type { SqliteFile } from "../file/sqlite-file.ts";

export interface Frames {
  /** Frames in the log. */
  log: number;
  /** Of these, frames already written to the database file, flushed or not. */
  checkpointed: number;
}

// Sizes and offsets in SQLite's file format, section 4.
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
const PAGE_BYTES_AT = 8;
const SALTS_AT = 16;
const SALTS_IN_FRAME_AT = 8;
const SALTS_BYTES = 8;

export class LogCheck {
  readonly #log: SqliteFile;
  #seen = { salts: "", frames: 0 };

  constructor(log: SqliteFile) {
    this.#log = log;
  }

  /** @param frames as just counted by SQLite */
  isCut({ log: frames }: Frames): boolean {
    // Empty: the next writer restarts it.
    if (frames === 0) return false;
    const header = this.#log.read(0, HEADER_BYTES);
    // The last bit is the byte order of the checksums.
    if (header.length < HEADER_BYTES || (header.readUInt32BE(0) & ~1) !== MAGIC) return true;
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(PAGE_BYTES_AT);
    if (this.#log.size() < HEADER_BYTES + frames * frameBytes) return true;
    const salts = header.toString("hex", SALTS_AT, SALTS_AT + SALTS_BYTES);
    const isSameLog = salts === this.#seen.salts && frames >= this.#seen.frames;
    // A hole ends where the next frame was appended, so it contains frames that were the newest at this check or later.
    for (let frame = isSameLog ? Math.max(this.#seen.frames, 1) : 1; frame <= frames; frame++) {
      const own = this.#log.read(HEADER_BYTES + (frame - 1) * frameBytes, FRAME_HEADER_BYTES);
      if (own.length < FRAME_HEADER_BYTES) return true;
      const ownSalts = own.toString("hex", SALTS_IN_FRAME_AT, SALTS_IN_FRAME_AT + SALTS_BYTES);
      if (own.readUInt32BE(0) === 0 || ownSalts !== salts) return true;
    }
    this.#seen = { salts, frames };
    return false;
  }
}
