import type * as z from "zod";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { Path } from "./document.ts";
import type { Refusal } from "./kinds.ts";
import { nearest } from "./problems.ts";
import { keysOf, nodeOf, schemaAt } from "./schema-walk.ts";

/** One problem that the schema found, as a message. */
export interface Finding {
  path: Path;
  problem: Message;
  /** From the parser of a small language; may quote the value. */
  detail: Message | null;
  /** The value is missing. */
  isMissing?: boolean;
  /** The key itself is wrong, not its value. */
  aboutKey: boolean;
  /** The schema has no such key. Its value, which may be a secret under a mistyped key, is not shown. */
  isUnknown?: boolean;
  /** The key whose meaning is shown: this one, or the known key that was probably meant. */
  meaningOf: Path;
}

/** Suggestions cost time, and nobody reads more. */
const SUGGESTIONS_MAX = 60;

/** Translates zod's issues. Uses only paths, keys and the schema's own words, never a value. */
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
      const { what, detail, aboutKey } = (issue.params ?? {}) as Partial<Refusal>;
      const problem = what ?? m.common.foreign({ text: issue.message });
      return [{ ...plain, problem, detail: detail ?? null, aboutKey: aboutKey === true }];
    }
    case "invalid_key":
      return [{ ...plain, problem: m.config.badName, aboutKey: true }];
    case "invalid_union": {
      const branch = unionBranch(issue.errors);
      if (branch !== null) return branch.flatMap((inner) => findings(root, inner, path));
      break;
    }
    default:
  }
  return [{ ...plain, ...expectation(root, path, issue) }];
}

/** The one alternative that the value has the shape of: all others fail by type at the top. */
function unionBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | null {
  const shaped = branches.filter((issues) =>
    issues.every(({ path, code }) => path.length > 0 || (code !== "invalid_type" && code !== "invalid_value")),
  );
  const [only] = shaped;
  return shaped.length === 1 && only !== undefined ? only : null;
}

function expectation(
  root: z.core.$ZodType,
  path: Path,
  issue: z.core.$ZodIssue,
): { problem: Message; isMissing?: boolean } {
  const schema = schemaAt(root, path);
  const kindOf = schema === undefined ? undefined : nodeOf(schema).meta.kind;
  const keys = schema === undefined ? [] : keysOf(schema).map(([name]) => name);
  const wording = (schema === undefined ? undefined : wordingOf(schema)) ?? m.kinds.other;
  const kind = kindOf === "section" && keys.length > 0 ? m.kinds.groupOf({ keys: keys.slice(0, 6) }) : wording;
  if (issue.code !== "invalid_type" && issue.code !== "invalid_union") return { problem: m.config.mustBe({ kind }) };
  const found = nounOf(issue.input);
  if (found === null) return { problem: m.config.missingKind({ kind }), isMissing: true };
  if (found === m.kinds.text && issue.code === "invalid_union") return { problem: m.config.mustBe({ kind }) };
  const isText = kindOf === "text" || kindOf === "secret";
  const isBare = isText && typeof issue.input !== "object";
  return { problem: isBare ? m.config.bareText({ kind, found }) : m.config.otherKind({ kind, found }) };
}

export function wordingOf(schema: z.core.$ZodType): Message | undefined {
  const { meta, nullable } = nodeOf(schema);
  if (meta.wording === undefined) return undefined;
  return nullable && meta.wording !== m.kinds.pathsOrNull ? m.kinds.orNull({ kind: meta.wording }) : meta.wording;
}

/** Null where the value is undefined. */
function nounOf(value: unknown): Message | null {
  if (value === undefined) return null;
  if (value === null) return m.kinds.empty;
  if (Array.isArray(value)) return m.kinds.list;
  const nouns: Record<string, Message> = {
    string: m.kinds.text,
    number: m.kinds.number,
    boolean: m.kinds.boolean,
    object: m.kinds.group,
  };
  return nouns[typeof value] ?? m.common.foreign({ text: typeof value });
}

interface UnknownKey {
  root: z.core.$ZodType;
  group: Path;
  key: string;
  suggest: boolean;
}

function unknownKey({ root, group, key, suggest }: UnknownKey): Finding {
  const finding = { path: [...group, key], detail: null, aboutKey: true, isUnknown: true, meaningOf: [] };
  if (!suggest) return { ...finding, problem: m.config.unknownKey };
  const schema = schemaAt(root, group);
  const siblings = schema === undefined ? [] : keysOf(schema).map(([name]) => name);
  const near = nearest(key, siblings);
  if (near !== null) {
    return { ...finding, problem: m.config.unknownKeyMeant({ key: near }), meaningOf: [...group, near] };
  }
  const elsewhere = findKey(root, key, []);
  if (elsewhere !== null) {
    const problem = m.config.unknownKeyElsewhere({ key: elsewhere.join(".") });
    return { ...finding, problem, meaningOf: elsewhere };
  }
  const keys = siblings.slice(0, 20);
  return { ...finding, problem: keys.length === 0 ? m.config.unknownKey : m.config.unknownKeyKnown({ keys }) };
}

/** Path of a key with exactly this name in another group. */
function findKey(schema: z.core.$ZodType, key: string, above: readonly string[]): string[] | null {
  for (const [name, child] of keysOf(schema)) {
    const path = [...above, name];
    const found = name === key ? path : findKey(child, key, path);
    if (found !== null) return found;
  }
  return null;
}
