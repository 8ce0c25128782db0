/*
 * Whether a record that does not say whose it is and a stored or answered order are the same one. They may come from answers of
 * different shapes, each with a mapping of its own.
 */

import { resolvePath } from "../answers/json-path.ts";
import { JsonSyntaxError, kindOf, membersOf, readScalar, textOf } from "../answers/json-text.ts";
import { JsonDepthError } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";
import { parseTimestamp, type Timestamp } from "../answers/timestamp.ts";
import { doubtNs, unitNs } from "../answers/timestamp-form.ts";
import { findOrderIds } from "../answers/uuid.ts";
import { contentDigest } from "./compare-snapshot.ts";
import { type OrderField, type OrderMapping, readOrderValues } from "./order-mapping.ts";

export interface OrderRecord {
  text: string;
  mapping: OrderMapping;
}

/** More than the members of any record that could be its id. */
const IDS_MAX = 1_000;

/** The value of a record at the path of a field; undefined where there is none, or where it is no JSON. */
export function fieldOf({ text, mapping }: OrderRecord, field: OrderField): string | undefined {
  const bytes = Buffer.from(text, "utf8");
  return readJsonOr(() => {
    const found = resolvePath(bytes, scanJson(bytes), mapping.paths[field]);
    return found.state === "value" ? readScalar(bytes, found.span) : undefined;
  });
}

/** Undefined where the text is no JSON, as of a record that is not UTF-8 or a payload that was damaged. */
export function digestWithoutId({ text, mapping }: OrderRecord): string | undefined {
  const bytes = Buffer.from(text, "utf8");
  return readJsonOr(() => contentDigest(bytes, scanJson(bytes), [mapping.paths.order_id]).toString("hex"));
}

/**
 * Whether a record that does not say whose it is is of this order: by its number, its time of creation and its lines, of which one of the first
 * two is enough where the order's id stands in it somewhere, or by all else. Parts of an order may share their number and time.
 */
export function isSameOrder(record: OrderRecord, order: OrderRecord, orderId: string, timezone: string): boolean {
  const isEqual = (field: OrderField, isSame: (a: string, b: string) => boolean) => {
    const [a, b] = [fieldOf(record, field), fieldOf(order, field)];
    return a !== undefined && b !== undefined && a.trim() !== "" && isSame(a, b);
  };
  const isNumbered = isEqual("number", (a, b) => a === b);
  const isAsOld = isEqual("created_at", (a, b) => a === b || isSameInstant(a, b, timezone));
  if ((isNumbered || isAsOld) && findOrderIds(record.text, IDS_MAX).has(orderId)) return true;
  const lines = isNumbered && isAsOld ? linesOf(record) : undefined;
  if (lines !== undefined && lines === linesOf(order)) return true;
  const digest = digestWithoutId(withoutOrderId(record, orderId));
  return digest !== undefined && digest === digestWithoutId(withoutOrderId(order, orderId));
}

/**
 * Whether two records under one id are two orders all the same: the number, the time of creation and the lines are all others. A service
 * whose ids are wrong for a while gives one to several. An order that gets its number and its time late keeps its lines. Times of two
 * shapes of an answer may be cut to a day in one of them, or name no zone.
 */
export function isOtherOrder(record: OrderRecord, order: OrderRecord, timezone: string): boolean {
  const [number, itsNumber] = [fieldOf(record, "number")?.trim(), fieldOf(order, "number")?.trim()];
  if (!number || !itsNumber || number === itsNumber) return false;
  const [created, itsCreated] = [record, order].map((each) =>
    parseTimestamp(fieldOf(each, "created_at") ?? "", timezone),
  );
  if (created === undefined || itsCreated === undefined || !isApart(created, itsCreated)) return false;
  return linesOf(record) !== linesOf(order);
}

/** Whether two times are two instants, however each is cut. */
function isApart(a: Timestamp, b: Timestamp): boolean {
  const [unit, other] = [unitNs(a.form), unitNs(b.form)];
  const cutNs = unit === other ? 0n : unit > other ? unit : other;
  const apartNs = a.instantNs > b.instantNs ? a.instantNs - b.instantNs : b.instantNs - a.instantNs;
  return apartNs > cutNs + doubtNs(a.form, b.form);
}

/** What was ordered, in one agreed order. */
function linesOf({ text, mapping }: OrderRecord): string | undefined {
  const bytes = Buffer.from(text, "utf8");
  return readJsonOr(() => {
    const read = readOrderValues(bytes, scanJson(bytes), mapping);
    if ("reason" in read) return undefined;
    return JSON.stringify(read.values.lines.map(({ sku, quantity }) => `${sku} ${quantity}`).sort());
  });
}

function isSameInstant(a: string, b: string, timezone: string): boolean {
  const [left, right] = [parseTimestamp(a, timezone), parseTimestamp(b, timezone)];
  return left !== undefined && left.instantNs === right?.instantNs;
}

/** Without the members that hold the id, whatever their keys. */
function withoutOrderId(record: OrderRecord, orderId: string): OrderRecord {
  const bytes = Buffer.from(record.text, "utf8");
  const text = readJsonOr(() => {
    const root = scanJson(bytes);
    if (kindOf(bytes, root) !== "object") return undefined;
    const members = membersOf(bytes, root)
      .map(({ key, value }) => ({ key, text: textOf(bytes, value) }))
      .filter((member) => !findOrderIds(member.text, IDS_MAX).has(orderId));
    return `{${members.map((member) => `${JSON.stringify(member.key)}:${member.text}`).join(",")}}`;
  });
  return text === undefined ? record : { ...record, text };
}

/** The keys of an object, in whatever order they stand: its shape. Nothing where the text is none. */
export function keysOf(text: string): string {
  const bytes = Buffer.from(text, "utf8");
  const keys = readJsonOr(() => {
    const root = scanJson(bytes);
    return kindOf(bytes, root) === "object" ? [...membersOf(bytes, root)].map(({ key }) => key) : undefined;
  });
  return keys === undefined ? "" : JSON.stringify(keys.sort());
}

function readJsonOr<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof JsonDepthError) return undefined;
    throw error;
  }
}
