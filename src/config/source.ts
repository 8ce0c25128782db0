import type { LineCounter } from "yaml";
import { printable } from "./problems.ts";

type Range = readonly [number, number, ...number[]];

/** The text of the file, line by line, for showing; what may be secret is blanked out first. */
export interface Source {
  placeOf(offset: number): { line: number; column: number };
  /** The line as it may be shown; null where it is safer not to. */
  lineAt(line: number): string | null;
  hide(range: Range | null | undefined): void;
  /**
   * Without knowing the structure: from the first line on that seems to hold a secret, no line is shown.
   * @param upTo nothing is shown from here on either
   */
  hideBlindly(upTo?: number): void;
}

const SHOWN_MAX = 160;
/** No file has such a line, and blanking out is certain only for a whole one. */
const LINE_MAX = 2000;
/** `https://user:password@host`, refused where it matters and never shown anywhere. */
const USERINFO = /(:\/\/)[^\s"']*@/g;
/** A bare reference does not show the value. */
const REFERENCE_ONLY = /^["']?\$\{\w+\}["']?$/;

/** A value under such a key is never shown, also when the key is mistyped or stands in the wrong place. */
const SECRET_KEY = /secret|passw|token|api_?key|credential|webhook|heartbeat/i;
const WORD = /[\p{L}\w-]+/gu;
const NAMED_FILE = /[\w-]+_file["']?\s*:\s*[^\s,}]+/gi;
const HARMLESS_REST = /^["']?\s*:\s*(null|~|["']?\$\{\w+\}["']?|\*\*\*)\s*([,}#]|$)/;

export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key) && !/_file$/i.test(key);
}

/** Also without a colon, which may be just what the author forgot. */
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
  const safe = printable(text.replace(USERINFO, "$1***@")).trim();
  if (safe === "") return null;
  return safe.length > SHOWN_MAX ? `${safe.slice(0, SHOWN_MAX).toWellFormed()}…` : safe;
}
