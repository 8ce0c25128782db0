/*
 * Finds what changed among rows that no trigger can watch: those of a view, a SELECT or another file. All rows are read
 * as of one moment and compared with the hashes of what was taken up before; only what differs is looked at further.
 * The hash is kept in the transaction that takes the row up, so that after a crash it is met as changed again. A reading
 * that breaks off takes nothing up, and so deletes nothing.
 */

import { commit } from "../pass/commit.ts";
import { BridgeError } from "../platform/errors.ts";
import {
  type Absorbed,
  absorbKeys,
  type FeedContext,
  KEYS_PER_COMMIT,
  KNOWN,
  localRow,
  ROWS_PER_READ,
  type RowSource,
  settleUnnamed,
  UNNAMED_MAX,
} from "./absorb-feed.ts";
import { type FeedRules, keyTexts, type SourceRow, sourceOf } from "./feed.ts";
import { loadKeyState, loadKnownKeys } from "./feed-rows.ts";
import { deleteDirtyKey, loadDirtyKeys, RawText } from "./feed-source.ts";
import { loadRefusedKeys } from "./images/image-rows.ts";
import { KeySet } from "./key-set.ts";
import { planRow } from "./plan-feed.ts";
import { proveSource } from "./prove-source.ts";
import { hashRow } from "./row-hash.ts";
import { forgetRowHash, loadHashedKeys, loadRowHash, RowStage, type StagedRow } from "./row-stage.ts";
import { openRows, type SourceRows } from "./source-rows.ts";

/** Keys that stand twice: so many are no slips but a wrong key. */
const REPEATED_MAX = 100_000;

/** A SELECT may give twice the rows that it gave a moment ago, and so many more. */
const ROWS_MORE = 10_000;

/** Refused rows whose files are looked at in one pass; the others wait for the night. */
const REFUSED_PER_PASS = 500;

export interface Scanned extends Absorbed {
  /** Rows that were read. */
  rows: number;
  /** Everything was compared with what was acknowledged, whatever the hashes said. */
  isFull: boolean;
}

interface Reading {
  rows: number;
  unnamed: SourceRow[];
  present: KeySet;
  /** A key was met again whose first row may not be staged: everything is read once more, with an eye on such keys. */
  isAmbiguous: boolean;
}

export class ScanSource {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;
  readonly #stage: RowStage;
  readonly #run: typeof proveSource;
  readonly #source: RowSource;
  /** Keys that stand twice, or seem to: their rows are always staged, where they are told apart. */
  readonly #repeated = new Set<string>();
  /** Keys whose files are looked at in this pass, although their rows are as they were. */
  #refused = new Set<string>();
  #isWaitTold = false;

  /** @param run what runs a SELECT to its end before it is read */
  constructor(context: FeedContext, rules: FeedRules, run: typeof proveSource = proveSource) {
    this.#context = context;
    this.#rules = rules;
    this.#run = run;
    this.#stage = new RowStage(context.store, rules);
    this.#source = {
      loadRows: (key) => this.#stage.loadRows(key as readonly string[]),
      markTaken: (key) => this.#stage.saveTaken(key as readonly string[]),
    };
  }

  /**
   * Reads everything and takes up what differs.
   * @param isFull compares with what was acknowledged too: the backstop, and what follows other rules
   * @throws BridgeError `table_missing`, `database_busy`, `stopped`
   */
  async run(isFull: boolean, signal: AbortSignal): Promise<Scanned> {
    await this.#forgetTouched(signal);
    if (this.#context.files !== undefined) this.#noteRefused();
    // Without a single hash there is nothing that could be found missing by them.
    const full = isFull || loadHashedKeys(this.#context.store, this.#rules, undefined, 1).length === 0;
    const total: Scanned = { rows: 0, owed: 0, bad: 0, isFull: full };
    this.#stage.open();
    try {
      const { rows, unnamed, present } = await this.#read(full, signal);
      total.rows = rows;
      await this.#takeUpFresh(total, signal);
      await this.#takeUpAbsent(total, present, signal);
      add(
        total,
        await settleUnnamed(this.#context, this.#rules, { rows: unnamed, unnamed: [], source: this.#source }, signal),
      );
      if (full) await this.#context.files?.forgetOthers(signal);
    } finally {
      this.#stage.close();
    }
    return total;
  }

  /** The same for one key. */
  async runOne(key: readonly string[], signal: AbortSignal): Promise<Absorbed & { rows: number }> {
    const reader = await this.#open();
    this.#stage.open();
    try {
      await this.#prove(reader);
      const rows = await reader.find(key);
      await this.#context.files?.lookAt(rows, signal);
      this.#stage.stage(rows.map((row) => ({ key, row, hash: this.#hash(row) })));
      const work = { source: this.#source, keys: [key], unnamed: [] };
      return { ...(await absorbKeys(this.#context, this.#rules, work, signal)), rows: rows.length };
    } finally {
      reader.close();
      this.#stage.close();
    }
  }

  #noteRefused(): void {
    const { store } = this.#context;
    const refused = loadRefusedKeys(store, this.#rules, { afterId: 0, limit: REFUSED_PER_PASS });
    this.#refused = new Set(refused.map(({ key }) => JSON.stringify(key)));
  }

  /** Rows that somebody wants looked at again, whatever their hash says. */
  async #forgetTouched(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    for (;;) {
      const keys = loadDirtyKeys(store, this.#rules, KEYS_PER_COMMIT);
      if (keys.length === 0) return;
      await commit(this.#context, signal, () => {
        for (const key of keys) {
          const texts = key.map((part) => (part instanceof RawText ? "" : String(part ?? "")));
          forgetRowHash(store, this.#rules, texts);
          deleteDirtyKey(store, this.#rules, key);
        }
      });
    }
  }

  async #read(isFull: boolean, signal: AbortSignal): Promise<Reading> {
    const reader = await this.#open();
    try {
      this.#tellOfWaiting(reader);
      const proven = await this.#prove(reader);
      for (let exactly = false; ; ) {
        const reading = await this.#readAll(reader, { isFull, exactly, rowsMax: proven * 2 + ROWS_MORE }, signal);
        // Text that is no UTF-8 must not be sent as something that the ERP did not write.
        const isDoubtful: boolean = reader.sawReplaced && !exactly;
        if (!isDoubtful && !reading.isAmbiguous) return reading;
        exactly ||= isDoubtful;
        this.#stage.open();
      }
    } finally {
      reader.close();
    }
  }

  #open(): Promise<SourceRows> {
    const { store, isStopping } = this.#context;
    return openRows(this.#rules, { databasePath: store.path, isStopping });
  }

  async #readAll(
    reader: SourceRows,
    how: { isFull: boolean; exactly: boolean; rowsMax: number },
    signal: AbortSignal,
  ): Promise<Reading> {
    const reading: Reading = { rows: 0, unnamed: [], present: new KeySet(), isAmbiguous: false };
    if (how.isFull) this.#context.files?.listNone();
    for await (const step of reader.steps(how.exactly, ROWS_PER_READ)) {
      reading.rows += step.length;
      if (reading.rows > how.rowsMax) throw this.#grown(how.rowsMax);
      await this.#stageStep(step, reading, how.isFull, signal);
    }
    return reading;
  }

  /** Where a SELECT gives the rows it is run to its end elsewhere first. Gives their number. */
  async #prove(reader: SourceRows): Promise<number> {
    if (!reader.mayNotEnd) return Number.POSITIVE_INFINITY;
    const { store, isStopping } = this.#context;
    return await this.#run(this.#rules, { databasePath: store.path, isStopping });
  }

  /** It ended a moment ago and may not end now. */
  #grown(rowsMax: number): BridgeError {
    const { name } = this.#rules;
    return new BridgeError(
      "table_missing",
      `${name}: ${sourceOf(this.#rules)} gives more than ${rowsMax} rows, twice as many as a moment ago.`,
      {
        hint: "It is read again in the next pass. Nothing is deleted on the site meanwhile.",
      },
    );
  }

  async #stageStep(rows: readonly SourceRow[], reading: Reading, isFull: boolean, signal: AbortSignal): Promise<void> {
    const { files } = this.#context;
    if (isFull) files?.list(rows);
    if (files !== undefined) await files.lookAt(isFull ? rows : rows.filter((row) => this.#isRefused(row)), signal);
    this.#stage.stage(rows.flatMap((row) => this.#judge(row, reading, isFull) ?? []));
    await this.#pause(signal);
  }

  /** What is to be looked at further; undefined where the row is as it was. */
  #judge(row: SourceRow, reading: Reading, isFull: boolean): StagedRow | undefined {
    const { store } = this.#context;
    const key = keyTexts(this.#rules, row);
    if (key === undefined) {
      if (reading.unnamed.length < UNNAMED_MAX) reading.unnamed.push(row);
      return undefined;
    }
    const hash = this.#hash(row);
    const isSeen = !reading.present.add(key);
    if (this.#repeated.size > 0 && this.#repeated.has(JSON.stringify(key))) return { key, row, hash };
    if (isSeen) {
      this.#noteRepeated(key);
      reading.isAmbiguous = true;
      return undefined;
    }
    const isAsBefore = loadRowHash(store, this.#rules, key)?.equals(hash) === true;
    const mustCompare = isFull || this.#isRefused(row);
    return isAsBefore && (!mustCompare || this.#isSettled(row, key)) ? undefined : { key, row, hash };
  }

  /** Whether nothing would come of taking the row up. */
  #isSettled(row: SourceRow, key: readonly string[]): boolean {
    const { store } = this.#context;
    const local = localRow(store, this.#rules, [row]);
    if (local.kind === "unseen") return false;
    const known = loadKeyState(store, this.#rules, key);
    const plan = planRow(this.#rules, local, known);
    return plan.kind === "keep" || (plan.kind === "bad" && plan.reason === known.outbox?.lastError);
  }

  /** A row that was refused for its file, which may be right by now although the row is as it was. */
  #isRefused(row: SourceRow): boolean {
    if (this.#refused.size === 0) return false;
    const key = keyTexts(this.#rules, row);
    return key !== undefined && this.#refused.has(JSON.stringify(key));
  }

  #noteRepeated(key: readonly string[]): void {
    this.#repeated.add(JSON.stringify(key));
    if (this.#repeated.size <= REPEATED_MAX) return;
    this.#repeated.clear();
    const { name, keys } = this.#rules;
    throw new BridgeError(
      "table_missing",
      `${name}: more than ${REPEATED_MAX} rows of ${sourceOf(this.#rules)} share their key (${keys.join(", ")}).`,
      { hint: `Set imports.${name}.key to columns that together name one row.` },
    );
  }

  #hash(row: SourceRow): Buffer {
    return hashRow(this.#rules.columns.map((column) => row[column] ?? null));
  }

  async #takeUpFresh(total: Scanned, signal: AbortSignal): Promise<void> {
    for (let after: string[] | undefined; ; ) {
      const keys = this.#stage.loadFresh(after, KEYS_PER_COMMIT);
      if (keys.length === 0) return;
      after = keys.at(-1);
      await this.#takeUp(total, keys, signal);
    }
  }

  /** Keys that were there before, or that the bridge knows otherwise, and that were not found now. */
  async #takeUpAbsent(total: Scanned, present: KeySet, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const lists = [
      (after: string[] | undefined) => loadHashedKeys(store, this.#rules, after, ROWS_PER_READ),
      ...(total.isFull ? KNOWN : []).map(
        (table) => (after: string[] | undefined) =>
          loadKnownKeys(store, this.#rules, { table, after, limit: ROWS_PER_READ }),
      ),
    ];
    for (const load of lists) {
      for (let after: string[] | undefined; ; ) {
        const known = load(after);
        if (known.length === 0) break;
        after = known.at(-1);
        const absent = known.filter((key) => !present.has(key));
        await this.#takeUp(
          total,
          absent.map((key) => key.slice(0, this.#rules.keys.length)),
          signal,
        );
      }
    }
  }

  async #takeUp(total: Scanned, keys: readonly (readonly string[])[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < keys.length; from += KEYS_PER_COMMIT) {
      const some = keys.slice(from, from + KEYS_PER_COMMIT);
      await this.#context.files?.lookAt(
        some.flatMap((key) => this.#stage.loadRows(key)),
        signal,
      );
      const work = { source: this.#source, keys: some, unnamed: [] };
      add(total, await absorbKeys(this.#context, this.#rules, { ...work, touched: !total.isFull }, signal));
    }
    await this.#pause(signal);
  }

  /** Lets others have their turn; a stop ends the reading, and the next pass begins it anew. */
  async #pause(signal: AbortSignal): Promise<void> {
    if (this.#context.isStopping()) throw new BridgeError("stopped", "Stopped while rows were read.");
    await this.#context.clock.sleep(0, signal);
  }

  #tellOfWaiting(reader: SourceRows): void {
    if (!reader.makesWritersWait || this.#isWaitTold) return;
    this.#isWaitTold = true;
    const { file, name } = this.#rules;
    this.#context.log.warn(
      { feed: name, file },
      `${name}: ${file} is not in WAL mode, so programs that write it wait while the bridge reads it. PRAGMA journal_mode = WAL ends that.`,
    );
  }
}

function add(total: Absorbed, done: Absorbed): void {
  total.owed += done.owed;
  total.bad += done.bad;
}
