/*
 * For folders that must survive the loss of the database's disk. A folder that was on another disk must not be created
 * again on the database's own disk after that disk and its mount point are gone.
 */
import { statSync } from "node:fs";
import path from "node:path";

/** The database, and whether the folder must be on another disk because it was before. */
export interface ApartFrom {
  database: string;
  mustBeApart: boolean;
}

/** Whether the folder, or its innermost existing parent, is on another disk than the database. */
export function isApart(folder: string, database: string): boolean {
  return statSync(innermostOf(folder)).dev !== statSync(database).dev;
}

/** The path itself where it exists, else its innermost existing parent. */
export function innermostOf(name: string): string {
  for (let at = name; ; at = path.dirname(at)) {
    if (statSync(at, { throwIfNoEntry: false }) !== undefined || at === path.dirname(at)) return at;
  }
}
