import { parseTimestamp } from "../answers/timestamp.ts";

/** Applies even to 0 or a time in the past: a limit was reached, so at least one window should pass. */
export const RETRY_AFTER_MIN_MS = 1_000;

/** A wrong clock or unit may mean years; after an hour one more request does no harm, and orders are waiting. */
export const RETRY_AFTER_MAX_MS = 3_600_000;

/** As a number of seconds this would be 31 years: larger numbers are epoch seconds, from {@link EPOCH_MS_FROM} on milliseconds. */
const EPOCH_SECONDS_FROM = 1e9;
const EPOCH_MS_FROM = 1e12;

/**
 * How long the service asks us to wait, in milliseconds between {@link RETRY_AFTER_MIN_MS} and
 * {@link RETRY_AFTER_MAX_MS}. Accepts seconds (with fractions), HTTP and ISO dates, epoch seconds and milliseconds; a
 * negative or past time is the minimum. Of several headers the longest wait counts. Undefined without a readable header:
 * the caller's own backoff then applies.
 * @param nowMs the time of the answer on the clock of the service
 */
export function readRetryAfter(header: string | string[] | undefined, nowMs: number): number | undefined {
  const headers = header === undefined ? [] : [header].flat();
  const waits = headers.map((text) => waitMs(text.trim(), nowMs)).filter((wait) => wait !== undefined);
  if (waits.length === 0) return undefined;
  return Math.min(Math.max(Math.ceil(Math.max(...waits)), RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
}

function waitMs(text: string, nowMs: number): number | undefined {
  if (/^[+-]?[0-9]+(?:\.[0-9]+)?$/.test(text)) {
    const number = Number(text);
    if (number >= EPOCH_MS_FROM) return number - nowMs;
    return number >= EPOCH_SECONDS_FROM ? number * 1000 - nowMs : number * 1000;
  }
  const timestamp = parseTimestamp(text, "UTC");
  return timestamp === undefined ? undefined : Number(timestamp.instantNs / 1_000_000n) - nowMs;
}
