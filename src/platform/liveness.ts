/*
 * Distinguishes a slow pass from one that hangs. Code that works reads the clock, sleeps for a bounded time or checks
 * for a stop; code that waits for something that never comes does none of these. Each such call inside a pass, at any
 * depth, counts as a sign of life of that pass and of no other. Nothing is stored.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "./ports.ts";

/** Counts the signs of life of one job. They are counted rather than timed, because reading the clock is itself one. */
export class Liveness {
  /** The pass that the running code belongs to. */
  static readonly #current = new AsyncLocalStorage<Liveness>();
  #touches = 0;
  /** The count when it was last seen to change, and when that was. */
  #seen = { touches: -1, atMs: 0 };

  /** Runs a pass; calls inside it count for this job. */
  during<T>(pass: () => Promise<T>): Promise<T> {
    this.#touches += 1;
    return Liveness.#current.run(this, pass);
  }

  /** Milliseconds since a call of this method first saw the current count. `nowMs` is monotonic. */
  silentMs(nowMs: number): number {
    if (this.#seen.touches !== this.#touches) this.#seen = { touches: this.#touches, atMs: nowMs };
    return nowMs - this.#seen.atMs;
  }

  /** Counts a sign of life of the pass that calls it; does nothing outside of passes. */
  static touch(): void {
    const liveness = Liveness.#current.getStore();
    if (liveness !== undefined) liveness.#touches += 1;
  }

  /** A clock for passes: each use counts as a sign of life. */
  static clock(clock: Clock): Clock {
    const touching = <Result>(read: () => Result) => {
      Liveness.touch();
      return read();
    };
    return {
      nowMs: () => touching(() => clock.nowMs()),
      monotonicMs: () => touching(() => clock.monotonicMs()),
      random: () => touching(() => clock.random()),
      sleep: (ms, signal) => touching(() => clock.sleep(ms, signal)).finally(Liveness.touch),
    };
  }
}
