import { normalizeDecimal } from "../../answers/decimal.ts";
import type { PathStep } from "../../answers/json-path.ts";
import { parseTemplate, type TemplateNode } from "../../answers/template.ts";
import { placesOf } from "../../config/feed-level.ts";
import type { FeedRules } from "../feed.ts";
import { keyText, type SourceRow } from "../feed-record.ts";
import { nodeAt, textAt } from "../record-identity.ts";

/** The rules under which a feed's rows were keyed and rendered. */
export interface FormerKey {
  keys: readonly string[];
  /** The record's template, as in the configuration. */
  record: unknown;
  /** The keys are not columns, but the properties that identify the article; the template has each at its place. */
  of?: "record";
}

/** The article of a record as a former key: for a row that still exists, and whose new record names another article. */
export function recordKeyOf(
  { identity }: Pick<FeedRules, "identity">,
  record: string,
): { from: FormerKey; key: string[] } {
  const keys = identity.map((steps) => steps.join("."));
  const template = identity.reduce<object>((made, steps) => withText(made, steps, `{${steps.join(".")}}`), {});
  return { from: { keys, record: template, of: "record" }, key: identity.map((steps) => textAt(record, steps) ?? "") };
}

function withText(made: object, [step = "", ...rest]: readonly string[], text: string): object {
  const inner = (made as Record<string, object | undefined>)[step] ?? {};
  return { ...made, [step]: rest.length === 0 ? text : withText(inner, rest, text) };
}

/** The key and template of former rules; see `FeedRules.signature`. */
export function formerKeyOf(signature: string | null, keyColumns: string | null): FormerKey | undefined {
  if (keyColumns === null) return undefined;
  const [, , , record] = JSON.parse(signature ?? "[]") as [string, string[], string | null, unknown];
  return { keys: JSON.parse(keyColumns) as string[], record: record ?? null };
}

/**
 * The result for a row that was sent under a former key. `named`: its present key, which the source may or may not have.
 * `away`: the source does not have its article. `waiting`: unknown, a person decides. `else`: the result where another row
 * already has the key.
 */
export type Naming =
  | {
      kind: "named";
      key: readonly string[];
      isPresent: boolean;
      else: "away" | "waiting";
    }
  | { kind: "away" }
  | { kind: "waiting" };

/** Facts about one such row. */
export interface NameFacts {
  /** The row of the source whose record has the former key's values of the sent record. */
  byRecord: readonly string[] | undefined;
  /** The row of the source that has the former key in its columns. */
  bySource: readonly string[] | undefined;
  /** The key derived from the sent record by the present template. */
  byTemplate: readonly string[] | undefined;
  isPresent: (key: readonly string[]) => boolean;
  /** Whether the row with this key could have sent the record. */
  agrees: (key: readonly string[]) => boolean;
  /** Whether records of the present template contain the former key's values. */
  canCompare: boolean;
}

/**
 * @example
 * // sku and warehouse before, article now: the record {"sku":"c","warehouse":""} is that of article c
 * planName({ byTemplate: ["c"], isPresent: () => false, agrees: () => true, canCompare: true, … }); // named ["c"]
 * // one row for all warehouses now: the record of the east is not the row's
 * planName({ byTemplate: ["c"], isPresent: () => true, agrees: () => false, canCompare: true, … }); // waiting
 */
export function planName({ byRecord, bySource, byTemplate, isPresent, agrees, canCompare }: NameFacts): Naming {
  const otherwise = canCompare ? "away" : "waiting";
  if (byRecord !== undefined) return { kind: "named", key: byRecord, isPresent: true, else: otherwise };
  const key = bySource ?? byTemplate;
  if (key === undefined) return { kind: otherwise };
  if (isPresent(key))
    return canCompare ? { kind: "waiting" } : { kind: "named", key, isPresent: true, else: otherwise };
  return agrees(key) ? { kind: "named", key, isPresent: false, else: otherwise } : { kind: otherwise };
}

/** Derives keys from records and rows, for rows that were sent under `from`. */
export class KeyReader {
  readonly #rules: Pick<FeedRules, "keys" | "record">;
  /**
   * The place of each key column in the former template, alone or inside a text. Where one is missing, the properties that
   * identify the article in the present template; undefined where these are unknown.
   */
  readonly #places: readonly (readonly PathStep[])[] | undefined;
  readonly #nodes: readonly (TemplateNode | undefined)[];
  readonly #parts: readonly ((key: readonly string[], record: string) => string | undefined)[];

  constructor(from: FormerKey, rules: Pick<FeedRules, "keys" | "record" | "identity">) {
    this.#rules = rules;
    const former = parseTemplate(from.record).root;
    const places = from.keys.map((column) => placeOf(former, column) ?? placesOf(former, [column])[0]?.steps);
    const identity = rules.identity.length > 0 ? rules.identity : undefined;
    this.#places = places.every((steps) => steps !== undefined) ? places : identity;
    this.#nodes = (this.#places ?? []).map((steps) => nodeAt(rules.record.root, steps));
    this.#parts = rules.keys.map((column) => {
      const index = from.of === "record" ? -1 : from.keys.indexOf(column);
      if (index >= 0) return (key) => key[index];
      const steps = placeOf(rules.record.root, column) ?? placeOf(former, column);
      return (_key, record) => (steps === undefined ? undefined : textAt(record, steps));
    });
  }

  /** The former key's values in a record, by which the service identifies the article. */
  saidBy(record: string): string[] | undefined {
    return this.#places?.map((steps) => textAt(record, steps) ?? "");
  }

  /** The same values for the record of a row of the source; undefined where they depend on rendering. */
  saidOf(row: SourceRow): string[] | undefined {
    if (this.#places === undefined) return undefined;
    const said = this.#nodes.map((node) => (node === undefined ? "" : writtenBy(node, row)));
    return said.every((part) => part !== undefined) ? said : undefined;
  }

  byTemplate(key: readonly string[], record: string): string[] | undefined {
    const named = this.#parts.map((part) => part(key, record));
    return named.every((part) => part !== undefined) ? named : undefined;
  }

  agrees(key: readonly string[], record: string): boolean {
    const row = Object.fromEntries(this.#rules.keys.map((column, index) => [column, key[index] ?? ""]));
    const said = this.saidBy(record);
    return this.#nodes.every((node, index) => {
      const own = node === undefined ? "" : writtenBy(node, row);
      return own === undefined || own === said?.[index];
    });
  }

  /** Whether a row of the source with these values is known to be another article than that of the record. */
  isOther(saidOfRow: readonly string[], record: string): boolean {
    const said = this.saidBy(record);
    return (
      this.canCompare(record) && this.#nodes.some((node, at) => node !== undefined && saidOfRow[at] !== said?.[at])
    );
  }

  canCompare(record: string): boolean {
    return this.saidBy(record)?.some((part, index) => part !== "" && this.#nodes[index] !== undefined) === true;
  }
}

/** The key of a row without a present key: its former key as JSON, which no row of a source has. */
export function formerName({ keys }: FormerKey, key: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(keys.map((column, index) => [column, key[index] ?? ""])));
}

function placeOf(root: TemplateNode, column: string): readonly PathStep[] | undefined {
  return placesOf(root, [column]).find(({ before, after }) => before === "" && after === "")?.steps;
}

/** The text of a value as {@link textAt} reads it from the record; undefined where the row lacks a column for it. */
function writtenBy(node: TemplateNode, row: SourceRow): string | undefined {
  if (node.kind === "json") return normalizeDecimal(node.text) ?? "";
  if (node.kind !== "text") return undefined;
  const parts = node.parts.map((part) => {
    if (typeof part === "string") return part;
    const value = row[part.name];
    if (value === undefined) return undefined;
    const text = value === null ? "" : keyText(value);
    const isNumber = typeof value !== "string" || part.conversion === "number";
    return text === undefined || !isNumber ? text : (normalizeDecimal(text) ?? text);
  });
  return parts.every((part) => part !== undefined) ? parts.join("") : undefined;
}
