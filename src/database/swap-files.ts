/*
 * Puts a restored database in the place of the one it replaces. Several names change, and a power cut may come between any
 * two of them: an old write-ahead log beside a new database would destroy it. So a small file, DATABASE.restore, says what
 * is to be done before it is begun; while it is there the database is not opened, and the next start of the daemon, or of
 * restore, finishes. Every step may be repeated. Nothing is deleted but what SQLite makes anew by itself.
 */

import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { readRegular, replaceFile, syncFile, syncFolder } from "../platform/fresh-file.ts";
import { copyStem, findCopies } from "./copy-names.ts";
import { resolveDatabasePath, swapNoteOf } from "./file-checks.ts";
import { spoilSharedMemory } from "./open-elsewhere.ts";
import { asBridgeError } from "./sqlite-errors.ts";

export interface Swap {
  /** The restored database, complete and closed; a name beside the database. */
  work: string;
  /** What the replaced database is called from then on. */
  replaced: string;
}

/** The restored file takes the database's place. It must be closed; the caller holds the instance lock. */
export function swapDatabase(databasePath: string, swap: Swap): void {
  const file = resolveDatabasePath(databasePath);
  const folder = path.dirname(file);
  try {
    syncFile(path.join(folder, swap.work));
    replaceFile(swapNoteOf(file), JSON.stringify(swap), { mode: 0o600, flush: true });
    syncFolder(folder);
  } catch (error) {
    throw asBridgeError(error, m.database.puttingInPlace, file);
  }
  finishSwap(databasePath);
}

/** Finishes what `swapDatabase` has begun, in this process or in one that ended in the middle. */
export function finishSwap(databasePath: string): void {
  const file = resolveDatabasePath(databasePath);
  const folder = path.dirname(file);
  if (!existsSync(swapNoteOf(file))) return;
  try {
    const { work, replaced } = JSON.parse(readRegular(swapNoteOf(file))) as Swap;
    const from = path.join(folder, path.basename(work));
    const aside = path.join(folder, path.basename(replaced));
    // While the restored file has its own name, whatever bears the database's name is the replaced one.
    if (existsSync(from)) {
      for (const suffix of ["", "-wal", "-journal"]) {
        if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, freeName(`${aside}${suffix}`));
      }
      // A program that was overlooked would go on with the replaced database, and its writes would be lost without notice.
      spoilSharedMemory(`${file}-shm`);
      rmSync(`${file}-shm`, { force: true });
      syncFolder(folder);
      renameSync(from, file);
      syncFolder(folder);
    }
    rmSync(swapNoteOf(file));
    syncFolder(folder);
  } catch (error) {
    throw asBridgeError(error, m.database.puttingInPlace, file);
  }
}

/** A program that looked for the database in between has made an empty one: it must not push the replaced one out. */
function freeName(name: string): string {
  return existsSync(name) ? `${name}.made-meanwhile-${Date.now()}` : name;
}

/** What a copy of a database is called that was saved from an open connection because its files were taken from under it. */
export function savedStem(file: string): string {
  return `${copyStem(path.basename(file))}.saved`;
}

/** Nothing begins on the files that are there while what was saved from them has not been brought back. */
export function refuseSavedCopy(file: string): void {
  const folder = path.dirname(file);
  const [saved] = findCopies(savedStem(file), readdirSync(folder));
  if (saved === undefined) return;
  throw new BridgeError("database_refused", m.database.filesTaken({ file }), {
    hint: m.database.heldSaved({ copy: path.join(folder, saved.name) }),
  });
}

/** A saved copy that was brought back is kept under another name. */
export function retireSavedCopy(databasePath: string, restored: string): void {
  const file = resolveDatabasePath(databasePath);
  const [saved] = findCopies(savedStem(file), [path.basename(restored)]);
  if (saved !== undefined && path.dirname(path.resolve(restored)) === path.dirname(file))
    renameSync(restored, `${restored}.restored`);
}
