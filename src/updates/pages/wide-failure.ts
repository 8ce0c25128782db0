/*
 * A wide re-poll of changes that the service does not answer. Many services fail at a wide range, for its size or because of one
 * record in it, and answer a narrow one: the re-poll then comes after new changes, ever more seldom and narrower, so that it
 * keeps none of them from being stored.
 */

import type { JobContext } from "../../pass/job.ts";
import { leastAgoMs } from "../../pass/machine-clock.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { HOUR_MS, MINUTE_MS } from "../../platform/durations.ts";
import { isoTime } from "../../platform/ports.ts";
import { WIDE_FAILURE, type WideFailure } from "../times/learned-rows.ts";

const WAIT_FIRST_MS = 5 * MINUTE_MS;
const WAIT_MAX_MS = HOUR_MS;

/** Whether the next one may be sent: 5, 10, 20, 40 minutes, then an hour after the last one. */
export function isWideDue({ lastMs, tries }: WideFailure, nowMs: number): boolean {
  return leastAgoMs(lastMs, nowMs) >= backoffMs({ firstMs: WAIT_FIRST_MS, longestMs: WAIT_MAX_MS }, tries);
}

/** How far the next one reaches back (whole ms): as far once more, because the service may have been down, then half as far each time. */
export function narrow({ tries }: WideFailure, lookBackMs: number, overlapMs: number): number {
  return Math.max(Math.ceil(lookBackMs / 2 ** (tries - 1)), overlapMs);
}

/** To be called inside a write transaction. */
export function noteWideFailure({ store, clock }: Pick<JobContext, "store" | "clock">): void {
  const { since = isoTime(clock.nowMs()), tries = 0 } = WIDE_FAILURE.load(store) ?? {};
  WIDE_FAILURE.save(store, { since, lastMs: clock.monotonicMs(), tries: tries + 1 });
}
