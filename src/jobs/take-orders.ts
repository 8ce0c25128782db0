/*
 * Decides and writes what whole records of orders mean, for every source alike. Runs inside the caller's write
 * transaction: reading the stored order, deciding and writing are one step, so that two sources can never overwrite
 * each other's newer content. After a crash the record is served again and is recognised by its hash.
 */
import { canonicalJson } from "../domain/json-value.ts";
import { hash } from "node:crypto";
import { type OrderMapping, type OrderSource, readOrderValues } from "../domain/order-mapping.ts";
import { planOrder, stateOfStatus } from "../domain/plan-order.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import type { AnswerRecord } from "../domain/read-answer.ts";
import { textOf } from "../domain/json-text.ts";
import {
  applyOrderChange,
  loadOrderMark,
  loadStoredOrder,
  type OrderMark,
  saveNewOrder,
  saveSourceHash,
} from "../store/orders.ts";
import { type OwedRead, saveOwedRead } from "../store/positions.ts";
import { type BadRecord, isQuarantined, releaseQuarantined, saveQuarantined } from "../store/quarantine.ts";
import type { Store } from "../store/store.ts";

export type Taken = "created" | "changed" | "same" | "owed" | "quarantined";

export interface TakeOptions {
  store: Store;
  rules: OrderRules;
  mapping: OrderMapping;
  /** The answer's body, into which the records point. */
  bytes: Buffer;
  at: string;
}

const BAD_KIND: Record<OrderSource, BadRecord["kind"]> = { batch: "order", update: "change", snapshot: "snapshot" };

/**
 * Stores one record of whole orders, owes a read of it, or quarantines it. `doubtful` orders are owed a read even
 * where they are stored: the answer held them twice and did not say which record counts.
 */
export function takeRecord(options: TakeOptions, record: AnswerRecord, doubtful?: ReadonlySet<string>): Taken {
  const taken = takeOne(options, record);
  if (record.ok && doubtful?.has(record.orderId) && (taken === "created" || taken === "changed")) {
    oweRead(options, record, textOf(options.bytes, record.span));
  }
  return taken;
}

function takeOne(options: TakeOptions, record: AnswerRecord): Taken {
  const { store, mapping } = options;
  if (!record.ok) return quarantine(options, record, record.reason, record.reference);
  const mark = loadOrderMark(store, record.orderId);
  if (mark !== undefined && isOldNews(mark, record.hash, mapping.source)) return "same";
  const read = readOrderValues(options.bytes, record.span, mapping);
  if ("reason" in read) return quarantine(options, record, read.reason, record.orderId);
  const text = textOf(options.bytes, record.span);
  const { isCancelled, isOpen } = stateOfStatus(read.values.status, options.rules.plan);
  const content = { source: mapping.source, hash: record.hash, text, values: read.values, isCancelled, isOpen, at: options.at };
  if (mark === undefined) {
    saveNewOrder(store, { ...content, orderId: record.orderId, serviceId: record.serviceId });
    releaseQuarantined(store, ["order", "change", "snapshot"], record.orderId);
    return "created";
  }
  const { orderKey } = mark;
  const plan = planOrder(loadStoredOrder(store, orderKey), { text, values: read.values }, mapping.source, options.rules.plan);
  switch (plan.kind) {
    case "same":
      saveSourceHash(store, { orderKey, source: mapping.source, hash: record.hash });
      return "same";
    case "read":
      oweRead(options, record, text);
      return "owed";
    case "refresh":
      applyOrderChange(store, { ...content, orderKey, event: null, eventSource: mapping.source });
      return "same";
    case "apply":
      applyOrderChange(store, { ...content, orderKey, event: plan.event, eventSource: mapping.source });
      releaseQuarantined(store, ["order", "change", "snapshot"], record.orderId);
      return "changed";
  }
}

/**
 * Whether this very record of this source was dealt with before. A snapshot that was read before may be news again:
 * an order can go back to an earlier state, and what the service says now counts.
 */
function isOldNews(mark: OrderMark, recordHash: Buffer, source: OrderSource): boolean {
  if (source === "snapshot") return mark.removedAt === null && mark.payloadHash.equals(recordHash);
  const last = source === "batch" ? mark.batchHash : mark.updateHash;
  return last?.equals(recordHash) ?? false;
}

/** Remembers that the order must be read whole; settled by its snapshot, fenced by this record's hash. */
function oweRead(options: TakeOptions, record: AnswerRecord & { ok: true }, text: string): void {
  const owed: Omit<OwedRead, "attempts"> = {
    orderId: record.orderId,
    serviceId: record.serviceId,
    source: options.mapping.source === "batch" ? "batch" : "update",
    record: text,
    recordHash: record.hash,
    contentHash: null,
  };
  saveOwedRead(options.store, owed, options.at);
}

function quarantine(options: TakeOptions, record: AnswerRecord, reason: string, reference: string | null): Taken {
  const { store, at } = options;
  const kind = BAD_KIND[options.mapping.source];
  const isKnown = isQuarantined(store, kind, reference, record.hash);
  saveQuarantined(store, { kind, reason, reference, payload: textOf(options.bytes, record.span), hash: record.hash, at });
  return isKnown ? "same" : "quarantined";
}

/**
 * Takes a change that names an order without holding it whole: where it is news, the order is owed a read. Records
 * are compared with the last one of this order, key order and white space aside.
 */
export function takeChange(options: TakeOptions, record: AnswerRecord): Taken {
  const { store } = options;
  if (!record.ok) return quarantine(options, record, record.reason, record.reference);
  const mark = loadOrderMark(store, record.orderId);
  if (mark !== undefined && isOldNews(mark, record.hash, "update")) return "same";
  // A change of an order that the service does not know is kept once, not asked for at every poll.
  if (mark === undefined && isQuarantined(store, "change", record.orderId, record.hash)) return "same";
  const contentHash = hash("sha256", canonicalJson(options.bytes, record.span), "buffer");
  if (mark?.updateContentHash?.equals(contentHash)) return "same";
  saveOwedRead(
    store,
    {
      orderId: record.orderId,
      serviceId: record.serviceId,
      source: "update",
      record: textOf(options.bytes, record.span),
      recordHash: record.hash,
      contentHash,
    },
    options.at,
  );
  return "owed";
}
