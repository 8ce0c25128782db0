/*
 * Applies a cancellation from a change whose order cannot be read, as far as the change goes: shipped goods do not come
 * back. Runs inside the transaction that postpones the read, which stays queued; whatever the order answers later
 * replaces it. After a crash before the commit neither is stored.
 */

import { textOf } from "../../answers/json-text.ts";
import { m } from "../../messages/messages.ts";
import { applyStatusAlone, planStatusAlone } from "../../orders/cancellation.ts";
import { loadOrderMark, loadStoredOrder } from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { stateOfStatus } from "../../orders/plan-order.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadQueuedRead } from "../../pass/position-rows.ts";
import type { AnswerRecord } from "../../records/read-records.ts";
import { fieldOf } from "../../records/same-order.ts";
import { isOfFuture } from "../times/latest-time.ts";

type Context = Pick<JobContext, "store" | "client" | "clock" | "log">;

/** After so many tries a cancellation counts without the order. The change list was asked before. */
export const CANCELLED_TRIES = 4;

/**
 * @param options.isLate the order could not be read for a day: then it counts even if nothing shows which of the two is
 * later
 * @returns whether it was stored
 */
export function takeCancellation(
  context: Context,
  rules: OrderRules,
  { orderId, at, isLate }: { orderId: string; at: string; isLate: boolean },
): boolean {
  const { store, log } = context;
  const queued = loadQueuedRead(store, orderId);
  const mark = loadOrderMark(store, orderId);
  if (queued === undefined || queued.record === "" || mark === undefined || mark.removedAt !== null) return false;
  const change = { text: queued.record, source: queued.source, isLate };
  const planned = planStatusAlone(rules, { mark, stored: loadStoredOrder(store, mark.orderKey), change });
  const updatedAt = planned?.values.updatedAt ?? "";
  if (planned === undefined || isOfFuture(context, updatedAt, rules.plan.timezone)) return false;
  applyStatusAlone({ store, rules }, { planned, mark, orderId, at });
  log.warn({ orderId }, m.updates.cancelledByChange({ orderId }));
  return true;
}

/** Whether a record of the change list cancels its order. */
export function saysCancelled(
  rules: OrderRules,
  { bytes, record }: { bytes: Buffer; record: Pick<AnswerRecord, "span"> },
): boolean {
  const status = fieldOf({ text: textOf(bytes, record.span), mapping: rules.update }, "status");
  return status !== undefined && stateOfStatus(status, rules.plan).isCancelled;
}
