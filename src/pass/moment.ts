/** The clocks at one moment. The wall clock is not among them: it jumps. */
export interface Moment {
  /** Of this process; undefined for a moment that another process saw. */
  monotonicMs: number | undefined;
  /** The service's `Date`. */
  serviceDate: string | null;
}

/** Whether at least `ms` lie between two moments. Where no clock has shown both of them they do not. */
export function hasPassed(first: Moment, now: Moment, ms: number): boolean {
  if (first.monotonicMs !== undefined && now.monotonicMs !== undefined)
    return now.monotonicMs - first.monotonicMs >= ms;
  return Date.parse(now.serviceDate ?? "") - Date.parse(first.serviceDate ?? "") >= ms;
}
