/*
 * Quarantines records that cannot be stored, and queues reads of the orders that they may belong to. Runs inside the
 * transaction of the ingest.
 */
import { textOf } from "../answers/json-text.ts";
import { isOlder } from "../answers/timestamp.ts";
import { readOrderId } from "../answers/uuid.ts";
import { isEmptyRecord } from "../completeness/list-metadata.ts";
import type { LostPart } from "../completeness/lost-values.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { loadHeldOf } from "../pass/held-rows.ts";
import { requestReadAfter } from "../pass/position-rows.ts";
import { type BadRecord, loadQuarantineState, saveQuarantined } from "../pass/quarantine-rows.ts";
import { BAD_KIND } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { fieldOf } from "../records/same-order.ts";
import { replaceAlike } from "./alike-rows.ts";
import type { IngestOptions, IngestResult } from "./ingest-options.ts";
import { findStoredOrders, isUnnamed } from "./named-orders.ts";
import { loadOrderMark } from "./order-rows.ts";

export const LOST_WORDS: Record<LostPart, Message> = {
  status: m.orders.lostStatus,
  lines: m.orders.lostLines,
  number: m.orders.lostValue({ field: "number" }),
  total: m.orders.lostValue({ field: "total" }),
  currency: m.orders.lostValue({ field: "currency" }),
  quantity: m.orders.lostLineValue({ field: "quantity" }),
  price: m.orders.lostLineValue({ field: "price" }),
  count: m.orders.lostCounted,
};

export function quarantineBad(options: IngestOptions, record: AnswerRecord & { ok: false }): IngestResult {
  const result = quarantineRecord(options, record, record.reason, record.reference);
  if (result === "quarantined") readOrdersOf(options, record);
  return result;
}

/** Limit of reads per record; the retry of held records queues the others. */
const READS_MAX = 10;

/** Queues reads of the orders that a held record may belong to, because its content may exist nowhere else. */
export function readOrdersOf({ store, mapping, bytes, at }: IngestOptions, record: AnswerRecord): void {
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

function payloadOf(bytes: Buffer, record: AnswerRecord): string {
  return record.ok || record.broken === undefined ? textOf(bytes, record.span) : record.broken.raw.toString("utf8");
}

export function quarantineRecord(
  options: IngestOptions,
  record: AnswerRecord,
  reason: Message,
  reference: string | null,
): IngestResult {
  const { store, at, machineMs } = options;
  const kind = BAD_KIND[options.mapping.source];
  const { hash } = record;
  const state = loadQuarantineState(store, { kind, reference, hash });
  // Released: a good record of the order has come since, or its order was found, so the old record brings nothing new.
  // A snapshot may, because the order can return to an earlier state.
  const isOfOrder = reference === null || isUnnamed(record) || loadOrderMark(store, reference) !== undefined;
  // A record without content may stand for another order each time.
  const isEmpty = !record.ok && record.broken === undefined && isEmptyRecord(options.bytes, record.span);
  if (state === "released" && isOfOrder && kind !== "snapshot" && !isEmpty) return "same";
  const bodyId = record.ok ? undefined : record.bodyId;
  // A known record already has its payload.
  const payload = bodyId === undefined && state === undefined ? payloadOf(options.bytes, record) : null;
  if (kind === "change" && payload !== null && isUnnamed(record)) {
    if (replaceAlike(store, options.mapping, { kind, reason, reference, payload, hash, at })) return "quarantined";
  }
  if (payload !== null && isOlderThanHeld(options, { kind, reference, payload })) return "same";
  saveQuarantined(store, { kind, reason, reference, payload, bodyId, hash, at, machineMs });
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
