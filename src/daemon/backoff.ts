import { backoffMs } from "../platform/backoff.ts";

/** First wait after a failure. Short, because most failures are restarts. */
const FIRST_MS = 2_000;
/** Longest wait: a service that returns after hours is noticed within minutes. */
const LONGEST_MS = 5 * 60_000;

/**
 * How long to wait after `failures` failures in a row, in milliseconds: doubles up to a limit, with random jitter of up
 * to half, so that many bridges do not return at the same moment.
 * @param random uniform in [0, 1)
 */
export function passBackoffMs(failures: number, random: number): number {
  const full = backoffMs({ firstMs: FIRST_MS, longestMs: LONGEST_MS }, failures);
  return full * (0.5 + random / 2);
}
