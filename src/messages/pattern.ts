/**
 * One message of the catalogue. `{name}` in the English text stands for whatever the program puts there:
 *
 * - `{name}` is shown as it is, and never reaches over the end of a sentence, a colon or a semicolon,
 * - `{name=}` is the same, and one word,
 * - `{name#}` is a whole number; the Russian text may write `{name:строка|строки|строк}` for the form that fits it,
 * - `{name*}` may be anything, such as words of the service,
 * - `{name~}` is translated in turn where it is a message itself, and shown as it is where it is none,
 * - `{name!}` must be a message itself, otherwise this entry does not apply.
 *
 * `[s]` and `[es]` mark an English plural: the entry stands for both forms. Other braces are plain text.
 */
export interface Pattern {
  /** The English text, as the catalogue has it. */
  key: string;
  /** Fixed texts around the holes; one more than there are holes. */
  literals: readonly string[];
  holes: readonly Hole[];
  russian: readonly Piece[];
  /** How much of the message is fixed: where several entries fit, the one that says most is meant. */
  weight: number;
}

export interface Hole {
  name: string;
  kind: HoleKind;
}

type HoleKind = "" | "=" | "#" | "*" | "~" | "!";

/** Fixed text, a value, or the form of a word that fits a number. */
type Piece = string | { name: string; forms: readonly string[] };

const HOLE = /\{([a-z]+)([=#*~!]?)\}/g;
const PIECE = /\{([a-z]+)(?::([^{}]*))?\}/g;
const PLURAL = /\[(e?s)\]/;
export const SENTENCE_END = /[.!?…] [\p{Lu}«]/u;
/** Where one part of a message ends and another begins: no value of ours goes on there. */
const PART_END = /[.!?…] [\p{Lu}«]|[:;] |\n/u;
const NUMBER = /^\d+$/;

/** Both forms of an entry with an English plural, else the one. */
export function compilePatterns(key: string, russian: string): Pattern[] {
  return expandPlural(key).map((text) => compile(key, text, russian));
}

function expandPlural(text: string): string[] {
  const match = PLURAL.exec(text);
  if (match === null) return [text];
  const [mark, ending = ""] = match;
  return [text.replace(mark, ""), text.replace(mark, ending)].flatMap(expandPlural);
}

function compile(key: string, text: string, russian: string): Pattern {
  const literals: string[] = [];
  const holes: Hole[] = [];
  let from = 0;
  for (const match of text.matchAll(HOLE)) {
    literals.push(text.slice(from, match.index));
    holes.push({ name: match[1] ?? "", kind: (match[2] ?? "") as HoleKind });
    from = match.index + match[0].length;
  }
  literals.push(text.slice(from));
  const pieces = piecesOf(russian, new Set(holes.map(({ name }) => name)));
  return { key, literals, holes, russian: pieces, weight: literals.join("").length };
}

/** A name that no hole has is plain text: `{ rejected: … }` and `${VAR}` stand in messages too. */
function piecesOf(russian: string, names: ReadonlySet<string>): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of russian.matchAll(PIECE)) {
    const [whole, name = "", forms] = match;
    if (!names.has(name)) continue;
    pieces.push(russian.slice(from, match.index), { name, forms: forms?.split("|") ?? [] });
    from = match.index + whole.length;
  }
  return [...pieces, russian.slice(from)].filter((piece) => piece !== "");
}

/** Gives the Russian text of a part of a message, or undefined where it is no message. */
export type TranslatePart = (text: string) => string | undefined;

export interface Reading {
  part: TranslatePart;
  /** Whether words of others may go on over the end of a sentence. */
  isLoose: boolean;
  /** How often more the text is looked at, all entries and parts together. */
  patience: Patience;
}

export interface Patience {
  left: number;
}

/** Whether all fixed parts are there; tells most texts apart before anything is tried. */
export function mayBe({ literals }: Pattern, text: string): boolean {
  const last = literals.length - 1;
  return literals.every((literal, index) => {
    if (index === 0) return text.startsWith(literal);
    return index === last ? text.endsWith(literal) : text.includes(literal);
  });
}

/** The message in Russian, or undefined where this is not the message. */
export function applyPattern(pattern: Pattern, text: string, reading: Reading): string | undefined {
  const [first = ""] = pattern.literals;
  const values = fill({ pattern, text, ...reading }, 0, first.length);
  return values === undefined ? undefined : render(pattern, values);
}

interface Matching extends Reading {
  pattern: Pattern;
  text: string;
}

/** The values of the holes from `index` on, in order; the shortest that fit. */
function fill(matching: Matching, index: number, from: number): string[] | undefined {
  const { pattern, text, patience } = matching;
  const hole = pattern.holes[index];
  if (hole === undefined) return from === text.length ? [] : undefined;
  const next = pattern.literals[index + 1] ?? "";
  const isLast = index === pattern.holes.length - 1;
  // The last text must stand at the end, whatever else looks like it on the way.
  let at = isLast ? text.length - next.length : text.indexOf(next, from + 1);
  if (isLast && !text.endsWith(next)) return undefined;
  while (at > from && patience.left > 0) {
    patience.left -= 1;
    const value = filled(hole, text.slice(from, at), matching);
    if (value !== undefined) {
      const rest = fill(matching, index + 1, at + next.length);
      if (rest !== undefined) return [value, ...rest];
    }
    if (isLast || next === "") return undefined;
    at = text.indexOf(next, at + 1);
  }
  return undefined;
}

function filled({ kind }: Hole, text: string, { part, isLoose }: Reading): string | undefined {
  const foreign = isLoose || !SENTENCE_END.test(text) ? text : undefined;
  switch (kind) {
    case "=":
      return /\s/.test(text) ? undefined : text;
    case "#":
      return NUMBER.test(text) ? text : undefined;
    case "!":
      return part(text);
    case "~":
      return part(text) ?? foreign;
    case "*":
      return foreign;
    default:
      return PART_END.test(text) ? undefined : text;
  }
}

function render({ holes, russian }: Pattern, values: readonly string[]): string {
  const valueNamed = (name: string) => values[holes.findIndex((hole) => hole.name === name)] ?? "";
  return russian
    .map((piece) => {
      if (typeof piece === "string") return piece;
      return piece.forms.length === 0 ? valueNamed(piece.name) : formFor(Number(valueNamed(piece.name)), piece.forms);
    })
    .join("");
}

/** `заказ`, `заказа` or `заказов` */
function formFor(n: number, [one = "", few = one, many = few]: readonly string[]): string {
  const form = new Intl.PluralRules("ru").select(n);
  return form === "one" ? one : form === "few" ? few : many;
}
