import type { Buffer } from "node:buffer";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import {
  countInside,
  elementAt,
  type JsonKind,
  kindOf,
  MEMBERS_MAX,
  memberOf,
  membersOf,
  type Repeated,
  type Span,
  singleMemberOf,
  singleMembersOf,
  someMember,
} from "./json-text.ts";
import { TextSyntaxError } from "./text-syntax-error.ts";

/** A key, or an index from 0; a negative index counts from the end (`[#-1]` is -1). */
export type PathStep = string | number;

/** A path in SQLite's syntax. It resolves to the same value here as with `json_extract` and `->` in the database. */
export interface JsonPath {
  readonly text: string;
  readonly steps: readonly PathStep[];
}

/** The result of resolving a path. `at` is a place in the same syntax; `found` describes the value there. */
export type Resolved =
  | { readonly state: "value"; readonly span: Span }
  /** An explicit null, at the end of the path or before it. */
  | { readonly state: "null"; readonly at: string }
  /** No value. `at` is the deepest part that exists; `keysSeen` are the first keys of the object there. */
  | { readonly state: "absent"; readonly at: string; readonly keysSeen: string[]; readonly found: Message };

/** Enough to recognise a renamed key in an error, and still one line. */
const KEYS_SEEN_MAX = 20;

/**
 * Parses `$`, `.key`, `."any key"` (with JSON's escapes), `[n]` and `[#-n]`. An unquoted key extends to the next `.` or
 * `[`, as in SQLite, so Cyrillic and blanks need no quotes.
 *
 * @throws TextSyntaxError also for paths that SQLite accepts but never resolves (`[#]`), or reads differently in older
 * versions.
 */
export function parsePath(text: string): JsonPath {
  if (!text.startsWith("$")) throw new TextSyntaxError(m.answers.pathStart, { column: 1 });
  if (!text.isWellFormed() || text.includes("\0")) {
    throw new TextSyntaxError(m.answers.pathCharacters, { column: 1 });
  }
  const steps: PathStep[] = [];
  let at = 1;
  while (at < text.length) {
    const read = text[at] === "[" ? readIndex(text, at) : readKey(text, at);
    steps.push(read.step);
    at = read.end;
  }
  return { text, steps };
}

interface Read {
  step: PathStep;
  end: number;
}

function readIndex(text: string, at: number): Read {
  const match = /\[(#-)?([0-9]+)\]/y;
  match.lastIndex = at;
  const found = match.exec(text);
  if (found === null) {
    throw new TextSyntaxError(m.answers.pathIndex, { column: at + 2 });
  }
  const number = Math.min(Number(found[2]), Number.MAX_SAFE_INTEGER);
  if (found[1] !== undefined && number === 0) {
    throw new TextSyntaxError(m.answers.pathBehindLast, { column: at + 1 });
  }
  return { step: found[1] === undefined ? number : -number, end: match.lastIndex };
}

function readKey(text: string, at: number): Read {
  if (text[at] !== ".") throw new TextSyntaxError(m.answers.pathStep, { column: at + 1 });
  if (text[at + 1] === '"') return readQuotedKey(text, at + 1);
  const match = /[^.[]+/y;
  match.lastIndex = at + 1;
  const found = match.exec(text);
  if (found === null) throw new TextSyntaxError(m.answers.pathKey, { column: at + 2 });
  return { step: found[0], end: match.lastIndex };
}

function readQuotedKey(text: string, at: number): Read {
  const match = /"((?:[^"\\]|\\.)*)"/sy;
  match.lastIndex = at;
  const found = match.exec(text);
  if (found === null) throw new TextSyntaxError(m.answers.quoteOpen, { column: at + 1 });
  const raw = found[1] ?? "";
  if (!raw.includes("\\")) return { step: raw, end: match.lastIndex };
  // SQLite takes control characters as they are; JSON.parse accepts them only escaped.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
  const escaped = raw.replace(/[\u0000-\u001f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  try {
    return { step: JSON.parse(`"${escaped}"`) as string, end: match.lastIndex };
  } catch {
    throw new TextSyntaxError(m.answers.quotedEscape, { column: at + 1 });
  }
}

/** The path of `steps` in SQLite's syntax; keys are quoted unless they are plain words. */
export function formatPath(steps: readonly PathStep[]): string {
  let text = "$";
  for (const step of steps) {
    if (typeof step === "number") text += step < 0 ? `[#${step}]` : `[${step}]`;
    else text += /^[\p{L}_][\p{L}\p{N}_]*$/u.test(step) ? `.${step}` : `.${JSON.stringify(step)}`;
  }
  return text;
}

/**
 * Resolves `path` from the value at `root`, as SQLite's `->` does: the first of equal keys is used. Distinguishes an
 * explicit null (an empty answer) from a missing key (a wrong configuration or a changed service).
 */
export function resolvePath(bytes: Buffer, root: Span, path: JsonPath): Resolved {
  return follow(bytes, root, path, memberOf);
}

/** A place on the way of a path that stands more than once, with different values. */
export interface RepeatedPlace {
  readonly state: Repeated;
  readonly at: string;
}

/**
 * What {@link resolvePath} finds, unless a place on the way stands more than once with different values: readers differ in
 * which of them they take, so it is unknown what a record says there.
 */
export function resolveSingle(bytes: Buffer, root: Span, path: JsonPath): Resolved | RepeatedPlace {
  return follow(bytes, root, path, singleMemberOf);
}

function follow(bytes: Buffer, root: Span, path: JsonPath, memberAt: typeof memberOf): Resolved;
function follow(bytes: Buffer, root: Span, path: JsonPath, memberAt: typeof singleMemberOf): Resolved | RepeatedPlace;
function follow(
  bytes: Buffer,
  root: Span,
  { steps }: JsonPath,
  memberAt: typeof singleMemberOf,
): Resolved | RepeatedPlace {
  let span = root;
  for (let done = 0; done < steps.length; done++) {
    if (kindOf(bytes, span) === "null") return { state: "null", at: formatPath(steps.slice(0, done)) };
    const step = steps[done]!;
    const next = typeof step === "string" ? memberAt(bytes, span, step) : elementAt(bytes, span, step);
    if (next === "repeated") return { state: next, at: formatPath(steps.slice(0, done + 1)) };
    if (next === undefined) {
      return { state: "absent", at: formatPath(steps.slice(0, done)), ...describe(bytes, span) };
    }
    span = next;
  }
  return kindOf(bytes, span) === "null" ? { state: "null", at: formatPath(steps) } : { state: "value", span };
}

/**
 * The first place along `path` that occurs more than once in its object, or undefined. JSON parsers differ in which of
 * equal keys they use, so such an answer is ambiguous.
 *
 * @example findRepeated(bytes, root, parsePath("$.data.orders")); // "$.data.orders" for
 * {"data":{"orders":[…],"orders":[]}}
 */
export function findRepeated(bytes: Buffer, root: Span, { steps }: JsonPath): string | undefined {
  let span: Span | undefined = root;
  for (const [done, step] of steps.entries()) {
    if (span === undefined) return undefined;
    let next: Span | undefined;
    if (typeof step === "number") next = elementAt(bytes, span, step);
    else {
      const isAgain = someMember(
        bytes,
        root.ends === undefined ? span : { ...span, ends: root.ends },
        ({ key, value }) => {
          const isSecond = key === step && next !== undefined;
          if (key === step) next ??= value;
          return isSecond;
        },
      );
      if (isAgain) return formatPath(steps.slice(0, done + 1));
    }
    span = next;
  }
  return undefined;
}

/** Every place to which the path leads, in order: several where keys on the way are repeated. */
export function allPlacesOf(bytes: Buffer, root: Span, { steps }: JsonPath): Span[] {
  let spans = [root];
  for (const step of steps) {
    spans = spans.flatMap((span) => {
      if (typeof step === "number") return elementAt(bytes, span, step) ?? [];
      if (kindOf(bytes, span) !== "object") return [];
      return membersOf(bytes, span, MEMBERS_MAX).flatMap(({ key, value }) => (key === step ? value : []));
    });
  }
  return spans;
}

/** Several paths relative to the same value. */
export interface PathSet {
  readonly paths: readonly JsonPath[];
  /**
   * The first keys of the paths, each once, and the rest of each path after its first key; undefined: the path does not
   * start with a key.
   */
  readonly keys: readonly string[];
  readonly rests: readonly ({ readonly key: number; readonly rest: JsonPath } | undefined)[];
}

export function compilePathSet(paths: readonly JsonPath[]): PathSet {
  const keys = [...new Set(paths.map(({ steps }) => steps[0]).filter((step) => typeof step === "string"))];
  const rests = paths.map(({ steps }) => {
    const [first, ...rest] = steps;
    return typeof first === "string"
      ? { key: keys.indexOf(first), rest: { text: formatPath(rest), steps: rest } }
      : undefined;
  });
  return { paths, keys, rests };
}

/** The value of each path relative to `root`, as {@link resolveSingle} resolves it, in one pass over the members. */
export function resolvePaths(
  bytes: Buffer,
  root: Span,
  { paths, keys, rests }: PathSet,
): (Span | "null" | "absent" | Repeated)[] {
  const isNull = kindOf(bytes, root) === "null";
  const members = singleMembersOf(bytes, root, keys);
  return paths.map((path, index) => {
    const split = rests[index];
    const from = split === undefined ? root : members[split.key];
    if (from === undefined) return isNull ? "null" : "absent";
    if (from === "repeated") return from;
    const found = resolveSingle(bytes, from, split?.rest ?? path);
    return found.state === "value" ? found.span : found.state;
  });
}

const KIND_WORDS: Readonly<Record<JsonKind, Message>> = {
  object: m.answers.object,
  array: m.answers.array,
  string: m.answers.string,
  number: m.answers.number,
  boolean: m.answers.boolean,
  null: m.answers.null,
};

/** `an object`, `a string` */
export function kindWords(kind: JsonKind): Message {
  return KIND_WORDS[kind];
}

function describe(bytes: Buffer, span: Span): { keysSeen: string[]; found: Message } {
  const kind = kindOf(bytes, span);
  if (kind === "array")
    return { keysSeen: [], found: m.answers.listOf({ count: countInside(bytes, span, MEMBERS_MAX) }) };
  if (kind !== "object") return { keysSeen: [], found: kindWords(kind) };
  const keysSeen = membersOf(bytes, span, KEYS_SEEN_MAX).map((member) => member.key);
  const count = countInside(bytes, span, MEMBERS_MAX);
  return { keysSeen, found: m.answers.objectOf({ count }) };
}
