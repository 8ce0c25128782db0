/*
 * Keeps bodies of batches in the journal as well, where there is one, before their confirm. The body goes there before
 * its batch is committed; where that fails the batch is stored all the same, keeps its body, and is not confirmed until
 * the body is there. After a crash between the two the journal holds a batch that was not stored, which does no harm.
 */
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Reached } from "../database/progress.ts";
import { reachedBy } from "../database/progress-note.ts";
import type { Store } from "../database/store.ts";
import { commit, commitAtOnce } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { forgetUnjournaled, loadUnjournaled, markJournaled } from "./batch-rows.ts";
import { readBody } from "./keep-body.ts";
import type { PullPass } from "./pull-pass.ts";

/** What is known of a body, beside the body itself. */
export interface JournalNote {
  /** When the answer came: UTC, ISO 8601. */
  receivedAt: string;
  /** What makes it the same batch again. */
  fingerprint: string;
  /** The `Date` header of the answer. */
  date: string | undefined;
  /** Whose batch it is; absent in journals of older versions. */
  account?: string | undefined;
  database?: string | undefined;
  /** How far the database had come before this batch was stored; absent in journals of older versions. */
  reached?: Reached | undefined;
}

export interface JournalEntry {
  note: JournalNote;
  body: Buffer;
}

/** Where bodies are kept a second time. */
export interface BodyJournal {
  readonly folder: string;
  /**
   * Flushed when it resolves: the number of a folder that lies on another disk than the database. Throws `disk_full`, `disk_failed`,
   * `database_refused` with the journal's folder, also where that is another folder than the one that is known.
   */
  append(entry: JournalEntry, place: JournalPlace): Promise<string | undefined>;
}

export interface JournalPlace {
  /** On whose disk a folder that is known must not lie. */
  database: string;
  /** The number of the folder; undefined where it did not lie on another disk than the database until now. */
  mark: string | undefined;
}

/** The number of the folder in which the journal lay at last, where that is this one and lay on another disk than the database. */
export function knownMark(store: Store, folder: string): string | undefined {
  const known = loadMetaJson<{ folder: string; mark: string }>(store, "journal_mark");
  return known?.folder === folder ? known.mark : undefined;
}

/** Bodies that are made up for in one pass. */
const UNJOURNALED_PER_PASS = 50;

export class JournalBatches {
  readonly #context: JobContext;
  readonly #journal: BodyJournal | undefined;
  /** The pass in which it could not be written: one try is enough for all its batches. */
  #failedIn: Pick<PullPass, "failure"> | undefined;

  constructor(context: JobContext, journal: BodyJournal | undefined) {
    this.#context = context;
    this.#journal = journal;
  }

  get isKept(): boolean {
    return this.#journal !== undefined;
  }

  /** Before a batch is committed. False: it could not be written, which the pass then ends with. */
  async keep(body: Buffer, note: JournalNote, pass: Pick<PullPass, "failure">): Promise<boolean> {
    if (this.#journal === undefined) return true;
    if (this.#failedIn === pass) return false;
    const { store } = this.#context;
    const { folder } = this.#journal;
    try {
      const known = knownMark(store, folder);
      const place = { database: store.path, mark: known };
      const mark = await this.#journal.append({ note: { ...note, reached: reachedBy(store.db) }, body }, place);
      if (mark !== known) commitAtOnce(this.#context, () => saveMetaJson(store, "journal_mark", { folder, mark }));
      return true;
    } catch (error) {
      this.#failedIn = pass;
      pass.failure ??= error;
      return false;
    }
  }

  /** Writes what could not be written before; without a journal nothing is to be written. */
  async keepUnjournaled(pass: PullPass): Promise<void> {
    const { store, clock } = this.#context;
    for (let made = 0; made < UNJOURNALED_PER_PASS; made++) {
      const batch = loadUnjournaled(store);
      if (batch === undefined) return;
      if (this.#journal === undefined) {
        await commit(this.#context, pass.signal, () => forgetUnjournaled(store));
        return;
      }
      // Of now: a body that was received after the batch's first must not pass for that one.
      const { fingerprint, account } = batch;
      const note = {
        receivedAt: isoTime(clock.nowMs()),
        fingerprint,
        date: undefined,
        ...(account !== null && { account }),
      };
      const body = await readBody(this.#context, batch, pass.signal);
      if (!(await this.keep(body, note, pass))) return;
      await commit(this.#context, pass.signal, () => markJournaled(store, batch));
    }
  }
}
