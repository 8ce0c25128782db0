import type { Clock } from "./ports.ts";

const REST_MIN_MS = 1_000;
/** Limits loading to two per cent of the time. */
const REST_PER_COST = 50;

/**
 * Caches the result of `load` for a minimum time, or for 50 times the processor time that it took, whichever is longer.
 */
export class TtlCache<T> {
  readonly #clock: Clock;
  readonly #load: () => T;
  readonly #restMinMs: number;
  readonly #everyMs: number;
  #value: { of: T; untilMs: number } | undefined;

  /** @param times.everyMs interval between reads; what is cheap at that rate is loaded each time */
  constructor(clock: Clock, load: () => T, times: { restMinMs?: number; everyMs?: number } = {}) {
    this.#clock = clock;
    this.#load = load;
    this.#restMinMs = times.restMinMs ?? REST_MIN_MS;
    this.#everyMs = times.everyMs ?? 0;
  }

  get(): T {
    if (this.#value !== undefined && this.#clock.monotonicMs() < this.#value.untilMs) return this.#value.of;
    const before = process.threadCpuUsage();
    const of = this.#load();
    const { user, system } = process.threadCpuUsage(before);
    const restMs = Math.max(this.#restMinMs, (REST_PER_COST * (user + system)) / 1000 - this.#everyMs);
    this.#value = { of, untilMs: this.#clock.monotonicMs() + restMs };
    return of;
  }
}
