import type { Clock } from "../../src/platform/ports.ts";
import type { Random } from "../../src/sandbox/random.ts";

interface Due {
  atMs: number;
  what: () => void;
}

/** More events at one moment are a loop that waits for time to pass. */
const AT_ONCE_MAX = 100_000;
/**
 * Shorter sleeps are lost by rounding when added to the time, and a sleeper that wakes too early would loop forever.
 */
const SLEEP_MIN_MS = 0.001;

/** A Sunday at noon. Nothing depends on it. */
const START_MS = Date.UTC(2026, 2, 1, 12);

/**
 * The time of one simulated world: events happen in the order in which they are due, and between two of them the clock
 * jumps. Nothing waits for real time, so equal seeds give equal runs.
 */
export class SimulatedTime {
  #nowMs = 1_000;
  #due: Due[] = [];
  #atOnce = 0;

  /** Called when time does not advance; no further event happens. */
  onStandstill: () => void = () => {};

  /** Milliseconds since the start of this world; the service's clock before its own faults. */
  get elapsedMs(): number {
    return this.#nowMs;
  }

  get trueMs(): number {
    return START_MS + this.#nowMs;
  }

  /** The number of future events. At the end of a life it shows whether any were forgotten. */
  get pending(): number {
    return this.#due.length;
  }

  at(afterMs: number, what: () => void): Due {
    const due = { atMs: this.#nowMs + Math.max(0, afterMs), what };
    let place = this.#due.length;
    // Events of the same moment keep their order.
    while (place > 0 && (this.#due[place - 1] as Due).atMs > due.atMs) place--;
    this.#due.splice(place, 0, due);
    return due;
  }

  cancel(due: Due): void {
    const place = this.#due.indexOf(due);
    if (place !== -1) this.#due.splice(place, 1);
  }

  /** Runs all events that are due within `ms`. */
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

  /** Advances the time without running events, like a suspended machine: what was due meanwhile is late. */
  skip(ms: number): void {
    this.#nowMs += ms;
    for (const due of this.#due) due.atMs = Math.max(due.atMs, this.#nowMs);
  }
}

/** One turn of the event loop: everything that does not wait for time or input has run by then. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The clocks of the machine with the bridge. */
export class MachineClock {
  /** The error of the wall clock, in milliseconds. */
  wallOffsetMs = 0;
  /** The monotonic clock restarts with the machine. */
  bootedAtMs = 0;
}

/** The clock of one life of the program. After its death no wait ends. */
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
 * Runs `run` with `AbortSignal.timeout` on simulated time: it is the only timer that the product does not take from its
 * clock.
 */
export async function withSimulatedDeadlines<T>(time: SimulatedTime, run: () => Promise<T>): Promise<T> {
  const original = AbortSignal.timeout;
  // Shared, because most deadlines pass when nothing waits for them any more.
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
