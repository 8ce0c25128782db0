/*
 * When a cron pattern is due in a time zone. node-cron parses the patterns. Where clocks are set back it skips the
 * first of the two equal hours, and where they are set forward it skips a time that does not exist on that day. So each
 * pattern is also evaluated under the present offset: what runs several times a day keeps its interval, and what has a
 * fixed hour runs once on either day.
 */

import { createTask, type ScheduledTask } from "node-cron";
import { zoneOffset } from "../answers/timestamp.ts";
import { HOUR_MS, MINUTE_MS } from "../platform/durations.ts";

/** Enough to include the night of a pattern that runs every minute of the day, without slowing the start. */
const SAMPLED_RUNS_MAX = 700;
const SHORTEST_MS = 1_000;
/**
 * Patterns with a fixed interval, the unit of their step and the longest possible step: every few seconds, every few
 * minutes, hourly, daily. Where the step does not divide a minute or an hour, the first run of the next one comes
 * sooner.
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
  /** Created on first use; never started. */
  #made: ScheduledTask | undefined;
  /** The same by offset. A zone has few offsets. */
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
    // The second of two equal hours starts before it.
    const later = nextOf(this.#taskAt(thereS));
    return this.#offsetAt(later) === thereS ? Math.min(later, inZone) : inZone;
  }

  /** The longest time between two runs, in milliseconds; of irregular patterns the longest within a sample. */
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

/** `+05:30` */
function nameOf(offsetS: number): string {
  const minutes = Math.abs(Math.trunc(offsetS / 60));
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `${offsetS < 0 ? "-" : "+"}${hour}:${minute}`;
}

function nextOf(task: ScheduledTask): number {
  return task.getNextRuns(1)[0]?.getTime() ?? Number.POSITIVE_INFINITY;
}
