/*
 * By what the service has an article: the properties of a record that name it. They are part of what was acknowledged: where
 * a row's new record names another article, the former one is on the site still and goes away as any row that is gone.
 */
import { Buffer } from "node:buffer";
import { normalizeDecimal } from "../answers/decimal.ts";
import type { JsonPath, PathStep } from "../answers/json-path.ts";
import { elementsOf, kindOf, memberOf, type Span, stringOf, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import type { Template, TemplateNode } from "../answers/template.ts";

/** What names an article in the service's own examples. */
const ARTICLE = "sku";
const BESIDES = ["warehouse", "price_type", "position"];
/** Columns that say how much, for how much, and whether; of any feed. */
const VALUES = ["available", "quantity", "reserved", "price", "old_price", "active"];
/** Names of properties that go into templates and statements as they are. */
const PLAIN = /^[\p{L}\p{N}_-]+$/u;

interface IdentityRules {
  keys: readonly string[];
  record: Template;
  /** Columns of the number that can be sold. */
  levelColumns: readonly string[];
  resultKey: JsonPath | null;
}

/** A property of the record, at any depth of objects. */
type Place = readonly string[];

/**
 * The properties that name the article: `sku`, with `warehouse`, `price_type` and `position` beside it; without a `sku` those that
 * the key columns make, and where not every one of them stands in the record, the one of `result.key`, or the only other one
 * that is made of columns and is no value. None where that is ambiguous.
 * @example
 * identityOf({ keys: ["id"], … }) // of { sku: "{article}", warehouse: "main", quantity: "{available}" }: [["sku"]]
 */
export function identityOf({ keys, record, levelColumns, resultKey }: IdentityRules): readonly Place[] {
  const named = namesIn(record.root, new Set([...VALUES, ...levelColumns]));
  const at = (name: string) => named.find(({ steps }) => steps.length === 1 && steps[0] === name);
  if (at(ARTICLE) !== undefined) return [ARTICLE, ...BESIDES].flatMap((name) => at(name)?.steps ?? []).map((s) => [s]);
  const ofKeys = keys.map((key) => {
    const made = named.filter(({ columns }) => columns.length === 1 && columns[0] === key);
    return made.find(({ isPure }) => isPure) ?? made[0];
  });
  const places = [...new Set(ofKeys)].flatMap((one) => (one === undefined ? [] : [one]));
  if (!ofKeys.includes(undefined)) return places.map(({ steps }) => steps);
  const last = resultKey?.steps.at(-1);
  const told = typeof last === "string" ? at(last) : undefined;
  const others = named.filter(({ columns }) => !columns.some((column) => keys.includes(column)));
  const other = told ?? (others.length === 1 ? others[0] : undefined);
  return other === undefined ? [] : [...places.filter((one) => one !== other), other].map(({ steps }) => steps);
}

interface ArticleRules {
  keys: readonly string[];
  identity: readonly Place[];
  record: Template;
}

/** Whether no two rows of the source can name the same article: what names it holds every column of the key. */
export function isOneRowEach({ keys, identity, record }: ArticleRules): boolean {
  const nodes = identity.map((steps) => nodeAt(record.root, steps));
  const holds = (node: TemplateNode | undefined, key: string) =>
    node?.kind === "text" && node.parts.some((part) => typeof part !== "string" && part.name === key);
  return keys.every((key) => nodes.some((node) => holds(node, key)));
}

interface Named {
  steps: Place;
  columns: readonly string[];
  /** It is the column and nothing else. */
  isPure: boolean;
}

/** Texts and numbers of the template that are made of columns other than values. */
function namesIn(node: TemplateNode, values: ReadonlySet<string>, steps: Place = []): Named[] {
  if (node.kind === "object")
    return node.members.flatMap(({ key, value }) => (PLAIN.test(key) ? namesIn(value, values, [...steps, key]) : []));
  if (node.kind !== "text" || steps.length === 0) return [];
  const parts = node.parts.flatMap((part) => (typeof part === "string" ? [] : [part]));
  const isName = parts.every(
    ({ name, conversion }) => !values.has(name) && conversion !== "bool" && conversion !== "json",
  );
  if (parts.length === 0 || !isName) return [];
  return [{ steps, columns: [...new Set(parts.map(({ name }) => name))], isPure: node.parts.length === 1 }];
}

/** Whether two records name different articles. A property that one of them lacks decides nothing. */
export function isOtherArticle(identity: readonly Place[], a: string, b: string): boolean {
  return identity.some((steps) => {
    const [one, other] = [textAt(a, steps), textAt(b, steps)];
    return one !== undefined && other !== undefined && one !== other;
  });
}

/** The same in SQL, for columns that hold a record each; true also for some that {@link isOtherArticle} denies. */
export function isOtherInSql(identity: readonly Place[], a: string, b: string): string {
  const differ = identity.map((steps) => `(${jsonAt(a, steps)}) <> (${jsonAt(b, steps)})`);
  return differ.length === 0 ? "0" : `(${differ.join(" OR ")})`;
}

/** What names the article of a record, in SQL; NULL where a property is missing. Equal texts are of one article, others may be. */
export function articleInSql(identity: readonly Place[], record: string): string {
  return identity.map((steps) => `(${jsonAt(record, steps)})`).join(" || char(10) || ");
}

function jsonAt(record: string, steps: Place): string {
  return [record, ...steps.map((step) => `'${step}'`)].join(" -> ");
}

/** What a template has at a place. */
export function nodeAt(root: TemplateNode, steps: readonly PathStep[]): TemplateNode | undefined {
  return steps.reduce<TemplateNode | undefined>((node, step) => {
    if (node?.kind === "object") return node.members.find(({ key }) => key === step)?.value;
    return node?.kind === "list" && typeof step === "number" ? node.items[step] : undefined;
  }, root);
}

/** A text or a number of the record, `""` for null; undefined where it says nothing there. */
export function textAt(record: string, steps: readonly PathStep[]): string | undefined {
  const bytes = Buffer.from(record, "utf8");
  const span = steps.reduce<Span | undefined>((at, step) => {
    if (at === undefined) return undefined;
    if (typeof step === "string") return kindOf(bytes, at) === "object" ? memberOf(bytes, at, step) : undefined;
    return kindOf(bytes, at) === "array" ? elementsOf(bytes, at)[step] : undefined;
  }, scanJson(bytes));
  if (span === undefined) return undefined;
  const kind = kindOf(bytes, span);
  if (kind === "string") return stringOf(bytes, span);
  if (kind === "null") return "";
  return kind === "number" ? normalizeDecimal(textOf(bytes, span)) : undefined;
}
