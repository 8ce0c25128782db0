/*
 * How much later than an order's own timestamp the changes list it: some services write the change log by a trigger, a queue or a second
 * machine, with a clock or a moment of its own. A read made after such a change has the announced version, although it looks older.
 * Learned from reads that brought something new, and from changes of which the order had shown everything before: our own statuses are read
 * before they are listed. Pure but for its row in `learned_answers`.
 */
import { isOlder, parseTimestamp } from "../answers/timestamp.ts";
import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";

export interface ChangeLag {
  /** How far the newest reads that brought something new were behind what announced them, in nanoseconds. */
  behind: readonly string[];
  /** The same of changes that said nothing which was not stored already, each at its first read; gone with the first read as announced. */
  alike?: readonly string[];
  /** How many reads in a row have had exactly the announced timestamp. */
  equal: number;
}

/** So many reads make a lag, and so many without one make an end of it. */
const READS_MIN = 3;
/** The lag is the longest of so many. */
const READS_MAX = 10;
/** What is further behind is an older version, of a replica or a cache. */
const LAG_MAX_NS = 5n * 60n * 1_000_000_000n;

/** Within which the lags of changes that said nothing new are one lag. */
const STEADY_NS = 10n * 1_000_000_000n;

export const NO_LAG: ChangeLag = { behind: [], equal: 0 };

interface ReadChange {
  /** The timestamp of the change that announced the order, and that of the answer for the order. */
  announced: string | null;
  own: string | null;
  /** The answer was newer than what was stored. */
  isNews: boolean;
  /** It was not, and the change says what it shows; at the first read of a change. */
  isAlike?: boolean;
}

/** How far an answer is behind the change that announced it; undefined where it is not, or cannot be compared. */
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

/** Another change that says the same comes after any time; a list that is written later does so after much the same one. */
function isSteady(alike: readonly string[]): boolean {
  const sorted = alike.map(BigInt).sort((a, b) => Number(a - b));
  const [least, most] = [sorted[0], sorted.at(-1)];
  return sorted.length >= READS_MIN && least !== undefined && most !== undefined && most - least <= STEADY_NS;
}

/** Whether the answer is what the change announced although its timestamp is earlier. */
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

/** Inside a transaction. */
export function saveLag(store: Store, lag: ChangeLag): void {
  TOPIC.save(store, "lag", lag);
}
