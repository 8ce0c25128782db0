/*
 * Files created in folders where other users can create names. A file gets an unpredictable name, is certainly new, and
 * is never reached through a link; its mode is set on the open descriptor.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import path from "node:path";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
const RANDOM_BYTES = 8;

/** `NAME.0123456789abcdef.ENDING`, with random hex digits. */
export function freshName(file: string, ending: string): string {
  return `${file}.${randomBytes(RANDOM_BYTES).toString("hex")}.${ending}`;
}

/** Files that a process which died left under such names, and the files of SQLite beside them. */
export function leftNames(file: string, ending: string): string[] {
  const folder = path.dirname(file);
  try {
    const names = readdirSync(folder).filter((name) => beforeRandom(name, ending) === path.basename(file));
    return names.map((name) => path.join(folder, name));
  } catch {
    return []; // an unreadable folder; the next operation on it reports the error
  }
}

/** `NAME` from `NAME.0123456789abcdef.ENDING`, or from a file of SQLite beside it; undefined for any other name. */
export function beforeRandom(name: string, ending: string): string | undefined {
  const found = /^(.+)\.[0-9a-f]{16}\.([a-z]+)(?:-(?:wal|shm|journal))?$/s.exec(name);
  return found?.[2] === ending ? found[1] : undefined;
}

/** Creates and opens a file. Throws `EEXIST` where the name exists, as a link too. */
export function createFile(file: string, mode: number): number {
  return openSync(file, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR, mode);
}

/**
 * Opens an existing regular file for reading, never through a link. Throws `ELOOP` for a link, `ENOTSUP` for anything
 * but a file.
 */
export function openRegular(file: string): number {
  return openIf(file, O_RDONLY, () => true);
}

/**
 * The same for a file that is written or gets another owner or mode. Refuses a file with several hard links: another
 * name may belong to another user.
 * @param flags `O_RDONLY` where nothing is written
 */
export function openOnlyName(file: string, flags: number = O_RDWR): number {
  return openIf(file, flags, ({ nlink }) => nlink <= 1);
}

function openIf(file: string, flags: number, isOwn: (stat: Stats) => boolean): number {
  // `O_NONBLOCK`, because opening a pipe would wait for its other end.
  const descriptor = openSync(file, flags | O_NOFOLLOW | constants.O_NONBLOCK);
  const stat = fstatSync(descriptor);
  if (stat.isFile() && isOwn(stat)) return descriptor;
  closeSync(descriptor);
  throw Object.assign(new Error(`${file} is no regular file with one name`), { code: "ENOTSUP" });
}

/**
 * Replaces a file atomically: a reader sees the old content or the new. Removes temporary files that earlier processes
 * left, so only one process may write the file at a time.
 */
export function replaceFile(file: string, content: string, options: { mode: number; flush: boolean }): void {
  for (const left of leftNames(file, "new")) removeName(left);
  const fresh = freshName(file, "new");
  const descriptor = createFile(fresh, options.mode);
  try {
    try {
      writeFileSync(descriptor, content);
      if (options.flush) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(fresh, file);
  } catch (error) {
    removeName(fresh);
    throw error;
  }
}

/** Gives a fresh file its final name. Throws `EEXIST` where the name exists. */
export function nameFresh(fresh: string, file: string): void {
  try {
    // A link fails where the name exists by now; a rename would overwrite it.
    linkSync(fresh, file);
    rmSync(fresh);
  } catch (error) {
    // File systems without hard links, such as FAT.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
    if (existsSync(file)) throw Object.assign(new Error(`${file} is there already`), { code: "EEXIST" });
    renameSync(fresh, file);
  }
}

/** Removes a name; of a link the link itself, never its target. Leaves a folder. */
export function removeName(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // A folder, or another user's file: it does not matter here.
  }
}

/** Gives a file that root created to its user. Takes a descriptor, because a name may be a link by now. */
export function giveTo(owner: { uid: number; gid: number }, descriptor: number): void {
  if (process.geteuid?.() === 0) fchownSync(descriptor, owner.uid, owner.gid);
}

/** Sets the mode of an existing file, never of a link's target. */
export function setMode(file: string, mode: number): void {
  const descriptor = openOnlyName(file, O_RDONLY);
  try {
    fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a regular file, never through a link and without waiting for a pipe. */
export function readRegular(file: string): string {
  const descriptor = openRegular(file);
  try {
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** Flushes a file to the disk. */
export function syncFile(file: string): void {
  syncDescriptor(openRegular(file));
}

/** Flushes the names in a folder, also through a link. */
export function syncFolder(folder: string): void {
  syncDescriptor(openSync(folder, "r"));
}

function syncDescriptor(descriptor: number): void {
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
