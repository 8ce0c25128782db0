/*
 * Finds the orders of a change without a usable id: by any UUID in it, by its order number, or by a number in the place
 * of the id. All matches may be read, because a read is harmless.
 */

import { findOrderIds, readOrderId } from "../answers/uuid.ts";
import type { Store } from "../database/store.ts";
import { loadOrdersByNumber } from "../pass/held-rows.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { fieldOf, type OrderRecord } from "../records/same-order.ts";
import { loadOrderMark } from "./order-rows.ts";

/** Limit of UUIDs looked up per record; more are not ids of orders. */
const IDS_MAX = 100;

/** Whether no usable order id can be read from the record. */
export function isUnnamed(record: AnswerRecord): record is AnswerRecord & { ok: false } {
  return !record.ok && record.broken?.order === undefined && readOrderId(record.reference ?? "") === undefined;
}

/** Stored orders that the record may belong to. */
export function findStoredOrders(store: Store, record: OrderRecord): { orderId: string; serviceId: string }[] {
  const { ids, numbers } = namesIn(record);
  const byNumber = [...numbers].flatMap((number) => loadOrdersByNumber(store, number));
  const orderIds = new Set([...ids, ...byNumber.map(({ orderId }) => orderId)]);
  return [...orderIds].flatMap((orderId) => {
    const mark = loadOrderMark(store, orderId);
    return mark === undefined ? [] : [{ orderId, serviceId: mark.serviceId }];
  });
}

/** The same for a given order. */
export function mayBeOf(record: OrderRecord, order: { orderId: string; number: string | null }): boolean {
  const { ids, numbers } = namesIn(record);
  return ids.has(order.orderId) || (order.number !== null && numbers.has(order.number));
}

function namesIn(record: OrderRecord): { ids: ReadonlySet<string>; numbers: ReadonlySet<string> } {
  const numbers = [fieldOf(record, "number"), fieldOf(record, "order_id")].filter((each) => each !== undefined);
  return { ids: new Set(findOrderIds(record.text, IDS_MAX).keys()), numbers: new Set(numbers) };
}
