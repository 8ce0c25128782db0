/*
 * Whether a database is sound. A table of the ERP's may need a collation or a function that only the ERP has; SQLite then
 * gives the whole check up. So the tables are checked one by one, and what cannot be checked here is named. Only reads.
 */
import type Database from "better-sqlite3";
import { objectsMadeBy } from "./made-objects.ts";
import { FEED_TABLES } from "./own-objects.ts";
import { faultCodeOf } from "./sqlite-errors.ts";

export interface Verified {
  /** SQLite's words for what is damaged; empty where everything that could be checked is sound. */
  problems: string[];
  /** Tables that need something that only the ERP has. */
  skipped: string[];
}

export function verifyTables(
  db: Database.Database,
  check: "integrity_check" | "quick_check",
  problemsMax: number,
): Verified {
  try {
    return { problems: problemsIn(db, `${check}(${problemsMax})`, check), skipped: [] };
  } catch (error) {
    if (!isUnknownHere(error)) throw error;
  }
  const tables = listTables(db);
  const found: Verified = { problems: [], skipped: [] };
  for (const table of tables) {
    if (found.problems.length >= problemsMax) break;
    try {
      found.problems.push(...problemsIn(db, `${check}('${table.replaceAll("'", "''")}')`, check));
    } catch (error) {
      if (!isUnknownHere(error)) throw error;
      found.skipped.push(table);
    }
  }
  return found;
}

/** The statement needs a collation, a function or a module that this program does not have. */
export function isUnknownHere(error: unknown): boolean {
  const fault = faultCodeOf(error);
  return fault === "SQLITE_ERROR" || fault === "SQLITE_ERROR_MISSING_COLLSEQ";
}

function problemsIn(db: Database.Database, pragma: string, column: string): string[] {
  const rows = db.pragma(pragma) as Record<string, string>[];
  return rows.map((row) => row[column] ?? "").filter((words) => words !== "ok");
}

/**
 * Tables of the bridge's that `statements` make and the database does not have: one that has lost its log may be sound, and
 * that of a time before them. Tables that an ERP may make anew are not looked for.
 */
export function findMissingTables(db: Database.Database, statements: readonly string[]): string[] {
  const there = new Set(listTables(db).map((name) => name.toLowerCase()));
  const own = [...objectsMadeBy(statements).values()].filter(({ type }) => type === "table");
  return own.map(({ name }) => name).filter((name) => !FEED_TABLES.has(name) && !there.has(name));
}

function listTables(db: Database.Database): string[] {
  return db.prepare<unknown[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
}
