/**
 * Converts errors of SQLite and the file system into BridgeErrors. Decides by result codes, never by the text of a
 * message, so that callers can distinguish "no space left" from "another program holds the lock", and an administrator
 * reads one sentence with a hint.
 */
import { accessSync, closeSync, constants, lstatSync, lutimesSync, openSync, statSync } from "node:fs";
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

/** More files than one connection opens: a few descriptors may have been closed since the error. */
const FILES_OF_DATABASE = 8;

/** SQLITE_CANTOPEN does not distinguish a lack of descriptors from other reasons. */
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

/** SQLite reports a read-only file system with any of these, as it does missing rights or a failing disk. */
const OF_WRITING = /^SQLITE_(READONLY|CANTOPEN|PERM|IOERR)/;

/**
 * The code with which the file system of a database refuses every write; undefined where it does not, or cannot be asked.
 * After an error, Linux may leave ext4 mounted for writing and refuse each write, so only an attempt shows it: the lock
 * file gets the times that it has.
 */
function refusalOfDisk(file: string): "EROFS" | "EIO" | undefined {
  const lock = file.endsWith(".lock") ? file : `${file}.lock`;
  try {
    const stat = lstatSync(lock, { throwIfNoEntry: false });
    if (stat === undefined) accessSync(path.dirname(file), constants.W_OK);
    else lutimesSync(lock, stat.atime, stat.mtime);
    return undefined;
  } catch (error) {
    const fault = faultCodeOf(error);
    return fault === "EROFS" || fault === "EIO" ? fault : undefined;
  }
}

/** What is behind a code of SQLite's that has several causes. */
function faultBehind(met: string, databasePath: string | undefined): string {
  if (met.startsWith("SQLITE_CANTOPEN") && !canOpenFiles()) return "EMFILE";
  if (databasePath === undefined || !OF_WRITING.test(met)) return met;
  return refusalOfDisk(databasePath) ?? met;
}

/** The error of a write to a database whose disk cannot be written now; undefined where it can, or rights are missing. */
export function unwritableDisk(databasePath: string, doing: Message): BridgeError | undefined {
  const code = refusalOfDisk(databasePath);
  if (code === undefined) return undefined;
  return machineFaultOf(Object.assign(new Error(code), { code }), doing, databasePath);
}

/** The machine's fault behind `error`; undefined for others, such as a constraint or a mistake in a statement. */
export function machineFaultOf(error: unknown, doing: Message, databasePath?: string): BridgeError | undefined {
  if (error instanceof BridgeError) return error;
  const met = faultCodeOf(error);
  const fault = met === undefined ? undefined : faultBehind(met, databasePath);
  const code = fault === undefined ? undefined : errorCodeFor(fault);
  if (fault === undefined || code === undefined) return undefined;
  const folder = databasePath === undefined ? undefined : path.dirname(databasePath);
  const place = folder === undefined ? undefined : { folder, rights: () => describePermissions(folder) };
  const { what, hint } = wordsForFault(code, fault, place);
  const where = databasePath === undefined ? fault : `${databasePath}, ${fault}`;
  return new BridgeError(code, m.platform.fault({ doing, what, where }), { hint, cause: error });
}

/**
 * Converts any error into a BridgeError; one that is not a machine's fault becomes `internal`, with the original as its
 * cause.
 * @param doing opens the sentence: "Opening the database"
 * @param databasePath adds the database's folder to the text and, where rights are missing, its permissions
 */
export function asBridgeError(error: unknown, doing: Message, databasePath?: string): BridgeError {
  const known = machineFaultOf(error, doing, databasePath);
  if (known !== undefined) return known;
  const text = error instanceof Error ? error.message : String(error);
  return new BridgeError("internal", m.database.failed({ doing, text }), { cause: error });
}

/** Whether the file itself is damaged; not a virtual table's content or an object that SQLite cannot parse, which the ERP can repair. */
export function isDamagedFile({ cause }: BridgeError): boolean {
  const fault = faultCodeOf(cause) ?? "";
  if (!/^SQLITE_(CORRUPT|NOTADB)/.test(fault) || fault === "SQLITE_CORRUPT_VTAB") return false;
  return !(cause instanceof Error && cause.message.startsWith("malformed database schema"));
}
