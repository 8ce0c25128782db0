/** A string or template of a source file: its fixed parts, with holes where `${…}` stands. */
export interface Literal {
  line: number;
  parts: (string | Hole)[];
  /** What stands before it in the file, on the same line or the last characters of the lines above. */
  before: string;
}

interface Hole {
  code: string;
  inner: Literal[];
}

/** One way in which a literal can read: fixed text, and the code of whatever is put in between. */
export type Variant = readonly (string | { code: string })[];

const VARIANTS_MAX = 400;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "0": "\0", b: "\b" };

/** Every string and template of a TypeScript source, comments and regular expressions apart. */
export function literalsOf(source: string): Literal[] {
  return new Scanner(source).code(0, undefined).literals;
}

class Scanner {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads code up to `end` (a closing brace of the same depth) or the end of the file. */
  code(from: number, end: "}" | undefined): { literals: Literal[]; at: number } {
    const literals: Literal[] = [];
    let depth = 0;
    let at = from;
    let endOfLast = from;
    const keep = (start: number, parts: Literal["parts"], end: number) => {
      const last = literals.at(-1);
      // A long text is written as a sum of several.
      if (last !== undefined && this.#text.slice(endOfLast, start).trim() === "+") last.parts.push(...parts);
      else literals.push(this.#literal(start, parts));
      endOfLast = end;
    };
    while (at < this.#text.length) {
      const char = this.#text[at] ?? "";
      const two = this.#text.slice(at, at + 2);
      if (two === "//") at = this.#after("\n", at);
      else if (two === "/*") at = this.#after("*/", at);
      else if (char === '"' || char === "'") {
        const read = this.#string(at);
        keep(at, [read.text], read.at);
        at = read.at;
      } else if (char === "`") {
        const read = this.#template(at);
        keep(at, read.parts, read.at);
        at = read.at;
      } else if (char === "/" && this.#mayBeRegex(at)) at = this.#regex(at);
      else if (char === end && depth === 0) return { literals, at };
      else {
        if (char === "{") depth += 1;
        if (char === "}") depth -= 1;
        at += 1;
      }
    }
    return { literals, at };
  }

  #literal(at: number, parts: Literal["parts"]): Literal {
    const above = this.#text.slice(0, at);
    return { line: above.split("\n").length, parts, before: above.slice(-80).replace(/\s+/g, " ") };
  }

  #after(mark: string, at: number): number {
    const found = this.#text.indexOf(mark, at);
    return found === -1 ? this.#text.length : found + mark.length;
  }

  #string(from: number): { text: string; at: number } {
    const quote = this.#text[from];
    let text = "";
    let at = from + 1;
    while (at < this.#text.length && this.#text[at] !== quote) {
      const read = this.#character(at);
      text += read.text;
      at = read.at;
    }
    return { text, at: at + 1 };
  }

  #template(from: number): { parts: Literal["parts"]; at: number } {
    const parts: Literal["parts"] = [];
    let text = "";
    let at = from + 1;
    while (at < this.#text.length && this.#text[at] !== "`") {
      if (this.#text.slice(at, at + 2) === "${") {
        const { literals, at: closed } = this.code(at + 2, "}");
        parts.push(text, { code: this.#text.slice(at + 2, closed), inner: literals });
        text = "";
        at = closed + 1;
      } else {
        const read = this.#character(at);
        text += read.text;
        at = read.at;
      }
    }
    return { parts: [...parts, text].filter((part) => part !== ""), at: at + 1 };
  }

  #character(at: number): { text: string; at: number } {
    const char = this.#text[at] ?? "";
    if (char !== "\\") return { text: char, at: at + 1 };
    const next = this.#text[at + 1] ?? "";
    if (next === "u" && this.#text[at + 2] !== "{") {
      return { text: String.fromCharCode(Number.parseInt(this.#text.slice(at + 2, at + 6), 16)), at: at + 6 };
    }
    return { text: ESCAPES[next] ?? next, at: at + 2 };
  }

  /** A slash begins a regular expression where no value can have ended before it. */
  #mayBeRegex(at: number): boolean {
    return /(?:^|[(,=:[!&|?{};+]|\breturn|=>)\s*$/.test(this.#text.slice(Math.max(0, at - 40), at));
  }

  #regex(from: number): number {
    let inClass = false;
    for (let at = from + 1; at < this.#text.length; at++) {
      const char = this.#text[at];
      if (char === "\\") at += 1;
      else if (char === "[") inClass = true;
      else if (char === "]") inClass = false;
      else if (char === "/" && !inClass) return at + 1;
      else if (char === "\n") return at;
    }
    return this.#text.length;
  }
}

/** All ways in which a literal can read: a choice inside `${…}` gives one for each of its texts. */
export function variantsOf({ parts }: Literal): Variant[] {
  let variants: (string | { code: string })[][] = [[]];
  for (const part of parts) {
    const choices = typeof part === "string" ? [[part]] : choicesOf(part);
    variants = variants.flatMap((variant) => choices.map((choice) => [...variant, ...choice])).slice(0, VARIANTS_MAX);
  }
  return variants;
}

/** `counted(n, "order")`: the number, and the word in each of its two forms. */
const COUNTED = /^counted\(([\s\S]+?), "([^"]+)"(?:, "([^"]+)")?,?\s*\)$/;

function choicesOf({ code, inner }: Hole): Variant[] {
  const [, n, one, many = `${one}s`] = COUNTED.exec(code.trim()) ?? [];
  if (n !== undefined && one !== undefined) return [one, many].map((word) => [{ code: n }, ` ${word}`]);
  const chosen = inner.filter(({ before }) => /(?:\?|:|\?\?) ?\(?$/.test(before.trimEnd()));
  // `?? ""` stands for nothing to tell, which another text says.
  const texts = chosen
    .flatMap(variantsOf)
    .filter((variant) => variant.some((part) => part !== "") || !code.includes("??"));
  const isPlainChoice = /\?[^?.]/.test(code) && !code.includes("??") && chosen.length >= 2;
  return isPlainChoice ? texts : [...texts, [{ code }]];
}
