import type { Clock } from "../platform/ports.ts";

/**
 * One rate limit for all requests: they start at least `1000 / perSecond` milliseconds apart, in order of arrival.
 * Otherwise catching up after an outage would overload the service.
 */
export class Pacer {
  readonly #clock: Clock;
  readonly #gapMs: number;
  #nextStartMs = 0;

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#gapMs = 1000 / perSecond;
  }

  /** Resolves when the caller may start its request. Rejects when `signal` is aborted while waiting. */
  async turn(signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonicMs();
    const start = Math.max(now, this.#nextStartMs);
    this.#nextStartMs = start + this.#gapMs;
    if (start > now) await this.#clock.sleep(start - now, signal);
  }
}
