import type { Clock } from "./ports.ts";

const REST_MIN_MS = 1_000;
/** At most two per cent of the time goes into loading. */
const REST_PER_COST = 50;

/** Keeps what `load` gave for a while, or for many times the processor time that it took, whichever is longer. */
export class TtlCache<T> {
  readonly #clock: Clock;
  readonly #load: () => T;
  readonly #restMinMs: number;
  readonly #everyMs: number;
  #value: { of: T; untilMs: number } | undefined;

  /** @param times.everyMs reads come no more often: what is cheap at that rate is loaded each time */
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
