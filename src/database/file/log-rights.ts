/*
 * Whether the log beside a database keeps out its writers. In WAL mode even a read-only connection makes the log and its
 * shared memory if no program has the file open, and it cannot remove them. They get the mode of the database, but belong
 * to the user of that connection: from then on a writer without the right to them fails in every statement.
 */
import { accessSync, constants, type Stats, statSync } from "node:fs";
import path from "node:path";
import { readStart } from "./file-checks.ts";
import { isWalHeader, WAL_HEADER_BYTES } from "./foreign-journal.ts";

export type Rights = Pick<Stats, "uid" | "gid" | "mode">;
type User = Pick<Stats, "uid" | "gid">;

export interface LogFacts {
  file: Rights;
  folder: Rights;
  /** The log and its shared memory; undefined where SQLite would make one. */
  logs: readonly (Rights | undefined)[];
  /** The user of this process. */
  self: User;
}

/** `own`: a log of this user's keeps writers out; `new`: one that SQLite would make now would. */
export type KeepsOut = "own" | "new";

const [SETGID, OWNER_WRITES, GROUP_WRITES, OTHERS_WRITE] = [0o2000, 0o200, 0o020, 0o002];

export function planLog({ file, folder, logs, self }: LogFacts): KeepsOut | undefined {
  // Where the file is this user's too, a writer may have made the log.
  const isOwn = ({ uid }: Rights) => uid === self.uid && uid !== file.uid;
  if (logs.some((log) => log !== undefined && isOwn(log) && !mayAllWrite(file, log))) return "own";
  const isMade = logs.includes(undefined) && !mayAllWrite(file, newLog(file, folder, self));
  return isMade ? "new" : undefined;
}

/** As root, SQLite also gives a log the owner and the group of the database. */
function newLog(file: Rights, folder: Rights, self: User): Rights {
  if (self.uid === 0) return file;
  return { uid: self.uid, gid: (folder.mode & SETGID) === 0 ? self.gid : folder.gid, mode: file.mode };
}

/** Whether all who may write the file may write the log. The owner of the file counts as a member of its group. */
function mayAllWrite(file: Rights, log: Rights): boolean {
  if ((log.mode & OTHERS_WRITE) !== 0) return true;
  if ((file.mode & OTHERS_WRITE) !== 0) return false;
  if (log.gid === file.gid && (log.mode & GROUP_WRITES) !== 0) return true;
  if ((file.mode & GROUP_WRITES) !== 0) return false;
  const isOwners = log.uid === file.uid && (log.mode & OWNER_WRITES) !== 0;
  return isOwners || file.uid === 0 || (file.mode & OWNER_WRITES) === 0;
}

/**
 * Looks at the log of a database that a connection has open; SQLite makes the log at the first read.
 * @param file resolved through links
 */
export function lookAtLog(file: string): KeepsOut | undefined {
  const { geteuid, getegid } = process;
  if (geteuid === undefined || getegid === undefined) return undefined;
  if (!isWalHeader(readStart(file, WAL_HEADER_BYTES))) return undefined;
  const folder = path.dirname(file);
  const found = planLog({
    file: statSync(file),
    folder: statSync(folder),
    logs: ["-wal", "-shm"].map((suffix) => statSync(`${file}${suffix}`, { throwIfNoEntry: false })),
    self: { uid: geteuid(), gid: getegid() },
  });
  return found === "new" && !mayWrite(folder) ? undefined : found;
}

/** Otherwise SQLite makes no log, and reports why it cannot read. */
function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
