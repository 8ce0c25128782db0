/** The clocks at one moment, without the wall clock, which may jump. */
export interface Moment {
  /** Monotonic clock of this process; undefined for a moment noted by another process. */
  monotonicMs: number | undefined;
  /** The service's `Date`. */
  serviceDate: string | null;
}

/**
 * At least how long ago a time of the machine's monotonic clock was, also where another process noted it. One that is later
 * than now was noted before the machine's last start.
 */
export function leastAgoMs(thenMs: number, nowMs: number): number {
  return thenMs <= nowMs ? nowMs - thenMs : nowMs;
}

/** Whether at least `ms` lie between two moments. False if no clock shows both. */
export function hasPassed(first: Moment, now: Moment, ms: number): boolean {
  if (first.monotonicMs !== undefined && now.monotonicMs !== undefined)
    return now.monotonicMs - first.monotonicMs >= ms;
  return Date.parse(now.serviceDate ?? "") - Date.parse(first.serviceDate ?? "") >= ms;
}
