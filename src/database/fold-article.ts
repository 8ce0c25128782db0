/*
 * Article numbers as a service may compare them: MySQL's usual collations ignore case, accents and blanks at the end. SQLite itself
 * ignores the case of Latin letters alone.
 */
import type Database from "better-sqlite3";

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
