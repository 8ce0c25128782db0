import { scryptSync } from "node:crypto";

/**
 * Replaces the Client Secret by `***` in foreign text (an answer, an error), because a service or a proxy may echo its
 * input: verbatim, in hex, and in base64 at any alignment (including the Basic header, with its client id). Each of
 * these is also found where some or all characters are URL-encoded, JSON-escaped or HTML entities, and where two of
 * these encodings are nested.
 */
export function secretFilter(clientId: string, clientSecret: string): (text: string) => string {
  const forms = formsOf(clientId, clientSecret);
  const found = new RegExp(forms.map(({ pattern }) => pattern).join("|"), "g");
  const beginnings = forms.flatMap(({ texts }) => texts);
  return (text) => {
    const hidden: Range[] = [];
    for (const view of viewsOf(text)) {
      for (const match of view.text.matchAll(found)) hidden.push(view.rangeOf(match.index, match[0].length));
      if (view.text.includes(CUT)) hidden.push(...cutRanges(view, beginnings));
    }
    return hidden.length === 0 ? text : withHidden(text, hidden);
  };
}

/** Start and end, the end exclusive. */
type Range = readonly [number, number];

interface Form {
  pattern: string;
  /** Complete forms, of which a cut text may hold a beginning. */
  texts: string[];
}

/** Replacing shorter ones would blank out ordinary words; the configuration refuses shorter secrets. */
const SECRET_MIN = 4;

/** Longest first: of alternatives that match at one place, the first wins. */
function formsOf(clientId: string, clientSecret: string): Form[] {
  const pair = base64Form(Buffer.from(`${clientId}:${clientSecret}`, "utf8"), 0);
  const bytes = Buffer.from(clientSecret, "utf8");
  const spaced = [...new Set([clientSecret, clientSecret.replaceAll(" ", "+")])];
  const hex = bytes.toString("hex");
  return [
    pair,
    {
      pattern: hex.replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`),
      texts: [hex, hex.toUpperCase()],
    },
    ...[0, 1, 2].map((offset) => base64Form(bytes, offset)),
    ...spaced.map((text) => ({ pattern: literally(text), texts: [text] })),
  ].filter(({ texts }) => texts.every((text) => text.length >= SECRET_MIN));
}

function literally(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * The part of the base64 text that depends on `bytes` alone when `offset` bytes (modulo 3) precede them, with optional
 * neighbours.
 */
function base64Form(bytes: Buffer, offset: number): Form {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  const shared = offset === 0 ? 0 : 1;
  const core = whole.toString("base64").slice(offset + shared, Math.floor((whole.length * 8) / 6));
  const inUrl = core.replaceAll("+", "-").replaceAll("/", "_");
  const pattern = core.replace(/[+/]/g, (sign) => (sign === "+" ? PLUS : SLASH));
  return { pattern: `${shared === 0 ? "" : NEIGHBOUR}${pattern}${NEIGHBOUR}=*`, texts: [core, inUrl] };
}

/** A character that encodes bits of the secret and of an adjacent byte. */
const NEIGHBOUR = "[A-Za-z0-9+/_-]?";
/** In standard base64, in base64url, and as a space where a form decoder has replaced `+`. */
const PLUS = "[-+ ]";
const SLASH = "[/_]";

/** A text after decoding, and where each of its characters is in the original. */
interface View {
  text: string;
  rangeOf(at: number, length: number): Range;
}

/** Encodings of single characters. `sign` starts an encoded character. */
const WRITINGS: readonly { sign: string; pattern: RegExp; read(match: RegExpExecArray): string }[] = [
  { sign: "%", pattern: /%([0-9a-f]{2})/gi, read: ([, hex = ""]) => String.fromCharCode(Number.parseInt(hex, 16)) },
  {
    sign: "\\",
    pattern: /\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|([^ux…]))/gis,
    read: ([, unicode, short, itself]) => itself ?? String.fromCharCode(Number.parseInt(unicode ?? short ?? "", 16)),
  },
  {
    sign: "&",
    pattern: /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi,
    read: ([, hex, decimal, name]) =>
      ENTITIES[name?.toLowerCase() ?? ""] ??
      characterOf(Number.parseInt(hex ?? decimal ?? "", hex === undefined ? 10 : 16)),
  },
];
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const DEPTH_MAX = 2;

function characterOf(code: number): string {
  return code < 0x80 ? String.fromCharCode(code) : "\uFFFD";
}

function viewsOf(text: string): View[] {
  const views: View[] = [{ text, rangeOf: (at, length) => [at, at + length] }];
  for (let depth = 0, from = 0; depth < DEPTH_MAX; depth += 1) {
    const before = views.slice(from);
    from = views.length;
    for (const view of before) for (const writing of WRITINGS) views.push(...readAs(view, writing));
  }
  return views;
}

/** The decoded text; empty where nothing in it is encoded in this way. */
function readAs(view: View, { sign, pattern, read }: (typeof WRITINGS)[number]): View[] {
  if (!view.text.includes(sign)) return [];
  const parts: string[] = [];
  // Places in the decoded text behind an encoded character, and the total length lost up to there.
  const places: number[] = [];
  const shifts: number[] = [];
  let [end, length, shift] = [0, 0, 0];
  for (const match of view.text.matchAll(pattern)) {
    const character = read(match);
    parts.push(view.text.slice(end, match.index), character);
    length += match.index - end + character.length;
    end = match.index + match[0].length;
    shift += match[0].length - character.length;
    places.push(length);
    shifts.push(shift);
  }
  if (parts.length === 0) return [];
  parts.push(view.text.slice(end));
  // An encoded character ends where the next character begins.
  const placeOf = (at: number) => at + (shifts[lastAtMost(places, at)] ?? 0);
  return [
    {
      text: parts.join(""),
      rangeOf: (at, count) => {
        const from = placeOf(at);
        return view.rangeOf(from, placeOf(at + count) - from);
      },
    },
  ];
}

/** Index of the last of these ascending numbers that is at most `limit`; -1 where there is none. */
function lastAtMost(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Ends a preview that was cut, perhaps in the middle of a secret. */
export const CUT = "…";
/** An encoded character that was cut in the middle. */
const CUT_CHARACTER = /(?:%[0-9a-f]?|\\(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?|&#?\w{0,7})$/i;

function cutRanges(view: View, forms: readonly string[]): Range[] {
  const ranges: Range[] = [];
  for (let at = view.text.indexOf(CUT); at >= 0; at = view.text.indexOf(CUT, at + 1)) {
    for (const end of new Set([
      at,
      at - (CUT_CHARACTER.exec(view.text.slice(Math.max(0, at - 10), at))?.[0].length ?? 0),
    ])) {
      const length = Math.max(...forms.map((form) => beginningAt(view.text, end, form)));
      if (length > 0) ranges.push(view.rangeOf(end - length, at - end + length));
    }
  }
  return ranges;
}

/** How many characters of the form's beginning end at `end`. */
function beginningAt(text: string, end: number, form: string): number {
  for (let length = Math.min(form.length, end); length >= SECRET_MIN; length--) {
    if (text.startsWith(form.slice(0, length), end - length)) return length;
  }
  return 0;
}

function withHidden(text: string, hidden: Range[]): string {
  hidden.sort((a, b) => a[0] - b[0]);
  let shown = "";
  let end = -1;
  for (const [from, to] of hidden) {
    // Ranges that overlap or touch become one.
    if (from > end) shown += `${text.slice(Math.max(0, end), from)}***`;
    end = Math.max(end, to);
  }
  return shown + text.slice(end);
}

/** A salted hash, `SALT:HASH` in hexadecimal: equal for equal credentials, and reveals nothing else about them. */
export function credentialsMark(clientId: string, clientSecret: string, salt: string): string {
  const mark = scryptSync(JSON.stringify([clientId, clientSecret]), salt, 32, { N: 1024 });
  return `${salt}:${mark.toString("hex")}`;
}
