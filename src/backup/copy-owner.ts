/* Whose database a copy shows. Only reads. */
import { readdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { findCopies } from "../database/copy-names.ts";
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

/** How far a copy has come; undefined where it cannot be read. */
export function readProgressOfCopy(file: string): Progress | undefined {
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
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return undefined;
  }
  const stems = new Set(
    names.map((name) => /^(.+)-\d{8}T\d{9}Z\.db$/.exec(name)?.[1]).filter((stem) => stem !== undefined),
  );
  const copies = [...stems].flatMap((stem) => findCopies(stem, names)).sort((a, b) => b.madeMs - a.madeMs);
  const found = copies.find(({ name }) => readOwnerOfCopy(path.join(folder, name)).account === account);
  return found === undefined ? undefined : path.join(folder, found.name);
}
