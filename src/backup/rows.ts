/*
 * Copies rows between databases exactly: integers as integers, reals as reals, text with its exact bytes, whatever the
 * column's type. The ERP's rows are copied inside SQLite (`withReplaced`), because a JavaScript string cannot hold text
 * that is not UTF-8. Writes only to the new file of a restore, so a crash leaves nothing but that file.
 */

import type Database from "better-sqlite3";
import { isUnknownHere } from "../database/objects/verify-tables.ts";
import { quoteName } from "../database/quote-name.ts";
import { faultCodeOf, machineFaultOf } from "../database/sqlite-errors.ts";
import type { Store } from "../database/store.ts";
import { storedText } from "../database/stored-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

export type Value = string | number | bigint | Buffer | null;
export type Row = Value[];

/** A snapshot of the replaced database, and the new database. */
export interface Pair {
  from: Database.Database;
  to: Store;
}

export function hasTable(db: Database.Database, table: string): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined;
}

/** Writable columns, without generated ones. */
export function columnsOf(db: Database.Database, table: string): string[] {
  return db.prepare<unknown[], string>("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0").pluck().all(table);
}

/** Columns that both have: either file may be of an older version, or changed by the ERP. */
export function sharedColumns({ from, to }: Pair, table: string): string[] {
  const theirs = new Set(columnsOf(from, table));
  return columnsOf(to.db, table).filter((column) => theirs.has(column));
}

export function columnList(columns: readonly string[]): string {
  return columns.map(quoteName).join(", ");
}

/** The rows of a query, read one at a time. Throws in the middle where the file is damaged. */
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
 * Runs `fn` with the replaced database attached as `replaced`. Every name in a statement then needs `main.` or
 * `replaced.`: SQLite would resolve one that `main` lacks in the replaced file, and write there. Where it cannot be
 * attached (for example because of another encoding), each statement on it fails, and its tables are recorded as
 * damaged.
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

/** A transaction that locks only `main`; `BEGIN IMMEDIATE` would take the write lock of every attached file. */
export function writeMain<T>({ db, path }: Store, fn: () => T): T {
  try {
    return db.transaction(fn)();
  } catch (error) {
    throw machineFaultOf(error, m.database.writing, path) ?? error;
  }
}

/**
 * Restores the exact bytes of text in a row that was copied through JavaScript, if both files have the same encoding.
 */
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
  /** The column with the row's number, which may differ between the two files. */
  key: string;
  theirs: unknown;
  mine: unknown;
  row: Readonly<Record<string, unknown>>;
}

/**
 * Above it SQLite has room for many more numbers. The ERP's ids are not larger; a migration lowered those of older
 * versions.
 */
export const LAST_NUMBER = 9_200_000_000_000_000_000n;
const LOWERED_BY = 100_000_000_000_000_000n;

/** A row's number, lowered as a migration would have done. */
export function lowerNumber<T>(id: T): T | bigint {
  return typeof id === "bigint" && id > LAST_NUMBER ? id - LOWERED_BY : id;
}

/** Damage of the file that is read, as opposed to a defect. */
export function isDamage(error: unknown): boolean {
  const fault = faultCodeOf(error) ?? "";
  return fault.startsWith("SQLITE_CORRUPT") || fault.startsWith("SQLITE_IOERR") || fault === "SQLITE_NOTADB";
}

/** What was brought over, counted by table, and what could not be read. */
export class CarryReport {
  readonly counts: Record<string, number> = {};
  /** Tables that could not be read completely; the copy's rows stay. */
  readonly damaged = new Set<string>();
  /** Orders whose newest content could not be read; they are read from the service. */
  readonly damagedOrders: string[] = [];
  /** What was left unchanged, and why. */
  readonly notes: (Message | string)[] = [];

  add(what: string, count: number): void {
    if (count > 0) this.counts[what] = (this.counts[what] ?? 0) + count;
  }

  /** Runs `fn`. Damage of the file, and tables that only the ERP can write, are recorded; other errors are thrown. */
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
