/*
 * Whether the timestamps of orders go in steps so long that it matters to a shop: a second change within one has the
 * same timestamp, and is met when the order is read again (`orders/second-reads.ts`), which may be an hour later.
 */
import { parseTimestamp, stepNs } from "../answers/timestamp.ts";

/** What is shorter is met within minutes. */
const TOLD_NS = 5n * 60n * 1_000_000_000n;
const DAY_NS = 86_400_000_000_000n;
/** So many different ones show it, unless they are dates alone. */
const DIFFERENT_MIN = 10;

/** One of the timestamps, where they go in long steps. @param texts of the newest orders */
export function findLongSteps(texts: readonly (string | null)[]): string | undefined {
  // A step is one of what the clock shows, wherever that clock stands.
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
  return isDates || (different >= DIFFERENT_MIN && step > TOLD_NS && step <= DAY_NS) ? first.text : undefined;
}
