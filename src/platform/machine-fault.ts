/*
 * What a failure of SQLite's or of the system's means. Pure; `database/sqlite-errors.ts` adds which file it was about.
 */
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
  place?: { folder: string; rights: () => string },
): { what: string; hint: string } {
  switch (code) {
    case "disk_full":
      return {
        what: place === undefined ? "the disk is full" : `the disk of ${place.folder} is full`,
        hint: "Free some space; the bridge goes on by itself.",
      };
    case "disk_failed":
      if (TOO_MANY.test(fault))
        return {
          what: "this program may open no more files",
          hint: "Raise the limit of open files: LimitNOFILE= of the unit, or ulimit -n.",
        };
      return { what: "the disk reported an error", hint: "Look at the kernel log (dmesg) and the disk's health." };
    case "database_busy":
      return {
        what: "another program holds the write lock of the database",
        hint: "The bridge tries again by itself; keep transactions of the ERP short.",
      };
    case "database_corrupt":
      return fault === "SQLITE_NOTADB"
        ? {
            what: "the file is not an SQLite database, or its first page is damaged",
            hint: "Check database.path; if it is right, restore a backup: erp-bridge restore FILE.",
          }
        : { what: "the database is damaged", hint: "Restore a backup: erp-bridge restore FILE." };
    default:
      if (OTHER_KIND.test(fault))
        return {
          what: "a folder, a link or a pipe has the name of a file of the bridge's",
          hint: "Find out who made it, and move it away: erp-bridge makes the file anew.",
        };
      if (fault === "ENOENT" || fault === "ENOTDIR")
        return {
          what: place === undefined ? "a file or its folder is not there" : `the folder ${place.folder} is not there`,
          hint: "Make the folder, or name another one.",
        };
      return {
        what: `the file or its folder does not let this program in${place === undefined ? "" : ` (${place.rights()})`}`,
        hint: "Give the user of erp-bridge the right to read and write the folder and the files in it.",
      };
  }
}
