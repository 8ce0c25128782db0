/*
 * Finds the places of a record that say how much can be sold, by the columns they render and not by property names, so
 * that the guard sees rows drop to zero, and a deleted row is taken off sale, under any template.
 */

import { Buffer } from "node:buffer";
import { compareDecimals, parseDecimal } from "../answers/decimal.ts";
import { type Expression, parseExpression } from "../answers/expression.ts";
import { formatPath, type PathStep } from "../answers/json-path.ts";
import { elementsOf, kindOf, memberOf, membersOf, type Span, stringOf, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { parseTemplate, renderTemplate, type Template, type TemplateNode } from "../answers/template.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** A value of the record that is a single placeholder, perhaps with fixed text around it: `{available} pcs`. */
export interface RecordPlace {
  readonly steps: readonly PathStep[];
  readonly before: string;
  readonly after: string;
}

/** How a deleted row is written: values set to "not for sale" in place, then whole properties replaced. */
export interface Deletion {
  readonly off: readonly (RecordPlace & {
    /** Written where the last record has no such value. */ text: string;
  })[];
  readonly properties: Template | null;
}

export interface RecordLevels {
  /** Places of the number that can be sold; empty where the record has none. */
  readonly levels: readonly RecordPlace[];
  /** null: a deleted row sends nothing. */
  readonly deletion: Deletion | null;
}

export interface LevelSettings {
  key: readonly string[];
  available: string | null;
  record: unknown;
  on_delete: unknown;
}

/** The default of `on_delete` applies to the value itself, whatever the record calls it. */
const STANDARD: Readonly<Record<string, { column: string; on_delete: object; text: string } | undefined>> = {
  stocks: { column: "quantity", on_delete: { quantity: 0 }, text: "0" },
  catalog: { column: "active", on_delete: { active: false }, text: "false" },
};

/** Columns whose 0 goes to zero, where nothing is calculated: goods must not be sold for 0 either. */
const LEVEL_COLUMNS: Readonly<Record<string, readonly string[] | undefined>> = {
  stocks: ["quantity"],
  prices: ["price"],
};

export function readLevels(feed: string, settings: LevelSettings): RecordLevels {
  const { root } = parseTemplate(settings.record);
  const available = settings.available === null ? null : parseExpression(settings.available);
  const added = available === null ? (LEVEL_COLUMNS[feed] ?? []) : addedColumns(available);
  const named = available === null ? [] : placesOf(root, ["available"]);
  const columns = placesOf(root, added);
  const levels = named.length > 0 ? named : columns;
  if (settings.on_delete === "ignore") return { levels, deletion: null };
  const standard = STANDARD[feed];
  if (standard === undefined || !isSameJson(settings.on_delete, standard.on_delete)) {
    const properties = parseTemplate(settings.on_delete);
    const isLevel = (name: string) => available === null && !settings.key.includes(name);
    return {
      levels: levels.length > 0 ? levels : zeroedPlaces(root, properties.root, isLevel),
      deletion: { off: [], properties },
    };
  }
  const meant = feed === "stocks" ? [...named, ...columns] : placesOf(root, [standard.column]);
  if (meant.length === 0) return { levels, deletion: { off: [], properties: parseTemplate(settings.on_delete) } };
  return { levels, deletion: { off: meant.map((place) => ({ ...place, text: standard.text })), properties: null } };
}

/** Why the guard or a deletion cannot work under these settings; undefined where both work. */
export function levelProblem(
  feed: string,
  settings: LevelSettings & { scope: string },
): { key: "record" | "on_delete"; what: Message; detail?: Message } | undefined {
  const found = readLevels(feed, settings);
  if (feed === "stocks" && found.levels.length === 0) {
    return { key: "record", what: m.config.levelMissing };
  }
  if (found.deletion === null || settings.scope === "whole") return undefined;
  const sample = renderTemplate(parseTemplate(settings.record), () => ({ kind: "number", literal: "1" }));
  const left = highestLevel(found.levels, applyDeletion(found.deletion, sample, []));
  if (left === undefined || !isAboveZero(left)) return undefined;
  const places = found.levels.map(({ steps }) => formatPath(steps));
  return {
    key: "on_delete",
    what: m.config.deletionKeepsLevel,
    detail: m.common.listed({ parts: places }),
  };
}

/** Columns that increase the result: of `quantity - reserved` only `quantity`. */
function addedColumns(available: Expression): string[] {
  const base = parseDecimal(available.evaluate(() => "0"));
  return available.columns.filter((column) => {
    const raised = parseDecimal(available.evaluate((name) => (name === column ? "1" : "0")));
    return base !== undefined && raised !== undefined && compareDecimals(raised, base) > 0;
  });
}

export function placesOf(node: TemplateNode, names: readonly string[], steps: readonly PathStep[] = []): RecordPlace[] {
  if (node.kind === "list") return node.items.flatMap((item, index) => placesOf(item, names, [...steps, index]));
  if (node.kind === "object") {
    return node.members.flatMap(({ key, value }) => placesOf(value, names, [...steps, key]));
  }
  if (node.kind !== "text") return [];
  const at = node.parts.findIndex((part) => typeof part !== "string");
  const placeholder = node.parts[at];
  if (placeholder === undefined || typeof placeholder === "string" || !names.includes(placeholder.name)) return [];
  const around = [node.parts.slice(0, at), node.parts.slice(at + 1)];
  if (around.some((parts) => parts.some((part) => typeof part !== "string"))) return [];
  const [before = "", after = ""] = around.map((parts) => parts.join(""));
  return [{ steps, before, after }];
}

/** Values that `on_delete` sets to the number 0 are levels, whatever their names. */
function zeroedPlaces(
  record: TemplateNode,
  deletion: TemplateNode,
  isLevel: (name: string) => boolean,
  steps: readonly PathStep[] = [],
): RecordPlace[] {
  if (record.kind === "object" && deletion.kind === "object") {
    return deletion.members.flatMap(({ key, value }) => {
      const member = record.members.find((one) => one.key === key);
      return member === undefined ? [] : zeroedPlaces(member.value, value, isLevel, [...steps, key]);
    });
  }
  if (deletion.kind !== "json" || parseDecimal(deletion.text)?.coefficient !== 0n || record.kind !== "text") return [];
  const names = record.parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]));
  return placesOf(record, names.filter(isLevel), steps);
}

/** The largest number at these places, as a JSON literal; undefined where the record has none. null counts as 0. */
export function highestLevel(levels: readonly RecordPlace[], record: string): string | undefined {
  if (levels.length === 0) return undefined;
  const bytes = Buffer.from(record, "utf8");
  // Rendered by the bridge itself, so it is valid JSON without surrounding space.
  const root: Span = { start: 0, end: bytes.length };
  const found = levels.flatMap((place) => levelAt(bytes, root, place) ?? []);
  if (found.length <= 1) return found[0];
  return found.reduce<string | undefined>((highest, one) => {
    const number = parseDecimal(one);
    const before = parseDecimal(highest ?? "");
    if (number === undefined) return highest ?? one;
    return before === undefined || compareDecimals(number, before) > 0 ? one : highest;
  }, undefined);
}

function levelAt(bytes: Buffer, root: Span, { steps, before, after }: RecordPlace): string | undefined {
  const span = steps.reduce<Span | undefined>((at, step) => at && childOf(bytes, at, step), root);
  if (span === undefined) return undefined;
  const kind = kindOf(bytes, span);
  if (kind === "null") return "0";
  if (kind === "boolean") return textOf(bytes, span) === "true" ? "1" : "0";
  if (kind !== "string") return textOf(bytes, span);
  const text = stringOf(bytes, span);
  if (!text.startsWith(before) || !text.endsWith(after) || text.length < before.length + after.length) return text;
  const level = text.slice(before.length, text.length - after.length);
  if (level.trim() === "" || level === "false") return "0";
  return level === "true" ? "1" : level;
}

function childOf(bytes: Buffer, span: Span, step: PathStep): Span | undefined {
  if (typeof step === "string") return kindOf(bytes, span) === "object" ? memberOf(bytes, span, step) : undefined;
  return kindOf(bytes, span) === "array" ? elementsOf(bytes, span)[step] : undefined;
}

function isAboveZero(level: string): boolean {
  const number = parseDecimal(level);
  return number === undefined || number.coefficient > 0n;
}

/**
 * The record to send for a deleted row: the last one, taken off sale.
 * @param former places of the level under earlier templates, because the record may have been rendered with one of them
 */
export function applyDeletion(deletion: Deletion, last: string, former: readonly RecordPlace[]): string {
  const stale = former.filter((place) => hasValue(last, place)).map((place) => ({ ...place, text: "0" }));
  const isCurrent = deletion.off.some((place) => hasValue(last, place));
  // A place that only the current template has is added only where nothing else takes the record off sale.
  const off = isCurrent || stale.length === 0 ? [...deletion.off, ...stale] : stale;
  const switched = off.reduce((record, place) => setOff(record, place), last);
  return deletion.properties === null ? switched : withProperties(switched, deletion.properties);
}

/** Whether a record has a value at this place. An object or a list there is of another template, whose places are in it. */
function hasValue(record: string, { steps }: RecordPlace): boolean {
  const bytes = Buffer.from(record, "utf8");
  const span = steps.reduce<Span | undefined>((at, step) => at && childOf(bytes, at, step), scanJson(bytes));
  return span !== undefined && !["object", "array"].includes(kindOf(bytes, span));
}

function setOff(record: string, place: Deletion["off"][number]): string {
  const bytes = Buffer.from(record, "utf8");
  const write = (span: Span | undefined, steps: readonly PathStep[]): string => {
    const [step, ...rest] = steps;
    if (step === undefined) return offText(bytes, span, place);
    const kind = span === undefined ? undefined : kindOf(bytes, span);
    if (typeof step === "number") {
      if (span === undefined || kind !== "array") return span === undefined ? "null" : textOf(bytes, span);
      const items = elementsOf(bytes, span);
      return `[${items.map((item, index) => (index === step ? write(item, rest) : textOf(bytes, item))).join(",")}]`;
    }
    const members = span === undefined || kind !== "object" ? [] : membersOf(bytes, span);
    const parts = members.map(
      ({ key, value }) => `${JSON.stringify(key)}:${key === step ? write(value, rest) : textOf(bytes, value)}`,
    );
    if (!members.some(({ key }) => key === step)) parts.push(`${JSON.stringify(step)}:${write(undefined, rest)}`);
    return `{${parts.join(",")}}`;
  };
  return write(scanJson(bytes), place.steps);
}

/** "Not for sale" in the type of the old value. */
function offText(bytes: Buffer, span: Span | undefined, { before, after, text }: Deletion["off"][number]): string {
  if (before !== "" || after !== "") return JSON.stringify(`${before}0${after}`);
  if (span === undefined) return text;
  switch (kindOf(bytes, span)) {
    case "number":
      return "0";
    case "boolean":
      return "false";
    case "string":
      return /^\s*(true|false)\s*$/i.test(stringOf(bytes, span)) ? '"false"' : '"0"';
    default:
      return text;
  }
}

function withProperties(last: string, properties: Template): string {
  const bytes = Buffer.from(
    renderTemplate(properties, () => undefined),
    "utf8",
  );
  const replaced = new Map(membersOf(bytes, scanJson(bytes)).map(({ key, value }) => [key, textOf(bytes, value)]));
  const old = Buffer.from(last, "utf8");
  const parts: string[] = [];
  for (const { key, value } of membersOf(old, scanJson(old))) {
    parts.push(`${JSON.stringify(key)}:${replaced.get(key) ?? textOf(old, value)}`);
    replaced.delete(key);
  }
  for (const [key, text] of replaced) parts.push(`${JSON.stringify(key)}:${text}`);
  return `{${parts.join(",")}}`;
}

function isSameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Places of the level under the template in a stored signature; see `FeedRules.signature`. Empty where it cannot be
 * read.
 */
export function levelsOfSignature(feed: string, signature: string): readonly RecordPlace[] {
  try {
    const [, key, available, record, onDelete] = JSON.parse(signature) as [
      string,
      string[],
      string | null,
      unknown,
      unknown,
    ];
    return readLevels(feed, { key, available, record, on_delete: onDelete }).levels;
  } catch {
    return [];
  }
}
