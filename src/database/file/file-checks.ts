/**
 * Checks of a database file before it is opened. They guarantee that one file has one name (no symbolic or hard links,
 * the folder resolved), so that the instance lock beside it cannot be bypassed, and that the file is on a local file
 * system, where locks and shared memory work. They look at metadata, or read through a descriptor that SQLite has open:
 * closing another descriptor of a database file, its log or their shared memory would drop the POSIX locks of this
 * process's connections. The only write is the creation of an empty file at first use.
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
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { createFile, freshName, giveTo, removeName } from "../../platform/fresh-file.ts";
import { asBridgeError, describePermissions, faultCodeOf, unwritableDisk } from "../sqlite-errors.ts";

export interface Mount {
  point: string;
  type: string;
}

/** File systems on which SQLite's locks or WAL's shared memory do not work between all machines that see the file. */
const NETWORK_TYPES =
  /^(nfs\d?|cifs|smbfs|smb\d|ncpfs|afs|ceph|9p|coda|lustre|beegfs|gpfs|gfs2|ocfs2|pvfs2|davfs|vboxsf|prl_fs)$/;
const NETWORK_FUSE =
  /^fuse\.(sshfs|s3fs|rclone|glusterfs|ceph|davfs2?|curlftpfs|smbnetfs|goofys|gcsfuse|juicefs|mfs|vmhgfs-fuse)$/;

export function isNetworkFileSystem(type: string): boolean {
  return NETWORK_TYPES.test(type) || NETWORK_FUSE.test(type);
}

/** Parses /proc/self/mountinfo (proc(5)); skips lines of another form. */
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

/** The mount of a resolved path: the longest mount point; of equal ones the last, which hides the others. */
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

/** The canonical path of a database: its folder resolved through symbolic links, its file name unchanged. */
export function resolveDatabasePath(databasePath: string): string {
  const absolute = path.resolve(databasePath);
  // better-sqlite3 trims the name: such a path would open another file than the one checked here.
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

/** Refuses symbolic links and anything that is no regular file. Undefined where the name does not exist. */
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
    return; // not Linux, or /proc is hidden: cannot be checked
  }
  const mount = mountOf(path.dirname(file), mounts);
  if (mount !== undefined && isNetworkFileSystem(mount.type)) {
    throw refuse(m.database.networkDisk({ file, type: mount.type, point: mount.point }), m.database.useOwnDisk);
  }
}

/** Suffixes of the files that SQLite opens or creates beside a database. */
export const BESIDE = ["-wal", "-shm", "-journal"];

export function refuseLinkedBeside(file: string): void {
  for (const suffix of BESIDE) refuseLinks(`${file}${suffix}`, true);
}

/** Refuses links and non-files under the names of the database. Returns its size in bytes; undefined where it is absent. */
export function refuseLinkedDatabase(file: string): number | undefined {
  refuseLinkedBeside(file);
  return refuseLinks(file);
}

/** All checks that are possible without opening the file. Returns its size in bytes; undefined where it is absent. */
export function checkDatabaseFile(file: string, access: "read" | "write"): number | undefined {
  const size = refuseLinkedDatabase(file);
  refuseNetwork(file);
  const folder = path.dirname(file);
  const unwritable = access === "write" ? unwritableDisk(file, m.database.opening) : undefined;
  if (unwritable !== undefined) throw unwritable;
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

/** Before the umask: not for other users, because it will hold customers' addresses. */
const NEW_MODE = 0o660;

/**
 * The mode that a new database gets in this folder, by the umask and the folder's access control list.
 * @param ending of the empty file that is created for this and removed
 */
export function modeOfNew(file: string, ending: string): number {
  const name = freshName(file, ending);
  const descriptor = createFile(name, NEW_MODE);
  try {
    return fstatSync(descriptor).mode & 0o777;
  } finally {
    closeSync(descriptor);
    removeName(name);
  }
}

/**
 * Creates the empty file and flushes the folder. Only for a path on which this process has no open connection.
 */
export function createDatabaseFile(file: string): void {
  try {
    const created = createFile(file, NEW_MODE);
    const folder = openSync(path.dirname(file), "r");
    giveTo(fstatSync(folder), created);
    closeSync(created);
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    if (faultCodeOf(error) !== "EEXIST") throw asBridgeError(error, m.database.creating, file);
  }
}

/** Names of all objects in a schema, in lower case, without SQLite's own. */
export function schemaNames(db: Database.Database): string[] {
  return db
    .prepare<[], string>("SELECT lower(name) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    .pluck()
    .all();
}

/** At first use: refuses a file in which another program has tables with names of ours. */
export function refuseForeignTables(db: Database.Database, ourNames: readonly string[], file: string): void {
  const ours = new Set(ourNames.map((name) => name.toLowerCase()));
  const foreign = schemaNames(db).filter((name) => ours.has(name));
  if (foreign.length > 0) {
    throw refuse(m.database.foreignFile({ file, names: foreign.slice(0, 5) }), m.database.ownFileOrRename);
  }
}

/** The file that describes a swap in progress: see `swap-files.ts`. */
export function swapNoteOf(file: string): string {
  return `${file}.restore`;
}

/** Whether a swap is in progress: the restored file may still have its working name, and must not be touched. */
export function isSwapUnfinished(file: string): boolean {
  return existsSync(swapNoteOf(file));
}

/** During a swap the database may have no name: opening it would create an empty one in its place. */
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

/** A descriptor under which this process has the file open; undefined where it has none, or there is no /proc. */
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
