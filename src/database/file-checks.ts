/**
 * What a database file must be before it is opened. Keeps two guarantees: one file has one name (no symbolic or hard
 * links, the folder resolved), so that the instance lock beside it cannot be passed by; and the file lies where locks
 * and shared memory work, on a local file system. Looks at metadata, and reads through SQLite's own descriptor where it has one: closing
 * one of ours of a database file, its log or their shared memory would drop the locks of this process's connections. Writes nothing but
 * an empty file at first use.
 */

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { createFile, giveTo } from "../platform/fresh-file.ts";
import { asBridgeError, describePermissions, faultCodeOf } from "./sqlite-errors.ts";

export interface Mount {
  point: string;
  type: string;
}

/** File systems on which SQLite's locks or the shared memory of WAL do not hold between all who can see the file. */
const NETWORK_TYPES =
  /^(nfs\d?|cifs|smbfs|smb\d|ncpfs|afs|ceph|9p|coda|lustre|beegfs|gpfs|gfs2|ocfs2|pvfs2|davfs|vboxsf|prl_fs)$/;
const NETWORK_FUSE =
  /^fuse\.(sshfs|s3fs|rclone|glusterfs|ceph|davfs2?|curlftpfs|smbnetfs|goofys|gcsfuse|juicefs|mfs|vmhgfs-fuse)$/;

export function isNetworkFileSystem(type: string): boolean {
  return NETWORK_TYPES.test(type) || NETWORK_FUSE.test(type);
}

/** Reads the lines of /proc/self/mountinfo (proc(5)); lines that do not have its form are left out. */
export function parseMountInfo(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    // The number of optional fields varies; " - " ends them and the file system's type follows.
    const [before, after] = line.split(" - ", 2);
    const point = before?.split(" ")[4];
    const type = after?.split(" ")[0];
    if (point === undefined || type === undefined || type === "") return [];
    const unescaped = point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    return [{ point: unescaped, type }];
  });
}

/** The mount that a resolved path lies on: the longest mount point, and of equal ones the last, which covers the others. */
export function mountOf(resolvedPath: string, mounts: readonly Mount[]): Mount | undefined {
  let found: Mount | undefined;
  for (const mount of mounts) {
    const inside = mount.point === "/" || resolvedPath === mount.point || resolvedPath.startsWith(`${mount.point}/`);
    if (inside && mount.point.length >= (found?.point.length ?? 0)) found = mount;
  }
  return found;
}

function refuse(message: Message, hint: Message, cause?: unknown): BridgeError {
  return new BridgeError("database_refused", message, { hint, cause });
}

/** The one name of a database: its folder resolved through symbolic links, its own name kept. */
export function resolveDatabasePath(databasePath: string): string {
  const absolute = path.resolve(databasePath);
  // better-sqlite3 trims the name it is given: such a path would open another file than the one checked here.
  if (absolute !== absolute.trim() || absolute.includes("\0")) {
    throw refuse(m.database.pathEndsBlank({ path: databasePath }), m.database.fixPath);
  }
  try {
    return path.join(realpathSync(path.dirname(absolute)), path.basename(absolute));
  } catch (error) {
    if (faultCodeOf(error) !== "ENOENT") throw asBridgeError(error, m.database.opening, absolute);
    throw refuse(m.database.folderMissing({ folder: path.dirname(absolute) }), m.database.makeFolder, error);
  }
}

/** Refuses a link or what is no regular file; undefined where there is nothing. */
export function refuseNoFile(file: string, isBeside = false): Stats | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink() === true) {
    throw refuse(m.database.symbolicLink({ file }), isBeside ? m.database.findMaker : m.database.setTarget);
  }
  if (stat?.isFile() === false) {
    throw refuse(m.database.notRegular({ file }), isBeside ? m.database.findMaker : m.database.fixPath);
  }
  return stat;
}

function refuseLinks(file: string, isBeside = false): number | undefined {
  const stat = refuseNoFile(file, isBeside);
  if (stat !== undefined && stat.nlink > 1) {
    throw refuse(m.database.hardLinks({ file, names: stat.nlink }), m.database.leaveOneName);
  }
  return stat?.size;
}

function refuseNetwork(file: string): void {
  let mounts: Mount[];
  try {
    mounts = parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8"));
  } catch {
    return; // not Linux, or /proc is hidden: nothing to judge by
  }
  const mount = mountOf(path.dirname(file), mounts);
  if (mount !== undefined && isNetworkFileSystem(mount.type)) {
    throw refuse(m.database.networkDisk({ file, type: mount.type, point: mount.point }), m.database.useOwnDisk);
  }
}

/** What SQLite opens or makes beside a database. */
export const BESIDE = ["-wal", "-shm", "-journal"];

export function refuseLinkedBeside(file: string): void {
  for (const suffix of BESIDE) refuseLinks(`${file}${suffix}`, true);
}

/** Refuses whatever bears a name of the database and is no file of its own. Gives its size; undefined where it is absent. */
export function refuseLinkedDatabase(file: string): number | undefined {
  refuseLinkedBeside(file);
  return refuseLinks(file);
}

/** Checks everything that can be known without opening the file. Gives its size in bytes; undefined where it is absent. */
export function checkDatabaseFile(file: string, access: "read" | "write"): number | undefined {
  const size = refuseLinkedDatabase(file);
  refuseNetwork(file);
  const folder = path.dirname(file);
  try {
    accessSync(folder, access === "write" ? constants.W_OK | constants.X_OK : constants.X_OK);
    if (size !== undefined) accessSync(file, access === "write" ? constants.R_OK | constants.W_OK : constants.R_OK);
  } catch (error) {
    const rights = describePermissions(folder);
    throw refuse(
      access === "write" ? m.database.notWritable({ file, rights }) : m.database.notReadable({ file, rights }),
      m.database.giveRights,
      error,
    );
  }
  return size;
}

/**
 * Makes the empty file, never readable by everyone (it will hold customers' addresses), and makes its name durable.
 * Only for a path where no connection of this process can be open.
 */
export function createDatabaseFile(file: string): void {
  try {
    const created = createFile(file, 0o660);
    const folder = openSync(path.dirname(file), "r");
    giveTo(fstatSync(folder), created);
    closeSync(created);
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    if (faultCodeOf(error) !== "EEXIST") throw asBridgeError(error, m.database.creating, file);
  }
}

/** Names of everything in a schema, in lower case, without SQLite's own. */
export function schemaNames(db: Database.Database): string[] {
  return db
    .prepare<[], string>("SELECT lower(name) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    .pluck()
    .all();
}

/** At first use: another program's tables that carry names of ours must neither be used nor written over. */
export function refuseForeignTables(db: Database.Database, ourNames: readonly string[], file: string): void {
  const ours = new Set(ourNames.map((name) => name.toLowerCase()));
  const foreign = schemaNames(db).filter((name) => ours.has(name));
  if (foreign.length > 0) {
    throw refuse(m.database.foreignFile({ file, names: foreign.slice(0, 5) }), m.database.ownFileOrRename);
  }
}

/** What says how the names of a database are being changed: see `swap-files.ts`. */
export function swapNoteOf(file: string): string {
  return `${file}.restore`;
}

/** Whether the names are being changed: then the restored file has no other name yet and must not be touched. */
export function isSwapUnfinished(file: string): boolean {
  return existsSync(swapNoteOf(file));
}

/** Between its names a database must not be opened: an empty one would be made in its place. */
export function refuseUnfinishedSwap(file: string): void {
  if (!isSwapUnfinished(file)) return;
  throw new BridgeError("database_refused", m.database.restoreInterrupted({ file }), {
    hint: m.database.finishRestore,
  });
}

/** The first bytes of a file that SQLite may have open in this process. */
export function readStart(name: string, length: number): Buffer {
  const known = findDescriptor(identityOf(name));
  if (known === undefined) return readFileSync(name).subarray(0, length);
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(known, bytes, 0, length, 0));
}

export function identityOf(name: string): string {
  const { dev, ino } = statSync(name, { bigint: true });
  return `${dev}:${ino}`;
}

/** Under which this process has a file open already; undefined also where there is no /proc. */
export function findDescriptor(identity: string): number | undefined {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .find((descriptor) => isOf(descriptor, identity));
  } catch {
    return undefined;
  }
}

export function isOf(descriptor: number, identity: string): boolean {
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return `${dev}:${ino}` === identity;
  } catch {
    return false;
  }
}
