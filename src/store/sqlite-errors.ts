/**
 * What SQLite and the file system throw, turned into the bridge's own errors. Decides by result codes, never by the
 * text of a message, so that a caller can tell "no space left" from "another program holds the lock" and an
 * administrator reads one sentence with a way out. Keeps no state: a crash leaves nothing behind.
 */
import { statSync } from "node:fs";
import path from "node:path";
import { BridgeError, type ErrorCode } from "../domain/errors.ts";

/** How deep a chain of causes is followed: drizzle wraps once, our own code at most once more. */
const CAUSES_MAX = 5;

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
function errorCodeFor(fault: string): ErrorCode | undefined {
  // The first write to a full disk is often the growth of the -shm file, which SQLite reports as an I/O error.
  if (/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)$/.test(fault)) return "disk_full";
  if (fault.startsWith("SQLITE_IOERR") || fault === "EIO" || fault === "EFBIG") return "disk_failed";
  if (fault.startsWith("SQLITE_BUSY") || fault === "SQLITE_PROTOCOL") return "database_busy";
  if (fault.startsWith("SQLITE_CORRUPT") || fault === "SQLITE_NOTADB") return "database_corrupt";
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM)/.test(fault)) return "database_refused";
  if (/^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|EISDIR|ELOOP)$/.test(fault)) return "database_refused";
  return undefined;
}

/** `folder /var/lib/erp-bridge: mode 0750, owner 998:998; this program runs as 1000:1000`. Never throws. */
export function describePermissions(place: string): string {
  const self = `this program runs as ${process.geteuid?.() ?? "?"}:${process.getegid?.() ?? "?"}`;
  try {
    const stat = statSync(place);
    const mode = (stat.mode & 0o7777).toString(8).padStart(4, "0");
    return stat.isDirectory()
      ? `folder ${place}: mode ${mode}, owner ${stat.uid}:${stat.gid}; ${self}`
      : `file ${place}: mode ${mode}, owner ${stat.uid}:${stat.gid}; ${self}`;
  } catch {
    return `folder ${place} cannot be looked at; ${self}`;
  }
}

function wordsFor(code: ErrorCode, fault: string, databasePath?: string): { what: string; hint: string } {
  const folder = databasePath === undefined ? undefined : path.dirname(databasePath);
  switch (code) {
    case "disk_full":
      return {
        what: folder === undefined ? "the disk is full" : `the disk of ${folder} is full`,
        hint: "Free some space; the bridge goes on by itself.",
      };
    case "disk_failed":
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
      return {
        what: `the file or its folder does not let this program in${folder === undefined ? "" : ` (${describePermissions(folder)})`}`,
        hint: "Give the user of erp-bridge the right to read and write the folder and the files in it.",
      };
  }
}

/**
 * The error of the machine behind `error`, or undefined where there is none (a constraint, a mistake in a statement):
 * those are for the caller to handle or for a bug report.
 */
export function machineFaultOf(error: unknown, doing: string, databasePath?: string): BridgeError | undefined {
  if (error instanceof BridgeError) return error;
  const fault = faultCodeOf(error);
  const code = fault === undefined ? undefined : errorCodeFor(fault);
  if (fault === undefined || code === undefined) return undefined;
  const { what, hint } = wordsFor(code, fault, databasePath);
  const where = databasePath === undefined ? fault : `${databasePath}, ${fault}`;
  return new BridgeError(code, `${doing}: ${what} (${where}).`, { hint, cause: error });
}

/**
 * Any error as a BridgeError. `doing` opens the sentence ("Opening the database"); with the path of the database the
 * words name its folder and, where rights are missing, the folder's. What is not a fault of the machine becomes `internal` with its original as the cause.
 */
export function asBridgeError(error: unknown, doing: string, databasePath?: string): BridgeError {
  const known = machineFaultOf(error, doing, databasePath);
  if (known !== undefined) return known;
  const text = error instanceof Error ? error.message : String(error);
  return new BridgeError("internal", `${doing}: ${text}.`, { cause: error });
}
