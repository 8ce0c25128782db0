/*
 * Makes the scheduled backups of the database. Guarantees that a copy under its final name is complete and verified,
 * that old copies are removed only after a new one exists, that what was there before the database was set back stays
 * while the hold `restored` stands, and that a failure is visible and stops nothing else. A crash leaves a temporary
 * file, which the next backup removes.
 */

import { statSync } from "node:fs";
import path from "node:path";
import { loadForgottenId } from "../batches/batch-rows.ts";
import {
  copiesToRemove,
  copyName,
  copyStem,
  isCopyLate,
  misnamedNewest,
  type RankedCopy,
} from "../database/file/copy-names.ts";
import { loadMeta, saveMeta } from "../database/meta.ts";
import { asBridgeError } from "../database/sqlite-errors.ts";
import { beginTimeline, loadTimeline } from "../database/timeline.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { loadHoldsOf } from "../pass/hold-rows.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { NOTICES } from "../pass/notices.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { type HelperOptions, helperFor } from "../platform/helper-process.ts";
import type { Owner } from "../platform/owner.ts";
import { isoTime } from "../platform/ports.ts";
import { type BackupFunctions, HELPER } from "./backup-files.ts";
import type { BatchJournal } from "./batch-journal.ts";
import type { MadeCopy } from "./copy-database.ts";
import { sizeOf, stopBelow } from "./space-rule.ts";
import type { ReadSpace } from "./watch-disk.ts";

/** Delay after a failed copy: copying gigabytes every few minutes would not help. */
export const RETRY_MS = 60 * 60_000;
/** Verifying a large copy takes long without progress; earlier calls have shown that the folder answers. */
const COPY_WITHIN_MS = 60 * 60_000;
/** Time for removing an unfinished copy when the program is to end. */
const STOP_WITHIN_MS = 5_000;

export interface BackUpOptions {
  folder: string;
  keep: number;
  /** The effective configuration without secrets; computed only when a copy is made. */
  configText: () => string;
  /** Another shop's copies in the same folder are left alone. */
  owner: Owner;
  journal: BatchJournal | undefined;
  /** Replaces the system's free space, in tests. */
  readSpace: ReadSpace | undefined;
}

export class BackUp implements Job {
  readonly name = "backup";
  readonly areas = [];
  readonly #context: JobContext;
  readonly #options: BackUpOptions;
  /** Copies are named after the database. */
  readonly #stem: string;
  readonly #helper: ReturnType<typeof helperFor<BackupFunctions>>;
  readonly #call: HelperOptions;
  #hasNamedForeign = false;
  #failed: { error: BridgeError; atMs: number } | undefined;

  constructor(context: JobContext, options: BackUpOptions) {
    this.#context = context;
    this.#options = options;
    this.#stem = copyStem(path.basename(context.store.path));
    this.#helper = helperFor(HELPER, options.folder);
    this.#call = { place: options.folder, isStopping: context.isStopping, stopWithinMs: STOP_WITHIN_MS };
  }

  /** The first copy is made at once, so that a problem shows on the first day. */
  async isLate(intervalMs: number): Promise<boolean> {
    try {
      const nowMs = this.#context.clock.nowMs();
      const made = (await this.#copies()).flatMap(({ madeMs }) => (madeMs <= nowMs ? [madeMs] : []));
      return isCopyLate(made.length === 0 ? undefined : Math.max(...made), nowMs, intervalMs);
    } catch {
      return true; // no folder yet, or an unreadable one: making the copy reports which
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
      const failure = asError(asBridgeError(error, m.backup.makingCopy({ folder: this.#options.folder })));
      if (failure.code !== "stopped") this.#failed = { error: failure, atMs: clock.monotonicMs() };
      throw failure;
    }
  }

  async #makeCopy(signal: AbortSignal): Promise<JobReport> {
    const { clock, log } = this.#context;
    await this.#prepareFolder(signal);
    await this.#requireRoom();
    const { store } = this.#context;
    // The hold is of a version that began no timeline.
    if (this.#mayLack() && loadTimeline(store) === undefined)
      await commit(this.#context, signal, () => beginTimeline(store));
    const made = await this.#copyToFree(clock.nowMs(), signal);
    const removed = await this.#removeOld(path.basename(made.file), signal);
    if (made.skipped.length > 0) {
      log.info({ tables: made.skipped }, m.backup.copiedUnverified({ names: made.skipped }));
    }
    if (made.erpComplaints.length > 0) log.info({}, m.database.erpComplaints({ found: made.erpComplaints.join("; ") }));
    log.info({ file: made.file, bytes: made.bytes }, m.backup.copyMade({ size: sizeOf(made.bytes) }));
    return { outcome: "done", counts: { copies: 1, ...(removed > 0 && { removed }) } };
  }

  /** Keeps a folder that was on another disk than the database there. */
  async #prepareFolder(signal: AbortSignal): Promise<void> {
    const { folder, owner } = this.#options;
    const { store } = this.#context;
    const place = { database: store.path, mustBeApart: loadMeta(store, "copies") === folder };
    const isApart = await this.#helper.call("prepareFolder", this.#call, folder, this.#stem, place, owner.database);
    if (isApart && !place.mustBeApart) await commit(this.#context, signal, () => saveMeta(store, "copies", folder));
  }

  /** This shop's copies only: another shop's database may have the same name and be backed up to the same folder. */
  async #copies(): Promise<RankedCopy[]> {
    const { folder, owner } = this.#options;
    const { copies, foreign } = await this.#helper.call("listCopies", this.#call, folder, this.#stem, owner);
    if (foreign.length > 0 && !this.#hasNamedForeign) {
      this.#hasNamedForeign = true;
      const text = m.backup.foreignCopies({ folder, names: foreign });
      this.#context.log.warn({ folder }, text);
    }
    return copies;
  }

  /** Another shop's copy, begun by the same schedule, may have the same name, and be seen only when it is made. */
  async #copyToFree(ms: number, signal: AbortSignal): Promise<MadeCopy> {
    try {
      return await this.#copy(ms, signal);
    } catch (error) {
      if (asError(error).code !== "usage") throw error;
      return await this.#copy(ms + 1, signal);
    }
  }

  async #copy(ms: number, signal: AbortSignal): Promise<MadeCopy> {
    const { store, clock, isStopping } = this.#context;
    const target = path.join(this.#options.folder, copyName(this.#stem, ms));
    const at = isoTime(clock.nowMs());
    // A copy can be made again at any time, so it never delays the end of the program.
    const call = { ...this.#call, withinMs: COPY_WITHIN_MS, isStopping: () => isStopping() || signal.aborted };
    const options = { source: store.path, target, at, configText: this.#options.configText() };
    return await this.#helper.call("copyDatabase", call, options);
  }

  /** On the database's own disk, a copy must not be what fills it. */
  async #requireRoom(): Promise<void> {
    const { folder, readSpace } = this.#options;
    const { store } = this.#context;
    const needed = statSync(store.path).size + store.walBytes();
    const room = await this.#helper.call("readRoom", this.#call, folder, store.path);
    const { isSameDisk } = room;
    const space = readSpace?.(folder) ?? room.space;
    if (space.free - (isSameDisk ? 2 * stopBelow(space) : 0) >= needed) return;
    const lack = { needed: sizeOf(needed), free: sizeOf(space.free), folder };
    throw new BridgeError("disk_full", isSameDisk ? m.backup.noRoomOnDisk(lack) : m.backup.noRoom(lack), {
      hint: m.backup.freeSpace,
    });
  }

  /** Whether the hold `restored` stands: copies and entries from before it may have what the database lacks. */
  #mayLack(): boolean {
    return loadHoldsOf(this.#context.store, "orders").some(({ reason }) => reason === "restored");
  }

  /** Runs after the new copy exists; also prunes journal entries that no kept copy needs. */
  async #removeOld(made: string, signal: AbortSignal): Promise<number> {
    const { folder, keep, journal } = this.#options;
    const copies = await this.#copies();
    const nowMs = this.#context.clock.nowMs();
    const mayLack = this.#mayLack();
    const only = mayLack ? (loadTimeline(this.#context.store) ?? "") : undefined;
    const removed = copiesToRemove(copies, { keep, made, nowMs, only });
    const names = removed.map(({ name }) => name);
    await this.#helper.call("removeCopies", this.#call, folder, names);
    const kept = copies.filter((copy) => !removed.includes(copy));
    await this.#noteNames(misnamedNewest(kept), signal);
    // Numbers of another timeline do not show which entries a copy covers.
    if (mayLack) return names.length;
    const oldest = kept.find(({ isRead }) => isRead === true);
    const madeMs = Math.min(...kept.map((copy) => copy.madeMs));
    if (oldest !== undefined) await this.#pruneJournal(journal, { file: path.join(folder, oldest.name), madeMs });
    return names.length;
  }

  /**
   * Stores a notice where the newest copy does not have the latest name, because people restore the copy with the
   * latest name.
   */
  async #noteNames(newest: string | undefined, signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#context;
    const known = NOTICES.copy_names.load(store);
    if (newest === known?.names) return;
    const since = known?.since ?? isoTime(clock.nowMs());
    const notice = newest === undefined ? undefined : { since, names: newest };
    await commit(this.#context, signal, () => NOTICES.copy_names.save(store, notice));
    const { folder } = this.#options;
    if (newest !== undefined && known === undefined) log.warn({ folder }, m.backup.misnamedCopies({ folder, newest }));
  }

  /** A journal that cannot be pruned is reported by the pull as soon as it cannot be written. */
  async #pruneJournal(journal: BatchJournal | undefined, oldest: { file: string; madeMs: number }): Promise<void> {
    const { store } = this.#context;
    try {
      await journal?.prune({ ...oldest, database: store.path, forgotten: loadForgottenId(store) });
    } catch (error) {
      this.#context.log.debug({ errorCode: asError(error).code }, m.backup.journalNotTidied);
    }
  }
}
