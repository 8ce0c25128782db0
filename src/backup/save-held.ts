/*
 * Saves what an open connection still holds after the files were taken from under it: as a copy beside the database, for
 * `restore`. Never writes to the database. After a crash in the middle a provisional file is left, which is no copy.
 */
import { closeSync, renameSync } from "node:fs";
import path from "node:path";
import { copyName } from "../database/copy-names.ts";
import { openFile } from "../database/open-file.ts";
import type { Store } from "../database/store.ts";
import { savedStem } from "../database/swap-files.ts";
import { verifyTables } from "../database/verify-tables.ts";
import { createFile, freshName, removeName, setMode, syncFile, syncFolder } from "../platform/fresh-file.ts";

/** The copy's name; undefined where nothing whole could be read any more. */
export async function saveHeld(store: Store, nowMs: number): Promise<string | undefined> {
  const folder = path.dirname(store.path);
  const file = path.join(folder, copyName(savedStem(store.path), nowMs));
  const partial = freshName(file, "partial");
  try {
    closeSync(createFile(partial, 0o600));
    // Where a lock is in the way at its first step, it has copied nothing and resolves all the same.
    if ((await store.db.backup(partial)).totalPages === 0) return undefined;
    const copy = openFile(partial);
    try {
      copy.pragma("journal_mode = DELETE");
      if (verifyTables(copy, "quick_check", 1).problems.length > 0) return undefined;
    } finally {
      copy.close();
    }
    setMode(partial, 0o660);
    syncFile(partial);
    renameSync(partial, file);
    syncFolder(folder);
    return file;
  } catch {
    return undefined;
  } finally {
    removeName(partial);
  }
}
