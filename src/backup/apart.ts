/*
 * Folders that are to outlive the disk of the database. One that lay on another disk must not be made anew on the database's own where
 * that disk is pulled and its mount point goes with it.
 */
import { statSync } from "node:fs";
import path from "node:path";

/** The database whose disk a folder must not lie on where it did not before. */
export interface ApartFrom {
  database: string;
  mustBeApart: boolean;
}

/** Whether a folder, or the innermost one above it that is there, lies on another disk than the database. */
export function isApart(folder: string, database: string): boolean {
  return statSync(innermostOf(folder)).dev !== statSync(database).dev;
}

/** The name where it is there, or the innermost folder above it that is. */
export function innermostOf(name: string): string {
  for (let at = name; ; at = path.dirname(at)) {
    if (statSync(at, { throwIfNoEntry: false }) !== undefined || at === path.dirname(at)) return at;
  }
}
