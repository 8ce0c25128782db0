/*
 * A second copy of what the service deletes once it is confirmed: the bodies of batches, one file each, if configured
 * on another disk. Guarantees that `append` returns only after the file and its name are flushed; the confirm follows
 * that. A crash while a file is written leaves one that its digest shows to be incomplete; its batch was not confirmed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { inTurns } from "../answers/slices.ts";
import type { JournalEntry, JournalPlace } from "../batches/journal-batches.ts";
import { type HelperOptions, helperFor, Unanswered } from "../platform/helper-process.ts";
import type { Owner } from "../platform/owner.ts";
import type { Clock } from "../platform/ports.ts";
import { type BackupFunctions, type Covered, HELPER } from "./backup-files.ts";
import { journalError } from "./journal-files.ts";
import { frameHeadInSlices } from "./journal-frame.ts";

/** Bodies can be large; they are sent in pieces, so that no second copy is in memory. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** An entry that is being written when the program ends may be finished within this time. */
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

  /** See `BodyJournal`. */
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

  /** Removes own files that are not needed any more, after a copy was made. Returns how many were removed. */
  async prune(covered: Covered): Promise<number> {
    return await this.#helper.call("pruneJournal", this.#call, this.folder, covered, this.#owner);
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
