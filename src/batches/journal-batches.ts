/*
 * Writes bodies of batches to the journal, where one is configured. In this order:
 *
 * 1. The body is written to the journal and flushed.
 * 2. The batch is committed. If 1 failed, its body is stored in `unjournaled_bodies` with it.
 * 3. The batch is confirmed, once `unjournaled_bodies` is empty.
 *
 * A journal in another folder begins with the batches that are not confirmed yet (`unconfirmed-bodies.ts`).
 *
 * After a crash between 1 and 2 the journal has a body twice, or one of a batch that was not stored; both are harmless.
 */

import type { Reached } from "../database/log/progress.ts";
import { reachedBy } from "../database/log/progress-note.ts";
import { deleteMeta, loadMeta, MetaValue, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { commit, commitAtOnce } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import type { BatchPaths } from "./batch-body.ts";
import {
  countUnjournaled,
  deleteAllUnjournaled,
  deleteUnjournaled,
  loadOldestUnjournaled,
  markJournaledElsewhere,
} from "./batch-rows.ts";
import { readBody } from "./keep-body.ts";
import type { PullPass } from "./pull-pass.ts";
import { saveUnconfirmedBodies } from "./unconfirmed-bodies.ts";

/** Metadata of a body in the journal. */
export interface JournalNote {
  /** When the answer came: UTC, ISO 8601. */
  receivedAt: string;
  /** Equal for the same batch. */
  fingerprint: string;
  /** The `Date` header of the answer. */
  date: string | undefined;
  /** The account that served the batch; absent in journals of older versions. */
  account?: string | undefined;
  database?: string | undefined;
  /**
   * The answer holds only part of the batch, so it alone makes no confirm due. Absent in journals of older versions.
   */
  isPart?: true | undefined;
  /** The database's progress before this batch was stored; absent in journals of older versions. */
  reached?: Reached | undefined;
}

export interface JournalEntry {
  note: JournalNote;
  body: Buffer;
}

/** The journal of bodies. */
export interface BodyJournal {
  readonly folder: string;
  /**
   * Writes and flushes an entry. Returns the id of the folder where that is on another disk than the database, else
   * undefined.
   * @throws BridgeError `disk_full`, `disk_failed` or `database_refused` (not the known folder), naming the journal's
   * folder
   */
  append(entry: JournalEntry, place: JournalPlace): Promise<string | undefined>;
}

export interface JournalPlace {
  /** Path of the database: a folder with a known id must be on another disk. */
  database: string;
  /** The known id of the folder; undefined where it has not been on another disk than the database yet. */
  mark: string | undefined;
}

const JOURNAL_MARK = new MetaValue<{ folder: string; mark: string | undefined } | undefined>("journal_mark");

/** Id of the journal's folder at the last write; undefined where that was another folder, or on the database's disk. */
export function knownMark(store: Store, folder: string): string | undefined {
  const known = JOURNAL_MARK.load(store);
  return known?.folder === folder ? known.mark : undefined;
}

/** Written in one pass: takes some seconds. */
const UNJOURNALED_PER_PASS = 500;
/**
 * Limits per batch of bodies that wait in the database, because a service may write something else in each delivery,
 * such as its time. The last body may exceed the bytes.
 */
const UNJOURNALED_PER_BATCH = 20;
const UNJOURNALED_BYTES_PER_BATCH = 64 * 1024 * 1024;

export class JournalBatches {
  readonly #context: JobContext;
  readonly #journal: BodyJournal | undefined;
  /** The pass in which writing failed; it is tried once a pass. */
  #failedIn: Pick<PullPass, "failure"> | undefined;
  /** The folder of `meta.journal_folder` is the one in force. */
  #isBegun = false;

  constructor(context: JobContext, journal: BodyJournal | undefined) {
    this.#context = context;
    this.#journal = journal;
  }

  get isKept(): boolean {
    return this.#journal !== undefined;
  }

  /**
   * To be called before the batch is committed. Returns false where writing failed; the pass then ends with that error.
   */
  async keep(body: Buffer, note: JournalNote, pass: Pick<PullPass, "failure">): Promise<boolean> {
    if (this.#journal === undefined) return true;
    if (this.#failedIn === pass) return false;
    const { store } = this.#context;
    const { folder } = this.#journal;
    try {
      const known = knownMark(store, folder);
      const place = { database: store.path, mark: known };
      const mark = await this.#journal.append({ note: { ...note, reached: reachedBy(store.db) }, body }, place);
      if (mark !== known) commitAtOnce(this.#context, () => JOURNAL_MARK.save(store, { folder, mark }));
      return true;
    } catch (error) {
      this.#failedIn = pass;
      pass.failure ??= error;
      return false;
    }
  }

  /**
   * Whether another version of a stored batch is not stored: the journal fails, and the limit of waiting bodies is
   * reached. The batch is not confirmed meanwhile, so the service serves it again.
   */
  isFull(fingerprint: string, pass: Pick<PullPass, "failure">): boolean {
    if (this.#failedIn !== pass) return false;
    const { count, bytes } = countUnjournaled(this.#context.store, fingerprint);
    return count >= UNJOURNALED_PER_BATCH || bytes >= UNJOURNALED_BYTES_PER_BATCH;
  }

  /**
   * To be called before the first confirm. In a folder that the journal was not in before, it has yet to get the batches
   * that were stored and are not confirmed, and each confirmed one that is served again. `meta.journal_folder` names the
   * folder that has them, or that they wait for.
   */
  async begin(paths: BatchPaths, { signal }: Pick<PullPass, "signal">): Promise<void> {
    if (this.#isBegun) return;
    const { store } = this.#context;
    const folder = this.#journal?.folder;
    if (loadMeta(store, "journal_folder") !== folder) {
      if (folder !== undefined) await saveUnconfirmedBodies(this.#context, paths, signal);
      await commit(this.#context, signal, () => {
        markJournaledElsewhere(store);
        if (folder === undefined) deleteMeta(store, "journal_folder");
        else saveMeta(store, "journal_folder", folder);
      });
    }
    this.#isBegun = true;
  }

  /** Writes the bodies that wait, oldest first; without a journal removes them. */
  async keepUnjournaled(pass: PullPass): Promise<void> {
    const { store } = this.#context;
    for (let made = 0; made < UNJOURNALED_PER_PASS; made++) {
      const waiting = loadOldestUnjournaled(store);
      if (waiting === undefined) return;
      if (this.#journal === undefined) {
        await commit(this.#context, pass.signal, () => deleteAllUnjournaled(store));
        return;
      }
      const { id, fingerprint, account, receivedAt } = waiting;
      const note: JournalNote = {
        ...{ receivedAt, fingerprint, date: undefined },
        ...(account !== null && { account }),
        ...(waiting.isPart === 1 && { isPart: true }),
      };
      const body = await readBody(this.#context, waiting, pass.signal);
      if (!(await this.keep(body, note, pass))) return;
      await commit(this.#context, pass.signal, () => deleteUnjournaled(store, id));
    }
  }
}
