/** First wait after a failure. Short, because most failures are a restart of something. */
const FIRST_MS = 2_000;
/** Longest wait: a service that comes back after hours is noticed within minutes. */
const LONGEST_MS = 5 * 60_000;

/**
 * How long to wait after `failures` failures in a row, in milliseconds: doubling, bounded, and between half of it and
 * all of it by chance, so that many bridges do not come back at one moment.
 * @param random uniform in [0, 1)
 */
export function backoffMs(failures: number, random: number): number {
  const full = Math.min(FIRST_MS * 2 ** Math.max(0, failures - 1), LONGEST_MS);
  return full * (0.5 + random / 2);
}
