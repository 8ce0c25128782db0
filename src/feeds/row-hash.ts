import { hash } from "node:crypto";
import type { ColumnValue } from "./feed.ts";

/** Enough that two rows never meet by chance, and half as much to keep for a million of them. */
const HASH_BYTES = 16;

/**
 * What a row's values come to, types included: `"1"` is not `1`, and NULL is not empty. Lengths are hashed with texts, so
 * that no two rows of different values read alike.
 */
export function hashRow(values: readonly ColumnValue[]): Buffer {
  const text = values.map(markedValue).join("");
  return hash("sha256", text, "buffer").subarray(0, HASH_BYTES);
}

function markedValue(value: ColumnValue): string {
  if (value === null) return "n;";
  if (typeof value === "string") return `t${value.length}:${value}`;
  if (typeof value === "bigint") return `i${value};`;
  if (typeof value === "number") return `r${value};`;
  return `b${value.length}:${value.toString("hex")}`;
}
