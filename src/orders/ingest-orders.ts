/*
 * Decides what records of orders mean, for all sources, and stores the result. Runs inside the caller's write
 * transaction: the stored order is read, compared and written in one step, so that no source overwrites another one's
 * newer content. After a crash the record is served again and recognised by its hash.
 */
import { textOf } from "../answers/json-text.ts";
import { readTimestamp } from "../answers/timestamp.ts";
import { findLost, isHeldForLong, type LostPart, losesValues } from "../completeness/lost-values.ts";
import { isSameName } from "../database/same-name.ts";
import { m } from "../messages/messages.ts";
import { deleteFirstLook } from "../pass/first-looks.ts";
import { loadQueuedRead, requestRead } from "../pass/position-rows.ts";
import { releaseQuarantined } from "../pass/quarantine-rows.ts";
import { wasListed } from "../pass/seen-changes.ts";
import {
  BAD_KIND,
  ORDER_KINDS,
  type OrderSource,
  type OrderValues,
  readOrderValues,
} from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { comparedTime, storeOvertaken } from "./cancellation.ts";
import { judgeEcho, loadAccepted, reopenRequests, settleEchoes } from "./echo-rows.ts";
import { type GoodRecord, type IngestOptions, type IngestResult, isUnchanged } from "./ingest-options.ts";
import { hashContent, hashPayloadContent, isOldContent, isOldNews, keepContentHash } from "./known-records.ts";
import { requestLaterReads } from "./later-reads.ts";
import { deleteMissingOrder } from "./missing-rows.ts";
import {
  applyOrderChange,
  loadOrderMark,
  loadStoredOrder,
  type OrderMark,
  saveNewOrder,
  saveServiceId,
  saveSourceHash,
} from "./order-rows.ts";
import { findOther, holdOther, type KnownOrder, type OtherOrder, releaseShown, replaceByOther } from "./other-order.ts";
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
import { LOST_WORDS, quarantineBad, quarantineRecord, readOrdersOf } from "./quarantine-record.ts";
import { queueOrderRead } from "./queue-order.ts";
import { queueSecondRead } from "./second-reads.ts";
import { isOddStatus } from "./status-names.ts";

/**
 * Stores one record of whole orders, queues a read of the order, or quarantines the record. Orders in `ambiguous` are
 * also read where they were stored: the answer held them twice, and it is unknown which record is newer.
 */
export function ingestRecord(
  options: IngestOptions,
  record: AnswerRecord,
  ambiguous?: ReadonlySet<string>,
): IngestResult {
  if (!record.ok) return quarantineBad(options, record);
  const result = ingestGood(options, record);
  if (result === "quarantined" || result === "owed" || !ambiguous?.has(record.orderId)) return result;
  queueWholeRead(options, record, hashContent(options, record));
  return isUnchanged(result) ? "owed" : result;
}

function ingestGood(options: IngestOptions, record: GoodRecord): IngestResult {
  const { store, mapping, isDamaged = false } = options;
  deleteMissingOrder(store, record.orderId);
  const mark = loadOrderMark(store, record.orderId);
  // A snapshot's own spelling of the id does not count, but that of its request.
  if (mark !== undefined && mark.serviceId !== record.serviceId && mapping.source !== "snapshot")
    saveServiceId(store, mark.orderKey, record.serviceId);
  if (mark !== undefined && !isDamaged && isOldNews(mark, record.hash, mapping.source))
    return ingestKnown(options, record, mark);
  const text = textOf(options.bytes, record.span);
  const stored = mark === undefined ? undefined : loadStoredOrder(store, mark.orderKey);
  const known = mark === undefined || stored === undefined ? undefined : { mark, stored };
  const usable = readUsable(options, record, { text, known });
  if (typeof usable === "string") return usable;
  deleteFirstLook(store, record.orderId);
  return known === undefined ? ingestNew(options, record, usable) : ingestVersion(options, record, usable, known);
}

/** The same record as before. */
function ingestKnown({ store, mapping, at }: IngestOptions, record: GoodRecord, mark: OrderMark): IngestResult {
  if (mapping.source === "snapshot") {
    deleteFirstLook(store, record.orderId);
    releaseShown(store, record.orderId);
  }
  if (mark.removedAt === null) return "same";
  // The order was marked as removed, but a known record of it is served: the service has it.
  requestRead(store, record, at);
  return "owed";
}

/** A record that can be stored. */
interface Usable {
  text: string;
  values: OrderValues;
  isCancelled: boolean;
  isOpen: boolean;
  /** A part that the order had before, and may lack. */
  lost: LostPart | undefined;
  /** The order is another one than the stored one, which it replaces. */
  other: OtherOrder | undefined;
}

/** Returns what is to be stored, or quarantines the record. */
function readUsable(
  options: IngestOptions,
  record: GoodRecord,
  { text, known }: { text: string; known: KnownOrder | undefined },
): Usable | IngestResult {
  const { store, mapping, isDamaged = false } = options;
  const { source } = mapping;
  const { orderId } = record;
  // Before anything is stored: a good record of the known order would release what is held under its id.
  const other =
    known === undefined || isDamaged ? undefined : findOther(options.rules, record, { said: { text, mapping }, known });
  if (source === "snapshot") releaseShown(store, orderId, other);
  const held = other && holdOther(options, record, other);
  if (held !== undefined) return held;
  const read = readOrderValues(options.bytes, record.span, mapping);
  if ("reason" in read) {
    const result = quarantineRecord(options, record, read.reason, orderId);
    if (result === "quarantined" && known !== undefined) readOrdersOf(options, record);
    return result;
  }
  const { values } = read;
  const { isCancelled, isOpen } = stateOfStatus(values.status, options.rules.plan);
  const judged = { isCancelled, isOddStatus: isOddStatus(values.status, options.rules.plan) };
  const lost = findLost(store, { orderId, source, values, ...judged, text, mapping });
  const counts =
    lost === undefined ||
    lost === options.accepted ||
    isHeldForLong(store, { kind: BAD_KIND[source], part: lost, orderId }, options);
  if (counts) return { text, values, isCancelled, isOpen, lost, other };
  if (source !== "snapshot") queueWholeRead(options, record, hashContent(options, record));
  const { status } = values;
  const isOdd = lost === "status" && judged.isOddStatus && status !== null;
  return quarantineRecord(options, record, isOdd ? m.orders.oddStatus({ status }) : LOST_WORDS[lost], orderId);
}

function ingestNew(options: IngestOptions, record: GoodRecord, { lost, other: _, ...usable }: Usable): IngestResult {
  const { store, mapping, at } = options;
  const { orderId, serviceId, hash } = record;
  saveNewOrder(store, { ...usable, source: mapping.source, hash, at, orderId, serviceId });
  if (lost !== undefined) requestLaterReads(store, orderId, at);
  readAfterUnit(options, record, usable.values);
  releaseQuarantined(store, ORDER_KINDS, orderId);
  return "created";
}

function ingestVersion(
  options: IngestOptions,
  record: GoodRecord,
  { lost: _, other, ...usable }: Usable,
  { mark, stored: loaded }: KnownOrder,
): IngestResult {
  const { store, mapping, isDamaged = false } = options;
  const { source } = mapping;
  const { text, values, isCancelled } = usable;
  const { orderKey } = mark;
  const stored = isDamaged ? { ...loaded, payload: text } : loaded;
  const contentHash = hashContent(options, record);
  const payloadContentHash = hashPayloadContent(mark, stored.payload);
  if (!stored.removed && isOldContent(mark, { contentHash, payloadContentHash, source })) return "same";
  const incoming = { text, values };
  const plan = planVersion(options, record, { mark, stored, incoming });
  if (plan.kind === "apply" || plan.kind === "refresh") {
    if (wasLeft(options, record, values)) {
      queueWholeRead(options, record, contentHash);
      return "owed";
    }
    if (isOfFuture(options, record, values)) {
      // A timestamp in the future is newer than any read of the order, so the record must not fence the read.
      saveSourceHash(store, { orderKey, source, hash: record.hash, contentHash });
      requestRead(store, record, options.at);
      return "owed";
    }
    // The cancellation changed what is stored, so the record is judged once more.
    if (isCancelled === stored.isCancelled && takesOvertaken(options, record, values))
      return ingestGood(options, record);
    if (other !== undefined) replaceByOther(options, { orderId: record.orderId, known: { mark, stored }, other });
  }
  const content = { ...usable, source, hash: record.hash, contentHash, orderKey, at: options.at };
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
      applyOrderChange(store, { ...content, event: null, eventSource: source });
      renewWaiting(options, record, contentHash);
      readAfterUnit(options, record, values);
      return "refreshed";
    case "apply": {
      keepContentHash(store, mark, payloadContentHash);
      const eventSource = sourceOf(options, record, { mark, stored, incoming, event: plan.event });
      applyOrderChange(store, { ...content, event: plan.event, eventSource });
      renewWaiting(options, record, contentHash);
      if (stored.removed) reopenRequests(store, record.orderId);
      // The read shows whether the service still has it.
      if (stored.removed && source !== "snapshot") requestRead(store, record, options.at);
      if (losesValues({ ...stored.values, lines: stored.lines }, values))
        requestLaterReads(store, record.orderId, options.at);
      readAfterUnit(options, record, values);
      releaseQuarantined(store, ORDER_KINDS, record.orderId);
      return "changed";
    }
  }
}

function planVersion(
  options: IngestOptions,
  { orderId }: GoodRecord,
  version: KnownOrder & { incoming: IncomingOrder },
): OrderPlan {
  const { store, rules, at, isDamaged } = options;
  const { stored, incoming } = version;
  const planned = planWhole(options, version);
  const healed: OrderPlan = isDamaged === true && planned.kind === "same" ? { kind: "refresh" } : planned;
  const isSameStatus = isSameName(stored.status, incoming.values.status);
  const accepted = isSameStatus ? loadAccepted(store, orderId, at) : undefined;
  return withSetBack(healed, { stored, incoming, accepted }, rules.plan);
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
  queueOrderRead(options, read, options);
}

/** Updates a queued read to the newest change, so that an answer from before it counts as older. */
function renewWaiting(options: IngestOptions, record: GoodRecord, contentHash: Buffer): void {
  const isWaiting = options.mapping.source === "update" && loadQueuedRead(options.store, record.orderId) !== undefined;
  if (isWaiting) queueWholeRead(options, record, contentHash);
}
