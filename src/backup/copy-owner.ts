/*
 * Reads whose database a copy is, and how far it goes. Only reads.
 */
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { findCopies, type NamedCopy } from "../database/file/copy-names.ts";
import { openFile } from "../database/file/open-file.ts";
import { compareReach, type Progress } from "../database/log/progress.ts";
import { progressOf } from "../database/log/progress-note.ts";
import type { Owner } from "../platform/owner.ts";

/** Undefined where the file cannot be read, or comes from an older version. */
export function readOwnerOfCopy(file: string): Owner & { timeline: string | undefined } {
  let db: Database.Database | undefined;
  try {
    db = openFile(file, { readonly: true, fileMustExist: true });
    const read = db.prepare("SELECT value FROM meta WHERE key = ?").pluck();
    const of = (key: string) => read.get(key) as string | undefined;
    return { account: of("account"), database: of("database"), timeline: of("timeline") };
  } catch {
    return { account: undefined, database: undefined, timeline: undefined };
  } finally {
    db?.close();
  }
}

/** A copy, and the progress of the database in it. */
export interface CopyReach {
  file: string;
  /** Milliseconds, from its name. */
  madeMs: number;
  progress: Progress;
}

/** The copy in a folder with the most of this database, whatever its name. */
export function newestCopyOf(folder: string, database: string): CopyReach | undefined {
  const found = findFurthest(folder, (file) => readProgress(file)?.database === database);
  return found?.progress === undefined ? undefined : { ...found, progress: found.progress };
}

/** What of a copy is compared with another one. */
export interface CopyContent {
  progress: Progress;
  timeline: string | undefined;
  /** The largest key; orders are never deleted. */
  orders: number;
}

/** Undefined where the file cannot be read. */
export function readContent(file: string): CopyContent | undefined {
  const progress = readProgress(file);
  return progress && { progress, timeline: readOwnerOfCopy(file).timeline, orders: lastOrderIn(file) };
}

/** The copy of this database with the most, where that is more than this content; of two timelines, more orders. */
export function findFuller(folder: string, own: CopyContent): string | undefined {
  const { database } = own.progress;
  const isMore = (a: CopyContent, b: CopyContent) =>
    a.timeline === b.timeline ? compareReach(a.progress, b.progress) > 0 : a.orders > b.orders;
  let fuller: { file: string; content: CopyContent } | undefined;
  for (const { file } of likelyOf(folder, (each) => readProgress(each)?.database === database)) {
    const content = readContent(file);
    if (content?.progress.database !== database) continue;
    if (isMore(content, fuller?.content ?? own)) fuller = { file, content };
  }
  return fuller?.file;
}

/** The orders of a copy. Throws SQLite's error where it cannot be read. */
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

/** The progress of the database in a copy; undefined where it cannot be read. */
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

/** The copy with the most of a database of this account, whatever the name of the database. */
export function findCopyOf(folder: string, account: string): string | undefined {
  return findFurthest(folder, (file) => readOwnerOfCopy(file).account === account)?.file;
}

/** 0 where it cannot be read. */
function lastOrderIn(file: string): number {
  let db: Database.Database | undefined;
  try {
    db = openFile(file, { readonly: true, fileMustExist: true });
    return db.prepare<[], number>("SELECT coalesce(max(order_key), 0) FROM orders").pluck().get() ?? 0;
  } catch {
    return 0;
  } finally {
    db?.close();
  }
}

/** Limit for copies of one name that are opened: more than are kept by default, and few enough for a network disk. */
const OPENED_MAX = 30;

/**
 * The newest copy is the one that has the most: times in names and of files depend on a clock, and only decide which
 * copies are opened first.
 */
function findFurthest(folder: string, isOwn: (file: string) => boolean) {
  const [first, ...others] = likelyOf(folder, isOwn);
  if (first === undefined) return undefined;
  const progress = readProgress(first.file);
  let furthest = { file: first.file, madeMs: first.madeMs, progress };
  if (progress === undefined) return furthest;
  for (const { file, madeMs } of others) {
    const other = readProgress(file);
    if (other?.database !== progress.database) continue;
    if (compareReach(other, furthest.progress ?? {}) > 0) furthest = { file, madeMs, progress: other };
  }
  return furthest;
}

/** The first own copy, then those of its name, of which {@link OPENED_MAX} are opened. */
function likelyOf(folder: string, isOwn: (file: string) => boolean): ListedCopy[] {
  const nowMs = Date.now();
  const listed = likelyFirst(listCopies(folder), nowMs);
  const first = listed.find(({ file }) => isOwn(file));
  if (first === undefined) return [];
  const sameName = likelyFirst(
    listed.filter(({ stem }) => stem === first.stem),
    nowMs,
  );
  return [first, ...sameName.slice(0, OPENED_MAX)];
}

interface ListedCopy extends NamedCopy {
  stem: string;
  file: string;
  changedMs: number;
}

/** Alternates between the newest by name, the newest by modification time, and names in the future. */
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

/** Copies of all databases; empty where the folder cannot be read. */
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
