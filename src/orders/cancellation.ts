/*
 * The status alone of a record whose order is not stored with it, where the record cancels the order: goods that are shipped do not come back. Where
 * a later record comes before the cancellation is stored (the order is moved on to `refunded`, `archived`), the cancellation is stored first,
 * because the history decides about a status that waits to be sent. Of a cancelled order that is opened and cancelled again, the opening is stored
 * first. Everything that stores an order, or replaces the record that waits for its read, passes through here, in its own transaction.
 */

import { hash } from "node:crypto";
import { resolvePath } from "../answers/json-path.ts";
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

/** A record that says something of an order. */
interface Word {
  text: string;
  source: OrderSource;
}

/**
 * Stores a cancellation of the order that waits for its read, or was read and is about to be stored, and that a later record overtakes; of a
 * cancelled order, which a later record cancels again, one that is none. The later one is stored next, or its read is queued: the time of what is
 * stored stays, so that none which the order gives itself is older.
 * @param next `status`, `timestamp`: of the later record
 * @returns whether there was one
 */
export function storeOvertaken(
  { store, rules }: { store: Store; rules: OrderRules },
  next: { orderId: string; status: string | null; timestamp: string | null; at: string },
): boolean {
  const { orderId, status, timestamp, at } = next;
  const queued = loadQueuedRead(store, orderId);
  const waiting = queued === undefined || queued.record === "" ? [] : [{ text: queued.record, source: queued.source }];
  const words = [...waiting, ...loadUnstoredOf(store, orderId)];
  if (words.length === 0) return false;
  const mark = loadOrderMark(store, orderId);
  if (mark === undefined || mark.removedAt !== null) return false;
  const { timezone } = rules.plan;
  const overtaken = words
    .map((word) => ({ ...word, told: fieldOf({ text: word.text, mapping: rules[word.source] }, "updated_at") ?? null }))
    .filter(({ told }) => isStrictlyNewer(timestamp, told, timezone))
    .sort(
      (one, other) => Number(isOlder(other.told, one.told, timezone)) - Number(isOlder(one.told, other.told, timezone)),
    );
  // An opening counts where a cancellation comes behind it: the later record may be that, or one that is overtaken itself.
  const saysCancelled = (word: Word) =>
    stateOfStatus(fieldOf({ text: word.text, mapping: rules[word.source] }, "status") ?? null, rules.plan).isCancelled;
  const last = stateOfStatus(status, rules.plan).isCancelled
    ? overtaken.length
    : overtaken.findLastIndex(saysCancelled) + 1;
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
  change: Word & { isLate: boolean };
  /** Only its status is taken over. */
  isOvertaken?: boolean;
}

/**
 * How the order is stored with a cancellation of it, or a cancelled one with what a later cancellation overtakes; undefined where it is no such, or not
 * surely later than what is stored.
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
    const told = readTimestampText(record, scanJson(record), said.mapping);
    if (change.isLate ? isOlder(told, stored.updatedAt, timezone) : told === null) return;
    const text = withStatus(stored.payload, mapping, { record, paths: said.mapping.paths });
    const bytes = Buffer.from(text);
    const read = readOrderValues(bytes, scanJson(bytes), mapping);
    if (!("values" in read) || read.values.status !== status) return;
    const values = { ...read.values, updatedAt: told ?? stored.updatedAt };
    // Where nothing shows the time of what is stored, a cancellation is the later one.
    const isBelieved = change.isLate || (isCancelled && stored.updatedAt === null);
    const plan = planOrder(stored, { text, values }, isBelieved ? "snapshot" : "update", rules.plan);
    if (plan.kind !== "apply") return undefined;
    const kept = isOvertaken ? { ...values, updatedAt: stored.updatedAt } : values;
    return { text, values: kept, event: plan.event, source: change.source };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** The order's own JSON with the status of the change, as it was sent, where it has a place for it. Its timestamp stays that of what else it says. */
function withStatus(
  payload: string,
  { paths }: OrderMapping,
  change: { record: Buffer; paths: OrderMapping["paths"] },
): string {
  const bytes = Buffer.from(payload);
  const place = resolvePath(bytes, scanJson(bytes), paths.status);
  const told = resolvePath(change.record, scanJson(change.record), change.paths.status);
  if (place.state !== "value" || told.state !== "value") return payload;
  const { start, end } = place.span;
  return `${bytes.subarray(0, start)}${textOf(change.record, told.span)}${bytes.subarray(end)}`;
}

/**
 * What the timestamp of a record is compared with: the stored one, which may be that of a change that has told the status alone. A record that has
 * this status too is compared with the order's own, as the payload has it: the change says nothing of what else the order holds.
 */
export function comparedTime(
  stored: Pick<StoredOrder, "status" | "updatedAt" | "payload">,
  { status, mapping }: { status: string | null; mapping: OrderMapping },
): string | null {
  if (status !== stored.status) return stored.updatedAt;
  return fieldOf({ text: stored.payload, mapping }, "updated_at") ?? stored.updatedAt;
}
