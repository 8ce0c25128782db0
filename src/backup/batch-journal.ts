/*
 * A second home for what the service forgets: the bodies of batches, on another disk if it is set up so. Keeps the
 * guarantee that `append` returns only when the body is flushed; the confirm comes after. A new file is begun at each
 * start, at each scheduled copy, by size, and after each failure, so that a torn end is always the end of a file. A
 * crash in the middle of an entry leaves such an end: it is recognised by its digest, and its batch was not confirmed.
 */
import { closeSync, constants, mkdirSync, readdirSync, readFileSync, readSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { inTurns } from "../answers/slices.ts";
import { readTimeInName, timeInName } from "../database/copy-names.ts";
import { asBridgeError, describePermissions, faultCodeOf } from "../database/sqlite-errors.ts";
import type { JournalEntry, JournalNote } from "../orders/journal-entry.ts";
import { BridgeError } from "../platform/errors.ts";
import { openRegular } from "../platform/fresh-file.ts";
import { isForeign, type Owner } from "../platform/owner.ts";
import type { Clock } from "../platform/ports.ts";
import { syncFolder } from "./copy-database.ts";
import { FIRST_NOTE_BYTES, frameHeadInSlices, type ReadFrames, readFirstNote, readFrames } from "./journal-frame.ts";

/** Files of a size that is read at once when restoring. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** A network disk that hangs must not hang the pull for ever: after this it counts as failed. */
const ANSWER_WITHIN_MS = 30_000;
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

export class BatchJournal {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #owner: Owner;
  #file: { path: string; bytes: number } | undefined;

  constructor(folder: string, clock: Clock, owner: Owner) {
    this.#folder = folder;
    this.#clock = clock;
    this.#owner = owner;
  }

  /** Flushed when it resolves. Throws disk_full, disk_failed, database_refused with the journal's folder. */
  async append({ note, body }: JournalEntry): Promise<void> {
    try {
      const entry = { note: { ...note, ...this.#owner }, body };
      await this.#inTime(this.#write(await inTurns(frameHeadInSlices(entry), nextTurn), body));
    } catch (error) {
      this.rotate();
      throw asJournalError(error, this.#folder);
    }
  }

  /** What comes from now on goes to a new file. */
  rotate(): void {
    this.#file = undefined;
  }

  /**
   * Removes what the oldest copy that is kept covers. An entry is written before its batch is committed, so the file
   * that was open when the copy was made stays, and the one before it.
   * @returns how many files were removed.
   */
  prune(oldestCopyMs: number): number {
    const files = listJournal(this.#folder).filter(
      ({ name }) => !isForeign(ownerOfFile(path.join(this.#folder, name)), this.#owner),
    );
    const covered = files.filter(({ startedMs }) => startedMs <= oldestCopyMs).slice(0, -2);
    for (const { name } of covered) rmSync(path.join(this.#folder, name), { force: true });
    return covered.length;
  }

  async #write(head: Buffer, body: Buffer): Promise<void> {
    if (this.#file !== undefined && this.#file.bytes >= FILE_BYTES_MAX) this.rotate();
    const isNew = this.#file === undefined;
    const file = this.#file ?? this.#begin();
    this.#file = file;
    const handle = await open(file.path, isNew ? NEW_FILE : OLD_FILE, 0o600);
    try {
      // One after the other: a copy of both would be as large as the answer once more.
      await handle.appendFile(head);
      await handle.appendFile(body);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    if (isNew) syncFolder(this.#folder);
    file.bytes += head.length + body.length;
  }

  #begin(): { path: string; bytes: number } {
    mkdirSync(this.#folder, { recursive: true, mode: 0o750 });
    const newest = listJournal(this.#folder).at(-1)?.startedMs ?? 0;
    // Later than every other, so that their order is that of writing even where the clock was set back.
    const name = `journal-${timeInName(Math.max(this.#clock.nowMs(), newest + 1))}.bin`;
    return { path: path.join(this.#folder, name), bytes: 0 };
  }

  async #inTime(work: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new BridgeError("disk_failed", `The disk of ${this.#folder} does not answer.`)),
        ANSWER_WITHIN_MS,
      );
    });
    work.catch(() => {}); // where it fails after it was given up
    try {
      await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function asJournalError(error: unknown, folder: string): BridgeError {
  const known = asBridgeError(error, `Writing the journal in ${folder}`);
  const fault = faultCodeOf(error);
  const isForbidden = fault === "EACCES" || fault === "EPERM";
  const words = isForbidden ? describePermissions(innermost(error, folder)) : (fault ?? known.message);
  return new BridgeError(
    known.code === "internal" ? "disk_failed" : known.code,
    `The journal in ${folder} cannot be written (${words}): batches are stored, but not confirmed until it can be.`,
    { hint: "Put the disk of backup.journal right, or set backup.journal to null.", cause: error },
  );
}

/** The file that could not be opened where it is there, or the innermost folder that is. */
function innermost(error: unknown, folder: string): string {
  const named = (error as { path?: unknown } | null)?.path;
  for (let at = typeof named === "string" ? named : folder; ; at = path.dirname(at)) {
    if (statSync(at, { throwIfNoEntry: false }) !== undefined || at === path.dirname(at)) return at;
  }
}
