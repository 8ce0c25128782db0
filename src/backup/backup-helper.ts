/*
 * Accesses the folders of backups and of the journal, in the process that {@link HELPER} names: they may be on a disk
 * that does not answer.
 */
import type { JournalPlace } from "../batches/journal-batches.ts";
import { type HelperCall, serveCalls } from "../platform/helper-process.ts";
import type { Owner } from "../platform/owner.ts";
import { type CopyOptions, copyDatabase, type MadeCopy } from "./copy-database.ts";
import { listCopies, prepareFolder, readRoom, removeCopies } from "./copy-folder.ts";
import { findCopyOf, newestCopyOf, readProgress } from "./copy-owner.ts";
import { hasJournalOf, JournalWriter, newestEntryOf, pruneJournal } from "./journal-files.ts";

const writer = new JournalWriter();

/** Adapts a function that does not need the call's context. */
function plain<Args extends unknown[], R>(fn: (...args: Args) => R): (call: HelperCall, ...args: Args) => R {
  return (_call, ...args) => fn(...args);
}

const functions = {
  beginEntry: plain((folder: string, nowMs: number, place?: JournalPlace) => writer.begin(folder, nowMs, place)),
  writeEntry: plain((folder: string, piece: Uint8Array) => writer.write(folder, piece)),
  endEntry: plain((folder: string) => writer.end(folder)),
  pruneJournal: plain((folder: string, { file, madeMs }: { file: string; madeMs: number }, owner: Owner) =>
    pruneJournal(folder, { madeMs, progress: readProgress(file) }, owner),
  ),
  hasJournalOf: plain((folder: string, owner: Owner) => hasJournalOf(folder, owner)),
  newestEntryOf: plain(newestEntryOf),
  findCopyOf: plain(findCopyOf),
  newestCopyOf: plain(newestCopyOf),
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
