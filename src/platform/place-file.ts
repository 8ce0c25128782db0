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
 * Creates a file that is either complete or absent, with exactly these permission bits from the first byte on. An
 * existing file is never overwritten: it is an error, or with `keepOld` it is kept under that name and the new file
 * gets its owner.
 * @returns the name of the kept file, if there was one
 * @throws errors of the file system; `EEXIST` where the file exists and `keepOld` is not given
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

/** Creates missing folders with mode 0750, each with the owner of its parent. */
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
