/*
 * Starts jobs by their cron patterns. node-cron computes the next run (`cron-times.ts`); waiting is done here, because
 * node-cron's timer stops when the wall clock is set back, and spins through the repeated hour of a zone with summer
 * time (it truncates milliseconds in the machine's zone, whatever zone it is given). A tick a second on the monotonic
 * clock is robust: after a jump of the wall clock the next runs are computed again, and a job that has not started for
 * too long is started in any case.
 */
import { m } from "../messages/messages.ts";
import { asError } from "../platform/errors.ts";
import type { Clock, Log } from "../platform/ports.ts";
import { CronTimes } from "./cron-times.ts";
import type { JobRunner } from "./job-runner.ts";
import type { PlannedWork } from "./planned-work.ts";

const TICK_MS = 1_000;
/** The wall clock has jumped where it and the monotonic clock differ by more than this between two ticks. */
const JUMP_MS = 2_000;
/** A job that has not started for so many of its intervals is late and is started. */
const LATE_FACTOR = 1.5;

export interface ScheduleEntry {
  pattern: string;
  runner: JobRunner;
  /** Called before a pass of this entry, for example to request a wide re-poll or a full comparison. */
  before?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Whether the job runs at a start; without it, it always does. */
  atStart?: (intervalMs: number) => boolean | Promise<boolean>;
  /** Restricts passes to one key, until the returned function is called. */
  limitTo?: (key: string) => () => void;
  /**
   * Restricts passes to the present backlog, until the returned function is called; for a job whose backlog never ends.
   */
  endWithBacklog?: () => () => void;
  /** Last write of the job when the program ends; no pass is running then. */
  atEnd?: () => void;
}

interface Watched {
  entry: ScheduleEntry;
  times: CronTimes;
  intervalMs: number;
  /** Wall clock; set by `start`. */
  nextAtMs: number;
  /** Monotonic. */
  lastFiredMs: number;
  isPreparing: boolean;
}

export class Scheduler {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #watched: Watched[];
  readonly #planned: PlannedWork | undefined;
  readonly #stop = new AbortController();
  /** Monotonic time of the last tick. */
  #lookedMs: number;
  /** Wall clock minus monotonic clock at the last tick. */
  #clockOffsetMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    entries: readonly ScheduleEntry[],
    { log, clock, zone = "UTC", planned }: { log: Log; clock: Clock; zone?: string; planned?: PlannedWork },
  ) {
    this.#log = log;
    this.#clock = clock;
    this.#planned = planned;
    this.#lookedMs = clock.monotonicMs();
    this.#watched = entries.map((entry) => {
      const times = new CronTimes(entry.pattern, zone);
      const began = { nextAtMs: Number.POSITIVE_INFINITY, lastFiredMs: clock.monotonicMs() };
      return { entry, times, intervalMs: times.longestIntervalMs(), ...began, isPreparing: false };
    });
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The longest time between two scheduled passes of each job, in milliseconds. */
  get intervals(): ReadonlyMap<JobRunner, number> {
    const own = this.#watched.filter(({ entry }) => entry.before === undefined);
    return new Map(own.map(({ entry, intervalMs }) => [entry.runner, intervalMs]));
  }

  /**
   * The name of a flow whose pass has shown no sign of life for `limitMs`, or `schedule` where the ticks have stopped;
   * undefined where nothing hangs. Must be called much more often than `limitMs`.
   */
  findStalled(limitMs: number): string | undefined {
    if (this.#clock.monotonicMs() - this.#lookedMs > limitMs) return "schedule";
    const silent = this.#watched.map(({ entry: { runner } }) => ({ name: runner.name, ms: runner.silentMs() }));
    return silent.find(({ ms }) => ms > limitMs)?.name;
  }

  /** Runs every job once that runs at a start, then all by schedule. */
  start(): void {
    this.#clockOffsetMs = this.#offsetMs();
    for (const watched of this.#watched) {
      const { entry, intervalMs } = watched;
      watched.nextAtMs = watched.times.nextMs(this.#clock.nowMs());
      if (entry.before === undefined) this.#beginWith(entry, intervalMs);
    }
    void this.#makeUp();
    this.#timer = setInterval(() => this.tick(), TICK_MS);
  }

  #beginWith({ atStart, runner }: ScheduleEntry, intervalMs: number): void {
    const begin = (isDue: boolean | undefined) => {
      if (isDue !== false && !this.signal.aborted) runner.trigger(this.signal);
    };
    const isDue = atStart?.(intervalMs);
    if (isDue instanceof Promise) void isDue.then(begin);
    else begin(isDue);
  }

  /** Fires what was due while the program did not run. */
  async #makeUp(): Promise<void> {
    const prepared = this.#watched.filter(({ entry }) => entry.before !== undefined);
    try {
      const entries = prepared.map(({ entry }) => entry);
      const due = new Set(await this.#planned?.due(entries, this.signal));
      for (const watched of prepared) if (due.has(watched.entry)) void this.#fire(watched);
    } catch (error) {
      this.#log.debug({ errorCode: asError(error).code }, "The times of planned work could not be read.");
    }
  }

  /** One tick: starts jobs that are due, due retries, and what a jump of the wall clock would skip. */
  tick(): void {
    this.#lookedMs = this.#clock.monotonicMs();
    const offsetMs = this.#offsetMs();
    const hasJumped = Math.abs(offsetMs - this.#clockOffsetMs) > JUMP_MS;
    this.#clockOffsetMs = offsetMs;
    for (const watched of this.#watched) {
      const isDue = this.#clock.nowMs() >= watched.nextAtMs;
      if (isDue || hasJumped) watched.nextAtMs = watched.times.nextMs(this.#clock.nowMs());
      watched.entry.runner.retryIfDue(this.signal);
      if (isDue || this.#isLate(watched)) void this.#fire(watched);
    }
  }

  #offsetMs(): number {
    return this.#clock.nowMs() - this.#clock.monotonicMs();
  }

  #isLate({ entry, intervalMs, lastFiredMs }: Watched): boolean {
    if (entry.runner.isRunning) return false;
    // A job that another caller started is not late; a wide re-poll or a comparison has no other caller.
    const sinceFiredMs = this.#clock.monotonicMs() - lastFiredMs;
    const sinceMs = entry.before === undefined ? entry.runner.sinceLastStartMs() : sinceFiredMs;
    return sinceMs > intervalMs * LATE_FACTOR + TICK_MS;
  }

  async #fire(watched: Watched): Promise<void> {
    const { runner, before } = watched.entry;
    watched.lastFiredMs = this.#clock.monotonicMs();
    if (watched.isPreparing) return;
    watched.isPreparing = true;
    try {
      await before?.(this.signal);
      if (before !== undefined) await this.#planned?.settle(watched.entry, this.signal);
    } catch (error) {
      this.#log.warn({ job: runner.name, errorCode: asError(error).code }, m.daemon.notPrepared({ name: runner.name }));
    } finally {
      watched.isPreparing = false;
    }
    if (!this.signal.aborted) runner.trigger(this.signal);
  }

  /** Starts no new passes. Running ones continue until `abort`. */
  pause(): void {
    clearInterval(this.#timer);
    this.#watched.length = 0;
  }

  /** Ends running passes at their next step. */
  abort(): void {
    this.pause();
    this.#stop.abort();
  }
}
