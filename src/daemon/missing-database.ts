/*
 * A configuration that once ran with a database and finds none, or one that the ERP has made by opening it, must not begin an empty one: its orders are elsewhere, and
 * the service would not hand them out again. That there was one is shown by what stays beside it (`DATABASE.id`), by a copy in
 * `backup.dir` and by an entry of `backup.journal` of the same account. Deletes nothing.
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
  refuseSavedCopy(file); // it has more than any other copy
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

/** Not a reason to fail: the copies show the same. */
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
