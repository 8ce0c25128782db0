/* Whose database a copy shows. Only reads. */
import { readdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { findCopies, type NamedCopy } from "../database/copy-names.ts";
import type { Progress } from "../database/progress.ts";
import { progressOf } from "../database/progress-note.ts";
import type { Owner } from "../platform/owner.ts";

/** Nothing is known of a file that cannot be read, or that an older version made. */
export function readOwnerOfCopy(file: string): Owner {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const read = db.prepare("SELECT value FROM meta WHERE key = ?").pluck();
    return {
      account: read.get("account") as string | undefined,
      database: read.get("database") as string | undefined,
    };
  } catch {
    return { account: undefined, database: undefined };
  } finally {
    db?.close();
  }
}

/** A copy, and how far the database had come that it shows. */
export interface CopyReach {
  file: string;
  /** Milliseconds, by its name. */
  madeMs: number;
  progress: Progress;
}

/** The newest copy in a folder that is of this database, under whatever name. */
export function newestCopyOf(folder: string, database: string): CopyReach | undefined {
  for (const { name, madeMs } of listNewestFirst(folder)) {
    const file = path.join(folder, name);
    const progress = readProgress(file);
    if (progress?.database === database) return { file, madeMs, progress };
  }
  return undefined;
}

/** Undefined where it cannot be read. */
function readProgress(file: string): Progress | undefined {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    return progressOf(db, undefined);
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}

/** The newest copy in a folder of a database that was filled from this account, under whatever name of a database. */
export function findCopyOf(folder: string, account: string): string | undefined {
  const found = listNewestFirst(folder).find(
    ({ name }) => readOwnerOfCopy(path.join(folder, name)).account === account,
  );
  return found === undefined ? undefined : path.join(folder, found.name);
}

/** The copies of every database; none where the folder cannot be read. */
function listNewestFirst(folder: string): NamedCopy[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const stems = new Set(
    names.map((name) => /^(.+)-\d{8}T\d{9}Z\.db$/.exec(name)?.[1]).filter((stem) => stem !== undefined),
  );
  return [...stems].flatMap((stem) => findCopies(stem, names)).sort((a, b) => b.madeMs - a.madeMs);
}
