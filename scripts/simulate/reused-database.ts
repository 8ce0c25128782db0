import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from "node:fs";
import { LightConnection } from "./light-store.ts";
import { SecondConnection } from "./second-connection.ts";

/** What a log begins with, and what its index does: twice its header. */
const LOG_HEADER_BYTES = 32;
const INDEX_HEADER_BYTES = 96;
/** A log of which more is left over is given back. */
const LOG_BYTES_MAX = 4_000_000;

/**
 * A database that many lives begin with, one after the other, over connections that stay open: to open it, to read its
 * schema and to prepare the statements anew would cost more than the rest of a usual life.
 *
 * Whatever a life writes stands in the write-ahead log alone, because nobody moves it into the file. Without its log the
 * database is what it was: SQLite finds it as after a power cut in which the log was lost, and reads everything anew.
 */
export class ReusedDatabase {
  readonly file: string;
  readonly bridge: LightConnection;
  readonly second: SecondConnection;
  readonly #log: number;
  readonly #index: number;
  readonly #changedMs: number;
  #isLent = false;

  constructor(file: string) {
    this.file = file;
    this.bridge = new LightConnection(file);
    this.second = new SecondConnection(file);
    for (const { db } of [this.bridge, this.second]) {
      db.pragma("wal_autocheckpoint = 0");
      db.pragma("user_version");
    }
    // Kept open: to close a file would drop the locks that SQLite has on it.
    this.#log = openSync(`${file}-wal`, "r+");
    this.#index = openSync(`${file}-shm`, "r+");
    this.#changedMs = this.#fileChangedMs();
  }

  lend(): void {
    if (this.#isLent) throw new Error(`Two lives at once would share ${this.file}.`);
    this.#isLent = true;
  }

  takeBack(): void {
    this.bridge.leave();
    if (this.second.db.inTransaction) this.second.db.exec("ROLLBACK");
    writeSync(this.#log, Buffer.alloc(LOG_HEADER_BYTES), 0, LOG_HEADER_BYTES, 0);
    if (fstatSync(this.#log).size > LOG_BYTES_MAX) ftruncateSync(this.#log, 0);
    writeSync(this.#index, Buffer.alloc(INDEX_HEADER_BYTES), 0, INDEX_HEADER_BYTES, 0);
    if (this.#fileChangedMs() !== this.#changedMs) throw new Error(`A life has written to ${this.file} itself.`);
    this.#isLent = false;
  }

  /** Nothing but the log is written to. */
  #fileChangedMs(): number {
    return statSync(this.file).mtimeMs;
  }

  close(): void {
    this.bridge.db.close();
    this.second.close();
    closeSync(this.#log);
    closeSync(this.#index);
  }
}
