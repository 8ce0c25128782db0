/* Durations in milliseconds and nanoseconds. The files that `status` loads have their own, as each file that it loads makes it slower. */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export const MS_NS = 1_000_000n;
export const SECOND_NS = 1000n * MS_NS;
export const MINUTE_NS = 60n * SECOND_NS;
export const DAY_NS = 24n * 60n * MINUTE_NS;
