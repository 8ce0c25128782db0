/*
 * Refuses to create an empty database where there was one before, or where the ERP has created the file by opening it:
 * the orders are elsewhere, and the service would not deliver them again. An earlier database is shown by the file
 * beside it (`DATABASE.id`), a copy in `backup.dir` or an entry of `backup.journal` of the same account. Deletes
 * nothing.
 */

import { existsSync, writeFileSync } from "node:fs";
import { lookForCopy, lookForJournal } from "../backup/backup-files.ts";
import type { LoadedConfig } from "../config/load.ts";
import { resolveDatabasePath } from "../database/file-checks.ts";
import { isOwnDatabase } from "../database/migrations.ts";
import type { Store } from "../database/store.ts";
import { refuseSavedCopy } from "../database/swap-files.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { accountOf, ownerOf } from "./account.ts";

/** @throws BridgeError `database_refused` */
export function refuseMissingDatabase({ config }: LoadedConfig): void {
  const file = resolveDatabasePath(config.database.path);
  if (existsSync(file) && isOwnDatabase(file)) return;
  refuseSavedCopy(file); // a saved copy has more than any backup
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
