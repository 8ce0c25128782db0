/*
 * Names of statuses. A service may show a status in another spelling than it was sent (`SHIPPED` for `shipped`), so case and surrounding space
 * do not count, here and in SQL: SQLite itself ignores the case of Latin letters alone. The same of article numbers, which a service may
 * compare as MySQL does: without case, accents and blanks at the end.
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

/** Characters that folding leaves as they are. */
const FOLDED = /^(?:[!-`{-~](?:[ -`{-~]*[!-`{-~])?)?$/;

/** The text without case, accents and outer blanks. */
export function foldArticle(text: string): string {
  return FOLDED.test(text) ? text : text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase().trim();
}

/** In SQL `fold_article(value)`, which is NULL where the value is. */
export function addFoldArticle(db: Database.Database): void {
  db.function("fold_article", { deterministic: true, directOnly: true }, (value: unknown) =>
    value === null ? null : foldArticle(String(value)),
  );
}
