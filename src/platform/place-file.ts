import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  lchownSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

/**
 * Writes a file so that it is there whole or not at all, with exactly these permission bits from the first byte on.
 * A file of that name is never written over: it stops everything, or with `keepOld` goes on under another name.
 * @returns where the old file is kept, if there was one
 * @throws what the file system throws; `EEXIST` where the file is there and `keepOld` is not given
 */
export function placeFile(
  file: string,
  content: string,
  options: { mode: number; keepOld?: string },
): string | undefined {
  const folder = path.dirname(file);
  const fresh = `${file}.${process.pid}.new`;
  rmSync(fresh, { force: true });
  const descriptor = openSync(fresh, "wx", options.mode);
  try {
    fchmodSync(descriptor, options.mode);
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
    closeSync(descriptor);
    giveToOwnerOf(folder, fresh);
    const old = options.keepOld !== undefined && existsSync(file) ? options.keepOld : undefined;
    if (old === undefined) linkSync(fresh, file);
    else {
      linkSync(file, old);
      renameSync(fresh, file);
    }
    syncFolder(folder);
    return old;
  } finally {
    rmSync(fresh, { force: true });
  }
}

/**
 * Makes a folder and those above it where they are missing. Others than owner and group see nothing of it, and it
 * belongs to whom the folder above it belongs.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  mkdirSync(folder, { mode: 0o750 });
  giveToOwnerOf(path.dirname(folder), folder);
}

/** What root makes in a folder of the service's user is for that user. Never through a link: its target may be root's. */
function giveToOwnerOf(folder: string, file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  lchownSync(file, uid, gid);
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
