/* Calls to {@link HELPER}, the process that touches the folders of copies and of the journal. */
import type { JournalNote } from "../batches/journal-batches.ts";
import { childProgram } from "../platform/child-program.ts";
import { BridgeError } from "../platform/errors.ts";
import { helperFor } from "../platform/helper-process.ts";
import type { BackupFunctions } from "./backup-helper.ts";
import type { CopyReach } from "./copy-owner.ts";

export type { BackupFunctions };

/** Beside this file, in the sources and in the bundle alike. */
export const HELPER = childProgram("backup-helper", import.meta.url);

/* What a start looks up. Everything waits for it, for a few seconds at most. */

/** The copy that has the most of this account's database. @throws BridgeError `disk_failed` where the folder does not answer */
export function lookForCopy(folder: string, account: string): string | undefined {
  return helperFor<BackupFunctions>(HELPER, folder).callSync("findCopyOf", { place: folder }, folder, account);
}

/** Whether the journal holds a batch of this account. @throws BridgeError `disk_failed` where it does not answer */
export function lookForJournal(folder: string, account: string): boolean {
  const owner = { account, database: undefined };
  return helperFor<BackupFunctions>(HELPER, folder).callSync("hasJournalOf", { place: folder }, folder, owner);
}

/** The copy that has the most of this database; undefined where there is none, or the folder does not answer. */
export function lookAtNewestCopy(folder: string, database: string): CopyReach | undefined {
  return orNothing(() =>
    helperFor<BackupFunctions>(HELPER, folder).callSync("newestCopyOf", { place: folder }, folder, database),
  );
}

/** The note of the newest entry of this database; undefined where there is none, or it cannot be read. */
export function lookAtNewestEntry(folder: string, database: string): JournalNote | undefined {
  return orNothing(() =>
    helperFor<BackupFunctions>(HELPER, folder).callSync("newestEntryOf", { place: folder }, folder, database),
  );
}

/** What does not answer, or cannot be looked at, proves nothing. */
export function orNothing<T>(look: () => T | undefined): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof BridgeError) return undefined;
    throw error;
  }
}
