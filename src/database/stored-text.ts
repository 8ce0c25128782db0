/*
 * Text that is none in the encoding of its database. SQLite stores any bytes as text; what is read of such bytes is not
 * what was written, and shows U+FFFD where they mean nothing. In UTF-16 half of a character beyond the first plane takes
 * the next one with it and comes as another character of those planes. Only such values cost a second look at their bytes.
 */
import { isUtf8 } from "node:buffer";
import type Database from "better-sqlite3";

/** How a database keeps its text. */
export interface TextForm {
  /** Of text that was read: what the bytes of damaged text may have become. */
  suspicious: RegExp;
  isSound: (bytes: Buffer) => boolean;
}

const UTF_8: TextForm = { suspicious: /\ufffd/, isSound: isUtf8 };
const UTF_16: TextForm = { suspicious: /[\ufffd\ud800-\udfff]/, isSound: isUtf16le };
const FORMS: Readonly<Record<string, TextForm>> = {
  "UTF-8": UTF_8,
  "UTF-16le": UTF_16,
  "UTF-16be": { ...UTF_16, isSound: (bytes) => bytes.length % 2 === 0 && isUtf16le(Buffer.from(bytes).swap16()) },
};

/** The encoding of a database stands as long as the database. */
const forms = new WeakMap<Database.Database, TextForm>();

/** Not to be asked for the first time while rows of the database are read. */
export function textFormOf(db: Database.Database): TextForm {
  const known = forms.get(db);
  if (known !== undefined) return known;
  const form = FORMS[String(db.pragma("encoding", { simple: true }))] ?? UTF_8;
  forms.set(db, form);
  return form;
}

/**
 * Whether a value that was read may not be what is stored: its bytes alone can tell. False for all that is no text.
 *
 * @example
 * isSuspicious(textFormOf(db), "caf\ufffd"); // true
 */
export function isSuspicious(form: TextForm, value: unknown): value is string {
  return typeof value === "string" && form.suspicious.test(value);
}

/**
 * Whether a value is text whose bytes are none. Text that really holds U+FFFD is sound.
 * @param bytes as they are stored (`CAST(column AS BLOB)`): in the encoding of the database
 */
export function isDamaged(form: TextForm, value: unknown, bytes: unknown): bytes is Buffer {
  return isSuspicious(form, value) && Buffer.isBuffer(bytes) && !form.isSound(bytes);
}

/**
 * The first of these columns whose text is damaged, or null.
 *
 * @example
 * findDamaged(textFormOf(db), { status: "pa\ufffdd", comment: null }, (column) => loadBytes(id, column)); // "status"
 */
export function findDamaged<Column extends string>(
  form: TextForm,
  values: Readonly<Record<Column, unknown>>,
  bytesOf: (column: Column) => Buffer,
): Column | null {
  const columns = Object.keys(values) as Column[];
  const found = columns.find((column) => {
    const value = values[column];
    return isSuspicious(form, value) && isDamaged(form, value, bytesOf(column));
  });
  return found ?? null;
}

function isUtf16le(bytes: Buffer): boolean {
  return bytes.length % 2 === 0 && bytes.toString("utf16le").isWellFormed();
}
