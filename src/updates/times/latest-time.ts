/* The latest time that the service can have written by now. A later timestamp is in the future and proves nothing. */

import type { ServedTimestamp } from "../../answers/timestamp.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadWatermark, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { DAY_NS, MS_NS } from "../../platform/durations.ts";
import { isoTime } from "../../platform/ports.ts";
import { AHEAD_MS, instantOf, isFromFuture, liesAhead } from "../pages/follow.ts";
import { AHEAD, loadLearned } from "./learned-rows.ts";

/** The wrong times may lie as far apart. */
const APART_NS = DAY_NS;
/** The soonest are kept: a later one is noted again where it is still listed. */
const WRONG_DAYS_MAX = 366;

type Context = Pick<JobContext, "store" | "client" | "clock">;

/**
 * The service's own clock; without `Date`, once changes have shown that times ahead of this machine's clock were wrong
 * (`look-near.ts`), that clock plus an hour, unless it was set back since; within the day before the last of those times comes,
 * and on the days of those ignored since, that clock alone. Undefined where it is unknown.
 */
export function latestTime({ store, client, clock }: Context, timezone: string): string | undefined {
  const ahead = AHEAD.load(store);
  if (client.serviceNow !== undefined || ahead?.isProven !== true) return client.serviceNow;
  const nowMs = clock.nowMs();
  const isSetBack = liesAhead(loadWatermark(store, UPDATES_STREAM), nowMs, loadLearned(store).form, { timezone });
  if (isSetBack) return undefined;
  // The wrong times are listed on: within the hour before they come, the tolerance would take them for right.
  const wrongNs = instantOf(ahead.watermark, timezone) ?? 0n;
  const nowNs = BigInt(Math.floor(nowMs)) * MS_NS;
  const aheadNs = aheadOf(nowMs);
  const areNear =
    (wrongNs > nowNs && wrongNs <= nowNs + APART_NS) ||
    ahead.wrongDays?.some((day) => day === dayOf(nowNs) || day === dayOf(aheadNs));
  return isoTime(areNear ? nowMs : nowMs + AHEAD_MS);
}

/** Adds the days of the timestamps that lie ahead of this machine's clock. */
export function addDaysAhead(
  days: Set<number>,
  timestamps: readonly (ServedTimestamp | undefined)[],
  nowMs: number,
): void {
  const aheadNs = aheadOf(nowMs);
  for (const timestamp of timestamps)
    if (timestamp !== undefined && timestamp.instantNs > aheadNs) days.add(dayOf(timestamp.instantNs));
}

/** The days to save; undefined where no new one is kept. */
export function planWrongDays(
  known: readonly number[],
  added: ReadonlySet<number>,
  nowMs: number,
): readonly number[] | undefined {
  const today = dayOf(BigInt(Math.floor(nowMs)) * MS_NS);
  const days = [...new Set([...known, ...added])].filter((day) => day >= today).sort((a, b) => a - b);
  const kept = days.slice(0, WRONG_DAYS_MAX);
  return kept.every((day) => known.includes(day)) ? undefined : kept;
}

function aheadOf(nowMs: number): bigint {
  return BigInt(Math.floor(nowMs) + AHEAD_MS) * MS_NS;
}

function dayOf(ns: bigint): number {
  return Number(ns / DAY_NS);
}

/** Whether a timestamp of an order or a change is in the service's future. */
export function isOfFuture(context: Context, timestamp: string, timezone: string): boolean {
  return isFromFuture(timestamp, latestTime(context, timezone), timezone);
}
