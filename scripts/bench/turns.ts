/* How long one turn of the event loop takes: by the clock, as whoever waits meets it, and on the processor alone. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Store } from "../../src/database/store.ts";

export interface TurnFigures {
  gapP999Ms: number;
  gapMaxMs: number;
  /** The same without what other programs of the machine took of it, and without the disk. */
  cpuP999Ms: number;
  cpuMaxMs: number;
}

export class Turns {
  readonly #delay = monitorEventLoopDelay({ resolution: 1 });
  #cpu: number[] = [];
  #last = process.threadCpuUsage();
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#delay.reset();
    this.#delay.enable();
    this.#cpu = [];
    this.#last = process.threadCpuUsage();
    clearTimeout(this.#timer);
    this.#sample();
  }

  stop(): TurnFigures {
    this.#delay.disable();
    clearTimeout(this.#timer);
    const sorted = [...this.#cpu].sort((a, b) => a - b);
    return {
      gapP999Ms: this.#delay.percentile(99.9) / 1e6,
      gapMaxMs: this.#delay.max / 1e6,
      cpuP999Ms: sorted[Math.floor(sorted.length * 0.999)] ?? 0,
      cpuMaxMs: sorted.at(-1) ?? 0,
    };
  }

  #sample(): void {
    this.#timer = setTimeout(() => {
      const { user, system } = process.threadCpuUsage(this.#last);
      this.#cpu.push((user + system) / 1000);
      this.#last = process.threadCpuUsage();
      this.#sample();
    }, 1);
  }
}

export interface SecureFigures {
  secures: number;
  secureMedianMs: number;
  secureMaxMs: number;
}

/** What is spent before a confirm or an import leaves, so that what it says is on disk. */
export function watchSecure(store: Store): () => SecureFigures {
  const secure = store.secure.bind(store);
  const times: number[] = [];
  store.secure = () => {
    const from = performance.now();
    try {
      secure();
    } finally {
      times.push(performance.now() - from);
    }
  };
  return () => {
    const sorted = times.sort((a, b) => a - b);
    return {
      secures: sorted.length,
      secureMedianMs: sorted[sorted.length >> 1] ?? 0,
      secureMaxMs: sorted.at(-1) ?? 0,
    };
  };
}
