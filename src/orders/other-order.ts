/*
 * Records that have the id of a stored order and are another order (`isOtherOrder`). They are held until reads of the order
 * itself have shown that it is this one (`updates/reads/repeated-reads.ts`); what was stored before is then held instead.
 * Runs inside the transaction of the ingest.
 */
import { textOf } from "../answers/json-text.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { loadOrdersByNumber, releaseSnapshotsOfOthers } from "../pass/held-rows.ts";
import { requestRead } from "../pass/position-rows.ts";
import { releaseQuarantined, saveQuarantined } from "../pass/quarantine-rows.ts";
import { ORDER_KINDS, type OrderMapping, orderReference } from "../records/order-mapping.ts";
import { fieldOf, isOtherOrder, isSameTime, type OrderRecord } from "../records/same-order.ts";
import type { Doubt, GoodRecord, IngestOptions, IngestResult } from "./ingest-options.ts";
import { requestLaterReads } from "./later-reads.ts";
import { loadOrderMark, loadStoredOrder, type OrderMark } from "./order-rows.ts";
import type { OrderRules } from "./order-rules.ts";
import type { StoredOrder } from "./plan-order.ts";
import { quarantineRecord, readOrdersOf } from "./quarantine-record.ts";
import { saveReplaced } from "./replaced-orders.ts";

export interface KnownOrder {
  mark: OrderMark;
  stored: StoredOrder;
}

/** A record under the id of another stored order. */
export interface OtherOrder {
  number: string;
  createdAt: string;
  /** Its quarantine reference. */
  reference: string;
}

export function findOther(
  rules: OrderRules,
  { orderId }: Pick<GoodRecord, "orderId">,
  { said, known }: { said: OrderRecord; known: KnownOrder },
): OtherOrder | undefined {
  const other = { text: known.stored.payload, mapping: rules[known.mark.payloadSource] };
  if (!isOtherOrder(said, other, rules.plan.timezone)) return undefined;
  const [number = "", createdAt = ""] = [fieldOf(said, "number"), fieldOf(said, "created_at")];
  return { number, createdAt, reference: orderReference(orderId, number) };
}

/** The same for a record as it came. */
export function loadOther(
  { store, rules }: { store: Store; rules: OrderRules },
  { record, bytes, mapping }: { record: GoodRecord; bytes: Buffer; mapping: OrderMapping },
): OtherOrder | undefined {
  const mark = loadOrderMark(store, record.orderId);
  if (mark === undefined) return undefined;
  const known = { mark, stored: loadStoredOrder(store, mark.orderKey) };
  return findOther(rules, record, { said: { text: textOf(bytes, record.span), mapping }, known });
}

export function doubtOf({ reference }: OtherOrder): Doubt {
  return `other ${reference}`;
}

export function isOtherDoubt(doubt: Doubt): doubt is `other ${string}` {
  return doubt.startsWith("other ");
}

/** Holds the record and queues a read of the order, unless reads of the order have shown that it is this one. */
export function holdOther(options: IngestOptions, record: GoodRecord, other: OtherOrder): IngestResult | undefined {
  const { store, mapping, at } = options;
  const { source, paths } = mapping;
  if (options.accepted === doubtOf(other)) return undefined;
  const reason = m.orders.idOfOtherOrder({ path: paths.order_id.text, ...other });
  const result = quarantineRecord(options, record, reason, other.reference);
  if (source === "snapshot") requestRead(store, record, at);
  else if (result === "quarantined") readOrdersOf(options, record);
  return result;
}

/** The order itself was answered as `shown`, or as the stored order: answers with other orders are held no longer. */
export function releaseShown(store: Store, orderId: string, shown?: OtherOrder): void {
  releaseSnapshotsOfOthers(store, orderId, shown?.reference ?? "");
}

/**
 * Holds what is stored, unless it is also stored under another id, and releases what is held of the new content. The record
 * is held under its number alone: nothing that it says is of the order any more. The order is read again later, because
 * the service may have been wrong for hours.
 */
export function replaceByOther(
  { store, rules, at }: IngestOptions,
  { orderId, known: { mark, stored }, other }: { orderId: string; known: KnownOrder; other: OtherOrder },
): void {
  releaseQuarantined(store, ORDER_KINDS, other.reference);
  requestLaterReads(store, orderId, at);
  saveReplaced(store, orderId);
  const former = { text: stored.payload, mapping: rules[mark.payloadSource] };
  const number = fieldOf(former, "number") ?? "";
  const isElsewhere = loadOrdersByNumber(store, stored.values.number ?? number).some((copy) => {
    const created = loadOrderMark(store, copy.orderId)?.createdAt ?? null;
    return copy.orderId !== orderId && isSameTime(created, mark.createdAt, rules.plan.timezone);
  });
  if (isElsewhere) return;
  saveQuarantined(store, {
    kind: "order",
    reference: number,
    reason: m.orders.replacedByOther({ number: other.number, createdAt: other.createdAt }),
    payload: stored.payload,
    hash: mark.payloadHash,
    at,
  });
}
