/*
 * Applies the status alone of a record that cancels an order, where the whole order is not stored with it: shipped
 * goods do not come back. If a later record (`refunded`, `archived`) comes before the cancellation is stored, the
 * cancellation is stored first, because the history decides about a status that waits to be sent. If a cancelled order
 * is opened and cancelled again, the opening is stored first. Whatever stores an order, or replaces the record that
 * waits for its read, calls this in its own transaction.
 */

import { hash } from "node:crypto";
import { allPlacesOf, resolveSingle } from "../answers/json-path.ts";
import { JsonSyntaxError, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { isOlder, isStrictlyNewer } from "../answers/timestamp.ts";
import type { Store } from "../database/store.ts";
import { loadQueuedRead } from "../pass/position-rows.ts";
import { type OrderMapping, type OrderSource, readOrderValues, readTimestampText } from "../records/order-mapping.ts";
import { fieldOf } from "../records/same-order.ts";
import { loadUnstoredOf } from "../records/unstored-records.ts";
import { settleEchoes } from "./echo-rows.ts";
import { applyOrderChange, loadOrderMark, loadStoredOrder, type OrderMark } from "./order-rows.ts";
import type { OrderRules } from "./order-rules.ts";
import { planOrder, type StoredOrder, stateOfStatus } from "./plan-order.ts";
import { judgeStatus } from "./status-names.ts";

/** A record of an order, of any source. */
interface SourceRecord {
  text: string;
  source: OrderSource;
}

/**
 * Stores those statuses of the order that a later record overtakes before they are stored: a cancellation, or for a
 * cancelled order that is cancelled again, its opening. Their records wait for a read of the order or are about to be
 * stored. The caller stores the later record next, or queues its read. The stored timestamp stays, so that the order's
 * own answers do not count as older.
 * @param next the later record; `timestamp` as written
 * @returns whether a status was stored
 */
export function storeOvertaken(
  { store, rules }: { store: Store; rules: OrderRules },
  next: { orderId: string; status: string | null; timestamp: string | null; at: string },
): boolean {
  const { orderId, status, timestamp, at } = next;
  const queued = loadQueuedRead(store, orderId);
  const waiting = queued === undefined || queued.record === "" ? [] : [{ text: queued.record, source: queued.source }];
  const records = [...waiting, ...loadUnstoredOf(store, orderId)];
  if (records.length === 0) return false;
  const mark = loadOrderMark(store, orderId);
  if (mark === undefined || mark.removedAt !== null) return false;
  const { timezone } = rules.plan;
  const overtaken = records
    .map((record) => ({
      ...record,
      time: fieldOf({ text: record.text, mapping: rules[record.source] }, "updated_at") ?? null,
    }))
    .filter(({ time }) => isStrictlyNewer(timestamp, time, timezone))
    .sort(
      (one, other) => Number(isOlder(other.time, one.time, timezone)) - Number(isOlder(one.time, other.time, timezone)),
    );
  // Up to the last cancellation: an opening counts only if a cancellation follows it.
  const cancels = (record: SourceRecord) =>
    stateOfStatus(fieldOf({ text: record.text, mapping: rules[record.source] }, "status") ?? null, rules.plan)
      .isCancelled;
  const last = stateOfStatus(status, rules.plan).isCancelled ? overtaken.length : overtaken.findLastIndex(cancels) + 1;
  let isStored = false;
  for (const { text, source } of overtaken.slice(0, last)) {
    const stored = loadStoredOrder(store, mark.orderKey);
    const planned = planStatusAlone(rules, {
      mark,
      stored,
      change: { text, source, isLate: false },
      isOvertaken: true,
    });
    if (planned === undefined) continue;
    applyStatusAlone({ store, rules }, { planned, mark, orderId, at });
    isStored = true;
  }
  return isStored;
}

export function applyStatusAlone(
  { store, rules }: { store: Store; rules: OrderRules },
  { planned, mark, orderId, at }: { planned: PlannedStatus; mark: OrderMark; orderId: string; at: string },
): void {
  const { status } = planned.values;
  const eventSource = settleEchoes(store, orderId, status, at) ? "own" : planned.source;
  const content = { hash: hash("sha256", planned.text, "buffer"), contentHash: null, source: mark.payloadSource };
  const { orderKey } = mark;
  applyOrderChange(store, { ...planned, ...content, ...stateOfStatus(status, rules.plan), orderKey, eventSource, at });
}

type PlannedStatus = NonNullable<ReturnType<typeof planStatusAlone>>;

interface AskedStatus {
  mark: OrderMark;
  stored: StoredOrder;
  change: SourceRecord & { isLate: boolean };
  /** Only the status is stored; the timestamp stays. */
  isOvertaken?: boolean;
}

/**
 * Returns how the order is stored with the change's status, where the change cancels it (or, if `isOvertaken`, opens a
 * cancelled one) and is surely later than what is stored; else undefined.
 */
export function planStatusAlone(rules: OrderRules, { mark, stored, change, isOvertaken = false }: AskedStatus) {
  const mapping = rules[mark.payloadSource];
  const said = { text: change.text, mapping: rules[change.source] };
  const { timezone } = rules.plan;
  try {
    const record = Buffer.from(change.text);
    const status = fieldOf(said, "status");
    const { isCancelled, isOddStatus } = judgeStatus(status ?? null, rules.plan);
    if (status === undefined || status.trim() === "" || isOddStatus || isCancelled === stored.isCancelled) return;
    if (!isCancelled && !isOvertaken) return;
    const time = readTimestampText(record, scanJson(record), said.mapping);
    if (change.isLate ? isOlder(time, stored.updatedAt, timezone) : time === null) return;
    const text = withStatus(stored.payload, mapping, { record, paths: said.mapping.paths });
    const bytes = Buffer.from(text);
    const read = readOrderValues(bytes, scanJson(bytes), mapping);
    if (!("values" in read) || read.values.status !== status) return;
    const values = { ...read.values, updatedAt: time ?? stored.updatedAt };
    // Where the stored order has no timestamp, a cancellation counts as later. Where only one of the two timestamps has a
    // zone, the configured one decides: the later record alone is read, and no read shows what it overtook.
    const isLater =
      change.isLate ||
      (isCancelled && stored.updatedAt === null) ||
      (isOvertaken && isStrictlyNewer(time, stored.updatedAt, timezone));
    const plan = planOrder(stored, { text, values }, isLater ? "snapshot" : "update", rules.plan);
    if (plan.kind !== "apply") return undefined;
    const kept = isOvertaken ? { ...values, updatedAt: stored.updatedAt } : values;
    return { text, values: kept, event: plan.event, source: change.source };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/**
 * The order's JSON with the literal status of the change, in every place where it has one. Its own timestamp stays, which
 * covers its other fields.
 */
function withStatus(
  payload: string,
  { paths }: OrderMapping,
  change: { record: Buffer; paths: OrderMapping["paths"] },
): string {
  const bytes = Buffer.from(payload);
  const status = resolveSingle(change.record, scanJson(change.record), change.paths.status);
  if (status.state !== "value") return payload;
  const literal = textOf(change.record, status.span);
  let text = "";
  let from = 0;
  for (const { start, end } of allPlacesOf(bytes, scanJson(bytes), paths.status)) {
    if (textOf(bytes, { start, end }) === "null") return payload;
    text += `${bytes.subarray(from, start)}${literal}`;
    from = end;
  }
  return `${text}${bytes.subarray(from)}`;
}

/**
 * Returns the stored timestamp to compare a record with. The column may hold the timestamp of a change of which only
 * the status was stored; a record with the same status is compared with the timestamp in the payload, because that
 * change proves nothing about other fields.
 */
export function comparedTime(
  stored: Pick<StoredOrder, "status" | "updatedAt" | "payload">,
  { status, mapping }: { status: string | null; mapping: OrderMapping },
): string | null {
  if (status !== stored.status) return stored.updatedAt;
  return fieldOf({ text: stored.payload, mapping }, "updated_at") ?? stored.updatedAt;
}
