/*
 * Makes the scheduled copies of the database. Keeps the guarantee that a copy under its final name is whole and verified,
 * that older ones go only after a newer one is there, and that a copy that fails is visible and stops nothing else. After
 * a crash in the middle a provisional file is left, which the next copy removes.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { copiesToRemove, copyName, copyStem, findCopies, isCopyLate, type NamedCopy } from "../database/copy-names.ts";
import { asBridgeError } from "../database/sqlite-errors.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { removeName } from "../platform/fresh-file.ts";
import { isForeign, type Owner } from "../platform/owner.ts";
import { isoTime } from "../platform/ports.ts";
import type { BatchJournal } from "./batch-journal.ts";
import { configBeside, copyDatabase, copyOfPartial, type MadeCopy } from "./copy-database.ts";
import { readOwnerOfCopy } from "./copy-owner.ts";
import { describeBytes, stopBelow } from "./space-rule.ts";
import type { ReadSpace } from "./watch-disk.ts";

/** A copy that failed is not tried again sooner: copying gigabytes every few minutes would help nobody. */
const RETRY_MS = 60 * 60_000;
/** How often a stop of the program is looked for while a copy is made. */
const LOOK_MS = 200;

export interface BackUpOptions {
  folder: string;
  keep: number;
  /** The configuration as it is shown; worked out when a copy is made. */
  configText: () => string;
  /** Copies of another shop's in the same folder are left alone. */
  owner: Owner;
  journal: BatchJournal | undefined;
  readSpace: ReadSpace;
}

export class BackUp implements Job {
  readonly name = "backup";
  readonly areas = [];
  readonly #context: JobContext;
  readonly #options: BackUpOptions;
  /** Names of copies begin with the database's own name. */
  readonly #stem: string;
  /** What the copies in the folder belong to; a copy never changes. */
  readonly #owners = new Map<string, Owner>();
  #hasNamedForeign = false;
  #failed: { error: BridgeError; atMs: number } | undefined;

  constructor(context: JobContext, options: BackUpOptions) {
    this.#context = context;
    this.#options = options;
    this.#stem = copyStem(path.basename(context.store.path));
  }

  /** The first copy is made at once: that copies cannot be made here is then seen on the first day. */
  isLate(intervalMs: number): boolean {
    try {
      return isCopyLate(this.#copies().at(-1)?.madeMs, this.#context.clock.nowMs(), intervalMs);
    } catch {
      return true; // no folder yet, or none that can be read: the copy says which
    }
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const { clock } = this.#context;
    const failed = this.#failed;
    if (failed !== undefined && clock.monotonicMs() - failed.atMs < RETRY_MS) throw failed.error;
    try {
      const report = await this.#makeCopy(signal);
      this.#failed = undefined;
      return report;
    } catch (error) {
      const failure = asError(asBridgeError(error, `Making a copy in ${this.#options.folder}`));
      if (failure.code !== "stopped") this.#failed = { error: failure, atMs: clock.monotonicMs() };
      throw failure;
    }
  }

  async #makeCopy(signal: AbortSignal): Promise<JobReport> {
    const { folder } = this.#options;
    const { clock, log } = this.#context;
    mkdirSync(folder, { recursive: true, mode: 0o750 });
    this.#removeUnfinished();
    this.#requireRoom();
    const name = copyName(this.#stem, clock.nowMs());
    // What is received from now on is not in the copy for sure, so it begins a file of its own.
    this.#options.journal?.rotate();
    const made = await this.#copy(path.join(folder, name), signal);
    const removed = this.#removeOld(name);
    if (made.skipped.length > 0) {
      log.info(
        { tables: made.skipped },
        `Copied, but not verified, because only the ERP has what they need: ${made.skipped.join(", ")}.`,
      );
    }
    log.info(
      { file: made.file, bytes: made.bytes },
      `A verified copy of the database was made (${describeBytes(made.bytes)}).`,
    );
    return { outcome: "done", counts: { copies: 1, ...(removed > 0 && { removed }) } };
  }

  /** Ours alone: another shop's database may bear the same name and be copied into the same folder. */
  #copies(): NamedCopy[] {
    const { folder, owner } = this.#options;
    const copies = findCopies(this.#stem, readdirSync(folder));
    const foreign = copies.filter(({ name }) => isForeign(this.#ownerOf(name), owner)).map(({ name }) => name);
    if (foreign.length > 0 && !this.#hasNamedForeign) {
      this.#hasNamedForeign = true;
      const text = `Copies of another shop's database in ${folder} are left alone: ${foreign.join(", ")}.`;
      this.#context.log.warn({ folder }, text);
    }
    return copies.filter(({ name }) => !foreign.includes(name));
  }

  #ownerOf(name: string): Owner {
    const known = this.#owners.get(name);
    if (known !== undefined) return known;
    const owner = readOwnerOfCopy(path.join(this.#options.folder, name));
    this.#owners.set(name, owner);
    return owner;
  }

  async #copy(target: string, signal: AbortSignal): Promise<MadeCopy> {
    const { store, clock } = this.#context;
    const abort = new AbortController();
    const stop = () => abort.abort();
    signal.addEventListener("abort", stop, { once: true });
    // A copy can be made again at any time: it never keeps the program from ending.
    const timer = setInterval(() => this.#context.isStopping() && stop(), LOOK_MS);
    try {
      const configText = this.#options.configText();
      const at = isoTime(clock.nowMs());
      return await copyDatabase({ source: store.path, target, at, configText, signal: abort.signal });
    } finally {
      clearInterval(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Where the copies lie on the database's own disk, a copy must not be what fills it. */
  #requireRoom(): void {
    const { folder, readSpace } = this.#options;
    const { store } = this.#context;
    const needed = statSync(store.path).size + store.walBytes();
    const space = readSpace(folder);
    const isSameDisk = statSync(folder).dev === statSync(store.path).dev;
    if (space.free - (isSameDisk ? 2 * stopBelow(space) : 0) >= needed) return;
    throw new BridgeError(
      "disk_full",
      `A copy needs ${describeBytes(needed)}, and ${describeBytes(space.free)} are free in ${folder}${isSameDisk ? ", the database's own disk" : ""}.`,
      { hint: "Free some space, lower backup.keep, or set backup.dir to another disk." },
    );
  }

  #removeUnfinished(): void {
    const { folder } = this.#options;
    for (const partial of readdirSync(folder)) {
      const name = copyOfPartial(partial);
      if (name === undefined || findCopies(this.#stem, [name]).length === 0) continue;
      removeName(path.join(folder, partial));
      if (!existsSync(path.join(folder, name))) removeName(configBeside(path.join(folder, name)));
    }
  }

  /** After the new one is there; then also what the journal holds for copies that are gone. */
  #removeOld(made: string): number {
    const { folder, keep, journal } = this.#options;
    const old = copiesToRemove(this.#copies(), keep, made);
    for (const { name } of old) {
      rmSync(path.join(folder, name), { force: true });
      removeName(configBeside(path.join(folder, name)));
    }
    const [oldest] = this.#copies();
    if (oldest !== undefined) this.#pruneJournal(journal, oldest.madeMs);
    return old.length;
  }

  /** A journal that cannot be tidied up is told of by the pull as soon as it cannot be written. */
  #pruneJournal(journal: BatchJournal | undefined, oldestMs: number): void {
    try {
      journal?.prune(oldestMs);
    } catch (error) {
      this.#context.log.debug({ errorCode: asError(error).code }, "The journal could not be tidied up.");
    }
  }
}
