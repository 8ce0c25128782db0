import type { Store } from "../database/store.ts";
import { firstOrderKeySince, loadSuccesses, nextOrderKey } from "../health/monitor.ts";
import { longestAges } from "../health/site-age.ts";
import { HOUR_MS } from "../platform/durations.ts";
import { isoTime } from "../platform/ports.ts";

const DAYS = 14;
const HOURS = 24;
/** A pass a minute makes 1,440 a day; with more frequent passes the oldest hours are unknown. */
const PASSES_MAX = 5_000;

export interface Charts {
  /** Days in the machine's time zone, ending today. */
  days: { date: Date; count: number }[];
  /** The greatest age of the stock on the site in each hour; null: unknown. */
  hours: { date: Date; ageS: number | null }[];
}

export class ChartLoader {
  readonly #store: Store;
  /** The first order key of each day, cached: it does not change once the day has begun. */
  #firstKeys = new Map<number, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  load(nowMs: number): Charts {
    return { days: this.#loadDays(new Date(nowMs)), hours: loadHours(this.#store, nowMs) };
  }

  /** Midnights by the calendar, because a day with a clock change has 23 or 25 hours. */
  #loadDays(now: Date): Charts["days"] {
    const dates = Array.from(
      { length: DAYS },
      (_, index) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - DAYS + 1 + index),
    );
    const keys = dates.map((date) => {
      return this.#firstKeys.get(date.getTime()) ?? firstOrderKeySince(this.#store, isoTime(date.getTime()));
    });
    this.#firstKeys = new Map(dates.map((date, index) => [date.getTime(), keys[index] ?? 0]));
    const ends = [...keys.slice(1), nextOrderKey(this.#store)];
    return dates.map((date, index) => ({ date, count: Math.max(0, (ends[index] ?? 0) - (keys[index] ?? 0)) }));
  }
}

function loadHours(store: Store, nowMs: number): Charts["hours"] {
  const hour = new Date(nowMs).setMinutes(0, 0, 0);
  const fromMs = hour - (HOURS - 1) * HOUR_MS;
  const successes = loadSuccesses(store, "stocks", isoTime(fromMs), PASSES_MAX).map((at) => Date.parse(at));
  const ages = longestAges(successes, { fromMs, toMs: Math.max(nowMs, hour + 1), spanMs: HOUR_MS });
  return ages.map((ageS, index) => ({ date: new Date(fromMs + index * HOUR_MS), ageS }));
}
