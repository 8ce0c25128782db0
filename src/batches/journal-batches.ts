/*
 * Keeps bodies of batches in the journal as well, where there is one, before their confirm. The body goes there before
 * its batch is committed; where that fails the batch is stored all the same, its body waits in a list, and nothing is confirmed
 * until the list is empty. After a crash between the two the journal holds a body twice, or a batch that was not stored: neither does harm.
 */
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Reached } from "../database/progress.ts";
import { reachedBy } from "../database/progress-note.ts";
import type { Store } from "../database/store.ts";
import { commit, commitAtOnce } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { countUnjournaled, deleteAllUnjournaled, deleteUnjournaled, loadOldestUnjournaled } from "./batch-rows.ts";
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
  /** The batch holds more than this answer: no confirm of it is due for what is in it. Absent in journals of older versions. */
  isPart?: true | undefined;
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

/** Bodies that are made up for in one pass: some seconds. */
const UNJOURNALED_PER_PASS = 500;
/** A service may say something else at each hand-out, such as when that is. Of one batch not more bodies wait in the database, or not many more bytes. */
const UNJOURNALED_PER_BATCH = 20;
const UNJOURNALED_BYTES_PER_BATCH = 64 * 1024 * 1024;

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

  /**
   * Whether the batch is left as it is stored where it is served again: the journal cannot be written, and as many of its bodies wait as are
   * kept. It is not confirmed meanwhile, so that the service serves it again.
   */
  isFull(fingerprint: string, pass: Pick<PullPass, "failure">): boolean {
    if (this.#failedIn !== pass) return false;
    const { count, bytes } = countUnjournaled(this.#context.store, fingerprint);
    return count >= UNJOURNALED_PER_BATCH || bytes >= UNJOURNALED_BYTES_PER_BATCH;
  }

  /** Writes what could not be written before, the oldest first; without a journal nothing is to be written. */
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
