/*
 * The properties of a record by which the service identifies an article. Where a row's new record names another article,
 * the former one is still on the site and is deleted like that of a deleted row.
 */
import { Buffer } from "node:buffer";
import { normalizeDecimal } from "../answers/decimal.ts";
import type { JsonPath, PathStep } from "../answers/json-path.ts";
import { elementsOf, kindOf, memberOf, type Span, stringOf, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import type { Template, TemplateNode } from "../answers/template.ts";

/** The property that identifies an article in the service's examples. */
const ARTICLE = "sku";
const BESIDES = ["warehouse", "price_type", "position"];
/** Columns of quantities, prices and flags of any feed, which identify nothing. */
const VALUES = ["available", "quantity", "reserved", "price", "old_price", "active"];
/** Names of properties that need no quoting in templates and statements. */
const PLAIN = /^[\p{L}\p{N}_-]+$/u;

interface IdentityRules {
  keys: readonly string[];
  record: Template;
  /** Columns of the available quantity. */
  levelColumns: readonly string[];
  resultKey: JsonPath | null;
}

/** A property of the record, at any depth of objects. */
type Place = readonly string[];

/**
 * The properties that identify the article: `sku`, with `warehouse`, `price_type` and `position` beside it. Without `sku`
 * those made of the key columns; where a key column is missing in the record, also the property of `result.key`, or the only
 * other one made of columns that are no values. Empty where that is ambiguous.
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
  const reported = typeof last === "string" ? at(last) : undefined;
  const others = named.filter(({ columns }) => !columns.some((column) => keys.includes(column)));
  const other = reported ?? (others.length === 1 ? others[0] : undefined);
  return other === undefined ? [] : [...places.filter((one) => one !== other), other].map(({ steps }) => steps);
}

interface ArticleRules {
  keys: readonly string[];
  identity: readonly Place[];
  record: Template;
}

/** Whether no two rows of the source can name the same article: its properties contain all key columns. */
export function isOneRowEach({ keys, identity, record }: ArticleRules): boolean {
  const nodes = identity.map((steps) => nodeAt(record.root, steps));
  const holds = (node: TemplateNode | undefined, key: string) =>
    node?.kind === "text" && node.parts.some((part) => typeof part !== "string" && part.name === key);
  return keys.every((key) => nodes.some((node) => holds(node, key)));
}

interface Named {
  steps: Place;
  columns: readonly string[];
  /** Whether it is a single column without other text. */
  isPure: boolean;
}

/** Texts and numbers of the template made of columns that are no values. */
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

/** Where records hold the value of this column and nothing else; undefined where they do not. */
export function placeOf({ root }: Template, column: string): readonly string[] | undefined {
  return namesIn(root, new Set()).find(({ columns, isPure }) => isPure && columns[0] === column)?.steps;
}

/** Whether two records name different articles. A property that one of them lacks is ignored. */
export function isOtherArticle(identity: readonly Place[], a: string, b: string): boolean {
  return identity.some((steps) => {
    const [one, other] = [textAt(a, steps), textAt(b, steps)];
    return one !== undefined && other !== undefined && one !== other;
  });
}

/** The same in SQL, for two columns with records; also true for some records for which {@link isOtherArticle} is false. */
export function isOtherInSql(identity: readonly Place[], a: string, b: string): string {
  const differ = identity.map((steps) => `(${jsonAt(a, steps)}) <> (${jsonAt(b, steps)})`);
  return differ.length === 0 ? "0" : `(${differ.join(" OR ")})`;
}

/** SQL for the article of a record; NULL where a property is missing. Equal texts mean one article; different ones may too. */
export function articleInSql(identity: readonly Place[], record: string): string {
  return identity.map((steps) => `(${jsonAt(record, steps)})`).join(" || char(10) || ");
}

/** Those of the properties that name the article itself: without the warehouse, the kind of price or the position. */
export function articleOf(identity: readonly Place[]): readonly Place[] {
  return identity.filter(([name = "", ...deeper]) => deeper.length > 0 || !BESIDES.includes(name));
}

/**
 * SQL for the article of a record as a service may compare it; NULL where a property is missing, or `places` is empty. Records whose texts
 * are equal may name one article.
 */
export function foldedInSql(places: readonly Place[], record: string): string {
  const texts = places.map((steps) => `fold_article(${textInSql(record, steps)})`);
  return texts.length === 0 ? "NULL" : texts.join(" || char(10) || ");
}

/**
 * SQL: whether a row of `feed_sent` may be of the same article as a record, beyond what its index finds: of stocks in any warehouse, of
 * other feeds of the same kind or position.
 */
export function isSameKindInSql(
  { name, article, identity }: { name: string; article: readonly Place[]; identity: readonly Place[] },
  a: string,
  b: string,
): string {
  if (name === "stocks" || article.length === identity.length) return "1";
  return `${foldedInSql(identity, a)} IS ${foldedInSql(identity, b)}`;
}

/** SQL for `feed_sent.article`: the same, where that is not the first part of the key. */
export function storedInSql(places: readonly Place[], record: string, k0: string): string {
  const stored = `nullif(${foldedInSql(places, record)}, ${k0})`;
  const [steps] = places;
  // Most keys are the article itself, in characters that folding leaves as they are: they cost no call of the function.
  return steps === undefined || places.length > 1
    ? stored
    : `iif(${k0} = ${textInSql(record, steps)} AND ${k0} NOT GLOB '*[^!-\`{-~]*', NULL, ${stored})`;
}

/** SQL for the text or number at a place of a record. */
function textInSql(record: string, steps: Place): string {
  return jsonAt(record, steps).replace(/ -> (?='[^']*'$)/, " ->> ");
}

function jsonAt(record: string, steps: Place): string {
  return [record, ...steps.map((step) => `'${step}'`)].join(" -> ");
}

/** The node of a template at a place. */
export function nodeAt(root: TemplateNode, steps: readonly PathStep[]): TemplateNode | undefined {
  return steps.reduce<TemplateNode | undefined>((node, step) => {
    if (node?.kind === "object") return node.members.find(({ key }) => key === step)?.value;
    return node?.kind === "list" && typeof step === "number" ? node.items[step] : undefined;
  }, root);
}

/** A text or number of the record, `""` for null; undefined where the place has none. */
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

interface NameRules {
  keys: readonly string[];
  identity: readonly Place[];
  isKeyUntold: boolean;
}

/**
 * The names by which an answer may refer to each record: its key, beginning with the column that has the most different
 * values, in other keys as well; where records do not contain the key, the article.
 */
export function namesOf(
  { keys, identity, isKeyUntold }: NameRules,
  sent: readonly { key: readonly string[]; record: string }[],
  loadOthers: () => readonly (readonly string[])[],
): readonly (readonly string[])[] {
  if (isKeyUntold) return sent.map(({ record }) => identity.map((steps) => textAt(record, steps) ?? ""));
  const own = sent.map(({ key }) => key);
  if (keys.length < 2) return own;
  const all = [...own, ...loadOthers()];
  const sizes = keys.map((_, column) => new Set(all.map((key) => key[column])).size);
  const first = sizes.indexOf(Math.max(...sizes));
  return first === 0 ? own : own.map((key) => [key[first] ?? "", ...key.toSpliced(first, 1)]);
}
