import { monitorEventLoopDelay } from "node:perf_hooks";

/** The histogram's own timer interval; only time beyond it is delay. */
const RESOLUTION_MS = 20;
const WINDOW_MS = 60_000;

export interface LoopDelay {
  maxS: number;
  p99S: number;
}

const NONE: LoopDelay = { maxS: 0, p99S: 0 };

/** The delay of the event loop in the last one to two minutes. Two windows, so that every scraper sees a peak. */
export class LoopWatch {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #former: LoopDelay = NONE;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#histogram.enable();
    this.#timer = setInterval(() => this.#turn(), WINDOW_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  read(): LoopDelay {
    const now = this.#current();
    return { maxS: Math.max(now.maxS, this.#former.maxS), p99S: Math.max(now.p99S, this.#former.p99S) };
  }

  #turn(): void {
    this.#former = this.#current();
    this.#histogram.reset();
  }

  #current(): LoopDelay {
    if (this.#histogram.count === 0) return NONE;
    const delay = (ns: number) => Math.max(0, Math.round(ns / 1e3 - RESOLUTION_MS * 1e3)) / 1e6;
    return { maxS: delay(this.#histogram.max), p99S: delay(this.#histogram.percentile(99)) };
  }
}
