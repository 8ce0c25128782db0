/*
 * The orders behind a change that has no usable id: by the UUIDs that stand anywhere in it, by its number, or by a number that stands in the
 * place of the id. A read harms no order, so that all of them may be read.
 */

import { findOrderIds, readOrderId } from "../answers/uuid.ts";
import type { Store } from "../database/store.ts";
import { loadOrdersByNumber } from "../pass/held-rows.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { fieldOf, type OrderRecord } from "../records/same-order.ts";
import { loadOrderMark } from "./order-rows.ts";

/** UUIDs of one record that are looked up; more of them are no order's. */
const IDS_MAX = 100;

/** Whether nothing says whose record it is. */
export function isUnnamed(record: AnswerRecord): record is AnswerRecord & { ok: false } {
  return !record.ok && record.broken?.order === undefined && readOrderId(record.reference ?? "") === undefined;
}

/** The stored orders that a record may be of. */
export function findStoredOrders(store: Store, record: OrderRecord): { orderId: string; serviceId: string }[] {
  const { ids, numbers } = namesIn(record);
  const byNumber = [...numbers].flatMap((number) => loadOrdersByNumber(store, number));
  const orderIds = new Set([...ids, ...byNumber.map(({ orderId }) => orderId)]);
  return [...orderIds].flatMap((orderId) => {
    const mark = loadOrderMark(store, orderId);
    return mark === undefined ? [] : [{ orderId, serviceId: mark.serviceId }];
  });
}

/** The same of one order. */
export function mayBeOf(record: OrderRecord, order: { orderId: string; number: string | null }): boolean {
  const { ids, numbers } = namesIn(record);
  return ids.has(order.orderId) || (order.number !== null && numbers.has(order.number));
}

function namesIn(record: OrderRecord): { ids: ReadonlySet<string>; numbers: ReadonlySet<string> } {
  const numbers = [fieldOf(record, "number"), fieldOf(record, "order_id")].filter((each) => each !== undefined);
  return { ids: new Set(findOrderIds(record.text, IDS_MAX).keys()), numbers: new Set(numbers) };
}
