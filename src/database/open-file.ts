/*
 * The one place where SQLite opens a file by its name. SQLite writes through a hard link and waits for a pipe, also for one who only
 * reads: to the log and the memory that is shared over it. So the names that it is about to use are checked before.
 */

import { realpathSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { refuseLinkedBeside, refuseLinkedDatabase, refuseNoFile } from "./file-checks.ts";

/**
 * A file that is only read may be reached through a link and have several names, as a copy in an archive; what is written may not, nor
 * what is beside either. @throws BridgeError `database_refused`, and what SQLite throws
 */
export function openFile(file: string, options: Database.Options = {}): Database.Database {
  if (options.readonly !== true) refuseLinkedDatabase(file);
  else if (statSync(file, { throwIfNoEntry: false }) !== undefined) {
    // SQLite names what is beside after the file that a link leads to.
    const real = realpathSync(file);
    refuseNoFile(real);
    refuseLinkedBeside(real);
  }
  return new Database(file, options);
}
