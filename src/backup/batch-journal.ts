/*
 * A second copy of what the service drops once it is confirmed: the bodies of batches, on another disk if it is set up so, in a file each.
 * Keeps the guarantee that `append` returns only when the file and its name are flushed; the confirm comes after. A crash
 * in the middle of a file leaves one that its digest shows to be torn; its batch was not confirmed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { inTurns } from "../answers/slices.ts";
import type { JournalEntry, JournalPlace } from "../batches/journal-batches.ts";
import { type HelperOptions, helperFor, Unanswered } from "../platform/helper-process.ts";
import type { Owner } from "../platform/owner.ts";
import type { Clock } from "../platform/ports.ts";
import { type BackupFunctions, HELPER } from "./backup-files.ts";
import { journalError } from "./journal-files.ts";
import { frameHeadInSlices } from "./journal-frame.ts";

/** A body may be as large as an answer: it is handed on in pieces, so that it is not in memory twice. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** An entry under way when the program is to end is written to its end where that is soon. */
const STOP_WITHIN_MS = 5_000;

export class BatchJournal {
  readonly folder: string;
  readonly #clock: Clock;
  readonly #owner: Owner;
  readonly #helper: ReturnType<typeof helperFor<BackupFunctions>>;
  readonly #call: HelperOptions;

  constructor(folder: string, clock: Clock, owner: Owner, isStopping: () => boolean = () => false) {
    this.folder = folder;
    this.#clock = clock;
    this.#owner = owner;
    this.#helper = helperFor(HELPER, folder, "journal");
    this.#call = { place: folder, isStopping, stopWithinMs: STOP_WITHIN_MS };
  }

  /** As `BodyJournal` says. */
  async append({ note, body }: JournalEntry, place?: JournalPlace): Promise<string | undefined> {
    const entry = { note: { ...this.#owner, ...note }, body };
    const head = await inTurns(frameHeadInSlices(entry), nextTurn);
    try {
      return await this.#write(head, body, place);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      throw journalError("disk_failed", this.folder, { words: error.words, cause: error });
    }
  }

  /** Removes of its own what the oldest copy that is kept covers. Returns how many files were removed. */
  async prune(oldest: { file: string; madeMs: number }): Promise<number> {
    return await this.#helper.call("pruneJournal", this.#call, this.folder, oldest, this.#owner);
  }

  async #write(head: Buffer, body: Buffer, place: JournalPlace | undefined): Promise<string | undefined> {
    const helper = this.#helper;
    const call = { ...this.#call, leavesOpen: true };
    const mark = await helper.call("beginEntry", call, this.folder, this.#clock.nowMs(), place);
    await helper.call("writeEntry", call, this.folder, head);
    for (let at = 0; at < body.length; at += PIECE_BYTES) {
      await helper.call("writeEntry", call, this.folder, body.subarray(at, at + PIECE_BYTES));
    }
    await helper.call("endEntry", this.#call, this.folder);
    return mark;
  }
}
