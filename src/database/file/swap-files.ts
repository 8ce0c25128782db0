/*
 * Replaces a database by a restored one. Several files are renamed, and a power cut may come between any two renames: an
 * old write-ahead log beside a new database would corrupt it. So a small file, DATABASE.restore, first describes the swap;
 * while it exists the database is not opened, and the next start of the daemon, or the next restore, completes it. Every
 * step may be repeated. Only files that SQLite recreates are deleted.
 */

import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { readRegular, replaceFile, syncFile, syncFolder } from "../../platform/fresh-file.ts";
import { asBridgeError } from "../sqlite-errors.ts";
import { copyStem, findCopies } from "./copy-names.ts";
import { resolveDatabasePath, swapNoteOf } from "./file-checks.ts";
import { spoilSharedMemory } from "./open-elsewhere.ts";

export interface Swap {
  /** File name of the restored database, complete and closed, in the database's folder. */
  work: string;
  /** The new file name of the replaced database. */
  replaced: string;
}

/** Puts the restored file in place of the database. It must be closed; the caller holds the instance lock. */
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

/** Completes a swap that this process or an interrupted one has begun. Does nothing where there is none. */
export function finishSwap(databasePath: string): void {
  const file = resolveDatabasePath(databasePath);
  const folder = path.dirname(file);
  if (!existsSync(swapNoteOf(file))) return;
  try {
    const { work, replaced } = JSON.parse(readRegular(swapNoteOf(file))) as Swap;
    const from = path.join(folder, path.basename(work));
    const aside = path.join(folder, path.basename(replaced));
    // While the restored file still has its working name, the files with the database's name are the replaced ones.
    if (existsSync(from)) {
      for (const suffix of ["", "-wal", "-journal"]) {
        if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, freeName(`${aside}${suffix}`));
      }
      // A program that still has the replaced database open would lose its writes silently.
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

/** A program may have created an empty database meanwhile: renaming that must not overwrite the replaced one. */
function freeName(name: string): string {
  return existsSync(name) ? `${name}.made-meanwhile-${Date.now()}` : name;
}

/** Stem of the name of a copy that was saved from an open connection after the database's files were removed. */
export function savedStem(file: string): string {
  return `${copyStem(path.basename(file))}.saved`;
}

/**
 * Refuses to open a database while a saved copy of it has not been restored.
 * @throws BridgeError `database_refused`
 */
export function refuseSavedCopy(file: string): void {
  const folder = path.dirname(file);
  const [saved] = findCopies(savedStem(file), readdirSync(folder));
  if (saved === undefined) return;
  throw new BridgeError("database_refused", m.database.filesTaken({ file }), {
    hint: m.database.heldSaved({ copy: path.join(folder, saved.name) }),
  });
}

/** Renames a saved copy that was restored, so that `refuseSavedCopy` no longer finds it. */
export function retireSavedCopy(databasePath: string, restored: string): void {
  const file = resolveDatabasePath(databasePath);
  const [saved] = findCopies(savedStem(file), [path.basename(restored)]);
  if (saved !== undefined && path.dirname(path.resolve(restored)) === path.dirname(file))
    renameSync(restored, `${restored}.restored`);
}
