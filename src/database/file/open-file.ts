/*
 * The only place that opens a file with SQLite. Even a read-only connection opens the log and its shared memory for
 * writing; SQLite would write through a hard link and block on a pipe. So all names that it uses are checked before.
 */

import { realpathSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { refuseLinkedBeside, refuseLinkedDatabase, refuseNoFile } from "./file-checks.ts";

/**
 * A read-only file may be a link and have several names, such as a copy in an archive; a file that is written may not, and
 * neither may the files beside it.
 * @throws BridgeError `database_refused`, and errors of SQLite
 */
export function openFile(file: string, options: Database.Options = {}): Database.Database {
  if (options.readonly !== true) refuseLinkedDatabase(file);
  else if (statSync(file, { throwIfNoEntry: false }) !== undefined) {
    // SQLite derives the names of the log and the shared memory from the target of a link.
    const real = realpathSync(file);
    refuseNoFile(real);
    refuseLinkedBeside(real);
  }
  return new Database(file, options);
}
