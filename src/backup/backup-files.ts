/*
 * Calls to {@link HELPER}, the process that accesses the folders of backups and of the journal.
 */
import type { JournalNote } from "../batches/journal-batches.ts";
import { childProgram } from "../platform/child-program.ts";
import { BridgeError } from "../platform/errors.ts";
import { helperFor } from "../platform/helper-process.ts";
import type { BackupFunctions } from "./backup-helper.ts";
import type { CopyContent, CopyReach } from "./copy-owner.ts";

export type { BackupFunctions };

/** Beside this file, both in the sources and in the bundle. */
export const HELPER = childProgram("backup-helper", import.meta.url);

/** By what `pruneJournal` decides which entries are not needed any more. */
export interface Covered {
  /** The oldest kept copy that can be read, and when the oldest was made. */
  file: string;
  madeMs: number;
  /** The path of the database, and the last batch of which it has no row any more. */
  database: string;
  forgotten: number;
}

/*
 * Used at a start. Each blocks for a few seconds at most.
 */

/**
 * The copy with the most of this account's database.
 * @throws BridgeError `disk_failed` where the folder does not answer
 */
export function lookForCopy(folder: string, account: string): string | undefined {
  return helperFor<BackupFunctions>(HELPER, folder).callSync("findCopyOf", { place: folder }, folder, account);
}

/**
 * Whether the journal has a batch of this account.
 * @throws BridgeError `disk_failed` where the folder does not answer
 */
export function lookForJournal(folder: string, account: string): boolean {
  const owner = { account, database: undefined };
  return helperFor<BackupFunctions>(HELPER, folder).callSync("hasJournalOf", { place: folder }, folder, owner);
}

/** The copy with the most of this database; undefined where there is none, or the folder does not answer. */
export function lookAtNewestCopy(folder: string, database: string): CopyReach | undefined {
  return orNothing(() =>
    helperFor<BackupFunctions>(HELPER, folder).callSync("newestCopyOf", { place: folder }, folder, database),
  );
}

/** The copy that holds more than this content; undefined where there is none, or the folder does not answer. */
export function lookForFuller(folder: string, own: CopyContent): string | undefined {
  return orNothing(() =>
    helperFor<BackupFunctions>(HELPER, folder).callSync("findFuller", { place: folder }, folder, own),
  );
}

/** The note of this database's newest entry; undefined where there is none, or it cannot be read. */
export function lookAtNewestEntry(folder: string, database: string): JournalNote | undefined {
  return orNothing(() =>
    helperFor<BackupFunctions>(HELPER, folder).callSync("newestEntryOf", { place: folder }, folder, database),
  );
}

/** A folder that does not answer or cannot be read proves nothing. */
export function orNothing<T>(look: () => T | undefined): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof BridgeError) return undefined;
    throw error;
  }
}
