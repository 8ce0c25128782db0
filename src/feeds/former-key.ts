import { normalizeDecimal } from "../answers/decimal.ts";
import type { PathStep } from "../answers/json-path.ts";
import { parseTemplate, type TemplateNode } from "../answers/template.ts";
import { placesOf } from "../config/feed-level.ts";
import { type FeedRules, keyText, type SourceRow } from "./feed.ts";
import { nodeAt, textAt } from "./record-identity.ts";

/** The rules that a feed's rows were named and rendered under. */
export interface FormerKey {
  keys: readonly string[];
  /** The record's template, as the configuration had it. */
  record: unknown;
  /** The keys are not columns but the properties by which the service has the article; the template has each at its place. */
  of?: "record";
}

/** What names the article of a record: its row is there still, and its new record names another one. */
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

/** The key in the signature of former rules; see `FeedRules.signature`. */
export function formerKeyOf(signature: string | null, keyColumns: string | null): FormerKey | undefined {
  if (keyColumns === null) return undefined;
  const [, , , record] = JSON.parse(signature ?? "[]") as [string, string[], string | null, unknown];
  return { keys: JSON.parse(keyColumns) as string[], record: record ?? null };
}

/**
 * What became of a row that was sent under a former key. `named`: it is this row of the present key, which the source may have or
 * not. `away`: nothing of the source is its article. `waiting`: that is not known, and a person decides.
 */
export type Naming =
  | {
      kind: "named";
      key: readonly string[];
      isPresent: boolean /** Where another row has that name already. */;
      else: "away" | "waiting";
    }
  | { kind: "away" }
  | { kind: "waiting" };

/** What is known of one such row. */
export interface NameFacts {
  /** The row of the source whose record says of the former key what was sent. */
  byRecord: readonly string[] | undefined;
  /** The row of the source that has the former key in its columns. */
  bySource: readonly string[] | undefined;
  /** What the present template, read backwards, makes of the record that was sent. */
  byTemplate: readonly string[] | undefined;
  isPresent: (key: readonly string[]) => boolean;
  /** Whether the record of a row of this name could be the one that was sent. */
  agrees: (key: readonly string[]) => boolean;
  /** Whether records of the present template say at all what the former key said. */
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

/** Reads names out of records and rows, for rows that were sent under `from`. */
export class KeyReader {
  readonly #rules: Pick<FeedRules, "keys" | "record">;
  /**
   * Where the template of before has each of its key's columns, by itself or with text around it. Where it has one nowhere, what
   * names the article under the template of now; undefined where that is not known either.
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

  /** What the record says of the former key: that by which the service has the article. */
  saidBy(record: string): string[] | undefined {
    return this.#places?.map((steps) => textAt(record, steps) ?? "");
  }

  /** What the record of a row of the source says of it; undefined where that is not known before it is rendered. */
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

  /** Whether a row of the source that says this is known to be another article than that of the record. */
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

/** What a row is called where nothing names it under the present key: its former name, which no row of a source has. */
export function formerName({ keys }: FormerKey, key: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(keys.map((column, index) => [column, key[index] ?? ""])));
}

function placeOf(root: TemplateNode, column: string): readonly PathStep[] | undefined {
  return placesOf(root, [column]).find(({ before, after }) => before === "" && after === "")?.steps;
}

/** The text of a value as {@link textAt} reads it of the record; undefined where the columns at hand do not make it. */
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
