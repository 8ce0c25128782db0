import { isoTime } from "../domain/ports.ts";
import { longestAges } from "../domain/site-age.ts";
import { countOrdersBetween, loadSuccesses } from "../store/monitor.ts";
import type { Store } from "../store/store.ts";

export const DAYS = 14;
export const HOURS = 24;
const HOUR_MS = 3_600_000;
/** A pass a minute for a day takes 1,440; with more frequent ones the older hours are not known. */
const PASSES_MAX = 5_000;

export interface Charts {
  /** Days of the machine's own zone, the last one today. */
  days: { date: Date; count: number }[];
  /** The age of the stock on the site at its greatest; null: not known. */
  hours: { date: Date; ageS: number | null }[];
}

export function loadCharts(store: Store, nowMs: number): Charts {
  const now = new Date(nowMs);
  // Midnights by the calendar: a day of summer time has 23 hours or 25.
  const midnights = Array.from(
    { length: DAYS + 1 },
    (_, index) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - DAYS + 1 + index),
  );
  const counts = countOrdersBetween(
    store,
    midnights.map((date) => isoTime(date.getTime())),
  );
  const hour = new Date(nowMs).setMinutes(0, 0, 0);
  const fromMs = hour - (HOURS - 1) * HOUR_MS;
  const successes = loadSuccesses(store, "stocks", isoTime(fromMs), PASSES_MAX).map((at) => Date.parse(at));
  const ages = longestAges(successes, { fromMs, toMs: Math.max(nowMs, hour + 1), spanMs: HOUR_MS });
  return {
    days: counts.map((count, index) => ({ date: midnights[index] ?? now, count })),
    hours: ages.map((ageS, index) => ({ date: new Date(fromMs + index * HOUR_MS), ageS })),
  };
}
