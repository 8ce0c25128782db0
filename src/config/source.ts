import type { LineCounter } from "yaml";
import { nearest, printable } from "./problems.ts";

type Range = readonly [number, number, ...number[]];

/** The text of the file, line by line, for display; possible secrets are blanked out. */
export interface Source {
  placeOf(offset: number): { line: number; column: number };
  /** The line as it may be shown; null where showing it could reveal a secret. */
  lineAt(line: number): string | null;
  hide(range: Range | null | undefined): void;
  /** Hides what follows in the same line. */
  hideRest(offset: number): void;
  /**
   * Works without the structure of the text: hides every line from the first one on that may hold a secret.
   * @param upTo offset from which everything is hidden in any case
   */
  hideBlindly(upTo?: number): void;
}

const SHOWN_MAX = 160;
/** No real file has such a line, and a secret can be blanked out reliably only in a whole line. */
const LINE_MAX = 2000;
/** `https://user:password@host`: refused by the schema, and never shown. */
const USERINFO = /(:\/\/)[^\s"']*@/g;
/** The same where the scheme or a slash is missing: `user:password@host`, `https:/user:password@host`. */
const BARE_USERINFO = /[^\s"':/]+:(?!\/\/)[^\s"']*@/g;
/** What follows such an address may be a password as well. */
const PARAMETERS = /(\*\*\*@[^\s"'?]*\?)[^\s"']+/g;
/** A reference to a variable does not reveal its value. */
const REFERENCE_ONLY = /^["']?\$\{\w+\}["']?$/;

/** A value under such a key is never shown, even where the key is mistyped or misplaced. */
const SECRET_KEY = /secret|passw|token|api_?key|credential|webhook|heartbeat/i;
const SECRET_NAMES = ["client_secret", "password", "credentials"];
const WORD = /[\p{L}\w-]+/gu;
const NAMED_FILE = /[\w-]+_file["']?\s*:\s*[^\s,}]+/gi;
const HARMLESS_REST = /^["']?\s*:\s*(null|~|["']?\$\{\w+\}["']?|\*\*\*)\s*([,}#]|$)/;

export function isSecretKey(key: string): boolean {
  return (SECRET_KEY.test(key) || nearest(key, SECRET_NAMES) !== null) && !/_file$/i.test(key);
}

/** Also matches without a colon, because a missing colon may be the error that is reported. */
function seemsSecret(line: string): boolean {
  const bare = line.trimStart().startsWith("#") ? "" : line.replace(NAMED_FILE, "");
  return [...bare.matchAll(WORD)].some(
    (match) => isSecretKey(match[0]) && !HARMLESS_REST.test(bare.slice(match.index + match[0].length)),
  );
}

export function readSource(text: string, lines: LineCounter): Source {
  const hidden: Range[] = [];
  let blindFrom = Number.POSITIVE_INFINITY;
  const starts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  return {
    placeOf(offset) {
      const { line, col } = lines.linePos(Math.min(Math.max(offset, 0), text.length));
      return { line: Math.max(1, line), column: Math.max(1, col) };
    },
    lineAt(line) {
      const start = starts[line - 1];
      if (start === undefined || start >= blindFrom) return null;
      const end = (starts[line] ?? text.length + 1) - 1;
      if (end - start > LINE_MAX) return null;
      return shown(text.slice(start, end), start, hidden);
    },
    hide(range) {
      if (range === null || range === undefined) return;
      if (!REFERENCE_ONLY.test(text.slice(range[0], range[1]).trim())) hidden.push(range);
    },
    hideRest(offset) {
      const end = text.indexOf("\n", offset);
      this.hide([offset, end < 0 ? text.length : end]);
    },
    hideBlindly(upTo = text.length) {
      const line = text
        .slice(0, upTo)
        .split("\n")
        .findIndex((each) => each.length > LINE_MAX || seemsSecret(each));
      blindFrom = starts[line] ?? upTo;
    },
  };
}

function shown(line: string, start: number, hidden: readonly Range[]): string | null {
  const end = start + line.length;
  const cuts = hidden.filter(([from, to]) => from < end && to > start).sort((a, b) => b[0] - a[0]);
  let text = line;
  for (const [from, to] of cuts) {
    text = `${text.slice(0, Math.max(0, from - start))}***${text.slice(Math.min(text.length, to - start))}`;
  }
  if (seemsSecret(text)) return null;
  const safe = printable(withoutPasswords(text)).trim();
  if (safe === "") return null;
  return safe.length > SHOWN_MAX ? `${safe.slice(0, SHOWN_MAX).toWellFormed()}…` : safe;
}

function withoutPasswords(text: string): string {
  return text.replace(USERINFO, "$1***@").replace(BARE_USERINFO, "***@").replace(PARAMETERS, "$1***");
}
