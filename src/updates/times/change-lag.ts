/*
 * The lag of the change list: some services write their change log by a trigger, a queue or a second machine, with a
 * later timestamp than the order's own. A read made after such a change has the announced version although its
 * timestamp is earlier. The lag is learned from reads that changed the order, and from changes already stored when they
 * were listed, such as our own statuses. Pure, except for its row in `learned_answers`.
 */
import { isOlder, parseTimestamp } from "../../answers/timestamp.ts";
import type { Store } from "../../database/store.ts";
import { LearnedTopic } from "../../pass/learned-rows.ts";

export interface ChangeLag {
  /** How far the last reads that changed the order were behind their change, in nanoseconds. */
  behind: readonly string[];
  /**
   * The same for changes whose content was already stored, at their first read; cleared by the first read with
   * exactly the timestamp of its change.
   */
  alike?: readonly string[];
  /** How many reads in a row had exactly the timestamp of their change. */
  equal: number;
}

/** So many reads establish a lag, and so many equal timestamps in a row end it. */
const READS_MIN = 3;
/** The lag is the largest of so many. */
const READS_MAX = 10;
/** Anything further behind is an older version, from a replica or a cache. */
const LAG_MAX_NS = 5n * 60n * 1_000_000_000n;

/** Lags of changes without new content count as one if they differ by no more. */
const STEADY_NS = 10n * 1_000_000_000n;

export const NO_LAG: ChangeLag = { behind: [], equal: 0 };

interface ReadChange {
  /** The timestamps of the change and of the order's answer. */
  announced: string | null;
  own: string | null;
  /** The answer changed the stored order. */
  isNews: boolean;
  /** It did not, and the change has the same content; first reads only. */
  isAlike?: boolean;
}

/** How far an answer is behind its change; undefined where it is not, or cannot be compared. */
function behindNs({ announced, own }: Pick<ReadChange, "announced" | "own">, zone: string): bigint | undefined {
  if (announced === null || own === null || !isOlder(own, announced, zone)) return undefined;
  const [later, earlier] = [parseTimestamp(announced, zone), parseTimestamp(own, zone)];
  return later === undefined || earlier === undefined ? undefined : later.instantNs - earlier.instantNs;
}

export function learnLag(lag: ChangeLag, read: ReadChange, zone: string): ChangeLag {
  const ns = behindNs(read, zone);
  if (ns === undefined) {
    if (read.announced === null || read.announced !== read.own) return lag;
    const equal = Math.min(lag.equal + 1, READS_MIN);
    return { behind: equal < READS_MIN ? lag.behind : [], equal };
  }
  if (ns > LAG_MAX_NS) return lag;
  if (read.isNews) return { ...lag, behind: [...lag.behind, String(ns)].slice(-READS_MAX), equal: 0 };
  if (read.isAlike !== true) return lag;
  return { ...lag, alike: [...(lag.alike ?? []), String(ns)].slice(-READS_MIN), equal: 0 };
}

/** Changes without new content may be repetitions at any time; those of a delayed list have about the same lag. */
function isSteady(alike: readonly string[]): boolean {
  const sorted = alike.map(BigInt).sort((a, b) => Number(a - b));
  const [least, most] = [sorted[0], sorted.at(-1)];
  return sorted.length >= READS_MIN && least !== undefined && most !== undefined && most - least <= STEADY_NS;
}

/** Whether the answer includes the change although its timestamp is earlier. */
export function isWithinLag(lag: ChangeLag, read: Pick<ReadChange, "announced" | "own">, zone: string): boolean {
  const ns = behindNs(read, zone);
  if (ns === undefined) return false;
  const { behind, alike = [] } = lag;
  if (behind.length >= READS_MIN && behind.some((known) => ns <= BigInt(known))) return true;
  return isSteady(alike) && alike.some((known) => ns <= BigInt(known) + STEADY_NS);
}

const TOPIC = new LearnedTopic<ChangeLag>("changes", NO_LAG);

export function loadLag(store: Store): ChangeLag {
  return TOPIC.load(store, "lag");
}

/** To be called inside a transaction. */
export function saveLag(store: Store, lag: ChangeLag): void {
  TOPIC.save(store, "lag", lag);
}
