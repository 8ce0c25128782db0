/*
 * Decides what records of orders mean, for all sources, and stores the result. Runs inside the caller's write
 * transaction: the stored order is read, compared and written in one step, so that no source overwrites another one's
 * newer content. After a crash the record is served again and recognised by its hash.
 */
import { hash } from "node:crypto";
import { textOf } from "../answers/json-text.ts";
import { canonicalJson } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";
import { isOlder, readTimestamp } from "../answers/timestamp.ts";
import { readOrderId } from "../answers/uuid.ts";
import { deleteFirstLook, findLost, isHeldForLong, type LostPart, losesValues } from "../completeness/lost-values.ts";
import { isSameName } from "../database/same-name.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { loadHeldOf } from "../pass/held-rows.ts";
import { loadQueuedRead, requestRead, requestReadAfter } from "../pass/position-rows.ts";
import { type BadRecord, loadQuarantineState, releaseQuarantined, saveQuarantined } from "../pass/quarantine-rows.ts";
import { wasListed } from "../pass/seen-changes.ts";
import {
  BAD_KIND,
  ORDER_KINDS,
  type OrderMapping,
  type OrderSource,
  type OrderValues,
  orderReference,
  readOrderValues,
} from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { fieldOf, isOtherOrder } from "../records/same-order.ts";
import { replaceAlike } from "./alike-rows.ts";
import { comparedTime, storeOvertaken } from "./cancellation.ts";
import { judgeEcho, loadAccepted, reopenRequests, settleEchoes } from "./echo-rows.ts";
import { requestLaterReads } from "./later-reads.ts";
import { deleteMissingOrder } from "./missing-rows.ts";
import { findStoredOrders, isUnnamed } from "./named-orders.ts";
import {
  applyOrderChange,
  loadOrderMark,
  loadStoredOrder,
  type OrderMark,
  saveNewOrder,
  saveServiceId,
  saveSourceHash,
} from "./order-rows.ts";
import type { OrderRules } from "./order-rules.ts";
import {
  type EventPlan,
  type IncomingOrder,
  keysBesideStatus,
  type OrderPlan,
  planOrder,
  type StoredOrder,
  stateOfStatus,
  withSetBack,
} from "./plan-order.ts";
import { queueOrderRead } from "./queue-order.ts";
import { queueSecondRead } from "./second-reads.ts";
import { isOddStatus } from "./status-names.ts";

/**
 * `owed`: a read of the order was queued; runs store their counts under these names. `refreshed`: only ignored fields, such as the timestamp, differ; the payload
 * was replaced without a new revision.
 */
export type IngestResult = "created" | "changed" | "refreshed" | "same" | "owed" | "quarantined";

/** Whether the order has no new revision. */
export function isUnchanged(result: IngestResult): boolean {
  return result === "same" || result === "refreshed";
}

export interface IngestOptions {
  store: Store;
  rules: OrderRules;
  mapping: OrderMapping;
  /** Body of the answer, into which the records' spans point. */
  bytes: Buffer;
  at: string;
  /** When the answer was requested, by the service's clock; undefined: long ago. */
  askedAt?: string | undefined;
  /** A part that the order may lack although it had it before: repeated reads have shown that this is so. */
  acceptedLoss?: LostPart | undefined;
  /** The stored payload is damaged: it is replaced, and the columns are compared instead. */
  isDamaged?: boolean | undefined;
}

type GoodRecord = AnswerRecord & { ok: true };

const LOST_WORDS: Record<LostPart, Message> = {
  status: m.orders.lostStatus,
  lines: m.orders.lostLines,
  number: m.orders.lostValue({ field: "number" }),
  total: m.orders.lostValue({ field: "total" }),
  currency: m.orders.lostValue({ field: "currency" }),
  quantity: m.orders.lostLineValue({ field: "quantity" }),
  price: m.orders.lostLineValue({ field: "price" }),
  count: m.orders.lostCounted,
};

/**
 * Stores one record of whole orders, queues a read of the order, or quarantines the record. Orders in `doubtful` are
 * also read where they were stored: the answer held them twice, and it is unknown which record is newer.
 */
export function ingestRecord(
  options: IngestOptions,
  record: AnswerRecord,
  ambiguous?: ReadonlySet<string>,
): IngestResult {
  if (!record.ok) return ingestBad(options, record);
  const result = ingestGood(options, record);
  if (result === "quarantined" || result === "owed" || !ambiguous?.has(record.orderId)) return result;
  queueWholeRead(options, record, hashContent(options, record));
  return isUnchanged(result) ? "owed" : result;
}

function ingestBad(options: IngestOptions, record: AnswerRecord & { ok: false }): IngestResult {
  const result = quarantine(options, record, record.reason, record.reference);
  if (result === "quarantined") readOrdersOf(options, record);
  return result;
}

/** Limit of reads per record; the retry of held records queues the others. */
const READS_MAX = 10;

/** Queues reads of the orders that a held record may belong to, because its content may exist nowhere else. */
function readOrdersOf({ store, mapping, bytes, at }: IngestOptions, record: AnswerRecord): void {
  if (mapping.source === "snapshot") return;
  const orders = record.ok ? [record] : ordersOfBad(store, { bytes, mapping }, record);
  for (const order of orders.slice(0, READS_MAX)) requestReadAfter(store, order, { hash: record.hash, at });
}

/** A record that is no JSON may still have a readable order id. */
function ordersOfBad(
  store: Store,
  { bytes, mapping }: Pick<IngestOptions, "bytes" | "mapping">,
  record: AnswerRecord & { ok: false },
): { orderId: string; serviceId: string }[] {
  if (record.broken?.order !== undefined) return [record.broken.order];
  const text = isUnnamed(record) && !record.isLarge ? textOf(bytes, record.span) : (record.reference ?? "");
  return findStoredOrders(store, { text, mapping });
}

function ingestGood(options: IngestOptions, record: GoodRecord): IngestResult {
  const { store, mapping, isDamaged = false } = options;
  deleteMissingOrder(store, record.orderId);
  const mark = loadOrderMark(store, record.orderId);
  // A snapshot's own spelling of the id does not count, but that of its request.
  if (mark !== undefined && mark.serviceId !== record.serviceId && mapping.source !== "snapshot")
    saveServiceId(store, mark.orderKey, record.serviceId);
  if (mark !== undefined && !isDamaged && isOldNews(mark, record.hash, mapping.source)) {
    if (mapping.source === "snapshot") deleteFirstLook(store, record.orderId);
    if (mark.removedAt === null) return "same";
    // The order was marked as removed, but a known record of it is served: the service has it.
    requestRead(store, record, options.at);
    return "owed";
  }
  const text = textOf(options.bytes, record.span);
  const said = { text, mapping };
  const loaded = mark === undefined ? undefined : loadStoredOrder(store, mark.orderKey);
  const other = mark && loaded && { text: loaded.payload, mapping: options.rules[mark.payloadSource] };
  // Before anything is stored: a good record of the known order would release what is held under its id.
  if (other !== undefined && !isDamaged && isOtherOrder(said, other, options.rules.plan.timezone)) {
    const [number = "", createdAt = ""] = [fieldOf(said, "number"), fieldOf(said, "created_at")];
    const reason = m.orders.idOfOtherOrder({ path: mapping.paths.order_id.text, number, createdAt });
    return quarantine(options, record, reason, orderReference(record.orderId, number));
  }
  const read = readOrderValues(options.bytes, record.span, mapping);
  if ("reason" in read) {
    const result = quarantine(options, record, read.reason, record.orderId);
    if (result === "quarantined" && mark !== undefined) readOrdersOf(options, record);
    return result;
  }
  const { isCancelled, isOpen } = stateOfStatus(read.values.status, options.rules.plan);
  const { source } = mapping;
  const { orderId } = record;
  const judged = { isCancelled, isOddStatus: isOddStatus(read.values.status, options.rules.plan) };
  const lost = findLost(store, { orderId, source, values: read.values, ...judged, text, mapping });
  const counts =
    lost === undefined ||
    lost === options.acceptedLoss ||
    isHeldForLong(store, { kind: BAD_KIND[source], part: lost, orderId }, options.at);
  if (!counts) {
    if (source !== "snapshot") queueWholeRead(options, record, hashContent(options, record));
    const { status } = read.values;
    const isOdd = lost === "status" && judged.isOddStatus && status !== null;
    return quarantine(options, record, isOdd ? m.orders.oddStatus({ status }) : LOST_WORDS[lost], record.orderId);
  }
  deleteFirstLook(store, record.orderId);
  const content = { source, hash: record.hash, text, values: read.values, isCancelled, isOpen, at: options.at };
  if (mark === undefined || loaded === undefined) {
    saveNewOrder(store, { ...content, orderId: record.orderId, serviceId: record.serviceId });
    if (lost !== undefined) requestLaterReads(store, record.orderId, options.at);
    readAfterUnit(options, record, read.values);
    releaseQuarantined(store, ORDER_KINDS, record.orderId);
    return "created";
  }
  const { orderKey } = mark;
  const stored = isDamaged ? { ...loaded, payload: text } : loaded;
  const contentHash = hashContent(options, record);
  const payloadContentHash = hashPayloadContent(mark, stored.payload);
  if (!stored.removed && isOldContent(mark, { contentHash, payloadContentHash, source })) return "same";
  const incoming = { text, values: read.values };
  const planned = planWhole(options, { mark, stored, incoming });
  const accepted = isSameName(stored.status, read.values.status)
    ? loadAccepted(store, record.orderId, options.at)
    : undefined;
  const healed: OrderPlan = isDamaged && planned.kind === "same" ? { kind: "refresh" } : planned;
  const plan = withSetBack(healed, { stored, incoming, accepted }, options.rules.plan);
  const counted = plan.kind === "apply" || plan.kind === "refresh";
  if (counted && wasLeft(options, record, read.values)) {
    queueWholeRead(options, record, contentHash);
    return "owed";
  }
  if (counted && isOfFuture(options, record, read.values)) {
    // A timestamp in the future is newer than any read of the order, so the record must not fence the read.
    saveSourceHash(store, { orderKey, source, hash: record.hash, contentHash });
    requestRead(store, record, options.at);
    return "owed";
  }
  // The cancellation changed what is stored, so the record is judged once more.
  const isOvertaking = counted && isCancelled === stored.isCancelled;
  if (isOvertaking && takesOvertaken(options, record, read.values)) return ingestGood(options, record);
  switch (plan.kind) {
    case "same":
      // Snapshots are not recognised by their own hash.
      if (source !== "snapshot") saveSourceHash(store, { orderKey, source, hash: record.hash, contentHash });
      return "same";
    case "read":
      queueWholeRead(options, record, contentHash);
      return "owed";
    case "refresh":
      keepContentHash(store, mark, payloadContentHash);
      applyOrderChange(store, { ...content, contentHash, orderKey, event: null, eventSource: source });
      renewWaiting(options, record, contentHash);
      readAfterUnit(options, record, read.values);
      return "refreshed";
    case "apply":
      keepContentHash(store, mark, payloadContentHash);
      applyOrderChange(store, {
        ...content,
        contentHash,
        orderKey,
        event: plan.event,
        eventSource: sourceOf(options, record, { mark, stored, incoming, event: plan.event }),
      });
      renewWaiting(options, record, contentHash);
      if (stored.removed) reopenRequests(store, record.orderId);
      if (losesValues({ ...stored.values, lines: stored.lines }, read.values))
        requestLaterReads(store, record.orderId, options.at);
      readAfterUnit(options, record, read.values);
      releaseQuarantined(store, ORDER_KINDS, record.orderId);
      return "changed";
  }
}

function planWhole(
  { rules, mapping: { source }, isDamaged }: IngestOptions,
  { mark, stored, incoming }: { mark: OrderMark; stored: StoredOrder; incoming: IncomingOrder },
): OrderPlan {
  const planned = planOrder(stored, incoming, source, rules.plan);
  if (planned.kind !== "read" || isDamaged === true) return planned;
  const { status } = incoming.values;
  const updatedAt = comparedTime(stored, { status, mapping: rules[mark.payloadSource] });
  return updatedAt === stored.updatedAt ? planned : planOrder({ ...stored, updatedAt }, incoming, source, rules.plan);
}

/**
 * Whether a batch's record, newer by its timestamp, is a version that was listed as a change before. The order was read
 * since then (no read is queued), so the service has left that version.
 */
function wasLeft(
  { store, mapping, rules }: IngestOptions,
  { orderId }: GoodRecord,
  { updatedAt }: OrderValues,
): boolean {
  if (mapping.source !== "batch" || loadQueuedRead(store, orderId) !== undefined) return false;
  return wasListed(store, { orderId, timestamp: updatedAt }, rules.plan.timezone);
}

/** A timestamp further ahead is no difference between the clocks of a service's database and its web server. */
const FUTURE_FROM_NS = 3600n * 1_000_000_000n;

/** Whether a batch's record has a timestamp long after its request, which then proves nothing about its age. */
function isOfFuture(
  { store, mapping, rules, askedAt }: IngestOptions,
  { orderId }: GoodRecord,
  { updatedAt }: OrderValues,
): boolean {
  if (mapping.source !== "batch" || loadQueuedRead(store, orderId) !== undefined) return false;
  const { timezone } = rules.plan;
  const changedNs = readTimestamp(updatedAt, timezone)?.instantNs;
  const askedNs = readTimestamp(askedAt ?? null, timezone)?.instantNs;
  return changedNs !== undefined && askedNs !== undefined && changedNs > askedNs + FUTURE_FROM_NS;
}

/** Stores a cancellation that this record overtakes. Returns whether there was one. */
function takesOvertaken({ store, rules, at }: IngestOptions, { orderId }: GoodRecord, values: OrderValues): boolean {
  const { status, updatedAt: timestamp } = values;
  return status !== null && storeOvertaken({ store, rules }, { orderId, status, timestamp, at });
}

/** The order may change again with the same timestamp, so it is read again later. */
function readAfterUnit({ store, rules, askedAt }: IngestOptions, { orderId }: GoodRecord, values: OrderValues): void {
  if (askedAt === undefined) return;
  queueSecondRead(store, { orderId, timestamp: values.updatedAt, askedAt, isNews: true }, rules.plan.timezone);
}

/** `own` where the change is a status of the ERP's that came back alone: the ERP need not see it again. */
function sourceOf(
  { store, mapping, rules, at, isDamaged }: IngestOptions,
  { orderId }: GoodRecord,
  change: { mark: OrderMark; stored: StoredOrder; incoming: IncomingOrder; event: EventPlan },
): OrderSource | "own" {
  const { mark, stored, incoming, event } = change;
  if (!event.statusChanged || !settleEchoes(store, orderId, event.newStatus, at) || stored.removed)
    return mapping.source;
  // A damaged payload does not show what else changed.
  const keys = isDamaged ? undefined : keysBesideStatus(stored, incoming, rules.plan);
  const kind = `${mark.payloadSource} ${mapping.source} ${event.newStatus}`;
  return keys !== undefined && judgeEcho(store, { kind, orderId, at, keys }) ? "own" : mapping.source;
}

/**
 * Whether the record is the last one of its source. For a snapshot only the stored payload counts: an order may return
 * to an earlier state, and the newest read decides.
 */
function isOldNews(mark: OrderMark, recordHash: Buffer, source: OrderSource): boolean {
  if (source === "snapshot") return mark.removedAt === null && mark.payloadHash.equals(recordHash);
  const last = source === "batch" ? mark.batchHash : mark.updateHash;
  return last?.equals(recordHash) ?? false;
}

/** The same without key order and white space, because some services change the order of keys in each answer. */
function isOldContent(
  mark: OrderMark,
  {
    contentHash,
    payloadContentHash,
    source,
  }: { contentHash: Buffer; payloadContentHash: Buffer | null; source: OrderSource },
): boolean {
  if (source === "snapshot") return false;
  const last = source === "batch" ? mark.batchContentHash : mark.updateContentHash;
  return (last ?? (mark.payloadSource === source ? payloadContentHash : null))?.equals(contentHash) ?? false;
}

/**
 * Returns the content hash of the stored payload; null where the row has it already, or the payload is not the source's
 * last record. A new order is stored without it: computing it costs as much as writing the order, and most records
 * never come again. It is computed once another record is compared with it.
 */
function hashPayloadContent(mark: OrderMark, payload: string): Buffer | null {
  const isBatch = mark.payloadSource === "batch";
  const lastHash = isBatch ? mark.batchHash : mark.updateHash;
  const isKnown = (isBatch ? mark.batchContentHash : mark.updateContentHash) !== null;
  if (mark.payloadSource === "snapshot" || isKnown || !lastHash?.equals(mark.payloadHash)) return null;
  const bytes = Buffer.from(payload);
  if (!hash("sha256", bytes, "buffer").equals(mark.payloadHash)) return null;
  return hash("sha256", canonicalJson(bytes, scanJson(bytes)), "buffer");
}

/** To be called before the payload is replaced, after which the hash could not be computed. */
function keepContentHash(
  store: Store,
  { orderKey, payloadSource, payloadHash }: OrderMark,
  contentHash: Buffer | null,
): void {
  if (contentHash !== null) saveSourceHash(store, { orderKey, source: payloadSource, hash: payloadHash, contentHash });
}

function hashContent({ bytes }: IngestOptions, record: GoodRecord): Buffer {
  return hash("sha256", canonicalJson(bytes, record.span), "buffer");
}

/** Queues a read of the whole order, fenced by this record's hash. */
function queueWholeRead(options: IngestOptions, record: GoodRecord, contentHash: Buffer): void {
  const read = {
    orderId: record.orderId,
    serviceId: record.serviceId,
    source: options.mapping.source === "batch" ? ("batch" as const) : ("update" as const),
    record: textOf(options.bytes, record.span),
    recordHash: record.hash,
    contentHash,
  };
  queueOrderRead(options, read, options.at);
}

/** Updates a queued read to the newest change, so that an answer from before it counts as older. */
function renewWaiting(options: IngestOptions, record: GoodRecord, contentHash: Buffer): void {
  const isWaiting = options.mapping.source === "update" && loadQueuedRead(options.store, record.orderId) !== undefined;
  if (isWaiting) queueWholeRead(options, record, contentHash);
}

function payloadOf(bytes: Buffer, record: AnswerRecord): string {
  return record.ok || record.broken === undefined ? textOf(bytes, record.span) : record.broken.raw.toString("utf8");
}

function quarantine(
  options: IngestOptions,
  record: AnswerRecord,
  reason: Message,
  reference: string | null,
): IngestResult {
  const { store, at } = options;
  const kind = BAD_KIND[options.mapping.source];
  const { hash } = record;
  const state = loadQuarantineState(store, { kind, reference, hash });
  // Released: a good record of the order has come since, or its order was found, so the old record brings nothing new.
  // A snapshot may, because the order can return to an earlier state.
  const isOfOrder = reference === null || isUnnamed(record) || loadOrderMark(store, reference) !== undefined;
  if (state === "released" && isOfOrder && kind !== "snapshot") return "same";
  const bodyId = record.ok ? undefined : record.bodyId;
  // A known record already has its payload.
  const payload = bodyId === undefined && state === undefined ? payloadOf(options.bytes, record) : null;
  if (kind === "change" && payload !== null && isUnnamed(record)) {
    if (replaceAlike(store, options.mapping, { kind, reason, reference, payload, hash, at })) return "quarantined";
  }
  if (payload !== null && isOlderThanHeld(options, { kind, reference, payload })) return "same";
  saveQuarantined(store, { kind, reason, reference, payload, bodyId, hash, at });
  return state === undefined || (state === "released" && isOfOrder) ? "quarantined" : "same";
}

/** Whether a later record of the order is held, which an older one must not replace. */
function isOlderThanHeld(
  { store, rules, mapping }: IngestOptions,
  { kind, reference, payload }: { kind: BadRecord["kind"]; reference: string | null; payload: string },
): boolean {
  if (kind === "snapshot" || reference === null || readOrderId(reference) === undefined) return false;
  const timeOf = (text: string) => fieldOf({ text, mapping }, "updated_at") ?? null;
  const time = timeOf(payload);
  return loadHeldOf(store, kind, reference).some(({ text }) => isOlder(time, timeOf(text), rules.plan.timezone));
}
