/*
 * Detects that the service was restored to an earlier copy and lost what it had accepted since; it does not report
 * this, but its orders show it (`plan-set-back.ts`). A lost version is recorded in the transaction that stores the
 * version that the service has instead. Acknowledgements since the copy then count as unknown, and orders whose status
 * was sent since are read again. SQL, because the ERP writes ids of requests in any case.
 */

import { parseTimestamp } from "../../answers/timestamp.ts";
import { FEED_NAMES } from "../../config/feed-names.ts";
import type { Store } from "../../database/store.ts";
import { invalidateAcknowledged } from "../../feeds/acknowledged-rows.ts";
import { m } from "../../messages/messages.ts";
import { reopenLost } from "../../orders/echo-rows.ts";
import { loadKeptBefore } from "../../orders/missing-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import { requestRead } from "../../pass/position-rows.ts";
import { isoTime } from "../../platform/ports.ts";
import { SET_BACK } from "../times/learned-rows.ts";
import { type LostVersion, noteLost } from "./plan-set-back.ts";

/** Tolerance: clocks differ, and a change may be committed a little after its timestamp. */
const MARGIN_MS = 3_600_000;
/** Limit of orders whose status was sent since; `reconcile` reads the others. */
const READS_MAX = 500;

type Context = Pick<JobContext, "store" | "clock" | "client" | "log">;

/** The stored order before an older version replaced it, and that version. */
export interface TakenBack {
  orderId: string;
  lost: { status: string | null; timestamp: string | null };
  kept: { status: string | null; timestamp: string | null };
  /** Not by the order's own answers alone. */
  isProven: boolean;
}

/** To be called inside the transaction that stored an older version of an order. */
export function noteTakenBack(context: Context, takenBack: TakenBack, timezone: string): void {
  const { store, log } = context;
  const { orderId, lost, kept, isProven } = takenBack;
  // Feed rows may be sent twice without harm, but a status would take effect twice.
  const reopened = isProven ? reopenLost(store, { orderId, lost, kept, timezone }) : 0;
  if (reopened > 0) log.warn({ orderId, requests: reopened }, m.updates.statusLost({ orderId }));
  note(context, { orderId, lostMs: msOf(lost.timestamp, timezone), keptMs: msOf(kept.timestamp, timezone) });
}

/**
 * To be called inside the transaction that marked an order as removed: one of the newest may be missing because it is
 * newer than the copy.
 */
export function noteRemoved(
  context: Context,
  order: { orderId: string; missingSince: string },
  timezone: string,
): void {
  const found = loadKeptBefore(context.store, order);
  if (found === undefined) return;
  const { createdAt, keptAt } = found;
  note(context, { orderId: order.orderId, lostMs: msOf(createdAt, timezone), keptMs: msOf(keptAt, timezone) });
}

function note(context: Context, version: Omit<LostVersion, "atMs">): void {
  if (Number.isNaN(version.lostMs) || Number.isNaN(version.keptMs)) return;
  const { store, clock, client, log } = context;
  const nowMs = clock.nowMs();
  const serviceMs = client.serviceNow === undefined ? nowMs : Date.parse(client.serviceNow);
  const before = SET_BACK.load(store);
  const after = noteLost(before, { ...version, atMs: serviceMs }, { serviceMs });
  SET_BACK.save(store, after);
  if (after.noticed === undefined || after.noticed.atMs === before.noticed?.atMs) return;
  // With a wrong clock it is unknown which rows were acknowledged after the copy, so all are sent again.
  const isRight = Math.abs(nowMs - serviceMs) <= MARGIN_MS;
  const since = isRight ? isoTime(after.noticed.keptMs - serviceMs + nowMs - MARGIN_MS) : "";
  const at = isoTime(nowMs);
  invalidateAcknowledged(store, FEED_NAMES, { since, at, because: m.updates.restored });
  requestSentSince(store, since, at);
  log.warn({ since, kept: isoTime(after.noticed.keptMs) }, m.updates.wentBack);
}

/**
 * Queues reads of orders whose status was sent since then, and returns their number. To be called inside a write
 * transaction.
 */
export function requestSentSince(store: Store, since: string, at: string): number {
  const orders = loadSentSince(store, since);
  for (const order of orders) requestRead(store, order, at);
  return orders.length;
}

function loadSentSince(store: Store, since: string): { orderId: string; serviceId: string }[] {
  return store
    .prepare<{ orderId: string; serviceId: string }>(
      `SELECT DISTINCT o.order_id AS orderId, coalesce(o.service_id, o.order_id) AS serviceId
       FROM status_requests r JOIN orders o ON o.order_id = lower(r.order_id)
       WHERE r.state = 'sent' AND r.answered_at >= ? AND o.removed_at IS NULL ORDER BY r.answered_at DESC LIMIT ?`,
    )
    .all(since, READS_MAX);
}

function msOf(timestamp: string | null, timezone: string): number {
  const parsed = timestamp === null ? undefined : parseTimestamp(timestamp, timezone);
  return parsed === undefined ? Number.NaN : Number(parsed.instantNs / 1_000_000n);
}
