/*
 * A file `DATABASE-journal` beside a database in WAL mode. SQLite creates none in this mode, but checks for one at each
 * first opening, before it has read the mode: a non-empty one blocks every program, and once no program has the database
 * open it is rolled back over newer pages and destroys them. So it is checked for before the database is opened.
 */

import { closeSync, readSync, statSync } from "node:fs";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { openRegular } from "../../platform/fresh-file.ts";

// Both are 2 in WAL mode: SQLite's file format, section 1.3.3.
const MODES_AT = 18;
const MODES = Buffer.from([2, 2]);
export const WAL_HEADER_BYTES = MODES_AT + MODES.length;

/** @param start the first {@link WAL_HEADER_BYTES} of a database, or fewer */
export function isWalHeader(start: Buffer): boolean {
  return start.subarray(MODES_AT).equals(MODES);
}

/** For a database known to be in WAL mode: since when there is a journal, ISO 8601. Reads metadata only. */
export function journalSince(file: string): string | undefined {
  const stat = statSync(`${file}-journal`, { throwIfNoEntry: false });
  return stat === undefined || stat.size === 0 ? undefined : stat.ctime.toISOString();
}

/** Only where this process has no connection to the database: reading the file would drop SQLite's locks. */
export function hasForeignJournal(file: string): boolean {
  return journalSince(file) !== undefined && isInWalMode(file);
}

function isInWalMode(file: string): boolean {
  let descriptor: number | undefined;
  try {
    descriptor = openRegular(file);
    const start = Buffer.alloc(WAL_HEADER_BYTES);
    return isWalHeader(start.subarray(0, readSync(descriptor, start, 0, start.length, 0)));
  } catch {
    return false; // any fault is reported by opening the database
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

export function foreignJournalError(file: string): BridgeError {
  return new BridgeError("database_refused", m.database.foreignJournal({ file }), { hint: m.database.moveJournal });
}

/**
 * To be called before a command opens the database; a daemon calls `setJournalAside` instead.
 * @throws BridgeError `database_refused`
 */
export function refuseForeignJournal(file: string): void {
  if (hasForeignJournal(file)) throw foreignJournalError(file);
}
