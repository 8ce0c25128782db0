/*
 * A second home for what the service forgets: the bodies of batches, on another disk if it is set up so. Keeps the
 * guarantee that `append` returns only when the body is flushed; the confirm comes after. A new file is begun at each
 * start, at each scheduled copy, by size, and after each failure, so that a torn end is always the end of a file. A
 * crash in the middle of an entry leaves such an end: it is recognised by its digest, and its batch was not confirmed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { inTurns } from "../answers/slices.ts";
import type { JournalEntry } from "../orders/journal-entry.ts";
import { type HelperOptions, helperFor, Unanswered } from "../platform/helper-process.ts";
import type { Owner } from "../platform/owner.ts";
import type { Clock } from "../platform/ports.ts";
import { type BackupFunctions, HELPER } from "./backup-files.ts";
import { journalError } from "./journal-files.ts";
import { frameHeadInSlices } from "./journal-frame.ts";

/** Files of a size that is read at once when restoring. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** A body may be as large as an answer: it is handed on in pieces, so that it is not in memory twice. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** An entry under way when the program is to end is written to its end where that is soon. */
const STOP_WITHIN_MS = 5_000;

export class BatchJournal {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #owner: Owner;
  readonly #helper: ReturnType<typeof helperFor<BackupFunctions>>;
  readonly #call: HelperOptions;
  #file: { path: string; bytes: number } | undefined;

  constructor(folder: string, clock: Clock, owner: Owner, isStopping: () => boolean = () => false) {
    this.#folder = folder;
    this.#clock = clock;
    this.#owner = owner;
    this.#helper = helperFor(HELPER, folder, "journal");
    this.#call = { place: folder, isStopping, stopWithinMs: STOP_WITHIN_MS };
  }

  /** Flushed when it resolves. Throws disk_full, disk_failed, database_refused with the journal's folder. */
  async append({ note, body }: JournalEntry): Promise<void> {
    const entry = { note: { ...note, ...this.#owner }, body };
    const head = await inTurns(frameHeadInSlices(entry), nextTurn);
    try {
      await this.#write(head, body);
    } catch (error) {
      this.rotate();
      if (!(error instanceof Unanswered)) throw error;
      throw journalError("disk_failed", this.#folder, { words: error.words, cause: error });
    }
  }

  /** What comes from now on goes to a new file. */
  rotate(): void {
    this.#file = undefined;
  }

  /** Removes what the oldest copy that is kept covers; of nobody else's. Returns how many files were removed. */
  async prune(oldestCopyMs: number): Promise<number> {
    return await this.#helper.call("pruneJournal", this.#call, this.#folder, oldestCopyMs, this.#owner);
  }

  async #write(head: Buffer, body: Buffer): Promise<void> {
    const helper = this.#helper;
    const call = { ...this.#call, leavesOpen: true };
    if (this.#file !== undefined && this.#file.bytes >= FILE_BYTES_MAX) this.rotate();
    const known = this.#file;
    const path = await helper.call("beginEntry", call, this.#folder, known?.path, this.#clock.nowMs());
    const file = known ?? { path, bytes: 0 };
    this.#file = file;
    await helper.call("writeEntry", call, this.#folder, head);
    for (let at = 0; at < body.length; at += PIECE_BYTES) {
      await helper.call("writeEntry", call, this.#folder, body.subarray(at, at + PIECE_BYTES));
    }
    await helper.call("endEntry", this.#call, this.#folder);
    file.bytes += head.length + body.length;
  }
}
