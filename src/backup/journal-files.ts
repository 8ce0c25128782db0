/*
 * The files of the journal, one per batch, named by their start time, so that their order is that of writing; earlier
 * versions wrote several batches into one. A file that is being written when the process dies is not kept.
 */

import { closeSync, mkdirSync, readdirSync, readFileSync, readSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import type { JournalNote, JournalPlace } from "../batches/journal-batches.ts";
import { readTimeInName, timeInName } from "../database/file/copy-names.ts";
import type { Progress } from "../database/log/progress.ts";
import { asBridgeError, describePermissions, faultCodeOf } from "../database/sqlite-errors.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError, type ErrorCode } from "../platform/errors.ts";
import { openRegular, syncFolder } from "../platform/fresh-file.ts";
import { isForeign, type Owner } from "../platform/owner.ts";
import { innermostOf, isApart } from "./apart.ts";
import { FIRST_NOTE_BYTES, type ReadFrames, readFirstNote, readFrames } from "./journal-frame.ts";
import { markFolder, readMark } from "./journal-mark.ts";

/** Longer than any entry is being written. */
const BEING_WRITTEN_MS = 24 * 60 * 60_000;
const NAME = /^journal-(\d{8}T\d{9}Z)\.bin$/;

export interface JournalFile {
  name: string;
  startedMs: number;
}

/** The journal's files, oldest first. Throws where the folder cannot be read. */
export function listJournal(folder: string): JournalFile[] {
  return readdirSync(folder)
    .flatMap((name) => {
      const startedMs = readTimeInName(NAME.exec(name)?.[1] ?? "");
      return startedMs === undefined ? [] : [{ name, startedMs }];
    })
    .sort((a, b) => a.startedMs - b.startedMs);
}

/** The content of each file, oldest first, with one file at a time in memory. */
export function* readJournal(folder: string): Generator<{ file: string; startedMs: number } & ReadFrames> {
  for (const { name, startedMs } of listJournal(folder)) {
    const file = path.join(folder, name);
    yield { file, startedMs, ...readFile(file) };
  }
}

function readFile(file: string): ReadFrames {
  const descriptor = openRegular(file);
  try {
    return readFrames(readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/** The note of a file's first entry; undefined where it is damaged. */
function firstNoteOf(file: string): JournalNote | undefined {
  const head = Buffer.alloc(FIRST_NOTE_BYTES);
  const descriptor = openRegular(file);
  try {
    const length = readSync(descriptor, head, 0, head.length, 0);
    return readFirstNote(head.subarray(0, length));
  } finally {
    closeSync(descriptor);
  }
}

/** Another shop's bridge may keep its journal in the same folder. */
function ownerOf(note: JournalNote | undefined): Owner {
  return { account: note?.account, database: note?.database };
}

/** Whether the journal has a batch that names this owner's account. False where the folder does not exist. */
export function hasJournalOf(folder: string, owner: Owner): boolean {
  try {
    return listJournal(folder).some(({ name }) => firstNoteOf(path.join(folder, name))?.account === owner.account);
  } catch {
    return false;
  }
}

/** The note of this database's newest entry; undefined where there is none, or it cannot be read. */
export function newestEntryOf(folder: string, database: string): JournalNote | undefined {
  try {
    for (const { name } of listJournal(folder).reverse()) {
      const { entries } = readFile(path.join(folder, name));
      const newest = entries.findLast(({ note }) => note.database === database);
      if (newest !== undefined) return newest.note;
    }
  } catch {
    // An unreadable journal proves nothing.
  }
  return undefined;
}

/**
 * Writes one entry at a time and removes a file that cannot be completed.
 * @throws BridgeError `disk_…`, `database_refused`
 */
export class JournalWriter {
  #begun: { handle: FileHandle; file: string } | undefined;

  /** Starts the file of the next entry. Returns the folder's id where it is on another disk than the database. */
  async begin(folder: string, nowMs: number, place?: JournalPlace): Promise<string | undefined> {
    return await this.#step(folder, async () => {
      // The previous entry was never ended.
      await this.#giveUp();
      const isElsewhere = place !== undefined && isApart(folder, place.database);
      if (place?.mark !== undefined) refuseOther(folder, place.mark, isElsewhere);
      this.#begun = await beginFile(folder, nowMs);
      return isElsewhere ? markFolder(folder) : undefined;
    });
  }

  async write(folder: string, piece: Uint8Array): Promise<void> {
    await this.#step(folder, async () => await this.#begun?.handle.appendFile(piece));
  }

  /** Resolves after the flush. */
  async end(folder: string): Promise<void> {
    await this.#step(folder, async () => {
      if (this.#begun === undefined) throw new Error("No file of the journal is open.");
      await this.#begun.handle.datasync();
      syncFolder(folder);
      await this.#begun.handle.close();
      this.#begun = undefined;
    });
  }

  async #step<T>(folder: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#giveUp().catch(() => undefined);
      throw error instanceof BridgeError ? error : asJournalError(error, folder);
    }
  }

  async #giveUp(): Promise<void> {
    if (this.#begun === undefined) return;
    const { handle, file } = this.#begun;
    this.#begun = undefined;
    rmSync(file, { force: true });
    await handle.close();
  }
}

/** The oldest kept copy. `progress`: that of the database in it; undefined where it cannot be read. */
export interface OldestCopy {
  madeMs: number;
  progress: Progress | undefined;
}

/**
 * Removes files that the oldest kept copy covers. An entry is written before its batch is committed, so the last two
 * covered files stay.
 * @returns how many files were removed
 */
export function pruneJournal(folder: string, oldest: OldestCopy, owner: Owner): number {
  const covered = listJournal(folder)
    .filter(({ name, startedMs }) => {
      const note = firstNoteOf(path.join(folder, name));
      return !isForeign(ownerOf(note), owner) && isCovered(note, startedMs, oldest);
    })
    .slice(0, -2);
  for (const { name } of covered) rmSync(path.join(folder, name), { force: true });
  return covered.length;
}

/** Compares progress rather than times: after a night with a clock ahead, each later file is named in the future. */
function isCovered(note: JournalNote | undefined, startedMs: number, { madeMs, progress }: OldestCopy): boolean {
  // Another shop's bridge may have begun it and written nothing yet.
  if (note === undefined) return startedMs <= madeMs - BEING_WRITTEN_MS;
  if (note.reached === undefined || progress === undefined || note.database !== progress.database)
    return startedMs <= madeMs;
  return note.reached.batches < progress.batches;
}

/**
 * A folder that was on another disk than the database is never created again on the database's disk or on a third one.
 */
function refuseOther(folder: string, mark: string, isElsewhere: boolean): void {
  if (isElsewhere && readMark(folder) === mark) return;
  const words = isElsewhere ? m.backup.otherJournal : m.backup.diskGone;
  throw journalError("disk_failed", folder, { words, cause: undefined });
}

async function beginFile(folder: string, nowMs: number): Promise<{ handle: FileHandle; file: string }> {
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  for (;;) {
    // Later than every other name, so that the order is that of writing even after the clock was set back.
    const startedMs = Math.max(nowMs, (listJournal(folder).at(-1)?.startedMs ?? 0) + 1);
    const file = path.join(folder, `journal-${timeInName(startedMs)}.bin`);
    try {
      return { handle: await open(file, "wx", 0o600), file };
    } catch (error) {
      // Another shop's bridge may have created it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function asJournalError(error: unknown, folder: string): BridgeError {
  const known = asBridgeError(error, m.backup.writingJournal({ folder }));
  const fault = faultCodeOf(error);
  const isForbidden = fault === "EACCES" || fault === "EPERM";
  const words = isForbidden ? describePermissions(innermost(error, folder)) : (fault ?? known.message);
  return journalError(known.code === "internal" ? "disk_failed" : known.code, folder, { words, cause: error });
}

/** The file that could not be opened where it exists, else its innermost existing parent. */
function innermost(error: unknown, folder: string): string {
  const named = (error as { path?: unknown } | null)?.path;
  return innermostOf(typeof named === "string" ? named : folder);
}

export function journalError(
  code: ErrorCode,
  folder: string,
  { words, cause }: { words: string | Message; cause: unknown },
): BridgeError {
  return new BridgeError(code, m.backup.journalUnwritable({ folder, words }), { hint: m.backup.fixJournal, cause });
}
