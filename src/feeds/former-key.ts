import { Buffer } from "node:buffer";
import { normalizeDecimal } from "../answers/decimal.ts";
import type { PathStep } from "../answers/json-path.ts";
import { elementsOf, kindOf, memberOf, type Span, stringOf, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { parseTemplate } from "../answers/template.ts";
import { placesOf } from "../config/feed-level.ts";

/** The rules that a feed's rows were named and rendered under. */
export interface FormerKey {
  keys: readonly string[];
  /** The record's template, as the configuration had it. */
  record: unknown;
}

/** What a signature tells of the rules that it stands for; see `FeedRules.signature`. */
export function formerKeyOf(signature: string | null, keyColumns: string | null): FormerKey | undefined {
  if (keyColumns === null) return undefined;
  const [, , , record] = JSON.parse(signature ?? "[]") as [string, string[], string | null, unknown];
  return { keys: JSON.parse(keyColumns) as string[], record: record ?? null };
}

/**
 * What a row is called by other key columns, from its former key and the record that was sent of it; undefined where
 * neither tells.
 */
export function renameBy(from: FormerKey, keys: readonly string[]) {
  const { root } = parseTemplate(from.record);
  const parts = keys.map((column) => {
    const index = from.keys.indexOf(column);
    if (index >= 0) return (key: readonly string[]) => key[index];
    const [place] = placesOf(root, [column]).filter(({ before, after }) => before === "" && after === "");
    return (_key: readonly string[], record: string) => (place === undefined ? undefined : keyAt(record, place.steps));
  });
  return (key: readonly string[], record: string): string[] | undefined => {
    const named = parts.map((part) => part(key, record));
    return named.every((part) => part !== undefined) ? named : undefined;
  };
}

function keyAt(record: string, steps: readonly PathStep[]): string | undefined {
  const bytes = Buffer.from(record, "utf8");
  const span = steps.reduce<Span | undefined>((at, step) => {
    if (at === undefined) return undefined;
    if (typeof step === "string") return kindOf(bytes, at) === "object" ? memberOf(bytes, at, step) : undefined;
    return kindOf(bytes, at) === "array" ? elementsOf(bytes, at)[step] : undefined;
  }, scanJson(bytes));
  if (span === undefined) return undefined;
  const kind = kindOf(bytes, span);
  if (kind === "string") return stringOf(bytes, span);
  return kind === "number" ? normalizeDecimal(textOf(bytes, span)) : undefined;
}
