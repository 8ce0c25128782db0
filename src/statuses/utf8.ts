/*
 * Text that is not UTF-8. SQLite stores any bytes as text; the driver shows U+FFFD in the place of each that is none, and
 * what was read is then not what was written. Only such values cost a second look at their bytes.
 */
import { isUtf8 } from "node:buffer";

const REPLACEMENT = "\ufffd";

/**
 * The first of these columns whose text is not UTF-8, or null. A text that really holds U+FFFD is sound.
 *
 * @example
 * findNotUtf8({ status: "pa\ufffdd", comment: null }, (column) => loadBytes(store, id, column)); // "status"
 * @param bytesOf the column's bytes as they are stored (`CAST(column AS BLOB)`)
 */
export function findNotUtf8<Column extends string>(
  values: Readonly<Record<Column, unknown>>,
  bytesOf: (column: Column) => Buffer,
): Column | null {
  const columns = Object.keys(values) as Column[];
  const found = columns.find((column) => {
    const value = values[column];
    return typeof value === "string" && value.includes(REPLACEMENT) && !isUtf8(bytesOf(column));
  });
  return found ?? null;
}
