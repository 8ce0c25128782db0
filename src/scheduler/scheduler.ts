/*
 * Fires jobs by their cron patterns, in UTC, because a zone with summer time makes node-cron pause for an hour. A
 * supervisor on the monotonic clock stands beside it: when the wall clock is set back, node-cron falls silent until
 * the clock has caught up, and orders would wait with it.
 */
import { createTask, type ScheduledTask } from "node-cron";
import { asError } from "../domain/errors.ts";
import type { Log } from "../domain/ports.ts";
import type { JobRunner } from "./job-runner.ts";

const TICK_MS = 1_000;
/** A job that has not begun for so many of its own intervals is begun by the supervisor. */
const LATE_FACTOR = 1.5;
const SAMPLED_RUNS = 6;

export interface ScheduleEntry {
  pattern: string;
  runner: JobRunner;
  /** Said to the job before a pass of this entry: look back further, compare everything. */
  before?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

export class Scheduler {
  readonly #log: Log;
  readonly #tasks: ScheduledTask[];
  readonly #stop = new AbortController();
  readonly #intervals = new Map<JobRunner, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(entries: readonly ScheduleEntry[], log: Log) {
    this.#log = log;
    this.#tasks = entries.map((entry) => {
      const options = { timezone: "UTC", noOverlap: true, suppressMissedWarning: true };
      const task = createTask(entry.pattern, () => this.#fire(entry), options);
      if (entry.before === undefined) this.#intervals.set(entry.runner, longestIntervalMs(task));
      return task;
    });
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The longest time between two passes of each job, in milliseconds. */
  get intervals(): ReadonlyMap<JobRunner, number> {
    return this.#intervals;
  }

  /** Runs every job once, then by schedule. */
  start(): void {
    for (const task of this.#tasks) void task.start();
    for (const runner of this.#intervals.keys()) runner.trigger(this.signal);
    this.#timer = setInterval(() => this.tick(), TICK_MS);
  }

  async #fire(entry: ScheduleEntry): Promise<void> {
    try {
      await entry.before?.(this.signal);
    } catch (error) {
      this.#log.warn({ job: entry.runner.name, errorCode: asError(error).code }, `${entry.runner.name}: could not be prepared.`);
    }
    entry.runner.trigger(this.signal);
  }

  /** One look of the supervisor: retries that are due, and jobs that the wall clock has forgotten. */
  tick(): void {
    for (const [runner, intervalMs] of this.#intervals) {
      if (runner.isRunning) continue;
      runner.retryIfDue(this.signal);
      if (runner.sinceLastStartMs() > intervalMs * LATE_FACTOR + TICK_MS) runner.trigger(this.signal);
    }
  }

  /** No new passes. Those under way are left alone until `abort`. */
  pause(): void {
    clearInterval(this.#timer);
    for (const task of this.#tasks.splice(0)) void task.destroy();
  }

  /** Ends passes under way at their next step. */
  abort(): void {
    this.pause();
    this.#stop.abort();
  }
}

/** The longest time between two runs of a pattern, in milliseconds; irregular patterns by their next few runs. */
function longestIntervalMs(task: ScheduledTask): number {
  const times = task.getNextRuns(SAMPLED_RUNS).map((date) => date.getTime());
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return Math.max(...gaps, TICK_MS);
}
