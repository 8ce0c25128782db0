/*
 * Verifies a database: its pages, and the bridge's own tables with their indexes. Complaints about the ERP's own objects
 * (a CHECK, an index, a full-text index) are listed and are no damage: the ERP's program may have another `lower` or
 * NOCASE, under which they are valid. Where a table of the ERP's needs a function that only the ERP has, SQLite aborts the
 * whole check; so the tables are checked one by one, and those that cannot be checked are listed. Only reads.
 */
import type Database from "better-sqlite3";
import { MIGRATIONS_TABLE } from "../migrations.ts";
import { faultCodeOf } from "../sqlite-errors.ts";
import { objectsMadeBy } from "./made-objects.ts";
import { FEED_TABLES, type OwnObjects, ownObjects } from "./own-objects.ts";

type Check = "integrity_check" | "quick_check";

export interface Verified {
  /** Damage, as SQLite describes it; empty where everything that could be checked is sound. */
  problems: string[];
  /** Complaints about the ERP's own objects, one for each: `row 1 missing from index my_search`. */
  erpComplaints: string[];
  /** Of these, indexes over rows that the bridge writes, and the bridge's indexes on tables of the ERP's: `REINDEX` repairs them. */
  staleIndexes: string[];
  /** Tables that need a collation, function or module that only the ERP has. */
  skipped: string[];
}

/** Problems of pages rather than of rows; SQLite returns all of them as one row, before the others. */
const OF_PAGES = /^\*\*\* in database |^database disk image is malformed$/;
/** The bridge's own indexes on the tables of feeds. */
const OWN_INDEX = /^erp_bridge_/;

export function verifyTables(db: Database.Database, check: Check, problemsMax: number): Verified {
  const found: Verified = { problems: [], erpComplaints: [], staleIndexes: [], skipped: [] };
  const whole = runCheck(db, check, problemsMax);
  if (whole?.length === 0) return found;
  found.problems.push(...(whole ?? []).filter((words) => OF_PAGES.test(words)));
  const own = ownObjects(db);
  for (const table of listTables(db)) {
    if (found.problems.length >= problemsMax) break;
    const complaints = runCheck(db, check, table);
    if (complaints === undefined) found.skipped.push(table);
    // Problems of pages were already found by the check of the whole database.
    else
      addComplaints(db, found, {
        own,
        table,
        complaints: complaints.filter((words) => whole === undefined || !OF_PAGES.test(words)),
      });
  }
  return found;
}

/**
 * @param of a table, or the maximum number of problems for a check of the whole database
 * @returns the problems; undefined where this program cannot make the check
 */
function runCheck(db: Database.Database, check: Check, of: string | number): string[] | undefined {
  try {
    const rows = db.pragma(`${check}(${typeof of === "number" ? of : quoteText(of)})`) as Record<string, string>[];
    return rows.map((row) => row[check] ?? "").filter((words) => words !== "ok");
  } catch (error) {
    // Virtual tables are the ERP's; their modules may fail to read their own content.
    if (!isUnknownHere(error) && faultCodeOf(error) !== "SQLITE_CORRUPT_VTAB") throw error;
    return undefined;
  }
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

interface Complaints {
  own: OwnObjects;
  table: string;
  complaints: readonly string[];
}

function addComplaints(db: Database.Database, found: Verified, { own, table, complaints }: Complaints): void {
  if (complaints.length === 0) return;
  const name = table.toLowerCase();
  const isOwn = (own.get(name)?.type === "table" && !FEED_TABLES.has(name)) || name === MIGRATIONS_TABLE;
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?";
  const indexes = db.prepare<[string], string>(sql).pluck().all(table);
  const named = new Set<string | undefined>();
  for (const words of complaints) {
    const index = indexes.find((each) => words.endsWith(` index ${each}`));
    if (OF_PAGES.test(words) || (isOwn && (index === undefined || own.has(index.toLowerCase()))))
      found.problems.push(words);
    else if (!named.has(index)) {
      named.add(index);
      found.erpComplaints.push(words);
      if (index !== undefined && (isOwn || OWN_INDEX.test(index))) found.staleIndexes.push(index);
    }
  }
}

/** Whether a statement failed because it needs a collation, a function or a module that this program does not have. */
export function isUnknownHere(error: unknown): boolean {
  const fault = faultCodeOf(error);
  return fault === "SQLITE_ERROR" || fault === "SQLITE_ERROR_MISSING_COLLSEQ";
}

/**
 * Tables that `statements` create and the database lacks: a database that has lost its log may be valid, but from a time
 * before them. Ignores tables that an ERP may recreate.
 */
export function findMissingTables(db: Database.Database, statements: readonly string[]): string[] {
  const there = new Set(listTables(db).map((name) => name.toLowerCase()));
  const own = [...objectsMadeBy(statements).values()].filter(({ type }) => type === "table");
  return own.map(({ name }) => name).filter((name) => !FEED_TABLES.has(name) && !there.has(name));
}

function listTables(db: Database.Database): string[] {
  return db.prepare<unknown[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
}
