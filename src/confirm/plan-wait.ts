import { backoffMs } from "../platform/backoff.ts";

/** First wait of a batch whose confirm is refused while other requests are answered; doubles up to the maximum. */
const WAIT_FIRST_MS = 60_000;
export const WAIT_MAX_MS = 3_600_000;
/** Of a batch that is served again and again. */
const SERVED_WAIT_MAX_MS = 5 * 60_000;

/** An attempt of unknown outcome counts as accepted after so many polls and so long without any of its orders served. */
export const UNSERVED_POLLS = 10;
export const UNSERVED_MS = 3_600_000;

/** The wait of one batch before its confirm is sent again; times are monotonic. */
export interface Wait {
  tries: number;
  untilMs: number;
  /** An answer of the service forbids the confirm until then, whatever else makes it due. */
  refusedUntilMs: number;
}

/** @param refusedMs for how long the service's answer forbids this confirm */
export function beginWait(tries: number, { refusedMs, nowMs }: { refusedMs: number; nowMs: number }): Wait {
  const waitMs = waitOf(tries);
  return { tries, untilMs: nowMs + Math.max(waitMs, refusedMs), refusedUntilMs: nowMs + refusedMs };
}

/**
 * @param is.due it is due for another reason: only the service's own refusal still counts
 * @param is.served the batch has just been served: what comes after it may wait for this confirm
 */
export function isWaiting(
  { tries, untilMs, refusedUntilMs }: Wait,
  is: { due?: boolean; served?: boolean },
  nowMs: number,
): boolean {
  const soonMs = untilMs - waitOf(tries) + SERVED_WAIT_MAX_MS;
  const dueMs = is.due === true ? 0 : is.served === true ? Math.min(untilMs, soonMs) : untilMs;
  return Math.max(dueMs, refusedUntilMs) > nowMs;
}

/** @param outcome.polls answers of the service since then without the batch or one of its orders */
export function isUnserved({ polls, sinceMs }: { polls: number; sinceMs: number }, nowMs: number): boolean {
  return polls >= UNSERVED_POLLS && sinceMs <= nowMs - UNSERVED_MS;
}

function waitOf(tries: number): number {
  return backoffMs({ firstMs: WAIT_FIRST_MS, longestMs: WAIT_MAX_MS }, tries);
}
