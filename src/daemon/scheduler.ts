/*
 * Fires jobs by their cron patterns. node-cron reads the patterns and says when their next run is (`cron-times.ts`); the waiting is
 * done here, because its own timer stops when the wall clock is set back, and spins through the hour that a zone with
 * summer time has twice (it cuts off milliseconds in the machine's zone, whatever zone it is told). A look a second on
 * the monotonic clock cannot be fooled: after a jump the next runs are worked out anew, and what has not begun for long
 * is begun in any case.
 */
import { m } from "../messages/messages.ts";
import { asError } from "../platform/errors.ts";
import type { Clock, Log } from "../platform/ports.ts";
import { CronTimes } from "./cron-times.ts";
import type { JobRunner } from "./job-runner.ts";

const TICK_MS = 1_000;
/** The wall clock has jumped where it went so much further, or less far, than the monotonic one between two looks. */
const JUMP_MS = 2_000;
/** What has not begun for so many of its own intervals is begun by the supervisor. */
const LATE_FACTOR = 1.5;

export interface ScheduleEntry {
  pattern: string;
  runner: JobRunner;
  /** Said to the job before a pass of this entry: look back further, compare everything. */
  before?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Whether a start begins with it; without it, every start does. */
  atStart?: (intervalMs: number) => boolean | Promise<boolean>;
  /** Has passes look at one key alone, until the function that it gives is called. */
  limitTo?: (key: string) => () => void;
  /** Has passes end with what waits now, until the function that it gives is called: for a job that others keep busy for ever. */
  endWithBacklog?: () => () => void;
  /** What the job still writes when the program ends, no pass being under way. */
  atEnd?: () => void;
}

interface Watched {
  entry: ScheduleEntry;
  times: CronTimes;
  intervalMs: number;
  /** Wall clock; known from `start` on. */
  nextAtMs: number;
  /** Monotonic. */
  lastFiredMs: number;
  isPreparing: boolean;
}

export class Scheduler {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #watched: Watched[];
  readonly #stop = new AbortController();
  /** Monotonic time of the last look. */
  #lookedMs: number;
  /** Wall clock less monotonic clock at the last look. */
  #clockOffsetMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    entries: readonly ScheduleEntry[],
    { log, clock, zone = "UTC" }: { log: Log; clock: Clock; zone?: string },
  ) {
    this.#log = log;
    this.#clock = clock;
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

  /** The longest time between two passes of each job, in milliseconds. */
  get intervals(): ReadonlyMap<JobRunner, number> {
    const own = this.#watched.filter(({ entry }) => entry.before === undefined);
    return new Map(own.map(({ entry, intervalMs }) => [entry.runner, intervalMs]));
  }

  /**
   * What hangs: the name of a flow whose pass has shown no sign of life for `limitMs`, `schedule` where the looks
   * themselves have stopped; undefined where everything gets on. To be asked much more often than `limitMs`.
   */
  findStalled(limitMs: number): string | undefined {
    if (this.#clock.monotonicMs() - this.#lookedMs > limitMs) return "schedule";
    const silent = this.#watched.map(({ entry: { runner } }) => ({ name: runner.name, ms: runner.silentMs() }));
    return silent.find(({ ms }) => ms > limitMs)?.name;
  }

  /** Runs every job that a start begins with once, then all by schedule. */
  start(): void {
    this.#clockOffsetMs = this.#offsetMs();
    for (const watched of this.#watched) {
      const { entry, intervalMs } = watched;
      watched.nextAtMs = watched.times.nextMs(this.#clock.nowMs());
      if (entry.before === undefined) this.#beginWith(entry, intervalMs);
    }
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

  /** One look: runs whose time has come, retries that are due, and whatever a jump of the wall clock would skip. */
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
    // A job that was begun by another caller in the meantime is not late; a sweep or a comparison has no other caller.
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
    } catch (error) {
      this.#log.warn({ job: runner.name, errorCode: asError(error).code }, m.daemon.notPrepared({ name: runner.name }));
    } finally {
      watched.isPreparing = false;
    }
    if (!this.signal.aborted) runner.trigger(this.signal);
  }

  /** No new passes. Those under way are left alone until `abort`. */
  pause(): void {
    clearInterval(this.#timer);
    this.#watched.length = 0;
  }

  /** Ends passes under way at their next step. */
  abort(): void {
    this.pause();
    this.#stop.abort();
  }
}
