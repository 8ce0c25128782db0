/*
 * Files that are made in folders where others may plant names. A file is made under an unpredictable name,
 * is new for certain and is never reached through a link; its mode is set on the open file.
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

/** `NAME.0123456789abcdef.ENDING`, which cannot be guessed. */
export function freshName(file: string, ending: string): string {
  return `${file}.${randomBytes(RANDOM_BYTES).toString("hex")}.${ending}`;
}

/** What a process that died left under such names of this file, with what SQLite makes beside it. */
export function leftNames(file: string, ending: string): string[] {
  const folder = path.dirname(file);
  try {
    const names = readdirSync(folder).filter((name) => beforeRandom(name, ending) === path.basename(file));
    return names.map((name) => path.join(folder, name));
  } catch {
    return []; // a folder that cannot be read: what follows says so
  }
}

/** `NAME` of `NAME.0123456789abcdef.ENDING` and of what SQLite makes beside that; undefined for any other name. */
export function beforeRandom(name: string, ending: string): string | undefined {
  const found = /^(.+)\.[0-9a-f]{16}\.([a-z]+)(?:-(?:wal|shm|journal))?$/s.exec(name);
  return found?.[2] === ending ? found[1] : undefined;
}

/** Opens a file that did not exist. Throws `EEXIST` for whatever bears the name, links included. */
export function createFile(file: string, mode: number): number {
  return openSync(file, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR, mode);
}

/** Opens a regular file that is there for reading, never through a link. Throws `ELOOP`, or `ENOTSUP` for anything but a file. */
export function openRegular(file: string): number {
  return openIf(file, O_RDONLY, () => true);
}

/**
 * The same for what is written or gets another owner or mode: a second name may be that of somebody else's file.
 * @param flags `O_RDONLY` where nothing is written
 */
export function openOnlyName(file: string, flags: number = O_RDWR): number {
  return openIf(file, flags, ({ nlink }) => nlink <= 1);
}

function openIf(file: string, flags: number, isOwn: (stat: Stats) => boolean): number {
  // A pipe would wait for its other end.
  const descriptor = openSync(file, flags | O_NOFOLLOW | constants.O_NONBLOCK);
  const stat = fstatSync(descriptor);
  if (stat.isFile() && isOwn(stat)) return descriptor;
  closeSync(descriptor);
  throw Object.assign(new Error(`${file} is no regular file with one name`), { code: "ENOTSUP" });
}

/**
 * Writes a file aside and puts it in the place of `file`: a reader gets the former content or this. What earlier ones
 * left is removed, so only one process may write the file at a time.
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

/** Gives a file the name that it was made for. Throws `EEXIST` where that is taken. */
export function nameFresh(fresh: string, file: string): void {
  try {
    // A link fails where the name was taken meanwhile; a rename would write over it.
    linkSync(fresh, file);
    rmSync(fresh);
  } catch (error) {
    // File systems without hard links, such as a memory stick's.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
    if (existsSync(file)) throw Object.assign(new Error(`${file} is there already`), { code: "EEXIST" });
    renameSync(fresh, file);
  }
}

/** Removes a name, a link itself and never what it points to; a folder of that name stays. */
export function removeName(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // A folder, or not ours: it is not in the way.
  }
}

/** What root makes for another user is given to that user. Only on an open file: a name may be a link by now. */
export function giveTo(owner: { uid: number; gid: number }, descriptor: number): void {
  if (process.geteuid?.() === 0) fchownSync(descriptor, owner.uid, owner.gid);
}

/** The permissions of a file that is there, never of what a link points to. */
export function setMode(file: string, mode: number): void {
  const descriptor = openOnlyName(file, O_RDONLY);
  try {
    fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}

/** The text of a regular file, never through a link and never waiting for a pipe. */
export function readRegular(file: string): string {
  const descriptor = openRegular(file);
  try {
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** Returns once what was written to a file is on the disk. */
export function syncFile(file: string): void {
  syncDescriptor(openRegular(file));
}

/** The same for the names in a folder, also through a link. */
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
