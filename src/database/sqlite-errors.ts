/**
 * What SQLite and the file system throw, turned into the bridge's own errors. Decides by result codes, never by the
 * text of a message, so that a caller can tell "no space left" from "another program holds the lock" and an
 * administrator reads one sentence with a way out. Keeps no state: a crash leaves nothing behind.
 */
import { closeSync, openSync, statSync } from "node:fs";
import path from "node:path";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { errorCodeFor, faultCodeOf, wordsForFault } from "../platform/machine-fault.ts";

export { faultCodeOf };

/** `folder /var/lib/erp-bridge: mode 0750, owner 998:998; this program runs as 1000:1000`. Never throws. */
export function describePermissions(place: string): Message {
  const self = m.database.runsAs({ user: `${process.geteuid?.() ?? "?"}:${process.getegid?.() ?? "?"}` });
  try {
    const stat = statSync(place);
    const mode = (stat.mode & 0o7777).toString(8).padStart(4, "0");
    const rights = { place, mode, owner: `${stat.uid}:${stat.gid}`, self };
    return stat.isDirectory() ? m.database.folderRights(rights) : m.database.fileRights(rights);
  } catch {
    return m.database.unknownRights({ place, self });
  }
}

/** More than one connection has open at a time; what had been opened may have been closed since. */
const FILES_OF_DATABASE = 8;

/** SQLite does not say why it cannot open a file. */
function canOpenFiles(): boolean {
  const opened: number[] = [];
  try {
    for (let files = 0; files < FILES_OF_DATABASE; files++) opened.push(openSync("/dev/null", "r"));
    return true;
  } catch (error) {
    return !/^E[MN]FILE$/.test(faultCodeOf(error) ?? "");
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/** The error of the machine behind `error`; undefined where there is none: a constraint, or a mistake in a statement. */
export function machineFaultOf(error: unknown, doing: Message, databasePath?: string): BridgeError | undefined {
  if (error instanceof BridgeError) return error;
  const met = faultCodeOf(error);
  const fault = met?.startsWith("SQLITE_CANTOPEN") === true && !canOpenFiles() ? "EMFILE" : met;
  const code = fault === undefined ? undefined : errorCodeFor(fault);
  if (fault === undefined || code === undefined) return undefined;
  const folder = databasePath === undefined ? undefined : path.dirname(databasePath);
  const place = folder === undefined ? undefined : { folder, rights: () => describePermissions(folder) };
  const { what, hint } = wordsForFault(code, fault, place);
  const where = databasePath === undefined ? fault : `${databasePath}, ${fault}`;
  return new BridgeError(code, m.platform.fault({ doing, what, where }), { hint, cause: error });
}

/**
 * Any error as a BridgeError. `doing` opens the sentence ("Opening the database"); with the path of the database the
 * words name its folder and, where rights are missing, the folder's. What is not a fault of the machine becomes `internal` with its original as the cause.
 */
export function asBridgeError(error: unknown, doing: Message, databasePath?: string): BridgeError {
  const known = machineFaultOf(error, doing, databasePath);
  if (known !== undefined) return known;
  const text = error instanceof Error ? error.message : String(error);
  return new BridgeError("internal", m.database.failed({ doing, text }), { cause: error });
}
