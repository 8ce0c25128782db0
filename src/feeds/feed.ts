import { parseDecimal, sameNumber, shortestDecimal } from "../answers/decimal.ts";
import { type Expression, ExpressionValueError, parseExpression } from "../answers/expression.ts";
import { parsePath } from "../answers/json-path.ts";
import { depthOf, TEXT_BYTES_MAX } from "../answers/json-text.ts";
import { DEPTH_MAX, diffJson } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";
import {
  parseTemplate,
  placeholdersOf,
  RenderError,
  renderTemplate,
  type Template,
  type TemplateValue,
} from "../answers/template.ts";
import { applyDeletion, type Deletion, highestLevel, type RecordPlace, readLevels } from "../config/feed-level.ts";
import { type FeedName, FILE_NAMES } from "../config/feed-names.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { ResultPaths } from "../service/outcome/import-result.ts";
import { compileImages, type ImageRules, type ImageSettings, readImageSettings } from "./images/image-feed.ts";
import { identityOf, isOneRowEach } from "./record-identity.ts";

/** Ids of the feeds in the database; also the order in which backlogs are sent. */
export const FEED_IDS: Record<FeedName, number> = { stocks: 1, prices: 2, catalog: 3, images: 4 };
/** The bridge's own tables, whose key columns are treated as text, even if an ERP has recreated them with other types. */
const OWN_TABLES = new Set(["stock", "prices", "products", "images"]);

/** A feed of the configuration, with its names; durations in milliseconds. Only images have the settings of files. */
export interface FeedSettings extends Partial<ImageSettings> {
  path: string;
  property: string;
  table: string;
  query: string | null;
  file: string | null;
  key: readonly string[];
  parent: string | null;
  available: string | null;
  record: unknown;
  scope: "changed" | "whole";
  chunk: number;
  delete_after: number;
  on_delete: unknown;
  guard: { percent: number; over: number; from: number };
  result: { rejected: string; key: string; message: string | null } | null;
}

export interface FeedRules {
  feedId: number;
  name: FeedName;
  path: string;
  property: string;
  table: string;
  /** A SELECT that returns the rows, instead of the table. */
  query: string | null;
  /** Another SQLite file with the rows; null: the bridge's own database. */
  file: string | null;
  keys: readonly string[];
  /** The column that names the row which must be on the site before this one. */
  parent: string | null;
  /** Columns used in a record, including the key's. */
  columns: readonly string[];
  available: Expression | null;
  record: Template;
  /** The properties of a record by which the service identifies the article; empty where unknown. */
  identity: readonly (readonly string[])[];
  /** No key column is part of a record: answers can name records only by the article. */
  isKeyUntold: boolean;
  /** What a row has sent of an article that it no longer names is stored separately: the article is deleted, or another row names it. */
  leavesArticles: boolean;
  /** Two rows of the source may name the same article; deleting one of them then sends nothing. */
  sharesArticles: boolean;
  /** The same where deleted rows never send anything: the site keeps the last record, even if another row names the article. */
  keepsShared: boolean;
  /** What a deleted row sends; null: nothing. */
  deletion: Deletion | null;
  /** Places of the available quantity in a record; empty where it has none. */
  levels: readonly RecordPlace[];
  scope: "changed" | "whole";
  chunk: number;
  deleteAfterMs: number;
  guard: { percent: number; overMs: number; from: number };
  result: ResultPaths | null;
  /** How images are read and sent; null for other feeds. */
  images: ImageRules | null;
  /** Differs whenever records would be rendered differently: all rows are then compared. */
  signature: string;
  /** Differs whenever records are sent elsewhere: earlier acknowledgements are then invalid. */
  address: string;
}

/** The rules needed to read the rows of a feed. */
export type SourceRules = Pick<FeedRules, "name" | "table" | "query" | "file" | "columns" | "keys">;

export function compileFeed(name: FeedName, settings: FeedSettings): FeedRules {
  const files = imageSettingsOf(settings);
  const { kept, onDelete } =
    files === null ? { kept: settings.record, onDelete: {} } : readImageSettings(files, settings.record);
  const record = parseTemplate(kept);
  const images = files === null ? null : compileImages(files, record);
  const available = settings.available === null ? null : parseExpression(settings.available);
  const isColumn = (placeholder: string) =>
    (placeholder !== "available" || available === null) &&
    (images === null || images.send === "url" || !(FILE_NAMES as readonly string[]).includes(placeholder));
  const named = [
    ...placeholdersOf(record).filter(isColumn),
    ...(images === null || images.send === "url" ? [] : [images.source]),
  ];
  const result = readResult(settings);
  const identity = identityOf({
    keys: settings.key,
    record,
    levelColumns: available?.columns ?? [],
    resultKey: result?.key ?? null,
  });
  const levels = readLevels(name, {
    key: settings.key,
    available: settings.available,
    record: kept,
    on_delete: settings.on_delete === "ignore" ? "ignore" : { ...onDelete, ...(settings.on_delete as object) },
  });
  const namesArticles = identity.length > 0 && settings.scope !== "whole";
  const isShared = namesArticles && !isOneRowEach({ keys: settings.key, identity, record });
  // Images of one article are separate on the site, so rows do not share them.
  const keepsShared = isShared && levels.deletion === null && images === null;
  return {
    feedId: FEED_IDS[name],
    name,
    path: settings.path,
    property: settings.property,
    table: settings.table,
    query: settings.query,
    file: settings.file,
    keys: settings.key,
    // A record that does not contain its parent does not depend on it.
    parent: settings.parent !== null && named.includes(settings.parent) ? settings.parent : null,
    columns: [...new Set([...settings.key, ...named, ...(available?.columns ?? [])])],
    available,
    record,
    identity,
    isKeyUntold: identity.length > 0 && !settings.key.some((key) => placeholdersOf(record).includes(key)),
    leavesArticles: (namesArticles && levels.deletion !== null) || keepsShared,
    sharesArticles: isShared && levels.deletion !== null,
    keepsShared,
    ...levels,
    scope: settings.scope,
    // A form has one record and its file.
    chunk: images?.send === "multipart" ? 1 : settings.chunk,
    deleteAfterMs: settings.delete_after,
    guard: { percent: settings.guard.percent, overMs: settings.guard.over, from: settings.guard.from },
    result,
    images,
    signature: JSON.stringify([
      ...[settings.table, settings.key, settings.available, settings.record, settings.on_delete],
      ...(settings.query === null && settings.file === null ? [] : [settings.query, settings.file]),
      ...(files === null || files.send === "url" ? [] : [files]),
    ]),
    address: JSON.stringify([settings.path, settings.property]),
  };
}

function readResult({ result }: FeedSettings): ResultPaths | null {
  if (result === null) return null;
  return {
    rejected: parsePath(result.rejected),
    key: parsePath(result.key),
    message: result.message === null ? null : parsePath(result.message),
  };
}

function imageSettingsOf(settings: FeedSettings): ImageSettings | null {
  const { source, send, folder = null, bytes_max = 0, types = [], multipart } = settings;
  if (source === undefined || send === undefined || multipart === undefined) return null;
  return { source, send, folder, bytes_max, types, multipart };
}

/** A value as better-sqlite3 returns it, integers as bigint. */
export type ColumnValue = string | number | bigint | Buffer | null;
export type SourceRow = Readonly<Record<string, ColumnValue>>;

/**
 * The largest row that is read, and the largest record that is sent: while it is compared and sent, several copies of it
 * are in memory. It is also the largest record of an order.
 */
export const ROW_BYTES_MAX = TEXT_BYTES_MAX;
/** Rows that are read, compared and written together end with the one that exceeds this: some 100 ms of the event loop. */
export const STEP_BYTES_MAX = 4_000_000;
/** The same for records that are compared or sent together, and for all that a pass sends. A record may be larger than its row. */
export const RECORDS_BYTES_MAX = 16_000_000;
/** The place of its size in a row that is too large; its large values are left out. No column of a feed has this name. */
export const TOO_LARGE = "";

/** Why the row was not read, where it is too large. */
export function tooLarge(row: SourceRow): Message | undefined {
  const bytes = row[TOO_LARGE];
  return bytes === undefined ? undefined : m.feeds.rowTooLarge({ bytes: Number(bytes), max: ROW_BYTES_MAX });
}

/** The size of these values in memory, apart from numbers. */
export function bytesOf(values: Iterable<unknown>): number {
  let bytes = 0;
  for (const value of values) if (typeof value === "string" || Buffer.isBuffer(value)) bytes += value.length;
  return bytes;
}

/** The first of these, until they exceed `bytesMax`: at least one, if there is any. */
export function firstOf<T>(all: Iterable<T>, bytesIn: (one: T) => number, bytesMax = STEP_BYTES_MAX): T[] {
  const some: T[] = [];
  let bytes = 0;
  for (const one of all) {
    some.push(one);
    bytes += bytesIn(one);
    if (bytes > bytesMax) break;
  }
  return some;
}

/**
 * The reference of a row in `quarantine`: its key columns joined by `/`, without trailing empty ones. Keys that would be
 * ambiguous are written as a JSON array, so that no two keys have the same reference.
 */
export function referenceOf(key: readonly string[]): string {
  const last = key.findLastIndex((part) => part !== "");
  const isPlain = key.every((part) => !part.includes("/")) && key[0] !== "";
  return isPlain ? key.slice(0, last + 1).join("/") : JSON.stringify(key);
}

/** The key of a reference; see {@link referenceOf}. Omitted parts are empty. */
export function keyOfReference(rules: Pick<FeedRules, "keys">, reference: string): string[] {
  const listed = listIn(reference);
  if (listed !== undefined && referenceOf(listed) === reference) return listed;
  const parts = reference.split("/");
  return rules.keys.map((_, index) => parts[index] ?? "");
}

/**
 * All keys that a text may mean, whether they exist or not: a JSON array, or parts joined by `/` that may contain `/`
 * themselves; omitted parts are empty.
 */
export function keyReadings(rules: Pick<FeedRules, "keys">, text: string): string[][] {
  const listed = listIn(text);
  const isKey = listed !== undefined && listed.length > 0 && listed.length <= rules.keys.length;
  const padded = (key: readonly string[]) => rules.keys.map((_, index) => key[index] ?? "");
  const all = [...(isKey ? [listed] : []), ...groupings(text.split("/"), rules.keys.length)].map(padded);
  return [...new Map(all.map((key) => [JSON.stringify(key), key])).values()];
}

/** All ways to join adjacent parts into at most `columns` groups. */
function groupings(parts: readonly string[], columns: number): string[][] {
  if (columns === 1) return [[parts.join("/")]];
  return parts.flatMap((_, index) => {
    const first = parts.slice(0, index + 1).join("/");
    const rest = parts.slice(index + 1);
    return rest.length === 0 ? [[first]] : groupings(rest, columns - 1).map((others) => [first, ...others]);
  });
}

function listIn(reference: string): string[] | undefined {
  if (!reference.startsWith("[")) return undefined;
  try {
    const list = JSON.parse(reference) as unknown;
    return Array.isArray(list) && list.every((part) => typeof part === "string") ? list : undefined;
  } catch {
    return undefined;
  }
}

/** Describes the source of a feed's rows. */
export function sourceOf(rules: Pick<FeedRules, "name" | "table" | "query" | "file">): Message {
  const what = rules.query === null ? m.feeds.table({ table: rules.table }) : m.feeds.query({ name: rules.name });
  return rules.file === null ? what : m.feeds.sourceOfFile({ source: what, file: rules.file });
}

/** Key of the row that must be on the site before this one; null where there is none. */
export function parentOf(rules: FeedRules, row: SourceRow | undefined): string | null {
  if (rules.parent === null || row === undefined) return null;
  const parent = keyText(row[rules.parent] ?? null) ?? "";
  return parent === "" ? null : parent;
}

/** The key of a row as text, in the order of the key columns; undefined where a value cannot be part of a key. */
export function keyTexts(rules: Pick<FeedRules, "keys">, row: SourceRow): string[] | undefined {
  const texts = rules.keys.map((column) => keyText(row[column] ?? null));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

export function keyText(value: ColumnValue): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return shortestDecimal(value);
  return undefined;
}

/** Renders a row as the record to send: JSON text, numbers with the digits that the ERP wrote. */
export function renderRow(rules: FeedRules, row: SourceRow): { record: string } | { reason: Message } {
  const isOwnTable = OWN_TABLES.has(rules.table.toLowerCase());
  try {
    const record = renderTemplate(rules.record, (name) => {
      if (name === "available" && rules.available !== null)
        return { kind: "number", literal: availableOf(rules.available, row) };
      if (!(name in row)) return undefined;
      const value = row[name] ?? null;
      if (isOwnTable && rules.keys.includes(name) && name !== "position") {
        return { kind: "text", text: keyText(value) ?? "" };
      }
      return templateValue(name, value);
    });
    if (record.length > ROW_BYTES_MAX) return { reason: m.feeds.recordTooLarge({ max: ROW_BYTES_MAX }) };
    if (isTooDeep(record)) return { reason: m.feeds.recordTooDeep({ depthMax: DEPTH_MAX }) };
    return { record };
  } catch (error) {
    if (error instanceof RenderError)
      return { reason: m.common.about({ subject: error.placeholder, text: error.reason }) };
    if (error instanceof ExpressionValueError) return { reason: error.text };
    throw error;
  }
}

/** SQLite refuses deeper JSON, as does the comparison with acknowledged records. */
function isTooDeep(record: string): boolean {
  if (record.length <= DEPTH_MAX) return false;
  const bytes = Buffer.from(record, "utf8");
  return depthOf(bytes, scanJson(bytes)) > DEPTH_MAX;
}

function templateValue(name: string, value: ColumnValue): TemplateValue {
  if (value === null) return { kind: "null" };
  if (typeof value === "string") return { kind: "text", text: value };
  if (typeof value === "bigint") return { kind: "number", literal: value.toString() };
  if (typeof value === "number") {
    const literal = shortestDecimal(value);
    if (literal === undefined) throw new RenderError(name, m.feeds.notSendableNumber({ value: String(value) }));
    return { kind: "number", literal };
  }
  throw new RenderError(name, m.feeds.binaryData);
}

/**
 * The available quantity, exact. Never negative: a service that refused a negative number would keep the old one and sell
 * what is not in stock. A NULL in any column but the first counts as 0, as from a LEFT JOIN.
 */
function availableOf(expression: Expression, row: SourceRow): string {
  const [first] = expression.columns;
  const result = expression.evaluate((column) => {
    const value = row[column] ?? null;
    if (value === null && column !== first) return "0";
    const text = keyText(value);
    if (text === undefined) {
      const isBinary = Buffer.isBuffer(value);
      const reason = isBinary ? m.feeds.binaryNumber : m.feeds.notNumber({ value: String(value) });
      throw new RenderError(column, value === null ? m.feeds.isNull : reason);
    }
    return text;
  });
  return (parseDecimal(result)?.coefficient ?? 0n) < 0n ? "0" : result;
}

/**
 * The record that a deleted row sends: the last one, changed to be off sale; undefined where nothing is sent. For a table
 * that is sent whole, the last record unchanged: absence from the table deletes the row.
 * @param former places of the level in records of earlier templates
 */
export function renderDeletion(
  rules: FeedRules,
  last: string,
  former: readonly RecordPlace[] = [],
): string | undefined {
  if (rules.scope === "whole") return last;
  return rules.deletion === null ? undefined : applyDeletion(rules.deletion, last, former);
}

/** Whether two records are equal, with numbers compared by value: `10`, `10.0` and `1e1` are equal. */
export function isSameRecord(a: string, b: string): boolean {
  if (a === b) return true;
  return diffJson(a, b).every(({ was, is }) => was !== null && is !== null && sameNumber(was, is));
}

/** The available quantity in a record, as its literal; undefined where the record has none. */
export function levelOf(rules: FeedRules, record: string): string | undefined {
  return highestLevel(rules.levels, record);
}
