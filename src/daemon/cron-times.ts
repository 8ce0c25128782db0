/*
 * When a cron pattern is due, in a time zone. node-cron reads the patterns. Where clocks are set back it leaves out the first of
 * the two equal hours, and where they are set forward a time that does not exist falls out for that day. So a pattern is also
 * asked under the offset that holds now: everything that is due several times a day keeps its distance, and what has a fixed hour
 * runs once on either day.
 */
import { createTask, type ScheduledTask } from "node-cron";
import { zoneOffset } from "../answers/timestamp.ts";

/** Enough to see the night of a pattern that runs every minute of the day, without making the start slow. */
const SAMPLED_RUNS_MAX = 700;
const SHORTEST_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * Patterns whose runs are all the same time apart, with the unit of their step and the longest that a step can be: every few
 * seconds, every few minutes, once an hour, once a day. Where a minute or an hour is no multiple of the step, the run after its end comes sooner.
 */
const EVEN: readonly [form: RegExp, unitMs: number, longestMs: number][] = [
  [/^\*(?:\/(\d+))?(?: \*){5}$/, 1_000, MINUTE_MS],
  [/^(?:\d+ )?\*(?:\/(\d+))?(?: \*){4}$/, MINUTE_MS, HOUR_MS],
  [/^(?:\d+ )?\d+(?: \*){4}$/, HOUR_MS, HOUR_MS],
  [/^(?:\d+ )?\d+ \d+(?: \*){3}$/, 24 * HOUR_MS, 24 * HOUR_MS],
];

export class CronTimes {
  readonly #pattern: string;
  readonly #zone: string;
  readonly #hasFixedHour: boolean;
  /** Made when it is first asked for its next runs; never started. */
  #made: ScheduledTask | undefined;
  /** The same by offset. A zone has few. */
  readonly #fixed = new Map<number, ScheduledTask>();

  constructor(pattern: string, zone: string) {
    this.#pattern = pattern.trim();
    this.#zone = zone;
    this.#hasFixedHour = /^\d+$/.test(this.#pattern.split(/ +/).at(-4) ?? "");
  }

  get #task(): ScheduledTask {
    this.#made ??= taskOf(this.#pattern, this.#zone);
    return this.#made;
  }

  /** The next run after now. */
  nextMs(nowMs: number): number {
    const inZone = nextOf(this.#task);
    const offsetS = this.#offsetAt(nowMs);
    const fixed = nextOf(this.#taskAt(offsetS));
    if (fixed >= inZone) return inZone;
    const thereS = this.#offsetAt(fixed);
    if (thereS > offsetS) return fixed;
    if (this.#hasFixedHour) return inZone;
    if (thereS === offsetS) return fixed;
    // The second of two equal hours begins before it.
    const later = nextOf(this.#taskAt(thereS));
    return this.#offsetAt(later) === thereS ? Math.min(later, inZone) : inZone;
  }

  /** The longest time between two runs; of uneven patterns, as far as a sample shows it. */
  longestIntervalMs(): number {
    for (const [form, unitMs, longestMs] of EVEN) {
      const found = form.exec(this.#pattern);
      if (found !== null) return Math.min(Number(found[1] ?? 1) * unitMs, longestMs);
    }
    const times = this.#task.getNextRuns(SAMPLED_RUNS_MAX).map((date) => date.getTime());
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
    return gaps.reduce((longest, gap) => Math.max(longest, gap), SHORTEST_MS);
  }

  #offsetAt(ms: number): number {
    return zoneOffset(Math.floor(ms / 1_000), this.#zone);
  }

  #taskAt(offsetS: number): ScheduledTask {
    let task = this.#fixed.get(offsetS);
    if (task === undefined) {
      task = taskOf(this.#pattern, nameOf(offsetS));
      this.#fixed.set(offsetS, task);
    }
    return task;
  }
}

function taskOf(pattern: string, timezone: string): ScheduledTask {
  return createTask(pattern, () => {}, { timezone });
}

/** `+05:30`. */
function nameOf(offsetS: number): string {
  const minutes = Math.abs(Math.trunc(offsetS / 60));
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `${offsetS < 0 ? "-" : "+"}${hour}:${minute}`;
}

function nextOf(task: ScheduledTask): number {
  return task.getNextRuns(1)[0]?.getTime() ?? Number.POSITIVE_INFINITY;
}
