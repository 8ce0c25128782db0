/*
 * How many orders are read in the background: by the comparison, or because of records that change no status. A service
 * that grants a number of requests an hour asks all to wait for the rest of the hour once that is used up; reads that
 * nobody waits for must leave room for what is due. Pure; times are wall-clock milliseconds, because where each pass is
 * a process there are no others.
 */

import type { HoldPlan } from "../../pass/holds.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../platform/durations.ts";

/** A shorter wait comes from a limit per second or minute, or from a brief trouble. */
const LONG_WAIT_MS = 5 * MINUTE_MS;
/** Reads are spread over an hour in slots of this length. */
const SLOT_MS = 5 * MINUTE_MS;
const SLOTS_PER_HOUR = HOUR_MS / SLOT_MS;
/** So that nothing waits for ever: 1,500 orders take three days. */
const PER_HOUR_MIN = 20;
/** A larger limit is none. */
const PER_HOUR_MAX = 10_000;
/** A quota that stays is tried less and less often: each trial that fails costs the rest of an hour. */
const DAYS_MAX = 16;

export interface ReadBudget {
  /** Reads of the last hour. */
  reads: readonly (readonly [slot: number, count: number])[];
  /** Absent where there is no limit. `sinceMs`: since when no long wait was asked for; after so many `days` it doubles. */
  limit?: { perHour: number; sinceMs: number; days: number } | undefined;
}

/** Whether a hold is of all requests for orders, as after a quota, and long. */
export function isLongWait({ area, scope, reason, probeAfterMs }: HoldPlan): boolean {
  return area === "orders" && scope === "area" && reason === "rate limit" && (probeAfterMs ?? 0) >= LONG_WAIT_MS;
}

/** The budget once the service has asked all to wait for long. Fewer reads than those that are always granted were not the cause. */
export function planAfterWait(budget: ReadBudget, nowMs: number): ReadBudget {
  const { limit } = budget;
  const made = recentOf(budget, nowMs).reduce((sum, [, count]) => sum + count, 0);
  if (made < 2 * PER_HOUR_MIN) return limit === undefined ? budget : { ...budget, limit: { ...limit, sinceMs: nowMs } };
  const perHour = Math.max(PER_HOUR_MIN, Math.floor(Math.min(made, limit?.perHour ?? made) / 2));
  const days = limit === undefined ? 1 : Math.min(2 * limit.days, DAYS_MAX);
  // Those after the wait are counted anew: another wait that asks for the same is not caused by these.
  return { reads: [], limit: { perHour, sinceMs: nowMs, days } };
}

/**
 * How many reads may be made now; infinite where there is no limit.
 * @param part of a slot that may be used up by these reads
 */
export function roomOf(budget: ReadBudget, nowMs: number, part = 1): number {
  const limit = limitAt(budget, nowMs);
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  const perSlot = Math.ceil((part * limit.perHour) / SLOTS_PER_HOUR);
  return Math.max(0, perSlot - countOf(recentOf(budget, nowMs), slotOf(nowMs)));
}

/** Milliseconds until there is more room. */
export function nextRoomMs(nowMs: number): number {
  return SLOT_MS - (nowMs % SLOT_MS);
}

/** Takes as many reads from the budget as are wanted, or as there is room for. */
export function planTaking(
  budget: ReadBudget,
  { wanted, nowMs, part }: { wanted: number; nowMs: number; part?: number },
): { taken: number; budget: ReadBudget } {
  const taken = Math.min(wanted, roomOf(budget, nowMs, part));
  const slot = slotOf(nowMs);
  const recent = recentOf(budget, nowMs);
  const others = recent.filter(([each]) => each !== slot);
  const limit = limitAt(budget, nowMs);
  const reads = [...others, [slot, countOf(recent, slot) + taken] as const];
  return { taken, budget: { reads, ...(limit !== undefined && { limit }) } };
}

/** Once a look, so that a clock that jumps does not end it. */
function limitAt({ limit }: ReadBudget, nowMs: number): ReadBudget["limit"] {
  if (limit === undefined || Math.abs(nowMs - limit.sinceMs) < limit.days * DAY_MS) return limit;
  const perHour = 2 * limit.perHour;
  return perHour > PER_HOUR_MAX ? undefined : { ...limit, perHour, sinceMs: nowMs };
}

/** Without those of a clock that was ahead. */
function recentOf({ reads }: ReadBudget, nowMs: number): ReadBudget["reads"] {
  const now = slotOf(nowMs);
  return reads.filter(([slot]) => slot <= now && slot >= now - SLOTS_PER_HOUR);
}

function countOf(reads: ReadBudget["reads"], slot: number): number {
  return reads.find(([each]) => each === slot)?.[1] ?? 0;
}

function slotOf(nowMs: number): number {
  return Math.floor(nowMs / SLOT_MS);
}
