import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { createFile, freshName, giveTo, leftNames, removeName, syncFolder } from "./fresh-file.ts";

/**
 * Writes a file so that it is there whole or not at all, with exactly these permission bits from the first byte on.
 * A file of that name is never written over: it stops everything, or with `keepOld` goes on under another name, and the
 * new one has its owner.
 * @returns where the old file is kept, if there was one
 * @throws what the file system throws; `EEXIST` where the file is there and `keepOld` is not given
 */
export function placeFile(
  file: string,
  content: string,
  options: { mode: number; keepOld?: string },
): string | undefined {
  const folder = path.dirname(file);
  for (const left of leftNames(file, "new")) removeName(left);
  const fresh = freshName(file, "new");
  const descriptor = createFile(fresh, options.mode);
  try {
    const old = options.keepOld !== undefined && existsSync(file) ? options.keepOld : undefined;
    giveTo(statSync(old === undefined ? folder : file), descriptor);
    fchmodSync(descriptor, options.mode);
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
    closeSync(descriptor);
    if (old === undefined) linkSync(fresh, file);
    else {
      linkSync(file, old);
      renameSync(fresh, file);
    }
    syncFolder(folder);
    return old;
  } finally {
    removeName(fresh);
  }
}

/** Makes missing folders for owner and group alone, which belong to whom the folder above belongs. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  mkdirSync(folder, { mode: 0o750 });
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    giveTo(statSync(path.dirname(folder)), descriptor);
  } finally {
    closeSync(descriptor);
  }
}
