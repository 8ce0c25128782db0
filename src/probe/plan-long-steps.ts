/*
 * Whether timestamps of orders are so coarse that it matters to a shop: a second change within one step has the same
 * timestamp and is found only when the order is read again (`orders/second-reads.ts`), which may be an hour later.
 */

import { parseTimestamp, stepNs } from "../answers/timestamp.ts";
import { DAY_NS } from "../platform/durations.ts";

/** Changes within shorter steps are found within minutes. */
const STEP_MIN_NS = 5n * 60n * 1_000_000_000n;
/** So many different timestamps are evidence, unless they are dates alone. */
const DIFFERENT_MIN = 10;

/**
 * One of the timestamps, where they are coarse.
 * @param texts timestamps of the newest orders
 */
export function findLongSteps(texts: readonly (string | null)[]): string | undefined {
  // The step is one of the displayed clock, so the zone does not matter.
  const parsed = texts.flatMap((text) => {
    const timestamp = text === null ? undefined : parseTimestamp(text, "UTC");
    return text === null || timestamp === undefined ? [] : [{ text, timestamp }];
  });
  const [first, ...others] = parsed;
  if (first === undefined || parsed.length < texts.length) return undefined;
  const isDates = parsed.every(({ timestamp }) => timestamp.form.precision === "day");
  const different = new Set(parsed.map(({ timestamp }) => timestamp.instantNs)).size;
  const step = stepNs(
    first.timestamp,
    others.map(({ timestamp }) => timestamp),
  );
  return isDates || (different >= DIFFERENT_MIN && step > STEP_MIN_NS && step <= DAY_NS) ? first.text : undefined;
}
