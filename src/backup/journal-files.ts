/*
 * The files of the journal of batches: named by the time they were begun, read one at a time, written by appending. Of what
 * is in the middle of being written nothing is kept.
 */
import { closeSync, constants, mkdirSync, readdirSync, readFileSync, readSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { readTimeInName, timeInName } from "../database/copy-names.ts";
import { asBridgeError, describePermissions, faultCodeOf } from "../database/sqlite-errors.ts";
import type { JournalNote } from "../orders/journal-entry.ts";
import { BridgeError, type ErrorCode } from "../platform/errors.ts";
import { openRegular } from "../platform/fresh-file.ts";
import { isForeign, type Owner } from "../platform/owner.ts";
import { syncFolder } from "./copy-database.ts";
import { FIRST_NOTE_BYTES, type ReadFrames, readFirstNote, readFrames } from "./journal-frame.ts";

const NAME = /^journal-(\d{8}T\d{9}Z)\.bin$/;

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
/** Never through a link, and never waiting for the reader of a pipe. */
const OLD_FILE = O_APPEND | O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
const NEW_FILE = OLD_FILE | O_CREAT | O_EXCL;

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

/** What each file holds, oldest first. One file at a time is in memory. */
export function* readJournal(folder: string): Generator<{ file: string } & ReadFrames> {
  for (const { name } of listJournal(folder)) {
    const file = path.join(folder, name);
    yield { file, ...readFile(file) };
  }
}

function readFile(file: string): ReadFrames {
  const descriptor = openRegular(file, constants.O_RDONLY);
  try {
    return readFrames(readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/** Whose batches a file holds, by its first entry: another shop's bridge may keep its journal in the same folder. */
function ownerOfFile(file: string): Owner {
  const head = Buffer.alloc(FIRST_NOTE_BYTES);
  const descriptor = openRegular(file, constants.O_RDONLY);
  try {
    const length = readSync(descriptor, head, 0, head.length, 0);
    const note = readFirstNote(head.subarray(0, length));
    return { account: note?.account, database: note?.database };
  } finally {
    closeSync(descriptor);
  }
}

/** Whether a journal holds a batch that says that it is this owner's. A folder that is not there holds none. */
export function hasJournalOf(folder: string, owner: Owner): boolean {
  try {
    return listJournal(folder).some(({ name }) => ownerOfFile(path.join(folder, name)).account === owner.account);
  } catch {
    return false;
  }
}

/** The note of the newest entry that is of this database; undefined where there is none, or it cannot be read. */
export function newestEntryOf(folder: string, database: string): JournalNote | undefined {
  try {
    for (const { name } of listJournal(folder).reverse()) {
      const { entries } = readFile(path.join(folder, name));
      const newest = entries.findLast(({ note }) => note.database === database);
      if (newest !== undefined) return newest.note;
    }
  } catch {
    // It proves nothing then.
  }
  return undefined;
}

/** One entry after the other, in pieces. Throws disk_full, disk_failed, database_refused with the journal's folder. */
export class JournalWriter {
  #handle: FileHandle | undefined;
  #newIn: string | undefined;

  /**
   * Opens the file that the next entry goes to.
   * @param file the one that was written last; undefined: a new one
   * @returns its path
   */
  async begin(folder: string, file: string | undefined, nowMs: number): Promise<string> {
    return await inJournal(folder, async () => {
      await this.#close();
      const target = file ?? newFile(folder, nowMs);
      this.#newIn = file === undefined ? folder : undefined;
      this.#handle = await open(target, file === undefined ? NEW_FILE : OLD_FILE, 0o600);
      return target;
    });
  }

  async write(folder: string, piece: Uint8Array): Promise<void> {
    await inJournal(folder, async () => await this.#handle?.appendFile(piece));
  }

  /** Flushed when it resolves. */
  async end(folder: string): Promise<void> {
    await inJournal(folder, async () => {
      if (this.#handle === undefined) throw new BridgeError("internal", "No file of the journal is open.");
      await this.#handle.datasync();
      await this.#close();
      if (this.#newIn !== undefined) syncFolder(this.#newIn);
    });
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

/**
 * Removes what the oldest copy that is kept covers. An entry is written before its batch is committed, so the file
 * that was open when the copy was made stays, and the one before it.
 * @returns how many files were removed.
 */
export function pruneJournal(folder: string, oldestCopyMs: number, owner: Owner): number {
  const files = listJournal(folder).filter(({ name }) => !isForeign(ownerOfFile(path.join(folder, name)), owner));
  const covered = files.filter(({ startedMs }) => startedMs <= oldestCopyMs).slice(0, -2);
  for (const { name } of covered) rmSync(path.join(folder, name), { force: true });
  return covered.length;
}

function newFile(folder: string, nowMs: number): string {
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  const newest = listJournal(folder).at(-1)?.startedMs ?? 0;
  // Later than every other, so that their order is that of writing even where the clock was set back.
  return path.join(folder, `journal-${timeInName(Math.max(nowMs, newest + 1))}.bin`);
}

async function inJournal<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asJournalError(error, folder);
  }
}

function asJournalError(error: unknown, folder: string): BridgeError {
  const known = asBridgeError(error, `Writing the journal in ${folder}`);
  const fault = faultCodeOf(error);
  const isForbidden = fault === "EACCES" || fault === "EPERM";
  const words = isForbidden ? describePermissions(innermost(error, folder)) : (fault ?? known.message);
  return journalError(known.code === "internal" ? "disk_failed" : known.code, folder, { words, cause: error });
}

/** The file that could not be opened where it is there, or the innermost folder that is. */
function innermost(error: unknown, folder: string): string {
  const named = (error as { path?: unknown } | null)?.path;
  for (let at = typeof named === "string" ? named : folder; ; at = path.dirname(at)) {
    if (statSync(at, { throwIfNoEntry: false }) !== undefined || at === path.dirname(at)) return at;
  }
}

export function journalError(
  code: ErrorCode,
  folder: string,
  { words, cause }: { words: string; cause: unknown },
): BridgeError {
  return new BridgeError(
    code,
    `The journal in ${folder} cannot be written (${words}): batches are stored, but not confirmed until it can be.`,
    { hint: "Put the disk of backup.journal right, or set backup.journal to null.", cause },
  );
}
