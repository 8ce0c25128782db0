/*
 * Names of statuses. A service may show a status in another spelling than it was sent (`SHIPPED` for `shipped`), so case and surrounding space
 * do not count, here and in SQL: SQLite itself ignores the case of Latin letters alone. The same of article numbers, which a service may
 * compare as MySQL does: without case, accents, characters that are not shown, and blanks at the end.
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

/** Texts that folding leaves as they are. */
const FOLDED = /^(?:[!-`{-~]+(?: [!-`{-~]+)*)?$/;
/** Accents and characters that are not shown, as text from a page or a spreadsheet has them. */
const UNSEEN = /[\p{M}\p{Cf}]/gu;
/** Letters with a stroke, and two in one, which Unicode does not take apart. */
const STROKED: Readonly<Record<string, string>> = { Ł: "L", Ø: "O", Đ: "D", Ħ: "H", Ŧ: "T", Æ: "AE", Œ: "OE" };

/** The text without case, accents, what is not shown, and outer or repeated blanks. */
export function foldArticle(text: string): string {
  if (FOLDED.test(text)) return text;
  const plain = text.normalize("NFKD").replace(UNSEEN, "").toUpperCase();
  return plain
    .replace(/[ŁØĐĦŦÆŒ]/g, (letter) => STROKED[letter] ?? letter)
    .replace(/\s+/g, " ")
    .trim();
}

/** In SQL `fold_article(value)`, which is NULL where the value is. */
export function addFoldArticle(db: Database.Database): void {
  db.function("fold_article", { deterministic: true, directOnly: true }, (value: unknown) =>
    value === null ? null : foldArticle(String(value)),
  );
}
