/*
 * Values that PostgreSQL cannot store: NUL in text, and NUL or an unpaired surrogate in jsonb. JSON may have both. Pure.
 */

/** Escapes that jsonb may refuse: NUL, and surrogates, most of which are paired and valid. */
const SUSPICIOUS = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether jsonb accepts this valid JSON text. */
export function fitsJsonb(json: string): boolean {
  return !SUSPICIOUS.test(json) || isPlain(JSON.parse(json));
}

function isPlain(value: unknown): boolean {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "string") {
      if (!isPlainText(next)) return false;
    } else if (next !== null && typeof next === "object") {
      for (const [key, inner] of Object.entries(next)) {
        if (!isPlainText(key)) return false;
        waiting.push(inner);
      }
    }
  }
  return true;
}

function isPlainText(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** The text with U+FFFD in place of what PostgreSQL cannot store. */
export function plainText<T extends string | null>(text: T): T {
  if (text === null || isPlainText(text)) return text;
  return text.replaceAll("\0", "\ufffd").toWellFormed() as T;
}
