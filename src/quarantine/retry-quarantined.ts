/*
 * Reads quarantined records again with the present mapping, with the same code as at their receipt. Runs inside the
 * caller's write transaction, so that a record is stored and released in one step; after a crash it is still held.
 */

import { textOf } from "../answers/json-text.ts";
import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import type { Store } from "../database/store.ts";
import type { FeedRules } from "../feeds/feed.ts";
import { requestCompare } from "../feeds/feed-rows.ts";
import { retryFeedRow } from "../feeds/send/refused-rows.ts";
import { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { readHeldRecord } from "../orders/held-record.ts";
import { ingestRecord } from "../orders/ingest-orders.ts";
import { loadOrderMark } from "../orders/order-rows.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { loadOther } from "../orders/other-order.ts";
import { queueOrderRead } from "../orders/queue-order.ts";
import { markQuarantined, markStillBad, type QuarantinedRecord } from "../pass/held-rows.ts";
import { requestReadAfter } from "../pass/position-rows.ts";
import type { AnswerRecord } from "../records/read-records.ts";

export interface RetryOptions {
  store: Store;
  rules: OrderRules;
  /** Feeds that are switched on. */
  feeds: ReadonlyMap<FeedName, FeedRules>;
  at: string;
  /** The same since the machine's start, in milliseconds. */
  machineMs: number;
}

export interface RetryOutcome {
  /** `waiting`: a pass of `job` does the rest. */
  outcome: "released" | "held" | "waiting";
  reason: Message | null;
  job?: "updates" | "reconcile" | FeedName;
}

type GoodRecord = AnswerRecord & { ok: true };

/** Why the present mapping cannot use a record of orders; undefined where it can. Writes nothing. */
export function judgeRecord(
  { store, rules }: Pick<RetryOptions, "store" | "rules">,
  row: QuarantinedRecord,
): Message | undefined {
  const judged = readHeldRecord(rules, row);
  if (judged instanceof Message) return judged;
  return loadOther({ store, rules }, judged) === undefined ? undefined : row.reason;
}

/** Whether the row is a record of orders, which can be retried without a request. */
export function isRecordOfOrders({ kind }: Pick<QuarantinedRecord, "kind">): boolean {
  return kind === "order" || kind === "change" || kind === "snapshot";
}

export function retryQuarantined(options: RetryOptions, row: QuarantinedRecord): RetryOutcome {
  const { store, rules } = options;
  if (row.kind === "payload") return { outcome: "waiting", reason: m.quarantine.orderReadAgain, job: "reconcile" };
  const feed = FEED_NAMES.find((name) => name === row.kind);
  if (feed !== undefined) return retryFeed(options, feed, row);
  const judged = readHeldRecord(rules, row);
  if (judged instanceof Message) {
    markStillBad(store, row.id, judged);
    return { outcome: "held", reason: judged };
  }
  const { record, bytes, mapping } = judged;
  // Only reads of the order itself show that it is the one of this id.
  if (loadOther(options, judged) !== undefined) {
    requestReadAfter(store, record, { hash: record.hash, at: options.at });
    return { outcome: "held", reason: row.reason };
  }
  const isStored = loadOrderMark(store, record.orderId) !== undefined;
  // An old snapshot does not have the present state, and a change does not have the whole order: it is read from the
  // service.
  const isAsked = row.kind === "change" ? rules.carry === "changes" : row.kind === "snapshot" && isStored;
  if (isAsked) {
    queueRead(options, record, bytes);
    markQuarantined(store, row.id, "released");
    return { outcome: "waiting", reason: m.quarantine.orderReadAgain, job: "updates" };
  }
  const ingested = ingestRecord({ store, rules, mapping, bytes, at: options.at, machineMs: options.machineMs }, record);
  if (ingested === "quarantined") return { outcome: "held", reason: row.reason };
  markQuarantined(store, row.id, "released");
  return ingested === "owed"
    ? { outcome: "waiting", reason: m.quarantine.orderReadAgain, job: "updates" }
    : { outcome: "released", reason: null };
}

function queueRead(options: RetryOptions, record: GoodRecord, bytes: Buffer): void {
  const { orderId, serviceId, hash } = record;
  queueOrderRead(
    options,
    { orderId, serviceId, source: "update", record: textOf(bytes, record.span), recordHash: hash, contentHash: null },
    options,
  );
}

function retryFeed({ store, feeds }: RetryOptions, name: FeedName, row: QuarantinedRecord): RetryOutcome {
  const rules = feeds.get(name);
  if (rules === undefined) return { outcome: "held", reason: m.quarantine.switchedOff({ name }) };
  if (row.reference === null) {
    // Without a key, only a comparison of the whole table finds the row, or that it is gone.
    requestCompare(store, name, m.quarantine.aRetry);
    return { outcome: "waiting", reason: m.quarantine.tableCompared, job: name };
  }
  const what = retryFeedRow(store, rules, row.reference);
  if (what === "dirty") return { outcome: "waiting", reason: m.quarantine.rowReadAgain, job: name };
  markQuarantined(store, row.id, "released");
  return what === "settled"
    ? { outcome: "released", reason: null }
    : { outcome: "waiting", reason: m.quarantine.rowSentAgain, job: name };
}
