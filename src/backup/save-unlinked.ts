/*
 * Saves a copy of what an open connection still has after its files were removed or replaced, beside the database for
 * `restore`. Never writes to the database. A crash leaves a temporary file.
 */
import { closeSync, renameSync } from "node:fs";
import path from "node:path";
import { copyName } from "../database/file/copy-names.ts";
import { modeOfNew } from "../database/file/file-checks.ts";
import { openFile } from "../database/file/open-file.ts";
import { savedStem } from "../database/file/swap-files.ts";
import { verifyTables } from "../database/objects/verify-tables.ts";
import type { Store } from "../database/store.ts";
import { createFile, freshName, removeName, setMode, syncFile, syncFolder } from "../platform/fresh-file.ts";

const PARTIAL = "partial";

/** The copy's name; undefined where nothing consistent could be read. */
export async function saveUnlinked(store: Store, nowMs: number): Promise<string | undefined> {
  const folder = path.dirname(store.path);
  const file = path.join(folder, copyName(savedStem(store.path), nowMs));
  const partial = freshName(file, PARTIAL);
  try {
    closeSync(createFile(partial, 0o600));
    // Where a lock blocks its first step, `backup` has copied nothing and resolves nevertheless.
    if ((await store.db.backup(partial)).totalPages === 0) return undefined;
    const copy = openFile(partial);
    try {
      copy.pragma("journal_mode = DELETE");
      if (verifyTables(copy, "quick_check", 1).problems.length > 0) return undefined;
    } finally {
      copy.close();
    }
    setMode(partial, modeOfNew(file, PARTIAL));
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
