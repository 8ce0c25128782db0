/*
 * How much of a job is done and left, from the database alone, so that it covers a daemon's work too. SQL names the
 * index of waiting rows.
 */

import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { JobName } from "../pass/job-names.ts";
import { loadReconcileState } from "../reconcile/reconcile-rows.ts";

type Unit = "orders" | "ordersToRead" | "ordersCompared" | "payloadsSeen" | "requests" | "rows";

export interface WorkLeft {
  /** What is counted. */
  unit: Unit;
  /** The backlog; undefined where only the service has it. */
  left?: number;
  /** The work done so far; undefined where only the backlog can be counted. */
  done?: number;
}

const WAITING: Partial<Record<JobName, { unit: Unit; sql: string }>> = {
  updates: { unit: "ordersToRead", sql: "SELECT count(*) FROM owed_reads" },
  statuses: {
    unit: "requests",
    sql: "SELECT count(*) FROM status_requests INDEXED BY status_requests_open WHERE state IN ('pending', 'sending')",
  },
};

export function loadWorkLeft(store: Store, job: JobName): WorkLeft {
  const count = (sql: string, ...params: unknown[]) => onlyValue<number>(store, sql, ...params);
  if (job === "orders") return { unit: "orders", done: count("SELECT coalesce(max(order_key), 0) FROM orders") };
  if (job === "reconcile") return loadRoundLeft(store);
  if (isFeed(job)) {
    const id = "(SELECT feed_id FROM feeds WHERE name = ?)";
    const waiting = count(`SELECT count(*) FROM feed_outbox WHERE feed_id = ${id} AND state = 'waiting'`, job);
    return { unit: "rows", left: waiting + count(`SELECT count(*) FROM feed_dirty WHERE feed_id = ${id}`, job) };
  }
  const { unit, sql } = WAITING[job] as { unit: Unit; sql: string };
  return { unit, left: count(sql) };
}

/** A round first checks payloads, then reads orders. */
function loadRoundLeft(store: Store): WorkLeft {
  const { round } = loadReconcileState(store);
  if (round === null) return { unit: "orders" };
  const { sound = 0, damaged = 0, checked = 0 } = round.counts;
  return round.phase === "scrub"
    ? { unit: "payloadsSeen", done: sound + damaged }
    : { unit: "ordersCompared", done: checked };
}

export function countOrders(store: Store): number {
  return onlyValue<number>(store, "SELECT count(*) FROM orders");
}

function isFeed(job: JobName): job is FeedName {
  return FEED_NAMES.some((name) => name === job);
}
