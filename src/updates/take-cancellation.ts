/*
 * A change that says itself that its order is cancelled, of an order that cannot be read, or has been moved on from that before it was read
 * (`refunded`, `archived`): taken over as far as it goes, because goods that are shipped do not come back. Runs inside the transaction that postpones
 * the read, which stays queued, or stores what came later: whatever the order says later counts over it. After a crash neither is there.
 */

import { hash } from "node:crypto";
import { resolvePath } from "../answers/json-path.ts";
import { JsonSyntaxError, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { isOlder, isStrictlyNewer } from "../answers/timestamp.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { settleEchoes } from "../orders/echo-rows.ts";
import { applyOrderChange, loadOrderMark, loadStoredOrder, type OrderMark } from "../orders/order-rows.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { planOrder, type StoredOrder, stateOfStatus } from "../orders/plan-order.ts";
import type { JobContext } from "../pass/job.ts";
import { loadQueuedRead } from "../pass/position-rows.ts";
import { type OrderMapping, readOrderValues, readTimestampText } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { fieldOf, type OrderRecord } from "../records/same-order.ts";
import { isOfFuture } from "./latest-time.ts";

type Context = Pick<JobContext, "store" | "client" | "clock" | "log">;

/** After so many tries a change that says that its order is cancelled counts without the order. The changes were asked before. */
export const CANCELLED_TRIES = 4;

/**
 * @param options.isLate the order could not be read for a day: then it counts also where nothing shows which of the two is the later one
 * @returns whether it was taken over
 */
export function takeCancellation(
  context: Context,
  rules: OrderRules,
  { orderId, at, isLate }: { orderId: string; at: string; isLate: boolean },
): boolean {
  const { store, log } = context;
  const owed = loadQueuedRead(store, orderId);
  const mark = loadOrderMark(store, orderId);
  if (owed === undefined || owed.record === "" || mark === undefined || mark.removedAt !== null) return false;
  const change = { text: owed.record, mapping: rules[owed.source], isLate };
  const planned = planCancellation(rules, { mark, stored: loadStoredOrder(store, mark.orderKey), change });
  const updatedAt = planned?.values.updatedAt ?? "";
  if (planned === undefined || isOfFuture(context, updatedAt, rules.plan.timezone)) return false;
  applyCancellation({ store, rules }, { planned, mark, orderId, at });
  log.warn({ orderId }, m.updates.cancelledByChange({ orderId }));
  return true;
}

/**
 * Takes over a cancellation that a later word of the service has overtaken before it was stored. That word is stored next, or its read is queued:
 * the time of what is stored stays, so that none which the order gives itself is older.
 * @param change `text`: what came from the updates; `nextAt`: the timestamp of the later word
 */
export function takeOvertaken(
  context: { store: Store; rules: OrderRules },
  change: { orderId: string; text: string; nextAt: string | null; at: string },
): void {
  const { store, rules } = context;
  const { orderId, text, nextAt, at } = change;
  const mark = loadOrderMark(store, orderId);
  if (mark === undefined || mark.removedAt !== null) return;
  const mapping = rules.update;
  if (!isStrictlyNewer(nextAt, fieldOf({ text, mapping }, "updated_at") ?? null, rules.plan.timezone)) return;
  const stored = loadStoredOrder(store, mark.orderKey);
  const planned = planCancellation(rules, {
    mark,
    stored,
    change: { text, mapping, isLate: false },
    isOvertaken: true,
  });
  if (planned !== undefined) applyCancellation(context, { planned, mark, orderId, at });
}

/** Whether a record of the updates says that its order is cancelled. */
export function saysCancelled(
  rules: OrderRules,
  { bytes, record }: { bytes: Buffer; record: Pick<AnswerRecord, "span"> },
): boolean {
  const status = fieldOf({ text: textOf(bytes, record.span), mapping: rules.update }, "status");
  return status !== undefined && stateOfStatus(status, rules.plan).isCancelled;
}

function applyCancellation(
  { store, rules }: { store: Store; rules: OrderRules },
  { planned, mark, orderId, at }: { planned: PlannedCancellation; mark: OrderMark; orderId: string; at: string },
): void {
  const { status } = planned.values;
  const eventSource = settleEchoes(store, orderId, status, at) ? "own" : "update";
  const content = { hash: hash("sha256", planned.text, "buffer"), contentHash: null, source: mark.payloadSource };
  const { orderKey } = mark;
  applyOrderChange(store, { ...planned, ...content, ...stateOfStatus(status, rules.plan), orderKey, eventSource, at });
}

type PlannedCancellation = NonNullable<ReturnType<typeof planCancellation>>;

interface AskedCancellation {
  mark: OrderMark;
  stored: StoredOrder;
  change: OrderRecord & { isLate: boolean };
  /** Only its status is taken over. */
  isOvertaken?: boolean;
}

function planCancellation(rules: OrderRules, { mark, stored, change, isOvertaken = false }: AskedCancellation) {
  const mapping = rules[mark.payloadSource];
  const { timezone } = rules.plan;
  try {
    const record = Buffer.from(change.text);
    const status = fieldOf(change, "status");
    if (status === undefined || stored.isCancelled || !stateOfStatus(status, rules.plan).isCancelled) return;
    const told = readTimestampText(record, scanJson(record), change.mapping);
    if (change.isLate ? isOlder(told, stored.updatedAt, timezone) : told === null) return;
    const fields = isOvertaken ? (["status"] as const) : (["status", "updated_at"] as const);
    const text = withValues(stored.payload, mapping, { record, paths: change.mapping.paths, fields });
    const bytes = Buffer.from(text);
    const read = readOrderValues(bytes, scanJson(bytes), mapping);
    if (!("values" in read) || read.values.status !== status) return;
    const values = { ...read.values, updatedAt: told ?? stored.updatedAt };
    // Where nothing shows the time of what is stored, a cancellation is the later one.
    const isBelieved = change.isLate || stored.updatedAt === null;
    const plan = planOrder(stored, { text, values }, isBelieved ? "snapshot" : "update", rules.plan);
    if (plan.kind !== "apply") return undefined;
    return { text, values: isOvertaken ? { ...values, updatedAt: stored.updatedAt } : values, event: plan.event };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** The order's own JSON with status and timestamp of the change, as they were sent, where it has a place for them. */
function withValues(
  payload: string,
  { paths }: OrderMapping,
  change: { record: Buffer; paths: OrderMapping["paths"]; fields: readonly ("status" | "updated_at")[] },
): string {
  return change.fields.reduce((text, field) => {
    const bytes = Buffer.from(text);
    const place = resolvePath(bytes, scanJson(bytes), paths[field]);
    const told = resolvePath(change.record, scanJson(change.record), change.paths[field]);
    if (place.state !== "value" || told.state !== "value") return text;
    const { start, end } = place.span;
    return `${bytes.subarray(0, start)}${textOf(change.record, told.span)}${bytes.subarray(end)}`;
  }, payload);
}
