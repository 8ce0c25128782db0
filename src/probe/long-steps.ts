/*
 * Whether the timestamps of orders go in steps so long that a shop should know of it: a second change within one has the same timestamp, and
 * is met when the order is read again (`orders/second-reads.ts`), which may be an hour later.
 */
import { parseTimestamp, stepNs } from "../answers/timestamp.ts";
import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";

interface LongSteps {
  /** One of the timestamps, and when they were noticed; both are missing where there is nothing to tell. */
  text?: string;
  at?: string;
  isSeen?: boolean;
}

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

const TOPIC = new LearnedTopic<LongSteps>("changes", {});
const PLACE = "steps";

export function loadLongSteps(store: Store): LongSteps {
  return TOPIC.load(store, PLACE);
}

/** Inside a transaction. Returns whether they were noticed for the first time. */
export function noteLongSteps(store: Store, text: string | undefined, at: string): boolean {
  const isTold = loadLongSteps(store).text !== undefined;
  if (isTold === (text !== undefined)) return false;
  TOPIC.save(store, PLACE, text === undefined ? {} : { text, at, isSeen: false });
  return !isTold;
}

/** A person has seen it. */
export function markLongStepsSeen(store: Store): void {
  const steps = loadLongSteps(store);
  if (steps.text !== undefined) TOPIC.save(store, PLACE, { ...steps, isSeen: true });
}
