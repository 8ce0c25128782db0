/*
 * Acts on one piece of news from the updates, inside the caller's write transaction: stores the record where it is a
 * whole order, owes a read where only the order itself can tell, and remembers what was told. After a crash none of
 * that is there, and the same news is news again.
 */

import type { Store } from "../database/store.ts";
import { deleteMissingOrder } from "../orders/missing-rows.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { type Taken, takeRecord } from "../orders/take-orders.ts";
import { saveOwedRead, saveSeenChanges } from "../pass/position-rows.ts";
import type { ChangeNews } from "./collect-changes.ts";

export function takeNews(options: { store: Store; rules: OrderRules; at: string }, news: ChangeNews): Taken {
  const { store, rules, at } = options;
  const { record, bytes, contentHash, seen } = news;
  if (record.ok && seen !== undefined) saveSeenChanges(store, record.orderId, seen);
  const isTakenWhole = rules.carry === "whole" && !news.isDoubtful;
  if (!record.ok || isTakenWhole) return takeRecord({ store, rules, mapping: rules.update, bytes, at }, record);
  const { orderId, serviceId } = record;
  deleteMissingOrder(store, orderId);
  // Key order aside, so that a change of an order nobody knows is quarantined once.
  const owed = {
    orderId,
    serviceId,
    source: "update" as const,
    record: bytes.toString("utf8"),
    recordHash: contentHash,
    contentHash,
  };
  saveOwedRead(store, owed, at);
  return "owed";
}
