import { hash } from "node:crypto";
import { scanJson } from "../answers/scan-json.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import {
  type LineValues,
  type OrderMapping,
  type OrderSource,
  type OrderValues,
  readOrderValues,
  readRecordId,
} from "../records/order-mapping.ts";
import type { OrderRules } from "./order-rules.ts";
import { stateOfStatus } from "./plan-order.ts";

/** A stored order and its derived columns. */
export interface MappedOrder {
  orderKey: number;
  orderId: string;
  revision: number;
  payloadHash: Buffer;
  source: OrderSource;
  payload: string;
  isCancelled: boolean;
  isOpen: boolean;
  isRemoved: boolean;
  values: OrderValues;
}

/** One column, or one column of a line (`lines[2].price`), with its value. */
export interface ColumnChange {
  column: string;
  was: string | null;
  is: string | null;
}

export type RemapPlan =
  | { kind: "same" }
  /** The present mapping cannot read the payload: the columns stay. */
  | { kind: "unreadable"; reason: Message }
  | {
      kind: "changed";
      values: OrderValues;
      isCancelled: boolean;
      isOpen: boolean;
      statusChanged: boolean;
      linesChanged: boolean;
      fieldsChanged: boolean;
      changes: ColumnChange[];
    };

const COLUMNS = {
  number: "number",
  createdAt: "service_created_at",
  updatedAt: "service_updated_at",
  currency: "currency",
  total: "total",
} as const;
const LINE_COLUMNS = ["sku", "name", "quantity", "price"] as const;

/** Compares the columns with those that the present mapping derives from the payload. */
export function planRemap(order: MappedOrder, rules: OrderRules): RemapPlan {
  const bytes = Buffer.from(order.payload, "utf8");
  // Columns derived from an intact payload are better than new ones from a damaged one.
  if (!hash("sha256", bytes, "buffer").equals(order.payloadHash)) {
    return { kind: "unreadable", reason: m.orders.payloadDamaged };
  }
  const mapping = mappingOf(order.source, rules);
  const record = scanJson(bytes);
  const id = readRecordId(bytes, record, mapping);
  if ("reason" in id) return { kind: "unreadable", reason: id.reason };
  if (id.orderId !== order.orderId) {
    return { kind: "unreadable", reason: m.orders.idOfAnother({ path: mapping.paths.order_id.text }) };
  }
  const read = readOrderValues(bytes, record, mapping);
  if ("reason" in read) return { kind: "unreadable", reason: read.reason };
  return compareColumns(order, read.values, rules);
}

/** Stored records of every source are whole orders. */
function mappingOf(source: OrderSource, rules: OrderRules): OrderMapping {
  return source === "update" ? { ...rules.update, required: rules.batch.required } : rules[source];
}

function compareColumns(order: MappedOrder, values: OrderValues, rules: OrderRules): RemapPlan {
  const state = stateOfStatus(values.status, rules.plan);
  const isOpen = state.isOpen && !order.isRemoved;
  const status = changeOf("status", order.values.status, values.status);
  const fields = [
    ...Object.entries(COLUMNS).flatMap(([field, column]) =>
      changeOf(column, order.values[field as keyof typeof COLUMNS], values[field as keyof typeof COLUMNS]),
    ),
    ...changeOf("is_cancelled", flagText(order.isCancelled), flagText(state.isCancelled)),
    ...changeOf("is_open", flagText(order.isOpen), flagText(isOpen)),
  ];
  const lines = lineChanges(order.values.lines, values.lines);
  const changes = [...status, ...fields, ...lines];
  if (changes.length === 0) return { kind: "same" };
  return {
    kind: "changed",
    values,
    isCancelled: state.isCancelled,
    isOpen,
    statusChanged: status.length > 0,
    linesChanged: lines.length > 0,
    fieldsChanged: fields.length > 0,
    changes,
  };
}

function lineChanges(was: readonly LineValues[], is: readonly LineValues[]): ColumnChange[] {
  const count = Math.max(was.length, is.length);
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const [before, after] = [was[index], is[index]];
    const place = `lines[${index + 1}]`;
    if (before === undefined || after === undefined) {
      return [{ column: place, was: before?.payload ?? null, is: after?.payload ?? null }];
    }
    const columns = LINE_COLUMNS.flatMap((column) => changeOf(`${place}.${column}`, before[column], after[column]));
    return columns.length > 0 ? columns : changeOf(`${place}.payload`, before.payload, after.payload);
  });
}

function changeOf(column: string, was: string | null, is: string | null): ColumnChange[] {
  return was === is ? [] : [{ column, was, is }];
}

function flagText(flag: boolean): string {
  return flag ? "1" : "0";
}

/** Longer events name the columns only; the payload has the values. */
const CHANGES_TEXT_MAX = 64 * 1024;
const NAMED_MAX = 1_000;

/** The changes as JSON for `order_events.changes`. */
export function changesText(changes: readonly ColumnChange[]): string {
  const full = JSON.stringify(Object.fromEntries(changes.map(({ column, was, is }) => [column, { was, is }])));
  if (full.length <= CHANGES_TEXT_MAX) return full;
  return JSON.stringify(Object.fromEntries(changes.slice(0, NAMED_MAX).map(({ column }) => [column, {}])));
}
