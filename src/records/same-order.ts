/*
 * Whether a record without a usable id and a stored or answered order are the same order. They may come from different
 * kinds of answers, each with its own mapping.
 */

import { resolveSingle } from "../answers/json-path.ts";
import { JsonSyntaxError, kindOf, membersOf, readScalar, textOf } from "../answers/json-text.ts";
import { JsonDepthError } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";
import { parseTimestamp, type Timestamp } from "../answers/timestamp.ts";
import { uncertaintyNs, unitNs } from "../answers/timestamp-form.ts";
import { findOrderIds } from "../answers/uuid.ts";
import { contentDigest } from "./compare-snapshot.ts";
import { type OrderField, type OrderMapping, type OrderValues, readOrderValues } from "./order-mapping.ts";

export interface OrderRecord {
  text: string;
  mapping: OrderMapping;
}

/** More members than any record has that could hold its id. */
const IDS_MAX = 1_000;

/** The value at a field's path; undefined where there is none or more than one, or where the record is no JSON. */
export function fieldOf({ text, mapping }: OrderRecord, field: OrderField): string | undefined {
  const bytes = Buffer.from(text, "utf8");
  return readJsonOr(() => {
    const found = resolveSingle(bytes, scanJson(bytes), mapping.paths[field]);
    return found.state === "value" ? readScalar(bytes, found.span) : undefined;
  });
}

/** Undefined where the text is no JSON: a record that is not UTF-8, or a damaged payload. */
export function digestWithoutId(
  { text, mapping: { paths } }: OrderRecord,
  names: readonly OrderField[] = ["order_id"],
): string | undefined {
  const bytes = Buffer.from(text, "utf8");
  const left = names.map((field) => paths[field]);
  return readJsonOr(() => contentDigest(bytes, scanJson(bytes), left).toString("hex"));
}

/**
 * Whether two records are of one order with the same content, however each names the order. A record that names it
 * otherwise may have other members too; then its values and lines decide.
 */
export function isSameContent(one: OrderRecord, other: OrderRecord, orderId: string, timezone: string): boolean {
  const [a, b] = [one, other].map((each) => digestWithoutId(withoutOrderId(each, orderId), ["order_id", "number"]));
  if (a !== undefined && a === b) return true;
  const isEqual = fieldOf(one, "updated_at") === fieldOf(other, "updated_at") && contentOf(one) === contentOf(other);
  return isEqual && isSameOrder(one, other, orderId, timezone);
}

/**
 * Whether a record without a usable id is of this order. It is where number, time of creation and lines are equal;
 * where the order's id occurs somewhere in the record, one of the first two is enough. It also is where everything but
 * the id is equal. Number and time alone are not enough, because partial orders may share them.
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
 * Whether two records with one id are different orders: number, time of creation and lines all differ. A service with
 * faulty ids may give one to several orders. All three must differ, because an order may get its number and time later,
 * but keeps its lines. In one of two kinds of answers times may be cut to the day, or lack a zone.
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

/** Whether both times are readable, and equal within their precision. */
export function isSameTime(a: string | null, b: string | null, timezone: string): boolean {
  const [left, right] = [parseTimestamp(a ?? "", timezone), parseTimestamp(b ?? "", timezone)];
  return left !== undefined && right !== undefined && !isApart(left, right);
}

/** Whether two times differ by more than their precision. */
function isApart(a: Timestamp, b: Timestamp): boolean {
  const [unit, other] = [unitNs(a.form), unitNs(b.form)];
  const cutNs = unit === other ? 0n : unit > other ? unit : other;
  const apartNs = a.instantNs > b.instantNs ? a.instantNs - b.instantNs : b.instantNs - a.instantNs;
  return apartNs > cutNs + uncertaintyNs(a.form, b.form);
}

/** SKU and quantity of the lines, sorted. */
function linesOf(record: OrderRecord): string | undefined {
  const lines = valuesOf(record)?.lines.map(({ sku, quantity }) => `${sku} ${quantity}`);
  return lines && JSON.stringify(lines.sort());
}

/** Status, amounts and lines. */
function contentOf(record: OrderRecord): string | undefined {
  const values = valuesOf(record);
  return values && JSON.stringify([values.status, values.total, values.currency, values.lines]);
}

function valuesOf({ text, mapping }: OrderRecord): OrderValues | undefined {
  const bytes = Buffer.from(text, "utf8");
  return readJsonOr(() => {
    const read = readOrderValues(bytes, scanJson(bytes), mapping);
    return "reason" in read ? undefined : read.values;
  });
}

function isSameInstant(a: string, b: string, timezone: string): boolean {
  const [left, right] = [parseTimestamp(a, timezone), parseTimestamp(b, timezone)];
  return left !== undefined && left.instantNs === right?.instantNs;
}

/** The record without members that hold the id, whatever their keys. */
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

/** The sorted keys of an object, to compare shapes; empty where the text is no object. */
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
