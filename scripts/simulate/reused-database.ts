import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from "node:fs";
import { LightConnection } from "./light-store.ts";
import { SecondConnection } from "./second-connection.ts";

/** The size of the header of a write-ahead log; and of the two copies of its index's header. */
const LOG_HEADER_BYTES = 32;
const INDEX_HEADER_BYTES = 96;
/** A larger leftover log is truncated. */
const LOG_BYTES_MAX = 4_000_000;

/**
 * A database used by many lives one after the other, over connections that stay open: opening it, reading its schema
 * and preparing statements would cost more than the rest of a usual life.
 *
 * All writes of a life are in the write-ahead log only, because there are no checkpoints. Without its log the database
 * is unchanged: SQLite finds it as after a power failure in which the log was lost, and reads everything again.
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
    // Kept open: closing a file would release SQLite's locks on it.
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

  /** When the database file was last changed: only the log may be written. */
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
