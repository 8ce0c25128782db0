/*
 * `DATABASE.progress`: how far the database had come when something was last said that cannot be taken back. A database
 * that is put in its place later, or one that has lost its log, is behind it. Written in place, a slot in turn, and flushed;
 * after a crash in the middle the other slot is there, and says less at most. It is no file of SQLite's and may be closed.
 */
import { closeSync, constants, fdatasyncSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import {
  decodeSlots,
  encodeSlot,
  type Note,
  type Progress,
  SLOT_BYTES,
  SLOTS,
  type Suspicion,
} from "../domain/progress.ts";
import { createFile, giveTo, openRegular, removeName } from "../platform/fresh-file.ts";
import { faultCodeOf } from "./sqlite-errors.ts";

/** Read in one statement, so that both numbers are of one moment. Undefined before a database has its number. */
export function progressOf(db: Database.Database): Progress | undefined {
  const row = db
    .prepare(
      `SELECT (SELECT value FROM meta WHERE key = 'database') AS "database",
         coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'batches'), 0) AS batches,
         coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows'), 0) AS events`,
    )
    .get() as Pick<Progress, "batches" | "events"> & { database: string | null };
  return row.database === null ? undefined : { ...row, database: row.database };
}

/** What the file says; undefined where it is not there or cannot be read: it warns, and is never needed. */
export function readNote(databaseFile: string): Note | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openRegular(nameOf(databaseFile), constants.O_RDONLY);
    const bytes = Buffer.alloc(SLOTS * SLOT_BYTES);
    readSync(descriptor, bytes, 0, bytes.length, 0);
    return decodeSlots(bytes);
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

export class ProgressNote {
  readonly #databaseFile: string;
  #descriptor: number | undefined;
  #last: Note | undefined;

  constructor(databaseFile: string) {
    this.#databaseFile = databaseFile;
    this.#last = readNote(databaseFile);
  }

  get last(): Note | undefined {
    return this.#last;
  }

  /** Flushed when it returns. The same again is no write. */
  write(progress: Progress, suspect: Suspicion | null): void {
    const last = this.#last;
    const isThere = this.#isThere();
    const isSame =
      last?.database === progress.database && last.batches === progress.batches && last.events === progress.events;
    if (isThere && isSame && last.suspect === suspect) return;
    const note = { ...progress, suspect, n: (last?.n ?? 0) + 1, at: new Date().toISOString() };
    if (!isThere) this.#open();
    const descriptor = this.#descriptor as number;
    writeSync(descriptor, encodeSlot(note), 0, SLOT_BYTES, (note.n % SLOTS) * SLOT_BYTES);
    fdatasyncSync(descriptor);
    this.#last = note;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Whether it is open and still has its name. */
  #isThere(): boolean {
    return this.#descriptor !== undefined && fstatSync(this.#descriptor).nlink > 0;
  }

  #open(): void {
    this.close();
    const name = nameOf(this.#databaseFile);
    try {
      this.#descriptor = openRegular(name);
      return;
    } catch (error) {
      // What is no file of this user's makes way: the folder is.
      if (faultCodeOf(error) !== "ENOENT") removeName(name);
    }
    const descriptor = createFile(name, 0o640);
    this.#descriptor = descriptor;
    const folder = openSync(path.dirname(name), "r");
    try {
      giveTo(fstatSync(folder), descriptor);
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  }
}

function nameOf(databaseFile: string): string {
  return `${databaseFile}.progress`;
}
