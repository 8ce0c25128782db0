/*
 * Rows from one database to another, exactly as they are: integers as integers, reals as reals, text as the bytes that it is,
 * whatever the column is. What the ERP wrote goes through SQLite alone (`withReplaced`), because no JavaScript string carries text
 * that is not UTF-8. Writes only to the file that a restore is making, so a crash leaves nothing but that file.
 */

import type Database from "better-sqlite3";
import { quoteName } from "../database/quote-name.ts";
import { faultCodeOf, machineFaultOf } from "../database/sqlite-errors.ts";
import type { Store } from "../database/store.ts";
import { storedText } from "../database/stored-text.ts";
import { isUnknownHere } from "../database/verify-tables.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

export type Value = string | number | bigint | Buffer | null;
export type Row = Value[];

/** The database that is replaced, read at one moment, and the one that is being made. */
export interface Pair {
  from: Database.Database;
  to: Store;
}

export function hasTable(db: Database.Database, table: string): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined;
}

/** Columns that can be written: none that SQLite computes. */
export function columnsOf(db: Database.Database, table: string): string[] {
  return db.prepare<unknown[], string>("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0").pluck().all(table);
}

/** Columns that both have: either may be of an older version, or changed by the ERP. */
export function sharedColumns({ from, to }: Pair, table: string): string[] {
  const theirs = new Set(columnsOf(from, table));
  return columnsOf(to.db, table).filter((column) => theirs.has(column));
}

export function columnList(columns: readonly string[]): string {
  return columns.map(quoteName).join(", ");
}

/** Each row of a query, read one by one. Throws in the middle where the file is damaged. */
export function eachRow(db: Database.Database, sql: string, ...params: unknown[]): IterableIterator<Row> {
  return db
    .prepare<unknown[], Row>(sql)
    .raw(true)
    .safeIntegers(true)
    .iterate(...params);
}

export function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${quoteName(table)} (${columnList(columns)}) VALUES (${columns.map(() => "?").join(", ")})`;
}

/**
 * Runs `fn` with the replaced database attached as `replaced`. Every name in a statement then needs `main.` or `replaced.` before it: one that
 * `main` lacks would be looked for, and written to, in the replaced file. Where it cannot be attached, as one in another encoding, each
 * statement about it fails, and what it was to bring over is noted as missing.
 */
export function withReplaced({ from, to, report }: Pair & { report: CarryReport }, fn: () => void): void {
  const attach = () => to.db.prepare("ATTACH ? AS replaced").run(from.name);
  const isAttached = report.tolerate(from.name, attach) !== undefined;
  try {
    fn();
  } finally {
    if (isAttached) to.db.exec("DETACH replaced");
  }
}

/** One transaction, which locks `main` alone: `BEGIN IMMEDIATE` takes the write lock of every attached file. */
export function writeMain<T>({ db, path }: Store, fn: () => T): T {
  try {
    return db.transaction(fn)();
  } catch (error) {
    throw machineFaultOf(error, m.database.writing, path) ?? error;
  }
}

/** Gives the texts of a row that was written from JavaScript the bytes that they have in the row that it was read from, if both are in one encoding. */
export function keepBytes({ from, to }: Pair, table: string, { key, theirs, mine, row }: CopiedRow): void {
  const texts = storedText(from);
  if (texts !== storedText(to.db)) return;
  for (const [column, value] of Object.entries(row)) {
    if (!texts.mayDiffer(value)) continue;
    const [name, of] = [quoteName(column), quoteName(table)];
    const bytes = from
      .prepare(`SELECT CAST(${name} AS BLOB) FROM ${of} WHERE ${key} = ?`)
      .pluck()
      .get(theirs) as Buffer;
    if (texts.isExact(value, bytes)) continue;
    to.db.prepare(`UPDATE ${of} SET ${name} = CAST(? AS TEXT) WHERE ${key} = ?`).run(bytes, mine);
  }
}

interface CopiedRow {
  /** The column with the number of the row, which may be another one in each of the two. */
  key: string;
  theirs: unknown;
  mine: unknown;
  row: Readonly<Record<string, unknown>>;
}

/** Behind it SQLite has room for a great many numbers. The ERP's ids are not larger; those of older versions were brought down. */
export const LAST_NUMBER = 9_200_000_000_000_000_000n;
const BROUGHT_DOWN_BY = 100_000_000_000_000_000n;

/** A row's own number, as a migration would have brought it down. */
export function bringDown<T>(id: T): T | bigint {
  return typeof id === "bigint" && id > LAST_NUMBER ? id - BROUGHT_DOWN_BY : id;
}

/** Damage of the file that is read, as opposed to a mistake of ours. */
export function isDamage(error: unknown): boolean {
  const fault = faultCodeOf(error) ?? "";
  return fault.startsWith("SQLITE_CORRUPT") || fault.startsWith("SQLITE_IOERR") || fault === "SQLITE_NOTADB";
}

/** Rows that could not be read, by table, and how many of each were brought over. */
export class CarryReport {
  readonly counts: Record<string, number> = {};
  /** Tables of which something could not be read; what the copy had of them stays. */
  readonly damaged = new Set<string>();
  /** Orders whose newest content could not be read: they are read at the service. */
  readonly damagedOrders: string[] = [];
  /** What was left as it was, and why. */
  readonly notes: (Message | string)[] = [];

  add(what: string, count: number): void {
    if (count > 0) this.counts[what] = (this.counts[what] ?? 0) + count;
  }

  /** Runs `fn`; damage of the file, and a table that only the ERP can write, are noted; everything else is thrown on. */
  tolerate<T>(table: string, fn: () => T): T | undefined {
    try {
      return fn();
    } catch (error) {
      if (isUnknownHere(error)) this.notes.push(m.backup.rowsNeedErp({ table }));
      else if (!isDamage(error)) throw error;
      this.damaged.add(table);
      return undefined;
    }
  }
}
