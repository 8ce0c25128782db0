/*
 * Requests one order and finds its record in the answer. Writes nothing; the caller saves newly matched paths in the
 * transaction that stores the record.
 */

import { findRepeated, type JsonPath, resolvePath } from "../../answers/json-path.ts";
import type { Span } from "../../answers/json-text.ts";
import type { Store } from "../../database/store.ts";
import { m } from "../../messages/messages.ts";
import { loadOrderMark, loadStoredOrder } from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadQuarantineState } from "../../pass/quarantine-rows.ts";
import { readInTurns } from "../../pass/read-in-turns.ts";
import { BridgeError } from "../../platform/errors.ts";
import { findMatchedPaths, hasPathMatched, saveMatchedPaths, savePathMatched } from "../../records/check-paths.ts";
import {
  describeMiss,
  type OrderField,
  readOrderValues,
  readRecordId,
  VALUE_FIELDS,
} from "../../records/order-mapping.ts";
import { readMendedInSlices } from "../../records/read-list.ts";
import { type AnswerRecord, readRecordsInSlices } from "../../records/read-records.ts";
import type { ServiceAnswer } from "../../service/client.ts";
import { fetchSnapshot, orderMovedTo } from "../../service/orders.ts";
import { isNothing, readErrorWords } from "../../service/outcome/reported-errors.ts";
import type { ServiceError } from "../../service/service-error.ts";
import { saysNoSuchOrder } from "./missing-orders.ts";

const PARTIAL = 206;
/** After so many reads, half an hour, an error that an order with most of its fields reports is one of its fields. */
const OWN_ERROR_TRIES = 6;

export interface ReadableOrder {
  orderId: string;
  /** The id in the service's case. */
  serviceId: string;
  /** How often the queued read of it has failed. */
  attempts?: number;
}

export type SnapshotRead =
  | {
      kind: "order";
      body: Buffer;
      record: AnswerRecord;
      matched: OrderField[];
      isCached: boolean;
      /** The answer's `Date`, where it may be that of a copy. */
      unprovenDate: string | undefined;
      /** By the service's clock. */
      askedAt: string | undefined;
    }
  /** 404 or 410 from the service itself: it answers that it does not have the order. */
  | { kind: "unknown"; error: ServiceError };

/** The service answered with another order; it may have merged the two. */
export class AnotherOrder extends BridgeError {
  readonly order: { orderId: string; serviceId: string };

  constructor(asked: string, { orderId, serviceId }: AnotherOrder["order"]) {
    super("answer_unreadable", m.updates.mergedInto({ asked, orderId }));
    this.order = { orderId, serviceId };
  }
}

/**
 * The answer has another shape than configured. For one order this is that order's failure; only several in a row
 * without another failure mean that the configuration is wrong.
 */
export class UnfitAnswer extends BridgeError {
  constructor({ text, hint, cause }: BridgeError) {
    super("answer_unreadable", text, { cause, ...(hint === undefined ? {} : { hint }) });
  }

  /** The error where several orders are answered so. */
  get ofAll(): BridgeError {
    return new BridgeError("answer_shape", this.text, this.hint === undefined ? {} : { hint: this.hint });
  }
}

/** @throws ServiceError; {@link AnotherOrder}; {@link UnfitAnswer}; BridgeError `answer_unreadable` */
export async function readSnapshot(
  context: Pick<JobContext, "store" | "client" | "clock">,
  rules: OrderRules,
  order: ReadableOrder,
  signal: AbortSignal,
): Promise<SnapshotRead> {
  try {
    return await readOrder(context, rules, order, signal);
  } catch (error) {
    if (error instanceof BridgeError && error.code === "answer_shape") throw new UnfitAnswer(error);
    throw error;
  }
}

async function readOrder(
  { store, client, clock }: Pick<JobContext, "store" | "client" | "clock">,
  rules: OrderRules,
  order: ReadableOrder,
  signal: AbortSignal,
): Promise<SnapshotRead> {
  let answer: ServiceAnswer;
  try {
    answer = await fetchSnapshot(client, order.serviceId, signal);
  } catch (error) {
    const moved = orderMovedTo(error);
    if (moved !== undefined && moved.orderId !== order.orderId) throw new AnotherOrder(order.orderId, moved);
    if (!saysNoSuchOrder(error)) throw error;
    return { kind: "unknown", error };
  }
  // The order's lines, or whatever follows, may be missing.
  if (answer.status === PARTIAL)
    throw new BridgeError("answer_unreadable", m.updates.partOfOrder({ orderId: order.orderId }));
  const json = readMendedInSlices(answer, rules.snapshotRoot.steps.length);
  const { root, body, mended } = await readInTurns(clock, answer, json, signal);
  const found = resolvePath(body, root, rules.snapshotRoot);
  const { orderId } = order;
  const elements = found.state === "value" ? [found.span] : [];
  const records = readRecordsInSlices(body, { root, mended, elements }, rules.snapshot);
  const [record] = await readInTurns(clock, answer, records, signal);
  const words = readErrorIn(body, root, {
    order: elements[0],
    lines: rules.snapshot.paths.lines,
    isOwn: (span) => isHeldAs(store, orderId, record) || isOrderItself(store, rules, { body, span, ...order }),
  });
  const repeated = findRepeated(body, root, rules.snapshotRoot);
  if (words !== undefined) throw new BridgeError("answer_unreadable", m.updates.reportsError({ orderId, words }));
  if (repeated !== undefined)
    throw new BridgeError("answer_unreadable", m.updates.moreThanOnce({ orderId, place: repeated }));
  if (found.state !== "value") {
    const miss = found.state === "null" ? m.orders.itIsNull : describeMiss(body, root, rules.snapshotRoot);
    // If the path has matched before, it is right, and this answer is wrong, for this order only.
    const isProven = hasPathMatched(store, "snapshot", "root", rules.snapshotRoot.text);
    throw new BridgeError(
      isProven ? "answer_unreadable" : "answer_shape",
      m.updates.noSnapshot({ orderId: order.orderId, path: rules.snapshotRoot.text, miss }),
      isProven ? {} : { hint: m.updates.fixSnapshot },
    );
  }
  const matched = findMatchedPaths(store, { bytes: body, records: [found.span], mapping: rules.snapshot });
  if (record?.ok && record.orderId !== orderId) throw new AnotherOrder(orderId, record);
  const named = record?.ok ? record.orderId : record?.reference?.toLowerCase();
  if (record === undefined || named !== order.orderId) {
    const what =
      record?.ok === false && named === undefined ? record.reason : m.updates.otherOrder({ id: named ?? "null" });
    throw new BridgeError("answer_unreadable", m.updates.unusable({ orderId: order.orderId, reason: what }));
  }
  if (mended !== undefined && (record.ok || record.broken === undefined || mended.broken.size > 1))
    throw new BridgeError("answer_unreadable", m.updates.incomplete({ orderId }));
  const { isCached = false, unprovenDate, askedAt } = answer;
  return { kind: "order", body, record, matched, isCached, unprovenDate, askedAt };
}

/**
 * An error beside the order or in its place. Whatever the order itself says, such as the words of a declined payment, is data of the
 * shop.
 * @param isOwn whether the value at the snapshot's path is the order, and no error that names it
 */
function readErrorIn(
  body: Buffer,
  root: Span,
  { order, lines, isOwn }: { order: Span | undefined; lines: JsonPath; isOwn: (order: Span) => boolean },
): string | undefined {
  const isWhole = order?.start === root.start && order.end === root.end;
  const beside = isWhole ? undefined : readErrorWords(body, root, "beside", order);
  if (beside !== undefined || order === undefined) return beside;
  // A state is that of the order only where the order is there.
  const use = resolvePath(body, order, lines).state === "absent" ? "list" : "record";
  const words = readErrorWords(body, order, use);
  return words === undefined || isOwn(order) ? undefined : words;
}

/**
 * Whether a record is the requested order, whatever it says of an error: it has its id and can be stored, with lines, or without them
 * as the order was before. An error may repeat the id, and with it a state. If an order that has lost its lines and has most of its
 * fields is answered so for half an hour, it is that order as well.
 */
function isOrderItself(
  store: Store,
  { snapshot }: OrderRules,
  { body, span, orderId, attempts = 0 }: ReadableOrder & { body: Buffer; span: Span },
): boolean {
  const id = readRecordId(body, span, snapshot);
  if ("reason" in id || id.orderId !== orderId) return false;
  const fields = VALUE_FIELDS.filter((field) => hasValue(body, span, snapshot.paths[field]));
  if (attempts >= OWN_ERROR_TRIES && fields.length * 2 > VALUE_FIELDS.length) return true;
  const read = readOrderValues(body, span, snapshot);
  if ("reason" in read) return false;
  const { lines, status } = read.values;
  if (lines.length > 0) return true;
  const mark = loadOrderMark(store, orderId);
  return status !== null && mark !== undefined && loadStoredOrder(store, mark.orderKey).lines.length === 0;
}

/** Whether this very record is held as one of the order: an earlier read has shown that it is no error. */
function isHeldAs(store: Store, orderId: string, record: AnswerRecord | undefined): boolean {
  const reference = record?.ok === true ? record.orderId : record?.reference;
  if (record === undefined || reference?.toLowerCase() !== orderId) return false;
  return loadQuarantineState(store, { kind: "snapshot", reference, hash: record.hash }) === "held";
}

function hasValue(body: Buffer, order: Span, path: JsonPath): boolean {
  const found = resolvePath(body, order, path);
  return found.state === "value" && !isNothing(body, found.span);
}

/** To be called inside the transaction that stores the record. */
export function saveSnapshotPaths(store: Store, rules: OrderRules, matched: readonly OrderField[], at: string): void {
  saveMatchedPaths(store, { mapping: rules.snapshot, matched, at });
  savePathMatched(store, { source: "snapshot", field: "root", path: rules.snapshotRoot.text, at });
}
