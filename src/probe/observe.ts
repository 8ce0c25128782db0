import type { Buffer } from "node:buffer";
import { type JsonPath, parsePath, resolvePath } from "../answers/json-path.ts";
import { elementsOf, kindOf, membersOf, type Span } from "../answers/json-text.ts";
import { plainName, shortWords } from "../messages/inert-text.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import {
  LINE_FIELDS,
  type LineField,
  ORDER_FIELDS,
  type OrderField,
  type OrderMapping,
} from "../records/order-mapping.ts";
import type { Observation } from "./observation.ts";

/** What is watched for, compiled once from the configuration. */
export interface ObserveRules {
  /** Top-level fields that some configured path reads. */
  readFields: ReadonlySet<string>;
  /** Names of statuses in the configuration. */
  statuses: ReadonlySet<string>;
  mappings: Record<"batch" | "update" | "snapshot", OrderMapping>;
}

/** In how many orders in a row each optional path was missing; absent: it has never matched. */
export type Misses = Record<string, number>;

/** Orders in a row without a path that used to match, before that is reported: a single order may lack a number. */
const MISSES_MAX = 10;

export function compileObserveRules(
  rules: OrderRules,
  settings: { extra: Readonly<Record<string, string>>; statusMap: Readonly<Record<string, string>> },
): ObserveRules {
  const { batch, update, snapshot, plan } = rules;
  const paths = [
    ...[batch, update, snapshot].flatMap(({ paths }) => Object.values(paths)),
    ...Object.values(settings.extra).map(parsePath),
    ...plan.ignore,
  ];
  const first = paths.map(({ steps }) => steps[0]).filter((step) => typeof step === "string");
  return {
    readFields: new Set(first),
    statuses: new Set([...plan.cancelled, ...plan.closed, ...Object.values(settings.statusMap)]),
    mappings: { batch, update, snapshot },
  };
}

/** Fields of a stored order that nothing reads. */
export function observeFields(bytes: Buffer, order: Span, rules: ObserveRules): Observation[] {
  if (kindOf(bytes, order) !== "object") return [];
  return membersOf(bytes, order)
    .filter(({ key }) => !rules.readFields.has(key))
    .map(({ key, value }) => ({ kind: "field", name: plainName(key), sample: typeOf(bytes, value) }));
}

export function observeStatus(status: string | null, rules: ObserveRules): Observation[] {
  if (status === null || rules.statuses.has(status)) return [];
  return [{ kind: "status", name: plainName(status), sample: "the configuration names no meaning for it" }];
}

/** Counts missing optional paths, and lists those that stopped matching or match again. An explicit null matches. */
export function observePaths(
  bytes: Buffer,
  order: Span,
  mapping: OrderMapping,
  misses: Misses,
): { misses: Misses; stopped: Observation[]; back: string[] } {
  const next: Misses = { ...misses };
  const stopped: Observation[] = [];
  const back: string[] = [];
  for (const { name, matches, at } of lookAtPaths(bytes, order, mapping)) {
    if (matches) {
      if ((next[name] ?? 0) >= MISSES_MAX) back.push(name);
      next[name] = 0;
      continue;
    }
    const before = next[name];
    if (before === undefined || before >= MISSES_MAX) continue;
    next[name] = before + 1;
    if (before + 1 < MISSES_MAX) continue;
    const keys = kindOf(bytes, at) === "object" ? membersOf(bytes, at).map(({ key }) => key) : [];
    stopped.push({ kind: "path", name, sample: `fields there now: ${shortWords(keys.join(", "))}` });
  }
  return { misses: next, stopped, back };
}

interface Look {
  name: string;
  matches: boolean;
  /** Where the path starts. */
  at: Span;
}

function lookAtPaths(bytes: Buffer, order: Span, mapping: OrderMapping): Look[] {
  const isThere = (at: Span, path: JsonPath) => resolvePath(bytes, at, path).state !== "absent";
  const optional = ORDER_FIELDS.filter((field) => !mapping.required.includes(field));
  const own = optional.map((field) => ({
    name: nameOf("orders.fields", field, mapping.paths[field]),
    matches: isThere(order, mapping.paths[field]),
    at: order,
  }));
  const found = resolvePath(bytes, order, mapping.paths.lines);
  if (found.state !== "value" || kindOf(bytes, found.span) !== "array") return own;
  const lines = elementsOf(bytes, found.span);
  const [first] = lines;
  if (first === undefined) return own;
  const ofLines = LINE_FIELDS.map((field) => ({
    name: nameOf("orders.line", field, mapping.line[field]),
    matches: lines.some((line) => isThere(line, mapping.line[field])),
    at: first,
  }));
  return [...own, ...ofLines];
}

function nameOf(group: string, field: OrderField | LineField, path: JsonPath): string {
  return `${group}.${field} (${path.text})`;
}

const KEYS_SHOWN = 10;

function typeOf(bytes: Buffer, value: Span): string {
  const kind = kindOf(bytes, value);
  if (kind === "array") {
    const [first] = elementsOf(bytes, value);
    return first === undefined ? "an empty list" : `a list of ${kindOf(bytes, first)}s`;
  }
  if (kind !== "object") return kind === "null" ? "null" : `a ${kind}`;
  const keys = membersOf(bytes, value).map(({ key }) => key);
  const shown = keys.slice(0, KEYS_SHOWN).join(", ");
  return keys.length === 0
    ? "an empty object"
    : plainName(`an object with ${shown}${keys.length > KEYS_SHOWN ? ", …" : ""}`);
}
