/*
 * Distinguishes a pass that takes long from one that hangs. Code that works reads the time, sleeps a bounded while or
 * checks for a stop; code that waits for something that never comes does none of these. Each such call inside a pass,
 * wherever it is made, is a sign of life of that pass and of no other. Nothing is kept beyond the process.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "./ports.ts";

/** The signs of life of one job. They are counted and not timed: the clock that would tell the time gives them itself. */
export class Liveness {
  /** Which pass the code at hand belongs to. */
  static readonly #current = new AsyncLocalStorage<Liveness>();
  #beats = 0;
  /** As they were when a look last found them changed. */
  #seen = { beats: -1, atMs: 0 };

  /** Runs a pass so that its signs of life are found. */
  during<T>(pass: () => Promise<T>): Promise<T> {
    this.#beats += 1;
    return Liveness.#current.run(this, pass);
  }

  /** Milliseconds from the first look that found the newest sign of life to this one. `nowMs` is monotonic. */
  silentMs(nowMs: number): number {
    if (this.#seen.beats !== this.#beats) this.#seen = { beats: this.#beats, atMs: nowMs };
    return nowMs - this.#seen.atMs;
  }

  /** A sign of life of the pass that calls it; outside of passes nothing. */
  static beat(): void {
    const liveness = Liveness.#current.getStore();
    if (liveness !== undefined) liveness.#beats += 1;
  }

  /** A clock for what passes are made of: every use of it is a sign of life. */
  static clock(clock: Clock): Clock {
    const beating = <Result>(read: () => Result) => {
      Liveness.beat();
      return read();
    };
    return {
      nowMs: () => beating(() => clock.nowMs()),
      monotonicMs: () => beating(() => clock.monotonicMs()),
      random: () => beating(() => clock.random()),
      sleep: (ms, signal) => beating(() => clock.sleep(ms, signal)).finally(Liveness.beat),
    };
  }
}
