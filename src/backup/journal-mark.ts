/*
 * What the journal's folder is known by: a file with a number of its own, which the database has as well. Another folder that is found at
 * the same place, because the disk was pulled and its mount point stayed or another disk lies there, does not have it. Bridges that share
 * a folder share its number.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createFile, freshName, nameFresh, readRegular, removeName, syncFolder } from "../platform/fresh-file.ts";

const NAME = "journal.id";
const NUMBER = /^[0-9a-f-]{36}$/;

/** Undefined where it is not there. Throws what the file system throws. */
export function readMark(folder: string): string | undefined {
  try {
    const text = readRegular(path.join(folder, NAME)).trim();
    return NUMBER.test(text) ? text : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** The number of a folder that is there, which gets one where it has none. Flushed. */
export function markFolder(folder: string): string {
  const known = readMark(folder);
  if (known !== undefined) return known;
  const file = path.join(folder, NAME);
  const fresh = freshName(file, "new");
  const number = randomUUID();
  const descriptor = createFile(fresh, 0o600);
  try {
    writeFileSync(descriptor, `${number}\n`);
    fsyncSync(descriptor);
    nameFresh(fresh, file);
    syncFolder(folder);
    return number;
  } catch (error) {
    // Another shop's bridge may have made it meanwhile.
    const made = (error as NodeJS.ErrnoException).code === "EEXIST" ? readMark(folder) : undefined;
    if (made === undefined) throw error;
    return made;
  } finally {
    closeSync(descriptor);
    removeName(fresh);
  }
}
