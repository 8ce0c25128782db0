/*
 * What lies elsewhere of a database: the newest entry of `backup.journal` and the copy in `backup.dir` that has the most. Where the
 * folder of the database, or the whole machine, was set back to an earlier state, `DATABASE.progress` went back with it, and
 * only these still have more. What was reported of them once is not reported again.
 */

import { lookAtNewestCopy, lookAtNewestEntry } from "../backup/backup-files.ts";
import type { CopyReach } from "../backup/copy-owner.ts";
import { loadBatch } from "../batches/batch-rows.ts";
import type { JournalNote } from "../batches/journal-batches.ts";
import type { LoadedConfig } from "../config/load.ts";
import { loadMeta, loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { compareReach, type Progress, type Reached } from "../database/progress.ts";
import type { Store } from "../database/store.ts";
import { isoTime } from "../platform/ports.ts";

/** An entry that does not say how far the database had come is compared by its time; a pass is recorded each minute. */
const MARGIN_MS = 10 * 60_000;

export interface Elsewhere {
  entry: JournalNote | undefined;
  copy: CopyReach | undefined;
}

/** Up to which entry and copy it was reported what this database may lack. */
interface Settled {
  /** The time of the entry, where it says no more. */
  entryAt: string;
  entry?: Partial<Reached>;
  copy?: Partial<Reached>;
  /** The time in the name of the copy, from a version that knew no more. */
  copyMs?: number;
}

/** Everything waits for it, for a few seconds a folder at most; what does not answer proves nothing. */
export function lookElsewhere(store: Store, { config }: LoadedConfig): Elsewhere {
  const { dir, journal } = config.backup;
  const database = loadMeta(store, "database");
  if (database === undefined) return { entry: undefined, copy: undefined };
  return {
    entry: journal === null ? undefined : lookAtNewestEntry(journal, database),
    copy: lookAtNewestCopy(dir, database),
  };
}

/** What has more than this database, and how far it had come. */
export function findNewer(
  store: Store,
  { entry, copy }: Elsewhere,
): { inJournal: boolean; copy: string | undefined } | undefined {
  const settled = loadSettled(store);
  const inJournal = entry !== undefined && isEntryAfter(entry, settled) && isBehindEntry(store, entry);
  const inCopy = copy !== undefined && isAfter(copy, settled) && store.isBehind(copy.progress);
  return inJournal || inCopy ? { inJournal, copy: inCopy ? copy.file : undefined } : undefined;
}

/** By what the database had come to; a clock that was ahead for a night would have each later entry count as reported for as long. */
function isEntryAfter({ reached, receivedAt }: JournalNote, { entry, entryAt }: Settled): boolean {
  return reached === undefined || entry === undefined ? receivedAt > entryAt : compareReach(reached, entry) > 0;
}

function isAfter({ progress, madeMs }: CopyReach, { copy, copyMs = 0 }: Settled): boolean {
  return copy === undefined ? madeMs > copyMs : compareReach(progress, copy) > 0;
}

/**
 * An entry is written before its batch is committed: a crash between the two leaves one that is not in the database and
 * that was never confirmed. What the database had come to before that is in it, whatever happened.
 */
function isBehindEntry(store: Store, { reached, database, fingerprint, receivedAt }: JournalNote): boolean {
  if (database !== undefined && reached !== undefined) return store.isBehind({ database, ...reached });
  const lastRunAt = store.prepare<string | null>("SELECT max(last_run_at) FROM flows").pluck().get();
  if (loadBatch(store, fingerprint) !== undefined || lastRunAt == null) return false;
  return receivedAt > isoTime(Date.parse(lastRunAt) + MARGIN_MS);
}

/** The numbers go on behind these. */
export function furthest(note: Progress | undefined, { entry, copy }: Elsewhere): Progress | undefined {
  const known = [note, entry?.reached, copy?.progress].filter((each) => each !== undefined);
  if (known.length === 0) return undefined;
  return {
    database: "",
    batches: Math.max(...known.map(({ batches }) => batches)),
    events: Math.max(...known.map(({ events }) => events)),
  };
}

/** What they have more was reported, or was brought over. Inside a write transaction. */
export function settleElsewhere(store: Store, { entry, copy }: Elsewhere): void {
  const before = loadSettled(store);
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
  if (entry !== undefined || copy !== undefined) saveMetaJson(store, "elsewhere", settled);
}

function loadSettled(store: Store): Settled {
  return loadMetaJson<Settled>(store, "elsewhere") ?? { entryAt: "" };
}
