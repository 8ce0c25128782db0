/*
 * Identifies the journal's folder by a file with an id, which the database stores too. A different folder at the same
 * path, after a disk was removed or exchanged, does not have that id. Bridges that share a folder share its id.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createFile, freshName, nameFresh, readRegular, removeName, syncFolder } from "../platform/fresh-file.ts";

const NAME = "journal.id";
const NUMBER = /^[0-9a-f-]{36}$/;

/** Undefined where there is none. Throws errors of the file system. */
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

/** The id of an existing folder, created where it has none. Flushed. */
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
    // Another shop's bridge may have created it meanwhile.
    const made = (error as NodeJS.ErrnoException).code === "EEXIST" ? readMark(folder) : undefined;
    if (made === undefined) throw error;
    return made;
  } finally {
    closeSync(descriptor);
    removeName(fresh);
  }
}
