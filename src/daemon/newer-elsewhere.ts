/*
 * Compares the database with what is stored elsewhere: the newest entry of `backup.journal` and the copy in
 * `backup.dir` that has the most. Where the database's folder, or the whole machine, was rolled back,
 * `DATABASE.progress` was rolled back too, and only these have more. What was reported of them once is not reported
 * again.
 */

import { lookAtNewestCopy, lookAtNewestEntry } from "../backup/backup-files.ts";
import type { CopyReach } from "../backup/copy-owner.ts";
import { loadBatch } from "../batches/batch-rows.ts";
import type { JournalNote } from "../batches/journal-batches.ts";
import type { LoadedConfig } from "../config/load.ts";
import { compareReach, type Progress, type Reached } from "../database/log/progress.ts";
import { loadMeta, MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { isoTime } from "../platform/ports.ts";

/** An entry without the database's progress is compared by time; a pass is recorded each minute. */
const MARGIN_MS = 10 * 60_000;

export interface Elsewhere {
  entry: JournalNote | undefined;
  copy: CopyReach | undefined;
}

/** The newest entry and copy that a report has covered. */
interface Settled {
  /** Time of the entry, for entries without progress. */
  entryAt: string;
  entry?: Partial<Reached>;
  copy?: Partial<Reached>;
  /** Time in the copy's name, written by versions that recorded nothing else. */
  copyMs?: number;
}

const SETTLED = new MetaValue<Settled>("elsewhere", { entryAt: "" });

/** Blocks for a few seconds a folder at most; a folder that does not answer proves nothing. */
export function lookElsewhere(store: Store, { config }: LoadedConfig): Elsewhere {
  const { dir, journal } = config.backup;
  const database = loadMeta(store, "database");
  if (database === undefined) return { entry: undefined, copy: undefined };
  return {
    entry: journal === null ? undefined : lookAtNewestEntry(journal, database),
    copy: lookAtNewestCopy(dir, database),
  };
}

/** What has more than this database: the journal, a copy or both. Undefined where neither has. */
export function findNewer(
  store: Store,
  { entry, copy }: Elsewhere,
): { inJournal: boolean; copy: string | undefined } | undefined {
  const settled = SETTLED.load(store);
  const inJournal = entry !== undefined && isEntryAfter(entry, settled) && isBehindEntry(store, entry);
  const inCopy = copy !== undefined && isAfter(copy, settled) && store.progress?.isBehind(copy.progress) === true;
  return inJournal || inCopy ? { inJournal, copy: inCopy ? copy.file : undefined } : undefined;
}

/**
 * Compares progress rather than times: after a night with a clock ahead, later entries would count as reported for as
 * long.
 */
function isEntryAfter({ reached, receivedAt }: JournalNote, { entry, entryAt }: Settled): boolean {
  return reached === undefined || entry === undefined ? receivedAt > entryAt : compareReach(reached, entry) > 0;
}

function isAfter({ progress, madeMs }: CopyReach, { copy, copyMs = 0 }: Settled): boolean {
  return copy === undefined ? madeMs > copyMs : compareReach(progress, copy) > 0;
}

/**
 * An entry is written before its batch is committed, so a crash between the two leaves one that is not in the database
 * and was never confirmed. The progress before that entry is in the database in any case.
 */
function isBehindEntry(store: Store, { reached, database, fingerprint, receivedAt }: JournalNote): boolean {
  if (database !== undefined && reached !== undefined)
    return store.progress?.isBehind({ database, ...reached }) === true;
  const lastRunAt = store.prepare<string | null>("SELECT max(last_run_at) FROM flows").pluck().get();
  if (loadBatch(store, fingerprint) !== undefined || lastRunAt == null) return false;
  return receivedAt > isoTime(Date.parse(lastRunAt) + MARGIN_MS);
}

/** The furthest known progress; new numbers must start after it. */
export function furthest(note: Progress | undefined, { entry, copy }: Elsewhere): Progress | undefined {
  const known = [note, entry?.reached, copy?.progress].filter((each) => each !== undefined);
  if (known.length === 0) return undefined;
  return {
    database: "",
    batches: Math.max(...known.map(({ batches }) => batches)),
    events: Math.max(...known.map(({ events }) => events)),
    asked: Math.max(...known.map((each) => ("asked" in each ? (each.asked ?? 0) : 0))),
  };
}

/** Marks these as reported or brought over. Inside a write transaction. */
export function settleElsewhere(store: Store, { entry, copy }: Elsewhere): void {
  const before = SETTLED.load(store);
  const settled: Settled = {
    ...before,
    ...(entry !== undefined && entry.receivedAt > before.entryAt && { entryAt: entry.receivedAt }),
    ...(entry?.reached !== undefined &&
      compareReach(entry.reached, before.entry ?? {}) >= 0 && { entry: entry.reached }),
  };
  if (copy !== undefined && compareReach(copy.progress, before.copy ?? {}) >= 0) {
    const { batches, events, passes = 0 } = copy.progress;
    settled.copy = { batches, events, passes };
  }
  if (entry !== undefined || copy !== undefined) SETTLED.save(store, settled);
}
