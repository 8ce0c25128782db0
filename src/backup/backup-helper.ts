/*
 * Accesses the folders of backups and of the journal, in the process that {@link HELPER} names: they may be on a disk
 * that does not answer.
 */
import type { JournalPlace } from "../batches/journal-batches.ts";
import { type HelperCall, serveCalls } from "../platform/helper-process.ts";
import type { Owner } from "../platform/owner.ts";
import { isApart } from "./apart.ts";
import type { Covered } from "./backup-files.ts";
import { type CopyOptions, copyDatabase, type MadeCopy } from "./copy-database.ts";
import { listCopies, prepareFolder, readRoom, removeCopies } from "./copy-folder.ts";
import { findCopyOf, findFuller, newestCopyOf, readProgress } from "./copy-owner.ts";
import { hasJournalOf, JournalWriter, newestEntryOf, type OldestCopy, pruneJournal } from "./journal-files.ts";

const writer = new JournalWriter();

/** Adapts a function that does not need the call's context. */
function plain<Args extends unknown[], R>(fn: (...args: Args) => R): (call: HelperCall, ...args: Args) => R {
  return (_call, ...args) => fn(...args);
}

/**
 * What the journal need not have. Copies on the database's disk are lost with it: a journal on another disk then keeps
 * all that the database itself has kept.
 */
function reachedBy({ file, madeMs, database, forgotten }: Covered, folder: string): OldestCopy {
  const progress = readProgress(file);
  const isLostTogether = isApart(folder, database) && !isApart(file, database);
  return isLostTogether
    ? { madeMs: 0, progress: progress && { ...progress, batches: forgotten } }
    : { madeMs, progress };
}

const functions = {
  beginEntry: plain((folder: string, nowMs: number, place?: JournalPlace) => writer.begin(folder, nowMs, place)),
  writeEntry: plain((folder: string, piece: Uint8Array) => writer.write(folder, piece)),
  endEntry: plain((folder: string) => writer.end(folder)),
  pruneJournal: plain((folder: string, covered: Covered, owner: Owner) =>
    pruneJournal(folder, reachedBy(covered, folder), owner),
  ),
  hasJournalOf: plain((folder: string, owner: Owner) => hasJournalOf(folder, owner)),
  newestEntryOf: plain(newestEntryOf),
  findCopyOf: plain(findCopyOf),
  newestCopyOf: plain(newestCopyOf),
  findFuller: plain(findFuller),
  prepareFolder: plain(prepareFolder),
  listCopies: plain(listCopies),
  readRoom: plain(readRoom),
  removeCopies: plain(removeCopies),
  copyDatabase: (
    { signal, progress }: HelperCall,
    options: Omit<CopyOptions, "signal" | "onProgress">,
  ): Promise<MadeCopy> => copyDatabase({ ...options, signal, onProgress: () => progress() }),
};

export type BackupFunctions = typeof functions;

serveCalls(functions);
