/*
 * The program's messages in another language, in the manner of gettext: the English text is the name of a message.
 * Only what leaves the program for a person passes through here; what machines read and what is stored stays English.
 * A text that no entry knows comes out unchanged, and nothing here throws: a message is worth more than its language.
 */

import { applyPattern, compilePatterns, mayBe, type Patience, type Pattern, SENTENCE_END } from "./pattern.ts";
import { RUSSIAN } from "./russian.ts";

let russian: Translator | undefined;

/** The Russian words of a finished English text. Made at the first use: that costs some milliseconds. */
export function translate(text: string): string {
  russian ??= new Translator(RUSSIAN);
  return russian.say(text);
}

/** A text beyond this is no message of ours. */
const LENGTH_MAX = 20_000;
/** A part of a text beyond this is no message of ours either: those of many lines are taken line by line. */
const PART_MAX = 2_000;
/** Looks at one text: bounds the work on texts of others that look like lists of messages. */
const LOOKS_MAX = 2_000;
const DEPTH_MAX = 10;
/** Texts by which entries are found: long enough to tell them apart, short enough for most to have them. */
const HEAD = 3;
const TAIL = 3;
const SENTENCES_MAX = 12;

export type Catalogue = Readonly<Record<string, string>>;

interface Work extends Patience {
  /** What is known about the parts of this text, read strictly or loosely. */
  strict: Map<string, string | undefined>;
  loose: Map<string, string | undefined>;
  depth: number;
}

export class Translator {
  readonly #exact = new Map<string, { key: string; russian: string }>();
  readonly #byHead = new Map<string, Pattern[]>();
  readonly #byTail = new Map<string, Pattern[]>();
  readonly #others: Pattern[] = [];
  readonly #onUse: (key: string) => void;

  /** `onUse` hears the English text of each entry that takes part. */
  constructor(catalogues: readonly Catalogue[], onUse: (key: string) => void = () => {}) {
    this.#onUse = onUse;
    for (const catalogue of catalogues) for (const [key, russian] of Object.entries(catalogue)) this.#add(key, russian);
  }

  #add(key: string, russian: string): void {
    for (const pattern of compilePatterns(key, russian)) {
      const head = pattern.literals[0] ?? "";
      const tail = pattern.literals.at(-1) ?? "";
      if (pattern.holes.length === 0) this.#exact.set(head, { key, russian });
      else if (head.length >= HEAD) append(this.#byHead, head.slice(0, HEAD), pattern);
      else if (tail.length >= TAIL) append(this.#byTail, tail.slice(-TAIL), pattern);
      else this.#others.push(pattern);
    }
  }

  /** Whatever of the text is known, in the other language: as a whole, else line by line and sentence by sentence. */
  say(text: string): string {
    if (text.length > LENGTH_MAX || !/[A-Za-z]{2}/.test(text)) return text;
    if (!text.includes("\n")) return this.#line(text);
    return (
      this.cover(text) ??
      text
        .split("\n")
        .map((line) => this.#line(line))
        .join("\n")
    );
  }

  /** The text in the other language, or undefined where some of it is no message. */
  cover(text: string): string | undefined {
    const work = { strict: new Map(), loose: new Map(), left: LOOKS_MAX, depth: 0 };
    // First as if all of it were ours: words of others may look like the beginning of a message, but not the reverse.
    const strict = this.#part(text, work, false);
    return strict === undefined && SENTENCE_END.test(text) ? this.#part(text, work, true) : strict;
  }

  #line(line: string): string {
    const indent = /^\s*/.exec(line)?.[0] ?? "";
    const text = line.slice(indent.length);
    const whole = this.cover(text);
    if (whole !== undefined) return indent + whole;
    const sentences = sentencesOf(text);
    if (sentences.length < 2) return line;
    return indent + sentences.map((sentence) => this.cover(sentence) ?? sentence).join(" ");
  }

  #part(text: string, work: Work, isLoose: boolean): string | undefined {
    const seen = isLoose ? work.loose : work.strict;
    if (seen.has(text)) return seen.get(text);
    if (text.length > PART_MAX || work.left <= 0 || work.depth >= DEPTH_MAX) return undefined;
    work.left -= 1;
    work.depth += 1;
    const found =
      this.#openEnd(text, work, isLoose) ?? this.#message(text, work, isLoose) ?? this.#sentences(text, work, isLoose);
    work.depth -= 1;
    seen.set(text, found);
    return found;
  }

  /** Progress is a message and an ellipsis. */
  #openEnd(text: string, work: Work, isLoose: boolean): string | undefined {
    if (!text.endsWith("…")) return undefined;
    const stem = this.#part(text.slice(0, -1), work, isLoose);
    return stem === undefined ? undefined : `${stem}…`;
  }

  #message(text: string, work: Work, isLoose: boolean): string | undefined {
    const exact = this.#exact.get(text);
    if (exact !== undefined) {
      this.#onUse(exact.key);
      return exact.russian;
    }
    const reading = { part: (part: string) => this.#part(part, work, isLoose), isLoose, patience: work };
    for (const pattern of this.#candidates(text)) {
      const found = applyPattern(pattern, text, reading);
      if (found === undefined) continue;
      this.#onUse(pattern.key);
      return found;
    }
    return undefined;
  }

  /** The entries that may be this text, the most telling first. */
  #candidates(text: string): Pattern[] {
    const head = this.#byHead.get(text.slice(0, HEAD)) ?? [];
    const tail = this.#byTail.get(text.slice(-TAIL)) ?? [];
    return [...head, ...tail, ...this.#others].filter((pattern) => mayBe(pattern, text)).sort(byRank);
  }

  /** Several messages one after the other: as many sentences at once as make one. */
  #sentences(text: string, work: Work, isLoose: boolean): string | undefined {
    const sentences = sentencesOf(text);
    if (sentences.length < 2 || sentences.length > SENTENCES_MAX) return undefined;
    for (let taken = sentences.length - 1; taken > 0; taken--) {
      const head = this.#message(sentences.slice(0, taken).join(" "), work, isLoose);
      if (head === undefined) continue;
      const rest = this.#part(sentences.slice(taken).join(" "), work, isLoose);
      if (rest !== undefined) return `${head} ${rest}`;
    }
    return undefined;
  }
}

/** What a message begins with tells most about it; then the entry that fixes the most of it. */
function byRank(a: Pattern, b: Pattern): number {
  const begins = ({ literals }: Pattern) => Number(literals[0] !== "");
  return begins(b) - begins(a) || b.weight - a.weight;
}

function append(map: Map<string, Pattern[]>, name: string, pattern: Pattern): void {
  const list = map.get(name);
  if (list === undefined) map.set(name, [pattern]);
  else list.push(pattern);
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?…]) (?=[A-Z\d])/);
}
