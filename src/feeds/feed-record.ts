/* A row of a feed's source: its size, its key, and the record that it is sent as. */
import { parseDecimal, sameNumber, shortestDecimal } from "../answers/decimal.ts";
import { type Expression, ExpressionValueError } from "../answers/expression.ts";
import { depthOf, TEXT_BYTES_MAX } from "../answers/json-text.ts";
import { DEPTH_MAX, diffJson } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";
import { RenderError, renderTemplate, type TemplateValue } from "../answers/template.ts";
import { applyDeletion, highestLevel, type RecordPlace } from "../config/feed-level.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { FeedRules } from "./feed.ts";

/** The bridge's own tables, whose key columns are treated as text, even if an ERP has recreated them with other types. */
const OWN_TABLES = new Set(["stock", "prices", "products", "images"]);

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
export function availableOf(expression: Expression, row: SourceRow): string {
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
