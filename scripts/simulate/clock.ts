import type { Clock } from "../../src/platform/ports.ts";
import type { Random } from "../../src/sandbox/random.ts";

interface Due {
  atMs: number;
  what: () => void;
}

/** More than that at one moment is somebody who waits for it to pass by itself. */
const AT_ONCE_MAX = 100_000;
/** What is less is lost where it is added to the time: a sleeper who wakes a rounding error too early would never go on. */
const SLEEP_MIN_MS = 0.001;

/** A Sunday noon; nothing depends on it, but every trace begins with it. */
const START_MS = Date.UTC(2026, 2, 1, 12);

/**
 * The time of one simulated world: things happen in the order in which they are due, and between two of them the
 * clock jumps. Nothing ever waits for the machine's own time, so that the same seed gives the same run.
 */
export class SimulatedTime {
  #nowMs = 1_000;
  #due: Due[] = [];
  #atOnce = 0;

  /** Called when time does not get on; nothing that was due happens any more. */
  onStandstill: () => void = () => {};

  /** Milliseconds that really went by in this world; what the service's clock shows, before its own faults. */
  get elapsedMs(): number {
    return this.#nowMs;
  }

  get trueMs(): number {
    return START_MS + this.#nowMs;
  }

  /** What is still to happen; after everything has come to rest this says whether something was forgotten. */
  get pending(): number {
    return this.#due.length;
  }

  at(afterMs: number, what: () => void): Due {
    const due = { atMs: this.#nowMs + Math.max(0, afterMs), what };
    let place = this.#due.length;
    // Later ones of one moment come after earlier ones.
    while (place > 0 && (this.#due[place - 1] as Due).atMs > due.atMs) place--;
    this.#due.splice(place, 0, due);
    return due;
  }

  cancel(due: Due): void {
    const place = this.#due.indexOf(due);
    if (place !== -1) this.#due.splice(place, 1);
  }

  /** Lets everything happen that is due within `ms`. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (let next = this.#due[0]; next !== undefined && next.atMs <= untilMs; next = this.#due[0]) {
      this.#due.shift();
      this.#atOnce = next.atMs > this.#nowMs ? 0 : this.#atOnce + 1;
      if (this.#atOnce > AT_ONCE_MAX) {
        this.#due = [];
        this.onStandstill();
        break;
      }
      this.#nowMs = next.atMs;
      next.what();
      await settle();
    }
    this.#nowMs = untilMs;
  }

  /** Time goes by while nothing runs, as on a machine that is asleep: what was due meanwhile is late. */
  skip(ms: number): void {
    this.#nowMs += ms;
    for (const due of this.#due) due.atMs = Math.max(due.atMs, this.#nowMs);
  }
}

/** One turn of the event loop: whatever waits for nothing but itself has run by then. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The clocks of the machine the bridge runs on. */
export class MachineClock {
  /** How wrong the wall clock is. */
  wallOffsetMs = 0;
  /** The monotonic clock begins anew when the machine does. */
  bootedAtMs = 0;
}

/** What one life of the program sees of time. Of a dead program nothing ever goes on. */
export function clockOfLife(
  time: SimulatedTime,
  machine: MachineClock,
  life: { readonly isDead: boolean; readonly random: Random },
): Clock {
  return {
    nowMs: () => Math.floor(time.trueMs + machine.wallOffsetMs),
    monotonicMs: () => time.elapsedMs - machine.bootedAtMs,
    random: life.random,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        const due = time.at(Math.max(ms, SLEEP_MIN_MS), () => {
          signal?.removeEventListener("abort", stop);
          if (!life.isDead) resolve();
        });
        const stop = () => {
          time.cancel(due);
          if (!life.isDead) reject(signal?.reason as Error);
        };
        signal?.addEventListener("abort", stop, { once: true });
      }),
  };
}

/**
 * Brings `AbortSignal.timeout`, the one timer that the product does not take from its clock, under simulated time for
 * as long as `run` lasts.
 */
export async function withSimulatedDeadlines<T>(time: SimulatedTime, run: () => Promise<T>): Promise<T> {
  const original = AbortSignal.timeout;
  // One for all: most deadlines come when nobody waits for them any more.
  const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
  AbortSignal.timeout = (ms: number) => {
    const controller = new AbortController();
    time.at(ms, () => controller.abort(reason));
    return controller.signal;
  };
  try {
    return await run();
  } finally {
    AbortSignal.timeout = original;
  }
}
