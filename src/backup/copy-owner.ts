/* Whose database a copy shows. Only reads. */
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { findCopies, type NamedCopy } from "../database/copy-names.ts";
import { openFile } from "../database/open-file.ts";
import { compareReach, type Progress } from "../database/progress.ts";
import { progressOf } from "../database/progress-note.ts";
import type { Owner } from "../platform/owner.ts";

/** Nothing is known of a file that cannot be read, or that an older version made. */
export function readOwnerOfCopy(file: string): Owner {
  let db: Database.Database | undefined;
  try {
    db = openFile(file, { readonly: true, fileMustExist: true });
    const read = db.prepare("SELECT value FROM meta WHERE key = ?").pluck();
    return { account: read.get("account") as string | undefined, database: read.get("database") as string | undefined };
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

/** The copy in a folder that has the most of this database, under whatever name. */
export function newestCopyOf(folder: string, database: string): CopyReach | undefined {
  const found = findFurthest(folder, (file) => readProgress(file)?.database === database);
  return found?.progress === undefined ? undefined : { ...found, progress: found.progress };
}

/** The orders of a copy; throws what SQLite says where it cannot be read. */
export function* ordersOfCopy(file: string): Generator<{ orderId: string; serviceId: string | null }> {
  const db = openFile(file, { readonly: true, fileMustExist: true });
  try {
    yield* db
      .prepare<[], { orderId: string; serviceId: string | null }>(
        "SELECT order_id AS orderId, service_id AS serviceId FROM orders WHERE removed_at IS NULL",
      )
      .iterate();
  } finally {
    db.close();
  }
}

/** How far the database had come that a copy shows; undefined where it cannot be read. */
export function readProgress(file: string): Progress | undefined {
  let db: Database.Database | undefined;
  try {
    db = openFile(file, { readonly: true, fileMustExist: true });
    return progressOf(db, undefined);
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}

/** The copy that has the most of a database that was filled from this account, under whatever name of a database. */
export function findCopyOf(folder: string, account: string): string | undefined {
  return findFurthest(folder, (file) => readOwnerOfCopy(file).account === account)?.file;
}

/** Copies of one name that are opened: more than are kept by default, and few enough for a disk of the network. */
const OPENED_MAX = 30;

/** The newest copy is the one that holds most: times in names and of files are a clock's, and decide only which are opened first. */
function findFurthest(folder: string, isOwn: (file: string) => boolean) {
  const nowMs = Date.now();
  const listed = likelyFirst(listCopies(folder), nowMs);
  const first = listed.find(({ file }) => isOwn(file));
  if (first === undefined) return undefined;
  const progress = readProgress(first.file);
  let furthest = { file: first.file, madeMs: first.madeMs, progress };
  if (progress === undefined) return furthest;
  const sameName = likelyFirst(
    listed.filter(({ stem }) => stem === first.stem),
    nowMs,
  );
  for (const { file, madeMs } of sameName.slice(0, OPENED_MAX)) {
    const other = readProgress(file);
    if (other?.database !== progress.database) continue;
    if (compareReach(other, furthest.progress ?? {}) > 0) furthest = { file, madeMs, progress: other };
  }
  return furthest;
}

interface ListedCopy extends NamedCopy {
  stem: string;
  file: string;
  changedMs: number;
}

/** In turn the newest by name, the newest by the file's own time, and those whose names lie after the present time. */
function likelyFirst(copies: readonly ListedCopy[], nowMs: number): ListedCopy[] {
  const byName = copies.toSorted((a, b) => b.madeMs - a.madeMs);
  const lists = [
    byName.filter(({ madeMs }) => madeMs <= nowMs),
    copies.toSorted((a, b) => b.changedMs - a.changedMs),
    byName.filter(({ madeMs }) => madeMs > nowMs),
  ];
  const inTurn = copies.flatMap((_, at) => lists.map((list) => list[at])).filter((copy) => copy !== undefined);
  return [...new Set(inTurn)];
}

/** The copies of every database; none where the folder cannot be read. */
function listCopies(folder: string): ListedCopy[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const stems = new Set(
    names.map((name) => /^(.+)-\d{8}T\d{9}Z\.db$/.exec(name)?.[1]).filter((stem) => stem !== undefined),
  );
  return [...stems].flatMap((stem) =>
    findCopies(stem, names).map((copy) => {
      const file = path.join(folder, copy.name);
      return { ...copy, stem, file, changedMs: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
    }),
  );
}
