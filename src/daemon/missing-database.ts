/*
 * Refuses to create an empty database where there was one before, or where the ERP has created the file by opening it:
 * the orders are elsewhere, and the service would not deliver them again. An earlier database is shown by the file
 * beside it (`DATABASE.id`), a copy in `backup.dir` or an entry of `backup.journal` of the same account. Deletes
 * nothing.
 */

import { existsSync, lstatSync, writeFileSync } from "node:fs";
import path from "node:path";
import { lookForCopy, lookForJournal, orNothing } from "../backup/backup-files.ts";
import type { LoadedConfig } from "../config/load.ts";
import { refuseUnfinishedSwap, resolveDatabasePath } from "../database/file/file-checks.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import { refuseSavedCopy } from "../database/file/swap-files.ts";
import { isOwnDatabase } from "../database/migrations.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { accountOf, ownerOf } from "./account.ts";

/**
 * Whether there is a database; false where none was made yet. What every command asks before it opens the database.
 * @throws BridgeError `database_refused` where there was one before and it is gone
 */
export function hasDatabase(loaded: LoadedConfig): boolean {
  const { path: named } = loaded.config.database;
  if (!existsSync(path.dirname(named))) {
    refuseFormer(loaded, named);
    return false;
  }
  const file = resolveDatabasePath(named);
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  // A running daemon watches its files itself, and this may be its process.
  if (isThere && orNothing(() => isLocked(file)) !== undefined) return true;
  refuseMissingDatabase(loaded);
  return isThere;
}

/** @throws BridgeError `database_refused` */
export function refuseMissingDatabase(loaded: LoadedConfig): void {
  const file = resolveDatabasePath(loaded.config.database.path);
  if (existsSync(file) && isOwnDatabase(file)) return;
  refuseUnfinishedSwap(file); // the restored file still has its working name
  refuseSavedCopy(file); // a saved copy has more than any backup
  refuseFormer(loaded, file);
}

/** Refuses where something shows that this file was a database before. */
function refuseFormer({ config }: LoadedConfig, file: string): void {
  const account = accountOf(config);
  const copy = lookForCopy(config.backup.dir, account);
  const { journal } = config.backup;
  const hasJournal = journal !== null && lookForJournal(journal, account);
  if (copy === undefined && !hasJournal && !existsSync(idOf(file))) return;
  throw new BridgeError(
    "database_refused",
    existsSync(file) ? m.daemon.madeByOther({ file }) : m.daemon.missing({ file }),
    { hint: m.daemon.bringCopy({ copy: copy ?? m.daemon.copyName }) },
  );
}

/** Creates `DATABASE.id`. A failure is ignored, because backups show the same. */
export function noteDatabase(store: Store, loaded: LoadedConfig): void {
  const file = idOf(store.path);
  try {
    if (!existsSync(file))
      writeFileSync(file, `${JSON.stringify(ownerOf(store, loaded))}\n`, { mode: 0o640, flag: "wx" });
  } catch {
    // A full disk or another owner.
  }
}

function idOf(file: string): string {
  return `${file}.id`;
}
