import { Buffer } from "node:buffer";
import { formatPath, type JsonPath, type PathStep, parsePath } from "./json-path.ts";
import { type Span, skipBlanks, skipValue, stringOf, textOf } from "./json-text.ts";
import { scanJson } from "./scan-json.ts";

/**
 * One place where two JSON values differ: a path in SQLite's syntax, and JSON literals; null where there is no value.
 */
export interface Difference {
  readonly path: string;
  readonly was: string | null;
  readonly is: string | null;
}

/** JSON nested deeper than {@link DEPTH_MAX} levels. */
export class JsonDepthError extends RangeError {
  constructor() {
    super(`JSON nested deeper than ${DEPTH_MAX} levels`);
    this.name = "JsonDepthError";
  }
}

/** SQLite's limit: its JSON functions reject deeper text as malformed. */
export const DEPTH_MAX = 1000;

const DIFFERENCES_MAX = 200;

type Node =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly Node[] }
  | { readonly kind: "object"; readonly members: readonly NodeMember[] };

interface NodeMember {
  readonly key: string;
  readonly value: Node;
}

const NOTHING: readonly never[] = [];

/**
 * The value in canonical form: keys sorted by UTF-16 unit, no white space, strings escaped as by `JSON.stringify`,
 * number literals as written. Equal keys keep their order, because SQLite reads the first one.
 *
 * @throws JsonDepthError beyond {@link DEPTH_MAX} levels.
 */
export function canonicalJson(bytes: Buffer, span: Span): string {
  return print(new TreeReader(bytes).read(span.start, 0));
}

/** Reads validated bytes in one pass, so that nested values are not skipped repeatedly. */
class TreeReader {
  /** The offset after the last value read. */
  private end = 0;
  private readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  read(start: number, depth: number): Node {
    const first = this.bytes[start];
    if (first !== 0x7b && first !== 0x5b) {
      const span = { start, end: skipValue(this.bytes, start) };
      this.end = span.end;
      const isString = first === 0x22;
      return {
        kind: "literal",
        text: isString ? JSON.stringify(stringOf(this.bytes, span)) : textOf(this.bytes, span),
      };
    }
    if (depth === DEPTH_MAX) throw new JsonDepthError();
    const members: NodeMember[] = [];
    const items: Node[] = [];
    const close = first + 2;
    let at = skipBlanks(this.bytes, start + 1);
    while (this.bytes[at] !== close) {
      if (first === 0x7b) {
        const keyEnd = skipValue(this.bytes, at);
        const key = stringOf(this.bytes, { start: at, end: keyEnd });
        const value = this.read(skipBlanks(this.bytes, skipBlanks(this.bytes, keyEnd) + 1), depth + 1);
        members.push({ key, value });
      } else {
        items.push(this.read(at, depth + 1));
      }
      at = skipBlanks(this.bytes, this.end);
      if (this.bytes[at] === 0x2c) at = skipBlanks(this.bytes, at + 1);
    }
    this.end = at + 1;
    return first === 0x7b ? { kind: "object", members: members.sort(byKey) } : { kind: "list", items };
  }
}

function byKey(a: NodeMember, b: NodeMember): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function print(node: Node): string {
  if (node.kind === "literal") return node.text;
  if (node.kind === "list") return `[${node.items.map(print).join(",")}]`;
  return `{${node.members.map(({ key, value }) => `${JSON.stringify(key)}:${print(value)}`).join(",")}}`;
}

export interface DiffOptions {
  /** The maximum number of entries, from 1; 200 by default. */
  readonly limit?: number;
  /** Paths to ignore, with everything below them; they do not count towards `limit`. */
  readonly ignore?: readonly JsonPath[];
}

/**
 * The differences between two JSON texts, in order of sorted keys; white space and the order of keys are ignored.
 * Arrays are compared by index, numbers as text (`1.0` is not `1`), the n-th of equal keys with the n-th. A place that
 * only one side has is one entry with its whole value. Where there are more than `limit` differences, the last entry
 * covers all the rest: it has their nearest common parent, with the whole values there.
 *
 * @throws JsonSyntaxError, JsonDepthError
 */
export function diffJson(before: string, after: string, options: DiffOptions = {}): Difference[] {
  const was = treeOf(before);
  const is = treeOf(after);
  const found = new Findings(
    options.limit ?? DIFFERENCES_MAX,
    (options.ignore ?? NOTHING).map((path) => path.steps),
  );
  compare(was, is, [], found);
  return found.differences(was, is);
}

function treeOf(text: string): Node {
  const bytes = Buffer.from(text);
  return new TreeReader(bytes).read(scanJson(bytes).start, 0);
}

/** Collects differences up to a limit; after that, widens the last entry so that it covers the rest. */
class Findings {
  private readonly kept: Difference[] = [];
  private readonly limit: number;
  private readonly ignore: readonly (readonly PathStep[])[];
  private last: readonly PathStep[] = [];
  private rest: readonly PathStep[] | undefined;

  constructor(limit: number, ignore: readonly (readonly PathStep[])[]) {
    this.limit = Math.max(1, limit);
    this.ignore = ignore;
  }

  isIgnored(steps: readonly PathStep[]): boolean {
    return this.ignore.some((path) => isAtOrBelow(steps, path));
  }

  add(steps: readonly PathStep[], was: Node | undefined, is: Node | undefined): void {
    if (this.kept.length < this.limit) {
      this.kept.push(difference(steps, was, is));
      this.last = [...steps];
      return;
    }
    this.rest = commonParent(this.rest ?? this.last.slice(0, -1), steps);
  }

  differences(was: Node, is: Node): Difference[] {
    if (this.rest === undefined) return this.kept;
    return [...this.kept.slice(0, -1), difference(this.rest, nodeAt(was, this.rest), nodeAt(is, this.rest))];
  }
}

function difference(steps: readonly PathStep[], was: Node | undefined, is: Node | undefined): Difference {
  const literal = (node: Node | undefined) => (node === undefined ? null : print(node));
  return { path: formatPath(steps), was: literal(was), is: literal(is) };
}

function commonParent(parent: readonly PathStep[], steps: readonly PathStep[]): readonly PathStep[] {
  let shared = 0;
  while (shared < parent.length && shared < steps.length - 1 && parent[shared] === steps[shared]) shared++;
  return parent.slice(0, shared);
}

function nodeAt(root: Node, steps: readonly PathStep[]): Node | undefined {
  let node: Node | undefined = root;
  for (const step of steps) {
    if (node?.kind === "list") node = typeof step === "number" ? node.items[step] : undefined;
    else if (node?.kind === "object") node = node.members.find(({ key }) => key === step)?.value;
    else return undefined;
  }
  return node;
}

/** `steps` is one array, changed during the walk: copy it to keep it. */
function compare(was: Node | undefined, is: Node | undefined, steps: PathStep[], found: Findings): void {
  if (found.isIgnored(steps)) return;
  if (was?.kind === "list" && is?.kind === "list") {
    const length = Math.max(was.items.length, is.items.length);
    for (let i = 0; i < length; i++) within(was.items[i], is.items[i], i, steps, found);
    return;
  }
  if (was?.kind === "object" && is?.kind === "object") {
    compareMembers(was.members, is.members, steps, found);
    return;
  }
  const same = was?.kind === "literal" && is?.kind === "literal" && was.text === is.text;
  if (!same) found.add(steps, was, is);
}

function within(was: Node | undefined, is: Node | undefined, step: PathStep, steps: PathStep[], found: Findings): void {
  steps.push(step);
  compare(was, is, steps, found);
  steps.pop();
}

/** Both lists are sorted, so one merge pairs equal keys, the n-th with the n-th. */
function compareMembers(
  was: readonly NodeMember[],
  is: readonly NodeMember[],
  steps: PathStep[],
  found: Findings,
): void {
  let i = 0;
  let j = 0;
  while (i < was.length || j < is.length) {
    const left = was[i];
    const right = is[j];
    const order = left === undefined ? 1 : right === undefined ? -1 : byKey(left, right);
    if (order <= 0) i++;
    if (order >= 0) j++;
    const key = (order <= 0 ? left : right)?.key ?? "";
    within(order <= 0 ? left?.value : undefined, order >= 0 ? right?.value : undefined, key, steps, found);
  }
}

function isAtOrBelow(steps: readonly PathStep[], path: readonly PathStep[]): boolean {
  return path.length <= steps.length && path.every((step, i) => step === steps[i]);
}

/**
 * Removes the differences at or below an ignored path. A difference *above* an ignored path stays, because more than
 * the ignored place changed. The entry that covers the rest beyond the limit also stays; to ask whether anything else
 * changed, pass `ignore` to {@link diffJson}. `[#-n]` never matches: a difference counts from the front.
 */
export function withoutPaths(differences: readonly Difference[], ignore: readonly JsonPath[]): Difference[] {
  if (ignore.length === 0) return [...differences];
  return differences.filter(({ path }) => {
    const { steps } = parsePath(path);
    return !ignore.some((ignored) => isAtOrBelow(steps, ignored.steps));
  });
}
