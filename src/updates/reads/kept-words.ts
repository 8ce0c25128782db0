/*
 * Statuses from the service that are not stored: in the record that waits for a read of the order (`owed_reads`), in
 * held records of the order, in records that are about to be stored, and until the order is read, in records without an
 * id that may belong to it. A status sent meanwhile might undo them.
 */

import { textOf } from "../../answers/json-text.ts";
import { isOlder, isStrictlyNewer, parseTimestamp } from "../../answers/timestamp.ts";
import { isZoneUnclear } from "../../answers/timestamp-form.ts";
import { readOrderId } from "../../answers/uuid.ts";
import { isSameName } from "../../database/same-name.ts";
import type { Store } from "../../database/store.ts";
import { isUnnamed, mayBeOf } from "../../orders/named-orders.ts";
import { loadOrderMark, loadOrderNumber } from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { isOddStatus } from "../../orders/status-names.ts";
import { loadHeldUnder, loadHeldWith } from "../../pass/held-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import { hasLasted } from "../../pass/machine-clock.ts";
import { loadQueuedRead } from "../../pass/position-rows.ts";
import { loadQuarantineState } from "../../pass/quarantine-rows.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { isoTime } from "../../platform/ports.ts";
import { BAD_KIND, type OrderSource } from "../../records/order-mapping.ts";
import type { AnswerRecord } from "../../records/read-records.ts";
import { fieldOf } from "../../records/same-order.ts";
import { findUnstored, type UnstoredAnswer } from "../../records/unstored-records.ts";
import { isOfFuture } from "../times/latest-time.ts";
import { CANCELLED_TRIES, takeCancellation } from "./take-cancellation.ts";

type Context = Pick<JobContext, "store" | "client" | "clock" | "log">;

/** A status from the service that is not stored. */
export interface KeptWord {
  /** Null: the record has no readable status. */
  status: string | null;
  /** Its timestamp as the service wrote it. */
  updatedAt: string | null;
  /** It may be a cancellation later than what is stored; false: surely later, and no cancellation. */
  isCancelled: boolean;
  /** Since when the read waits or the record is held. */
  since: string;
  /**
   * It blocks a status no longer: the order could not be read for so long, or the record is held and is no
   * cancellation.
   */
  isOver: boolean;
}

/** For a status that is no cancellation: the order is stored later with its status by then, whatever was sent. */
const NEWER_FOR_MS = HOUR_MS;
/** As long as an order with bad answers is read again. */
const CANCELLED_FOR_MS = 24 * HOUR_MS;

interface Word {
  status: string | undefined;
  updatedAt: string | null;
  /** False: only ids or numbers inside the record suggest the order. */
  isNamed: boolean;
  since: string;
  /** The same by the machine's clock; null where it is not known. */
  sinceMs: number | null;
  /** Failed reads; undefined: the record is in the quarantine. */
  attempts?: number;
  /** Whether a read was tried recently: after a long stop the time counts from now. */
  isTried: boolean;
}

/**
 * Finds statuses of an order that nothing stored covers. A cancellation that waited for a day and is not older than
 * what is stored is stored first. To be called inside the transaction that decides about a status.
 * @param stored its status and timestamp
 */
export function findKeptWords(
  context: Context,
  rules: OrderRules,
  { orderId, stored, at }: { orderId: string; stored: { status: string | null; updatedAt: string | null }; at: string },
): KeptWord[] {
  const words = loadWords(context, rules, orderId, at).flatMap((word) => judge(context, rules, { word, stored, at }));
  const isLate = words.some(({ isCancelled, isOver }) => isCancelled && isOver);
  return isLate && takeCancellation(context, rules, { orderId, at, isLate }) ? [] : words;
}

function judge(
  context: Context,
  { plan }: OrderRules,
  { word, stored, at }: { word: Word; stored: { status: string | null; updatedAt: string | null }; at: string },
): KeptWord[] {
  const { status, updatedAt, isNamed, since, sinceMs, attempts, isTried } = word;
  const { timezone, cancelled } = plan;
  if (isSameName(status, stored.status)) return [];
  const now = { at, machineMs: context.clock.monotonicMs() };
  const hasWaited = (forMs: number) => hasLasted({ at: since, machineMs: sinceMs }, now, forMs);
  const isOld = isOlder(updatedAt, stored.updatedAt, timezone);
  if (status === undefined || cancelled.has(status)) {
    if (cancelled.has(stored.status ?? "")) return [];
    const isOver = hasWaited(CANCELLED_FOR_MS) && isTried;
    // Only a read shows whether the record is of this order and later, so it does not refuse a status.
    const isSure = status !== undefined && isNamed && !isOld;
    return isOver && !isSure ? [] : [{ status: status ?? null, updatedAt, since, isCancelled: true, isOver }];
  }
  if (!isNamed || isOld) return [];
  const [form, other] = [updatedAt, stored.updatedAt].map((text) =>
    text === null ? undefined : parseTimestamp(text, timezone)?.form,
  );
  const isNewer = isStrictlyNewer(updatedAt, stored.updatedAt, timezone) && !isZoneUnclear(form, other);
  if (!isNewer || isOfFuture(context, updatedAt ?? "", timezone)) return [];
  const isOver = attempts === undefined || hasWaited(NEWER_FOR_MS) || attempts >= CANCELLED_TRIES;
  return [{ status, updatedAt, since, isCancelled: false, isOver }];
}

/** A record with what is needed to judge it. */
interface Kept extends Pick<Word, "isNamed" | "since" | "sinceMs" | "attempts" | "isTried"> {
  text: string;
  source: OrderSource;
}

function loadWords({ store }: Context, rules: OrderRules, orderId: string, at: string): Word[] {
  const words = loadKept(store, rules, { orderId, at }).map((kept) => {
    const record = { text: kept.text, mapping: rules[kept.source] };
    const updatedAt = fieldOf(record, "updated_at") ?? null;
    const status = fieldOf(record, "status");
    return { ...kept, status: isOddStatus(status ?? null, rules.plan) ? undefined : status, updatedAt };
  });
  // A snapshot without a status adds nothing.
  return words.filter(({ status, source }) => status !== undefined || source !== "snapshot");
}

function loadKept(store: Store, rules: OrderRules, { orderId, at }: { orderId: string; at: string }): Kept[] {
  const order = { orderId, number: loadOrderNumber(store, orderId) };
  const queued = loadQueuedRead(store, orderId);
  const isTried = (queued?.dueAt ?? "") > isoTime(Date.parse(at) - HOUR_MS);
  const waiting =
    queued === undefined || queued.record === "" ? [] : [{ ...queued, text: queued.record, isNamed: true, isTried }];
  const held = (["batch", "update", "snapshot"] as const).flatMap((source) =>
    loadHeldUnder(store, BAD_KIND[source], orderId).map((each) => ({ ...each, source, isNamed: true, isTried: true })),
  );
  const unnamed = queued === undefined ? [] : loadUnnamed(store, rules, order).map((each) => ({ ...each, isTried }));
  for (const each of unnamed) if (queued !== undefined && queued.since > each.since) each.since = queued.since;
  const unstored = findUnstored(store, (record, answer) => ofOrder(store, rules, { record, answer, order })).map(
    ({ of, ...each }) => ({
      ...each,
      isNamed: of === "named",
      since: each.at,
      sinceMs: null,
      attempts: 0,
      isTried: false,
    }),
  );
  return [...waiting, ...held, ...unnamed, ...unstored];
}

/** Held records without an id that may belong to the order. */
function loadUnnamed(store: Store, rules: OrderRules, order: Numbered): Omit<Kept, "isTried">[] {
  return loadHeldWith(store, UNNAMED_KINDS, beginningOf(order)).flatMap(({ kind, ...held }) => {
    const source = kind === BAD_KIND.update ? "update" : "batch";
    return mayBeOf({ text: held.text, mapping: rules[source] }, order) ? [{ ...held, source, isNamed: false }] : [];
  });
}

const UNNAMED_KINDS = [BAD_KIND.batch, BAD_KIND.update];
const ID_BEGINS = 8;

interface Numbered {
  orderId: string;
  number: string | null;
}

/** A text that every record with the order's id or number contains: characters of a number may be escaped. */
function beginningOf({ orderId, number }: Numbered): { id: string; number: string | null } {
  return { id: orderId.slice(0, ID_BEGINS), number: number?.match(/^[\w .#/-]*/)?.[0] ?? null };
}

/** Whether an unstored record is of the order. Records read before the stored one add nothing. */
function ofOrder(
  store: Store,
  rules: OrderRules,
  { record, answer, order }: { record: AnswerRecord; answer: UnstoredAnswer; order: Numbered },
): "named" | "unnamed" | undefined {
  const { source, bytes } = answer;
  if (record.ok || !isUnnamed(record)) {
    if (idOf(record) !== order.orderId) return undefined;
    const mark = loadOrderMark(store, order.orderId);
    const known = source === "batch" ? mark?.batchHash : source === "update" ? mark?.updateHash : undefined;
    return known?.equals(record.hash) ? undefined : "named";
  }
  const { id, number } = beginningOf(order);
  const view = bytes.subarray(record.span.start, record.span.end);
  if (
    record.isLarge ||
    ![id, id.toUpperCase(), ...(number === null ? [] : [number])].some((part) => view.includes(part))
  )
    return undefined;
  if (loadQuarantineState(store, { ...record, kind: BAD_KIND[source] }) !== undefined) return undefined;
  return mayBeOf({ text: textOf(bytes, record.span), mapping: rules[source] }, order) ? "unnamed" : undefined;
}

function idOf(record: AnswerRecord): string | undefined {
  return record.ok ? record.orderId : (record.broken?.order?.orderId ?? readOrderId(record.reference ?? ""));
}
