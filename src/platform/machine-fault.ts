/*
 * Maps failures of SQLite and the system to error codes and messages. Pure; `database/sqlite-errors.ts` adds the file
 * concerned.
 */
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { ErrorCode } from "./errors.ts";

/** How far `cause` is followed: drizzle wraps once, our own code at most once more. */
const CAUSES_MAX = 5;

/** The name belongs to something that is not a file: a folder, a link, a pipe. */
const OTHER_KIND = /^(EEXIST|EISDIR|ENOTEMPTY|ELOOP|ENOTSUP|ENXIO)$/;

/** The process or the system has reached its limit of open files. */
const TOO_MANY = /^E[MN]FILE$/;

/** The SQLite result code (`SQLITE_FULL`) or system code (`ENOSPC`) of an error or of one of its causes. */
export function faultCodeOf(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth += 1) {
    const code = (current as { code?: unknown }).code;
    if (typeof code === "string" && /^(SQLITE_|E[A-Z0-9]+$)/.test(code)) return code;
    current = current.cause;
  }
  return undefined;
}

/** The machine's fault that a code stands for; undefined where the code means a defect of the program. */
export function errorCodeFor(fault: string): ErrorCode | undefined {
  // The first write to a full disk often grows the -shm file, which SQLite reports as an I/O error.
  if (/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)$/.test(fault)) return "disk_full";
  if (fault.startsWith("SQLITE_IOERR") || /^(EROFS|EIO|EFBIG)$/.test(fault) || TOO_MANY.test(fault))
    return "disk_failed";
  if (fault.startsWith("SQLITE_BUSY") || fault === "SQLITE_PROTOCOL") return "database_busy";
  if (fault.startsWith("SQLITE_CORRUPT") || fault === "SQLITE_NOTADB") return "database_corrupt";
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM)/.test(fault)) return "database_refused";
  if (/^(EACCES|EPERM|ENOENT|ENOTDIR|ENAMETOOLONG)$/.test(fault) || OTHER_KIND.test(fault)) return "database_refused";
  return undefined;
}

/** @param place the database's folder, and a description of its permissions, made only where it is needed */
export function wordsForFault(
  code: ErrorCode,
  fault: string,
  place?: { folder: string; rights: () => Message },
): { what: Message; hint: Message } {
  switch (code) {
    case "disk_full":
      return {
        what: place === undefined ? m.platform.diskFull : m.platform.diskOfFull({ folder: place.folder }),
        hint: m.platform.freeSpace,
      };
    case "disk_failed":
      if (TOO_MANY.test(fault)) return { what: m.platform.tooManyFiles, hint: m.platform.raiseLimit };
      if (fault === "EROFS") return { what: m.platform.diskReadOnly, hint: m.platform.makeWritable };
      return { what: m.platform.diskError, hint: m.platform.lookAtDisk };
    case "database_busy":
      return { what: m.platform.lockHeld, hint: m.platform.lockPasses };
    case "database_corrupt":
      return fault === "SQLITE_NOTADB"
        ? {
            what: m.platform.noDatabase,
            hint: m.platform.restoreIfRight,
          }
        : { what: m.platform.damaged, hint: m.platform.restoreCopy };
    default:
      if (fault === "ENAMETOOLONG") return { what: m.platform.nameTooLong, hint: m.platform.shortenName };
      if (OTHER_KIND.test(fault)) return { what: m.platform.otherKind, hint: m.platform.moveAway };
      if (fault === "ENOENT" || fault === "ENOTDIR")
        return {
          what: place === undefined ? m.platform.fileMissing : m.platform.folderMissing({ folder: place.folder }),
          hint: m.platform.makeFolder,
        };
      return {
        what: place === undefined ? m.platform.noAccess : m.platform.noAccessTo({ rights: place.rights() }),
        hint: m.platform.giveRights,
      };
  }
}
