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
  /** From where the next request asks for changes, less the overlap, in the service's times; until the first one the time of an order. */
  fromMs: number;
  /** When the last of them came, by this machine's clock. */
  at: string;
  /** Requests since the first of them. */
  step: number;
  dueAt: string;
}

const BEHIND = new MetaValue<OrdersBehind | undefined>("orders_behind");

type Clocks = Pick<JobContext, "store" | "client" | "clock">;

/** Time zones differ by a quarter of an hour at least; an order that has waited for a moment is no sign. */
const BEHIND_MIN_MS = 15 * MINUTE_MS;
/** Zones differ by no more than this; an order further behind the position has waited at the service. */
const BEHIND_MAX_MS = 26 * 60 * MINUTE_MS;
const WAITS_MS = [5, 10].map((minutes) => minutes * MINUTE_MS);
const WAIT_LONGEST_MS = 20 * MINUTE_MS;

/** To be called inside the transaction that has stored a new order of a batch. */
export function noteNewOrder({ store, client, clock }: Clocks, timezone: string): void {
  const positions = [UPDATES_STREAM, TIME_STREAM].map((stream) => msOf(loadWatermark(store, stream), timezone));
  const position = positions.find((each) => each !== undefined);
  const order = msOf(loadNewestTimestamp(store) ?? undefined, timezone);
  if (position === undefined || order === undefined || !hasFollowed(store)) return;
  const byMs = serviceMs({ client, clock }) - order;
  // An order with a time of the present shows that the position lies ahead.
  if (Math.min(position - order, byMs) < BEHIND_MIN_MS || position - order > BEHIND_MAX_MS) return;
  const known = BEHIND.load(store);
  const at = isoTime(clock.nowMs());
  BEHIND.save(store, {
    ...(known ?? { step: 0, dueAt: at }),
    byMs: Math.max(byMs, known?.byMs ?? 0),
    fromMs: Math.min(order, position - byMs, known?.fromMs ?? order),
    at,
  });
}

/**
 * By how much at most the service's times were set back, in milliseconds: how far behind the orders were that came since, the
 * last of them within a day. 0 where none did.
 */
export function loadBehindMs(store: Store): number {
  return BEHIND.load(store)?.byMs ?? 0;
}

/** From when changes are due to be requested again, in the service's times (UTC, ISO 8601); undefined where they are not. */
export function findBehind(
  { store, clock }: Pick<JobContext, "store" | "clock">,
  overlapMs: number,
): string | undefined {
  const behind = BEHIND.load(store);
  if (behind === undefined) return undefined;
  const waitMs = Date.parse(behind.dueAt) - clock.nowMs();
  // No wait is so long: the clock was set back.
  return waitMs <= 0 || waitMs > 2 * WAIT_LONGEST_MS ? isoTime(behind.fromMs - overlapMs) : undefined;
}

/** To be called inside the transaction that requests them. A day after the last of these orders it is the last request. */
export function moveBehind({ store, client, clock }: Clocks): void {
  const behind = BEHIND.load(store);
  if (behind === undefined) return;
  const nowMs = clock.nowMs();
  const isOver = Math.abs(nowMs - Date.parse(behind.at)) > DAY_MS;
  const dueAt = isoTime(nowMs + (WAITS_MS[behind.step] ?? WAIT_LONGEST_MS));
  const fromMs = serviceMs({ client, clock }) - behind.byMs;
  BEHIND.save(store, isOver ? undefined : { ...behind, fromMs, step: behind.step + 1, dueAt });
}

function serviceMs({ client, clock }: Pick<JobContext, "client" | "clock">): number {
  return client.serviceNow === undefined ? clock.nowMs() : Date.parse(client.serviceNow);
}

function msOf(text: string | undefined, timezone: string): number | undefined {
  const timestamp = readTimestamp(text ?? null, timezone);
  return timestamp && Number(timestamp.instantNs / MS_NS);
}
