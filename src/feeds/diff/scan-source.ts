/*
 * Finds what changed among rows that no trigger can watch: those of a view, a SELECT or another file. All rows are read
 * as of one moment and compared with what was acknowledged or waits; only what differs is looked at further. Nothing is
 * kept of a reading, so that after a crash a change is found again. A reading that breaks off absorbs nothing, and so
 * deletes nothing.
 */

import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type FeedRules, sourceOf } from "../feed.ts";
import { bytesOf, firstOf, keyTexts, type SourceRow } from "../feed-record.ts";
import { hasNewWaiting } from "../feed-rows.ts";
import { loadRefusedKeys } from "../images/image-rows.ts";
import { WaitingArticles } from "../rekey/going-rows.ts";
import { deleteDirtyKey, type KeyValues, loadDirtyKeys, textsOf } from "../source/feed-source.ts";
import { areSmall, type Measured, UNMEASURED } from "../source/source-reader.ts";
import { openRows, proveSource, type SourceRows } from "../source/source-rows.ts";
import { absorb, type FeedContext, type FeedPass, KEYS_PER_COMMIT, settleUnnamed, UNNAMED_MAX } from "./absorb-feed.ts";
import { absentKeys, differingKeys, type FoundKey } from "./diff.ts";
import { KeySet } from "./key-set.ts";
import { RowStage } from "./row-stage.ts";

/** Rows that are read and compared as one set. */
const ROWS_PER_READ = 1_000;

/** Keys that stand twice: so many are no slips but a wrong key. */
const REPEATED_MAX = 100_000;

/** A SELECT may give twice the rows that it gave a moment ago, and so many more. */
const ROWS_MORE = 10_000;

/** Refused rows whose files are looked at in one pass; the others wait for the night. */
const REFUSED_PER_PASS = 500;

/** Keys to look at again in one pass, at most; the others wait for the next. */
const DIRTY_PER_PASS = 10_000;

interface Reading {
  rows: number;
  /** State of the file before it was read; null where the source is in this database. */
  fileState: string | null;
  unnamed: SourceRow[];
  present: KeySet;
  /** A key came again whose first row may not be staged: everything is read once more, with an eye on such keys. */
  isAmbiguous: boolean;
}

export class ScanSource {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;
  readonly #stage: RowStage;
  readonly #run: typeof proveSource;
  /** Keys that stand twice, or seem to: their rows are always staged, where they are distinguished. */
  readonly #repeated = new Set<string>();
  /** Keys to look at again, by {@link nameOf}, as they were noted. */
  readonly #wanted = new Map<string, KeyValues>();
  /** Keys whose files are looked at in this pass, although their rows are as they were. */
  #refused = new Set<string>();
  #isWaitLogged = false;

  /** @param run what runs a SELECT to its end before it is read */
  constructor(context: FeedContext, rules: FeedRules, run: typeof proveSource = proveSource) {
    this.#context = context;
    this.#rules = rules;
    this.#run = run;
    this.#stage = new RowStage(context.store, rules);
  }

  /**
   * Reads everything and absorbs what differs.
   * @param isFull looks at everything that is known besides: the backstop, and what follows other rules
   * @throws BridgeError `table_missing`, `database_busy`, `stopped`
   */
  async run(pass: FeedPass, isFull: boolean): Promise<Pick<Reading, "rows" | "fileState">> {
    const { signal } = pass;
    await this.#listWanted(signal);
    this.#stage.open();
    try {
      const { rows, fileState, unnamed, present } = await this.#read(isFull, signal);
      const absorbFound = (found: readonly FoundKey[]) => this.#absorbFound(pass, found, isFull);
      for (let after: readonly string[] | undefined; ; ) {
        const found = this.#stage.load(after, KEYS_PER_COMMIT);
        if (found.length === 0) break;
        after = found.at(-1)?.key;
        // Rows of keys that stand twice are staged whatever they are.
        await absorbFound(this.#repeated.size > 0 ? this.#changedOrWanted(found) : found);
      }
      await this.#absorbAbsent(pass, present, isFull);
      await this.#absorbWanted(pass, isFull);
      await settleUnnamed(this.#context, this.#rules, pass, { rows: unnamed, unnamed: [] });
      if (isFull) await this.#context.files?.forgetOthers(signal);
      return { rows, fileState };
    } finally {
      this.#stage.close();
    }
  }

  /** Of rows that are gone and send nothing those are looked at whose article a new row names: each of a million others costs a search. */
  async #absorbAbsent(pass: FeedPass, present: KeySet, isFull: boolean): Promise<void> {
    const { store, clock } = this.#context;
    const { keepsShared } = this.#rules;
    const waiting =
      keepsShared && !isFull && hasNewWaiting(store, this.#rules) ? new WaitingArticles(store, this.#rules) : undefined;
    try {
      await waiting?.listAll(clock, pass.signal);
      for (const absent of absentKeys(store, this.#rules, { present, isFull })) {
        if (keepsShared && isFull) await this.#absorbFound(pass, absent, true);
        else await this.#absorbFound(pass, differingKeys(store, this.#rules, absent), isFull);
        const named = waiting?.namedOf(absent) ?? [];
        if (named.length > 0) await this.#absorbFound(pass, named, true);
      }
    } finally {
      waiting?.close();
    }
  }

  /** The same for one key. */
  async runOne(pass: FeedPass, key: readonly string[]): Promise<void> {
    const reader = await this.#open();
    try {
      await this.#prove(reader);
      const rows = await reader.find(key);
      await this.#context.files?.lookAt(rows, pass.signal);
      await absorb(this.#context, this.#rules, pass, { load: () => [{ key, rows }] });
    } finally {
      reader.close();
    }
  }

  async #listWanted(signal: AbortSignal): Promise<void> {
    const { store, files } = this.#context;
    this.#wanted.clear();
    const unnamed: KeyValues[] = [];
    for (const values of loadDirtyKeys(store, this.#rules, DIRTY_PER_PASS)) {
      const key = textsOf(values);
      if (key === undefined) unnamed.push(values);
      else this.#wanted.set(nameOf(key), values);
    }
    if (unnamed.length > 0) {
      await commit(this.#context, signal, () => {
        for (const values of unnamed) deleteDirtyKey(store, this.#rules, values);
      });
    }
    if (files === undefined) return;
    const refused = loadRefusedKeys(store, this.#rules, { afterId: 0, limit: REFUSED_PER_PASS });
    this.#refused = new Set(refused.map(({ key }) => nameOf(key)));
  }

  async #read(isFull: boolean, signal: AbortSignal): Promise<Reading> {
    const reader = await this.#open();
    try {
      this.#logWaiting(reader);
      const measured = await this.#prove(reader);
      for (let exactly = false; ; ) {
        const reading = await this.#readAll(reader, { isFull, exactly, ...measured }, signal);
        // Text that no string carries must not be sent as something that the ERP did not write.
        const isUnclear: boolean = reader.sawReplaced && !exactly;
        if (!isUnclear && !reading.isAmbiguous) return reading;
        exactly ||= isUnclear;
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
    how: { isFull: boolean; exactly: boolean } & Measured,
    signal: AbortSignal,
  ): Promise<Reading> {
    const rowsMax = how.rows * 2 + ROWS_MORE;
    const { fileState } = reader;
    const present = new KeySet(how.rows);
    const reading: Reading = { rows: 0, fileState, unnamed: [], present, isAmbiguous: false };
    if (how.isFull) this.#context.files?.listNone();
    for await (const step of reader.steps({ exactly: how.exactly, areSmall: areSmall(how) }, ROWS_PER_READ)) {
      reading.rows += step.length;
      if (reading.rows > rowsMax) throw this.#grown(rowsMax);
      await this.#stageStep(step, reading, how.isFull, signal);
    }
    return reading;
  }

  /** Where a SELECT gives the rows it is run to its end elsewhere first. */
  async #prove(reader: SourceRows): Promise<Measured> {
    if (!reader.mayNotEnd) return UNMEASURED;
    const { store, isStopping } = this.#context;
    return await this.#run(this.#rules, { databasePath: store.path, isStopping });
  }

  /** It ended a moment ago and may not end now. */
  #grown(rowsMax: number): BridgeError {
    const { name } = this.#rules;
    return new BridgeError("table_missing", m.feeds.sourceGrown({ name, source: sourceOf(this.#rules), rowsMax }), {
      hint: m.feeds.readAgain,
    });
  }

  async #stageStep(rows: readonly SourceRow[], reading: Reading, isFull: boolean, signal: AbortSignal): Promise<void> {
    const { store, files } = this.#context;
    if (isFull) files?.list(rows);
    const staged: FoundKey[] = [];
    const found: FoundKey[] = [];
    for (const row of rows) {
      const key = keyTexts(this.#rules, row);
      if (key === undefined) {
        if (reading.unnamed.length < UNNAMED_MAX) reading.unnamed.push(row);
        continue;
      }
      const isSeen = !reading.present.add(key);
      if (this.#repeated.size > 0 && this.#repeated.has(nameOf(key))) staged.push({ key, rows: [row] });
      else if (isSeen) {
        this.#noteRepeated(key);
        reading.isAmbiguous = true;
      } else if (this.#wanted.size > 0 && this.#wanted.has(nameOf(key))) staged.push({ key, rows: [row] });
      else found.push({ key, rows: [row] });
    }
    if (files !== undefined) {
      const refused = found.filter(({ key }) => this.#refused.has(nameOf(key))).flatMap((one) => one.rows);
      await files.lookAt(isFull ? rows : refused, signal);
    }
    this.#stage.stage([...staged, ...differingKeys(store, this.#rules, found)]);
    await this.#pause(signal);
  }

  #noteRepeated(key: readonly string[]): void {
    this.#repeated.add(nameOf(key));
    if (this.#repeated.size <= REPEATED_MAX) return;
    this.#repeated.clear();
    const { name, keys } = this.#rules;
    throw new BridgeError(
      "table_missing",
      m.feeds.keyRepeated({ name, repeatedMax: REPEATED_MAX, source: sourceOf(this.#rules), keys }),
      { hint: m.feeds.setUniqueKey({ name }) },
    );
  }

  #changedOrWanted(found: readonly FoundKey[]): FoundKey[] {
    const changed = new Set(differingKeys(this.#context.store, this.#rules, found));
    return found.filter((one) => changed.has(one) || this.#wanted.has(nameOf(one.key)));
  }

  /** Wanted keys that neither the source has nor are stored as present: what is gone may be wanted once more. */
  async #absorbWanted(pass: FeedPass, isFull: boolean): Promise<void> {
    const wanted = [...this.#wanted.keys()].map((name) => JSON.parse(name) as string[]);
    for (let from = 0; from < wanted.length; ) {
      const keys = wanted.slice(from, from + KEYS_PER_COMMIT);
      const found = firstOf(this.#stage.loadEach(keys), ({ rows }) =>
        bytesOf(rows.flatMap((row) => Object.values(row))),
      );
      from += found.length;
      await this.#absorbFound(pass, found, isFull);
    }
  }

  async #absorbFound(pass: FeedPass, found: readonly FoundKey[], isFull: boolean): Promise<void> {
    const { store, files } = this.#context;
    for (let waiting = found; waiting.length > 0; ) {
      const rows = waiting.flatMap((one) => one.rows);
      await files?.lookAt(rows, pass.signal);
      const markAbsorbed = ({ key }: FoundKey) => {
        const values = this.#wanted.get(nameOf(key));
        if (values !== undefined) deleteDirtyKey(store, this.#rules, values);
      };
      const some = waiting;
      const work = { load: () => some, isWrite: !isFull, ...(this.#wanted.size > 0 ? { markAbsorbed } : {}) };
      const { left } = await absorb(this.#context, this.#rules, pass, work);
      const rest = new Set(left);
      for (const one of some) if (!rest.has(one)) this.#wanted.delete(nameOf(one.key));
      waiting = left;
      if (left.length > 0) await this.#pause(pass.signal);
    }
    await this.#pause(pass.signal);
  }

  /** Lets others have their turn; a stop ends the reading, and the next pass begins it anew. */
  async #pause(signal: AbortSignal): Promise<void> {
    if (this.#context.isStopping()) throw new BridgeError("stopped", m.feeds.stoppedReading);
    await this.#context.clock.sleep(0, signal);
  }

  #logWaiting(reader: SourceRows): void {
    if (!reader.makesWritersWait || this.#isWaitLogged) return;
    this.#isWaitLogged = true;
    const { file, name } = this.#rules;
    if (file === null) return;
    this.#context.log.warn({ feed: name, file }, m.feeds.notWal({ name, file }));
  }
}

function nameOf(key: readonly string[]): string {
  return JSON.stringify(key);
}
