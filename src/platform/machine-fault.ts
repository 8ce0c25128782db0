/* What a failure of SQLite's or of the system's means. Pure; `database/sqlite-errors.ts` adds which file it was about. */
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { ErrorCode } from "./errors.ts";

/** How deep a chain of causes is followed: drizzle wraps once, our own code at most once more. */
const CAUSES_MAX = 5;

/** What has the name of a file is none: a folder, a link, a pipe. */
const OTHER_KIND = /^(EEXIST|EISDIR|ENOTEMPTY|ELOOP|ENOTSUP|ENXIO)$/;

/** The process, or the machine, has as many files open as it may. */
const TOO_MANY = /^E[MN]FILE$/;

/** The SQLite result code (`SQLITE_FULL`) or system code (`ENOSPC`) of an error or of what it wraps. */
export function faultCodeOf(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth += 1) {
    const code = (current as { code?: unknown }).code;
    if (typeof code === "string" && /^(SQLITE_|E[A-Z0-9]+$)/.test(code)) return code;
    current = current.cause;
  }
  return undefined;
}

/** The fault of the machine that a code stands for; undefined for everything that is a mistake of the program. */
export function errorCodeFor(fault: string): ErrorCode | undefined {
  // The first write to a full disk is often the growth of the -shm file, which SQLite reports as an I/O error.
  if (/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)$/.test(fault)) return "disk_full";
  if (fault.startsWith("SQLITE_IOERR") || fault === "EIO" || fault === "EFBIG" || TOO_MANY.test(fault))
    return "disk_failed";
  if (fault.startsWith("SQLITE_BUSY") || fault === "SQLITE_PROTOCOL") return "database_busy";
  if (fault.startsWith("SQLITE_CORRUPT") || fault === "SQLITE_NOTADB") return "database_corrupt";
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM)/.test(fault)) return "database_refused";
  if (/^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR)$/.test(fault) || OTHER_KIND.test(fault)) return "database_refused";
  return undefined;
}

/** @param place the database's folder, with its rights in words where they matter */
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
