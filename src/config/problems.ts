import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

/** One problem with the file. Lines and columns count from 1; null where there is no position. */
export interface ConfigProblem {
  line: number | null;
  column: number | null;
  /** Dotted, as in `orders.fields.number`; empty where no key is concerned. */
  key: string;
  /** Never holds a value. */
  problem: Message;
  /** The line of the file, with possible secrets blanked out. */
  source: string | null;
  /** The meaning of the key. */
  meaning: Message | null;
}

/** All problems with a configuration at once. */
export class ConfigError extends BridgeError {
  readonly problems: readonly ConfigProblem[];
  readonly #file: string;
  readonly #options: ConfigErrorOptions;

  constructor(file: string, problems: readonly ConfigProblem[], options: ConfigErrorOptions = {}) {
    super("config_invalid", textOf(file, problems, options.unlisted ?? 0), { hint: adviceOf(options) });
    this.name = "ConfigError";
    this.problems = problems;
    this.#file = file;
    this.#options = options;
  }

  /** The same error, with the commands in its advice as they are typed for this file. */
  asTyped(typed: (command: string) => string): ConfigError {
    return new ConfigError(this.#file, this.problems, { ...this.#options, typed });
  }
}

interface ConfigErrorOptions {
  /** How many problems are left out of `problems`. */
  unlisted?: number;
  /** The file does not exist, or this user may not read it. */
  file?: "missing" | "forbidden";
  /** A command as it is typed for this file. */
  typed?: (command: string) => string;
}

function adviceOf({ file, typed = (command) => command }: ConfigErrorOptions): Message {
  if (file === "missing") return m.config.initWritesOne({ init: typed("erp-bridge init") });
  if (file === "forbidden") return m.config.useSudo;
  return m.config.correctFile({ check: typed("erp-bridge check") });
}

/** More than a person corrects in one go; a file of another format would fill the screen. */
export const PROBLEMS_MAX = 50;

/** Positions, keys and lines of the file are the same in every language. */
function textOf(file: string, problems: readonly ConfigProblem[], unlisted: number): Message {
  const shown = problems.map((problem) => problemText(file, problem));
  return m.common.lines({ lines: [...shown, ...(unlisted > 0 ? [m.config.more({ count: unlisted })] : [])] });
}

function problemText(file: string, { line, column, key, problem, source, meaning }: ConfigProblem): Message {
  const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
  const at = `${printable(place)}${key === "" ? "" : ` ${key}`}`;
  const lines = [
    m.common.about({ subject: at, text: problem }),
    ...(source === null ? [] : [`    ${source}`]),
    ...(meaning === null ? [] : [m.common.indented({ text: meaning })]),
  ];
  return m.common.lines({ lines });
}

/** Replaces control characters, which could move a terminal's cursor or forge a line. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\t", " ")
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");
}

const PLAIN_KEY = /^[\p{L}\p{N}_-]{1,100}$/u;

/** `imports.stocks.key[0]`; names that are not plain words are quoted. */
export function dotted(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const plain = String(step);
    const name = PLAIN_KEY.test(plain) ? plain : printable(JSON.stringify(plain.slice(0, 100)));
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

/** The candidate that a mistyped word most likely means; null where none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const wanted = plainForm(word.slice(0, 60));
  const rated = candidates
    .map((candidate) => ({ candidate, distance: editDistance(wanted, plainForm(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  const best = rated[0];
  const limit = Math.max(1, Math.min(3, Math.floor(wanted.length / 3)));
  return best !== undefined && best.distance <= limit ? best.candidate : null;
}

function plainForm(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ ]/g, "");
}

/** Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (row[j - 1] ?? 0) + 1,
        (last[j] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
