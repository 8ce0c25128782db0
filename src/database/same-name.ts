/*
 * Names of statuses. A service may show a status in another spelling than it was sent (`SHIPPED` for `shipped`), so case and surrounding space
 * do not count, here and in SQL: SQLite itself ignores the case of Latin letters alone.
 */
import type Database from "better-sqlite3";

export function foldName(name: string): string {
  return name.trim().toLowerCase();
}

export function isSameName(one: string | null | undefined, other: string | null | undefined): boolean {
  if (one === other) return true;
  return typeof one === "string" && typeof other === "string" && foldName(one) === foldName(other);
}

/** In SQL `is_same_name(a, b)`, which like `a = b` is NULL where one of the two is. */
export function addSameName(db: Database.Database): void {
  db.function("is_same_name", { deterministic: true, directOnly: true }, (one: unknown, other: unknown) => {
    if (one === null || other === null) return null;
    return Number(one === other || isSameName(one as string, other as string));
  });
}
