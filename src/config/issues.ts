import type * as z from "zod";
import type { Path } from "./document.ts";
import { nearest } from "./problems.ts";
import { keysOf, nodeOf, schemaAt } from "./schema-walk.ts";

/** One finding of the schema, in words. */
export interface Finding {
  path: Path;
  problem: string;
  /** Words of a small language's parser; they may quote the value. */
  detail: string | null;
  /** The key itself is wrong, not its value. */
  aboutKey: boolean;
  /** Whose meaning helps: the key itself, or the known key that was probably meant. */
  meaningOf: Path;
}

/** Suggestions cost time, and nobody reads more. */
const SUGGESTIONS_MAX = 60;

/** Translates what zod found. Only paths, keys and the schema's own words are used, never a value. */
export function findingsOf(schema: z.core.$ZodType, issues: readonly z.core.$ZodIssue[]): Finding[] {
  return issues.flatMap((issue) => findings(schema, issue, []));
}

function findings(root: z.core.$ZodType, issue: z.core.$ZodIssue, above: Path): Finding[] {
  const path = [...above, ...issue.path];
  const plain = { path, detail: null, aboutKey: false, meaningOf: path };
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key, index) => unknownKey({ root, group: path, key, suggest: index < SUGGESTIONS_MAX }));
    case "custom": {
      const { detail, aboutKey } = (issue.params ?? {}) as { detail?: string; aboutKey?: boolean };
      return [{ ...plain, problem: issue.message, detail: detail ?? null, aboutKey: aboutKey === true }];
    }
    case "invalid_key":
      return [{ ...plain, problem: "is not a name that can be used here", aboutKey: true }];
    case "invalid_union": {
      const branch = unionBranch(issue.errors);
      if (branch !== null) return branch.flatMap((inner) => findings(root, inner, path));
      break;
    }
    default:
  }
  return [{ ...plain, problem: expectation(root, path, issue) }];
}

/** The one alternative whose shape the value has: the others fail at the top, by type. */
function unionBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | null {
  const shaped = branches.filter((issues) =>
    issues.every(({ path, code }) => path.length > 0 || (code !== "invalid_type" && code !== "invalid_value")),
  );
  const [only] = shaped;
  return shaped.length === 1 && only !== undefined ? only : null;
}

function expectation(root: z.core.$ZodType, path: Path, issue: z.core.$ZodIssue): string {
  const schema = schemaAt(root, path);
  const wording = schema === undefined ? undefined : wordingOf(schema);
  const keys = schema === undefined ? [] : keysOf(schema).map(([name]) => name);
  const group = keys.length > 0 && wording === "a group of keys" ? ` (${keys.slice(0, 6).join(", ")})` : "";
  const wanted = `must be ${wording ?? "of another kind"}${group}`;
  if (issue.code !== "invalid_type" && issue.code !== "invalid_union") return wanted;
  const found = nounOf(issue.input);
  if (found === "nothing") return `is missing; it ${wanted}`;
  const quotes = wording?.startsWith("text") === true && typeof issue.input !== "object" ? "; put it in quotes" : "";
  return found === "text" && issue.code === "invalid_union" ? wanted : `${wanted}, not ${found}${quotes}`;
}

export function wordingOf(schema: z.core.$ZodType): string | undefined {
  const { meta, nullable } = nodeOf(schema);
  if (meta.wording === undefined) return undefined;
  return nullable && !meta.wording.startsWith("null") ? `${meta.wording}, or null` : meta.wording;
}

function nounOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  const nouns: Record<string, string> = {
    string: "text",
    number: "a number",
    boolean: "true or false",
    object: "a group of keys",
  };
  return nouns[typeof value] ?? typeof value;
}

interface UnknownKey {
  root: z.core.$ZodType;
  group: Path;
  key: string;
  suggest: boolean;
}

function unknownKey({ root, group, key, suggest }: UnknownKey): Finding {
  const finding = { path: [...group, key], detail: null, aboutKey: true, meaningOf: [] };
  if (!suggest) return { ...finding, problem: "is not a known key" };
  const schema = schemaAt(root, group);
  const siblings = schema === undefined ? [] : keysOf(schema).map(([name]) => name);
  const near = nearest(key, siblings);
  if (near !== null) {
    return { ...finding, problem: `is not a known key; did you mean "${near}"?`, meaningOf: [...group, near] };
  }
  const elsewhere = findKey(root, key, []);
  if (elsewhere !== null) {
    const problem = `is not a known key here; did you mean "${elsewhere.join(".")}"?`;
    return { ...finding, problem, meaningOf: elsewhere };
  }
  const known = siblings.slice(0, 20).join(", ");
  return { ...finding, problem: known === "" ? "is not a known key" : `is not a known key; known here: ${known}` };
}

/** A key of exactly this name in another group. */
function findKey(schema: z.core.$ZodType, key: string, above: readonly string[]): string[] | null {
  for (const [name, child] of keysOf(schema)) {
    const path = [...above, name];
    const found = name === key ? path : findKey(child, key, path);
    if (found !== null) return found;
  }
  return null;
}
