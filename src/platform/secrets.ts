import { scryptSync } from "node:crypto";

/**
 * Replaces the Client Secret by `***` wherever it stands in foreign text (an answer, an error), because a service or a
 * proxy may echo what it was sent: as it is, in hex, and in base64 wherever in the encoded text it begins (the Basic
 * header among them, with its client id). Each of these is also found URL-encoded, JSON-escaped or written with HTML's
 * entities, however few or many of its characters are, and in two such writings one inside the other.
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

/** From, up to. */
type Range = readonly [number, number];

interface Form {
  pattern: string;
  /** What a cut may leave a beginning of. */
  texts: string[];
}

/** Shorter ones would blank out ordinary words; the configuration refuses shorter secrets. */
const SECRET_MIN = 4;

/** The longest first: where two begin at one place, the first that is named is taken. */
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

/** The characters that the bytes decide alone where so many other bytes, modulo 3, stand before them, and those that they share. */
function base64Form(bytes: Buffer, offset: number): Form {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  const shared = offset === 0 ? 0 : 1;
  const core = whole.toString("base64").slice(offset + shared, Math.floor((whole.length * 8) / 6));
  const inUrl = core.replaceAll("+", "-").replaceAll("/", "_");
  const pattern = core.replace(/[+/]/g, (sign) => (sign === "+" ? PLUS : SLASH));
  return { pattern: `${shared === 0 ? "" : NEIGHBOUR}${pattern}${NEIGHBOUR}=*`, texts: [core, inUrl] };
}

/** A character that stands for bits of the secret and of what is beside it. */
const NEIGHBOUR = "[A-Za-z0-9+/_-]?";
/** As base64 writes it, as addresses do, and as a form makes of the first where it is decoded. */
const PLUS = "[-+ ]";
const SLASH = "[/_]";

/** A text read in one way or another, and where each of its characters stands in the text as it came. */
interface View {
  text: string;
  rangeOf(at: number, length: number): Range;
}

/** Ways in which single characters are written, each with what may be left of one that was cut. */
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

/** The text with these writings read; nothing where it has none of them. */
function readAs(view: View, { sign, pattern, read }: (typeof WRITINGS)[number]): View[] {
  if (!view.text.includes(sign)) return [];
  const parts: string[] = [];
  // Where, in the text that is read, something was shorter than it was written; and by how much in all.
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
  // A character that was written with several ends where the next one begins.
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

/** The last of these rising numbers that is not more than `limit`; -1 where there is none. */
function lastAtMost(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A preview ends in this sign where it was cut, perhaps in the middle of a secret. */
const CUT = "…";
/** And perhaps in the middle of one character's writing. */
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

/** How much of the form's beginning stands before `end`. */
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
    // What touches what is hidden already is one with it.
    if (from > end) shown += `${text.slice(Math.max(0, end), from)}***`;
    end = Math.max(end, to);
  }
  return shown + text.slice(end);
}

/** Returns whether credentials are the same as before, and nothing else of them: `SALT:HASH`, hexadecimal. */
export function credentialsMark(clientId: string, clientSecret: string, salt: string): string {
  const mark = scryptSync(JSON.stringify([clientId, clientSecret]), salt, 32, { N: 1024 });
  return `${salt}:${mark.toString("hex")}`;
}
