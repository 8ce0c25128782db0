/*
 * New orders whose timestamps lie behind the position of changes: the times of the service may have been set back, as with
 * another time zone after a deployment, while its `Date` stays right. Changes made since have such times too, and a request
 * from the position on does not show them, so they are requested from as far back for a day. Saved in the transaction that
 * stores the orders; after a crash the next request is due as before.
 */

import { readTimestamp } from "../answers/timestamp.ts";
import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { DAY_MS, MINUTE_MS, MS_NS } from "../platform/durations.ts";
import { isoTime } from "../platform/ports.ts";
import type { JobContext } from "./job.ts";
import { hasFollowed, loadNewestTimestamp, loadWatermark, TIME_STREAM, UPDATES_STREAM } from "./position-rows.ts";

interface OrdersBehind {
  /** How far the newest of them was behind the time at which it came, in milliseconds. */
  byMs: number;
  /** When it came, by this machine's clock. */
  at: string;
  /** Requests since the first of them. */
  step: number;
  dueAt: string;
}

const BEHIND = new MetaValue<OrdersBehind | undefined>("orders_behind");

/** Time zones differ by a quarter of an hour at least; an order that has waited for a moment is no sign. */
const BEHIND_MIN_MS = 15 * MINUTE_MS;
/** Zones differ by no more than this; an older order has waited at the service. */
const BEHIND_MAX_MS = 26 * 60 * MINUTE_MS;
const WAITS_MS = [5, 10].map((minutes) => minutes * MINUTE_MS);
const WAIT_LONGEST_MS = 20 * MINUTE_MS;

/** To be called inside the transaction that has stored a new order of a batch. */
export function noteNewOrder(
  { store, client, clock }: Pick<JobContext, "store" | "client" | "clock">,
  timezone: string,
): void {
  const positions = [UPDATES_STREAM, TIME_STREAM].map((stream) => timeOf(loadWatermark(store, stream), timezone));
  const position = positions.find((each) => each !== undefined);
  const order = timeOf(loadNewestTimestamp(store) ?? undefined, timezone);
  if (position === undefined || order === undefined || !hasFollowed(store)) return;
  if (order + BigInt(BEHIND_MIN_MS) * MS_NS > position) return;
  const nowMs = clock.nowMs();
  const serviceMs = client.serviceNow === undefined ? nowMs : Date.parse(client.serviceNow);
  const byMs = serviceMs - Number(order / MS_NS);
  if (byMs > BEHIND_MAX_MS) return;
  const known = BEHIND.load(store);
  const at = isoTime(nowMs);
  BEHIND.save(store, { ...(known ?? { step: 0, dueAt: at }), byMs: Math.max(byMs, known?.byMs ?? 0), at });
}

/** From when changes are due to be requested again (UTC, ISO 8601); undefined where they are not. */
export function findBehind(store: Store, nowMs: number, overlapMs: number): string | undefined {
  const behind = BEHIND.load(store);
  // No wait is so long: the clock was set back.
  const isDue = behind && (Date.parse(behind.dueAt) <= nowMs || Date.parse(behind.dueAt) > nowMs + 2 * WAIT_LONGEST_MS);
  return isDue ? isoTime(nowMs - behind.byMs - overlapMs) : undefined;
}

/** To be called inside the transaction that requests them. A day after the last of these orders it is the last request. */
export function moveBehind(store: Store, nowMs: number): void {
  const behind = BEHIND.load(store);
  if (behind === undefined) return;
  const isOver = Math.abs(nowMs - Date.parse(behind.at)) > DAY_MS;
  const waitMs = WAITS_MS[behind.step] ?? WAIT_LONGEST_MS;
  BEHIND.save(store, isOver ? undefined : { ...behind, step: behind.step + 1, dueAt: isoTime(nowMs + waitMs) });
}

function timeOf(text: string | undefined, timezone: string): bigint | undefined {
  return readTimestamp(text ?? null, timezone)?.instantNs;
}
