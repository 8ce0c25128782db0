import { hash } from "node:crypto";
import { type JsonPath, parsePath, resolvePath } from "../answers/json-path.ts";
import { kindOf, membersOf, type Span, textOf } from "../answers/json-text.ts";
import { canonicalJson, type Difference, diffJson } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";

/** More than any order has; a change beyond it is not distinguished. */
const DIFFERENCES_MAX = 10_000;

/**
 * Where a stored record and a snapshot of the order contradict each other. They may come from different kinds of
 * answers, one with more keys than the other: a key that only one side has is no difference, a list of another length
 * is one.
 */
export function sharedDifferences(stored: string, snapshot: string, ignore: readonly JsonPath[]): Difference[] {
  const all = diffJson(stored, snapshot, { ignore, limit: DIFFERENCES_MAX });
  const listed = all.length < DIFFERENCES_MAX ? all : all.slice(0, -1);
  return listed.filter(({ path, was, is }) => (was !== null && is !== null) || isListPlace(path));
}

function isListPlace(path: string): boolean {
  return typeof parsePath(path).steps.at(-1) === "number";
}

/** Digest of an order's content, without ignored members, key order and white space. */
export function contentDigest(bytes: Buffer, order: Span, ignore: readonly JsonPath[]): Buffer {
  let text = textOf(bytes, order);
  for (const path of ignore) text = withoutMember(text, path);
  const rest = Buffer.from(text, "utf8");
  return hash("sha256", canonicalJson(rest, scanJson(rest)), "buffer");
}

/**
 * The text without the member that the path names. Elements of lists stay, because removing one would shift the others.
 */
function withoutMember(text: string, path: JsonPath): string {
  const key = path.steps.at(-1);
  if (typeof key !== "string") return text;
  const bytes = Buffer.from(text, "utf8");
  const parent = resolvePath(bytes, scanJson(bytes), { text: path.text, steps: path.steps.slice(0, -1) });
  if (parent.state !== "value" || kindOf(bytes, parent.span) !== "object") return text;
  const { start, end } = parent.span;
  const rest = membersOf(bytes, parent.span)
    .filter((member) => member.key !== key)
    .map((member) => `${JSON.stringify(member.key)}:${textOf(bytes, member.value)}`);
  return `${textOf(bytes, { start: 0, end: start })}{${rest.join(",")}}${textOf(bytes, { start: end, end: bytes.length })}`;
}
