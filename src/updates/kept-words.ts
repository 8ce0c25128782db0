/*
 * What the service has said of an order and what is not stored: the record that waits for the order's read, because that could not be made
 * since (`owed_reads`), the records of the order that are held in quarantine, those that were read and are about to be stored, and until
 * that read those that name no order and may be of this one. A status that leaves meanwhile might undo it.
 */

import { textOf } from "../answers/json-text.ts";
import { isOlder, isStrictlyNewer, parseTimestamp } from "../answers/timestamp.ts";
import { isZoneUnclear } from "../answers/timestamp-form.ts";
import { readOrderId } from "../answers/uuid.ts";
import type { Store } from "../database/store.ts";
import { isUnnamed, mayBeOf } from "../orders/named-orders.ts";
import { loadOrderMark, loadOrderNumber } from "../orders/order-rows.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { isOddStatus } from "../orders/status-names.ts";
import { loadHeldOf, loadHeldWith } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { loadQueuedRead } from "../pass/position-rows.ts";
import { loadQuarantineState } from "../pass/quarantine-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { BAD_KIND, type OrderSource } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { fieldOf } from "../records/same-order.ts";
import { findUnstored, type UnstoredAnswer } from "../records/unstored-records.ts";
import { isOfFuture } from "./latest-time.ts";
import { CANCELLED_TRIES, takeCancellation } from "./take-cancellation.ts";

type Context = Pick<JobContext, "store" | "client" | "clock" | "log">;

/** What a record says of an order, and what is not stored. */
export interface KeptWord {
  /** Null: it names none that can be read. */
  status: string | null;
  /** Its timestamp as the service wrote it. */
  updatedAt: string | null;
  /** It may be a cancellation that is later than what is stored; false: it surely is later, and is no cancellation. */
  isCancelled: boolean;
  /** Since when the order waits for its read, or the record is held. */
  since: string;
  /** Nothing waits for it: the order could not be read for so long, or the record is held in quarantine and is no cancellation. */
  isOver: boolean;
}

const HOUR_MS = 3_600_000;
/** A status that is no cancellation: the order is stored later with the status by then, whatever was sent. */
const NEWER_FOR_MS = HOUR_MS;
/** As long as an order is read again whose answers are bad. */
const CANCELLED_FOR_MS = 24 * HOUR_MS;

interface Word {
  status: string | undefined;
  updatedAt: string | null;
  /** False: only what stands in it shows that it may be of the order. */
  isNamed: boolean;
  since: string;
  /** Tries of a read that waits; undefined: the record is held in quarantine. */
  attempts?: number;
  /** Whether it was tried lately: after a long stop its day has only begun. */
  isTried: boolean;
}

/**
 * Words of an order that nothing stored covers. A cancellation that has waited for a day, and is not older than what is stored, is taken
 * over first. Inside the transaction that decides about a status.
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
  const { status, updatedAt, isNamed, since, attempts, isTried } = word;
  const { timezone, cancelled } = plan;
  if (status === stored.status) return [];
  const waitedMs = Date.parse(at) - Date.parse(since);
  const isOld = isOlder(updatedAt, stored.updatedAt, timezone);
  if (status === undefined || cancelled.has(status)) {
    if (cancelled.has(stored.status ?? "")) return [];
    const isOver = waitedMs >= CANCELLED_FOR_MS && isTried;
    // Only the order shows whether it is one of this order, and the later one: nothing is refused for it.
    const isSure = status !== undefined && isNamed && !isOld;
    return isOver && !isSure ? [] : [{ status: status ?? null, updatedAt, since, isCancelled: true, isOver }];
  }
  if (!isNamed || isOld) return [];
  const [form, other] = [updatedAt, stored.updatedAt].map((text) =>
    text === null ? undefined : parseTimestamp(text, timezone)?.form,
  );
  const isNewer = isStrictlyNewer(updatedAt, stored.updatedAt, timezone) && !isZoneUnclear(form, other);
  if (!isNewer || isOfFuture(context, updatedAt ?? "", timezone)) return [];
  const isOver = attempts === undefined || waitedMs >= NEWER_FOR_MS || attempts >= CANCELLED_TRIES;
  return [{ status, updatedAt, since, isCancelled: false, isOver }];
}

/** A record that says something of an order. */
interface Kept extends Pick<Word, "isNamed" | "since" | "attempts" | "isTried"> {
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
  // An answer for the order itself that names no status says nothing new of it.
  return words.filter(({ status, source }) => status !== undefined || source !== "snapshot");
}

function loadKept(store: Store, rules: OrderRules, { orderId, at }: { orderId: string; at: string }): Kept[] {
  const order = { orderId, number: loadOrderNumber(store, orderId) };
  const owed = loadQueuedRead(store, orderId);
  const isTried = (owed?.dueAt ?? "") > isoTime(Date.parse(at) - HOUR_MS);
  const waiting =
    owed === undefined || owed.record === "" ? [] : [{ ...owed, text: owed.record, isNamed: true, isTried }];
  const held = (["batch", "update", "snapshot"] as const).flatMap((source) =>
    loadHeldOf(store, BAD_KIND[source], orderId).map((each) => ({ ...each, source, isNamed: true, isTried: true })),
  );
  const unnamed = owed === undefined ? [] : loadUnnamed(store, rules, order).map((each) => ({ ...each, isTried }));
  for (const each of unnamed) if (owed !== undefined && owed.since > each.since) each.since = owed.since;
  const unstored = findUnstored(store, (record, answer) => ofOrder(store, rules, { record, answer, order })).map(
    ({ of, ...each }) => ({ ...each, isNamed: of === "named", since: each.at, attempts: 0, isTried: false }),
  );
  return [...waiting, ...held, ...unnamed, ...unstored];
}

/** Held records that name no order and may be of this one. */
function loadUnnamed(store: Store, rules: OrderRules, order: Numbered): Omit<Kept, "isTried">[] {
  return loadHeldWith(store, UNNAMED_KINDS, beginningOf(order)).flatMap(({ kind, text, since }) => {
    const source = kind === BAD_KIND.update ? "update" : "batch";
    return mayBeOf({ text, mapping: rules[source] }, order) ? [{ text, source, since, isNamed: false }] : [];
  });
}

const UNNAMED_KINDS = [BAD_KIND.batch, BAD_KIND.update];
const ID_BEGINS = 8;

interface Numbered {
  orderId: string;
  number: string | null;
}

/** What stands in every record that names the order: a number in other letters may be written as escapes. */
function beginningOf({ orderId, number }: Numbered): { id: string; number: string | null } {
  return { id: orderId.slice(0, ID_BEGINS), number: number?.match(/^[\w .#/-]*/)?.[0] ?? null };
}

/** Whether a record that is not stored yet is one of the order. What was stored before says nothing new. */
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
