/*
 * Detects stored text that a JavaScript string cannot represent. SQLite stores any bytes as text and returns them as
 * UTF-8, which differs from the stored bytes where these are invalid in the database's encoding. In UTF-16 SQLite combines
 * half a surrogate pair with whatever follows it into another character. Only such values are read a second time, as bytes.
 */
import { Buffer } from "node:buffer";
import type Database from "better-sqlite3";

export interface StoredText {
  /** Whether a value may differ from the stored text. */
  mayDiffer(value: unknown): value is string;
  /** @param bytes the stored bytes: `CAST(column AS BLOB)` */
  isExact(text: string, bytes: Buffer): boolean;
}

const TEXTS = {
  "UTF-8": storedAs(/\ufffd/, (text) => Buffer.from(text, "utf8")),
  "UTF-16le": storedAs(/[\ud800-\udfff\ufffd]/, (text) => Buffer.from(text, "utf16le")),
  "UTF-16be": storedAs(/[\ud800-\udfff\ufffd]/, (text) => Buffer.from(text, "utf16le").swap16()),
};

function storedAs(doubtful: RegExp, bytesOf: (text: string) => Buffer): StoredText {
  return {
    mayDiffer: (value): value is string => typeof value === "string" && doubtful.test(value),
    isExact: (text, bytes) => bytesOf(text).equals(bytes),
  };
}

const known = new WeakMap<Database.Database, StoredText>();

/** The checks for a database's encoding; one object per encoding. */
export function storedText(db: Database.Database): StoredText {
  const found = known.get(db);
  if (found !== undefined) return found;
  // As a statement: `db.pragma` is refused while rows are iterated.
  const encoding = db.prepare<[], keyof typeof TEXTS>("PRAGMA encoding").pluck().get();
  const texts = TEXTS[encoding ?? "UTF-8"];
  known.set(db, texts);
  return texts;
}

/**
 * The first of these columns whose text differs from the stored bytes, or null. A text that really contains U+FFFD is valid.
 *
 * @example
 * findAltered(db, { status: "pa\ufffdd", comment: null }, (column) => loadBytes(store, id, column)); // "status"
 */
export function findAltered<Column extends string>(
  db: Database.Database,
  values: Readonly<Record<Column, unknown>>,
  bytesOf: (column: Column) => Buffer,
): Column | null {
  const texts = storedText(db);
  const found = (Object.keys(values) as Column[]).find((column) => {
    const value: unknown = values[column];
    return texts.mayDiffer(value) && !texts.isExact(value, bytesOf(column));
  });
  return found ?? null;
}
