/*
 * Writes values into a configuration as a person would: an existing value is replaced in place, a commented-out default
 * is uncommented, anything else becomes a line of its own. Comments and order are kept. Pure.
 */

import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, type Node, type Pair, parseDocument } from "yaml";
import { inline } from "./example.ts";

interface Found {
  /** The innermost existing pair on the path; undefined: the document itself. */
  pair: Pair<Node, Node | null> | undefined;
  /** How many steps of the path lead to it. */
  depth: number;
}

/** Changed lines, without line ends. */
export interface Change {
  removed: string[];
  added: string[];
}

/**
 * @param keys by dotted path
 * @returns the edited text; undefined where a value cannot be written without changing anything else
 */
export function editConfig(
  text: string,
  keys: Readonly<Record<string, unknown>>,
): { text: string; changes: Change[] } | undefined {
  const ends = endsOf(text);
  let edited = text.replaceAll("\r\n", "\n");
  const changes: Change[] = [];
  for (const [key, value] of Object.entries(keys)) {
    const steps = key.split(".");
    const next = writeOne(edited, steps, value);
    if (next === undefined || !isOnlyChange(edited, next, steps, value)) return undefined;
    const { head, removed, added } = changeOf(edited, next);
    ends.splice(head, removed.length, ...added.map(() => ends[0] ?? "\n"));
    changes.push({ removed, added });
    edited = next;
  }
  const lines = edited.split("\n");
  return { text: lines.map((line, at) => line + (at < lines.length - 1 ? (ends[at] ?? "\n") : "")).join(""), changes };
}

/** The end of each line, so that a file keeps its Windows or Unix line ends even where they are mixed. */
function endsOf(text: string): string[] {
  return [...text.matchAll(/\r?\n/g)].map(([end]) => end);
}

function writeOne(text: string, steps: readonly string[], value: unknown): string | undefined {
  const found = findPair(text, steps);
  const { pair, depth } = found;
  if (pair === undefined) return addLines(text, { at: text.length, indent: 0 }, steps, value);
  const { key, value: old } = pair;
  if (key.range == null) return undefined;
  const indent = key.range[0] - (text.lastIndexOf("\n", key.range[0] - 1) + 1);
  const isNothing = old === null || (isScalar(old) && old.source === "" && old.value === null);
  if (depth === steps.length) return isNothing ? undefined : replaceValue(text, old, inline(value));
  if (isMap(old) && old.flow === true) return addInFlow(text, old, steps.slice(depth), value);
  if (!isNothing && !isMap(old)) return undefined;
  const block = blockAfter(text, key.range[0], indent);
  const step = isMap(old) ? indentOf(text, old) : indent + 2;
  const missing = steps.slice(depth);
  return (
    uncomment(text, block, step, missing, value) ?? addLines(text, { at: block.start, indent: step }, missing, value)
  );
}

function findPair(text: string, steps: readonly string[]): Found {
  let node: unknown = parseDocument(text, { schema: "core", version: "1.2" }).contents;
  let pair: Found["pair"];
  for (let depth = 0; depth < steps.length; depth++) {
    const next = isMap<Node, Node | null>(node)
      ? node.items.find(({ key }) => isScalar(key) && key.value === steps[depth])
      : undefined;
    if (next === undefined) return { pair, depth };
    pair = next;
    node = next.value;
  }
  return { pair, depth: steps.length };
}

function replaceValue(text: string, old: Node, value: string): string | undefined {
  if (old.range == null) return undefined;
  const [start, end] = old.range;
  // The range of a block list includes the line break behind it.
  return text.slice(0, start) + value + text.slice(start + text.slice(start, end).trimEnd().length);
}

/** Adds to a flow mapping such as `{ a: 1 }`. */
function addInFlow(text: string, map: Node & { items: unknown[] }, missing: readonly string[], value: unknown) {
  if (map.range == null) return undefined;
  const end = map.range[1] - 1;
  const before = text.slice(0, end).trimEnd();
  const line = inline(nested(missing, value)).replace(/^\{\s*|\s*\}$/g, "");
  return `${before}${map.items.length > 0 ? ", " : " "}${line} ${text.slice(end)}`;
}

/**
 * The lines under a key, up to the next one that is indented as little. Excludes blank lines and comments before that
 * one.
 */
function blockAfter(text: string, keyAt: number, indent: number): { start: number; end: number } {
  const start = lineAfter(text, keyAt);
  let end = start;
  for (let at = start; at < text.length; ) {
    const next = lineAfter(text, at);
    const line = text.slice(at, next);
    const left = line.search(/\S/);
    if (left !== -1 && left <= indent) break;
    if (left !== -1) end = next;
    at = next;
  }
  return { start, end };
}

function lineAfter(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end + 1;
}

function indentOf(text: string, map: Node): number {
  const start = map.range?.[0] ?? 0;
  return start - (text.lastIndexOf("\n", start - 1) + 1);
}

/** Replaces a commented-out default on one line, such as `#orders: $.orders`. */
function uncomment(
  text: string,
  { start, end }: { start: number; end: number },
  indent: number,
  missing: readonly string[],
  value: unknown,
): string | undefined {
  const [name] = missing;
  if (missing.length !== 1 || name === undefined) return undefined;
  const before = `${" ".repeat(indent)}#${name}:`;
  for (let at = start; at < end; at = lineAfter(text, at)) {
    const line = text.slice(at, lineAfter(text, at));
    // A default that continues on further lines is left alone: they would remain.
    if (!line.startsWith(`${before} `)) continue;
    return `${text.slice(0, at)}${linesOf([name], value, indent)}${text.slice(lineAfter(text, at))}`;
  }
  return undefined;
}

function addLines(
  text: string,
  { at, indent }: { at: number; indent: number },
  missing: readonly string[],
  value: unknown,
): string {
  const before = text.slice(0, at);
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return `${before}${gap}${linesOf(missing, value, indent)}${text.slice(at)}`;
}

/** The missing keys as lines: `a:`, then `b: value` indented below. */
function linesOf(steps: readonly string[], value: unknown, indent: number): string {
  return steps
    .map((step, depth) => {
      const isLast = depth === steps.length - 1;
      return `${" ".repeat(indent + 2 * depth)}${inline(step)}:${isLast ? ` ${inline(value)}` : ""}\n`;
    })
    .join("");
}

export function nested(steps: readonly string[], value: unknown): object {
  return steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value) as object;
}

/** Whether the second text means the same as the first plus this value. */
function isOnlyChange(before: string, after: string, steps: readonly string[], value: unknown): boolean {
  const [was, is] = [plain(before), plain(after)];
  return is !== undefined && was !== undefined && isDeepStrictEqual(withValue(was, steps, value), is);
}

function plain(text: string): Record<string, unknown> | undefined {
  const document = parseDocument(text, { schema: "core", version: "1.2" });
  return document.errors.length > 0 ? undefined : ((document.toJS() ?? {}) as Record<string, unknown>);
}

function withValue(root: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const group = (root ?? {}) as Record<string, unknown>;
  return { ...group, [step]: withValue(group[step], rest, value) };
}

/** The lines between the common beginning and end of both texts. */
function changeOf(before: string, after: string): Change & { head: number } {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  return { head, removed: old.slice(head, old.length - tail), added: fresh.slice(head, fresh.length - tail) };
}
