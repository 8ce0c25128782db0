/*
 * Applies one change, inside the caller's write transaction: stores the record where it is a whole order, queues a read
 * of the order where only that decides, and quarantines what is unusable. After a crash before the commit the same
 * change is new again.
 */

import { textOf } from "../../answers/json-text.ts";
import { isOlder } from "../../answers/timestamp.ts";
import type { Store } from "../../database/store.ts";
import type { IngestOptions, IngestResult } from "../../orders/ingest-options.ts";
import { ingestRecord } from "../../orders/ingest-orders.ts";
import { deleteMissingOrder } from "../../orders/missing-rows.ts";
import { findStoredOrders, isUnnamed } from "../../orders/named-orders.ts";
import { loadOrderMark } from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { queueOrderRead } from "../../orders/queue-order.ts";
import { requestRead, saveSeenChanges } from "../../pass/position-rows.ts";
import { readTimestampText } from "../../records/order-mapping.ts";
import type { AnswerRecord } from "../../records/read-records.ts";
import { noteUnnamed } from "../looks/look-back.ts";
import type { ChangeNews } from "./collect-changes.ts";

function isOlderThanStored(
  { store, rules }: { store: Store; rules: OrderRules },
  { bytes, record }: ChangeNews,
  id: string,
) {
  const stored = loadOrderMark(store, id)?.updatedAt ?? null;
  return isOlder(readTimestampText(bytes, record.span, rules.update), stored, rules.plan.timezone);
}

/**
 * @param options.from the time from which the pass requested changes, where it has one
 * @param options.askedAt when the request was sent, by the service's clock
 */
export function applyChange(
  options: Pick<IngestOptions, "store" | "rules" | "at" | "machineMs" | "askedAt"> & { from?: string | undefined },
  news: ChangeNews,
): IngestResult {
  const { store, rules, at, machineMs, askedAt } = options;
  const { record, bytes, contentHash, seen } = news;
  if (record.ok && seen !== undefined) saveSeenChanges(store, record.orderId, seen);
  const isTakenWhole = rules.carry === "whole" && !news.isAmbiguous;
  if (isUnnamed(record)) return applyUnnamed(options, { record, bytes });
  if (!record.ok || isTakenWhole)
    return ingestRecord({ store, rules, mapping: rules.update, bytes, at, machineMs, askedAt }, record);
  const { orderId, serviceId } = record;
  deleteMissingOrder(store, orderId);
  if (news.isKnown && isOlderThanStored(options, news, orderId)) {
    // The change was known when the newer version was stored, so it is no reason to fence the read.
    requestRead(store, { orderId, serviceId }, at);
    return "owed";
  }
  // The content hash, so that a change of an unknown order is quarantined once whatever its order of keys.
  const read = {
    orderId,
    serviceId,
    source: "update" as const,
    record: bytes.toString("utf8"),
    recordHash: contentHash,
    contentHash,
  };
  queueOrderRead(options, read, options);
  return "owed";
}

/**
 * The position moves over the change, so the orders that it may belong to are read now (`ingestRecord`), or changes of
 * this time are requested again later.
 */
function applyUnnamed(
  { store, rules, at, machineMs, from }: Parameters<typeof applyChange>[0],
  { record, bytes }: { record: AnswerRecord & { ok: false }; bytes: Buffer },
): IngestResult {
  const ingested = ingestRecord({ store, rules, mapping: rules.update, bytes, at, machineMs }, record);
  if (ingested !== "quarantined") return ingested;
  const text = record.isLarge ? "" : textOf(bytes, record.span);
  if (findStoredOrders(store, { text, mapping: rules.update }).length === 0) noteUnnamed(store, { from, at });
  return ingested;
}
