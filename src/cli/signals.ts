export type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Signals in the order in which they came. From the moment it is made none of them ends the process by itself, also
 * while an earlier one is still being worked on.
 */
export class SignalQueue {
  readonly #waiting: (StopSignal | "SIGHUP")[] = [];
  #wake: (() => void) | undefined;
  #onStop: (() => void) | undefined;

  constructor(source: Pick<NodeJS.Process, "on"> = process) {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) source.on(signal, () => this.#take(signal));
  }

  /** The next signal. SIGTERM and SIGINT overtake reloads; several reloads are one. */
  async next(): Promise<StopSignal | "SIGHUP"> {
    while (this.#waiting.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const stop = this.#waiting.find((signal) => signal !== "SIGHUP");
    this.#waiting.length = 0;
    return stop ?? "SIGHUP";
  }

  /** From now on another SIGTERM or SIGINT is an order to leave at once. */
  onSecondStop(leave: () => void): void {
    this.#onStop = leave;
  }

  #take(signal: StopSignal | "SIGHUP"): void {
    if (signal !== "SIGHUP") this.#onStop?.();
    this.#waiting.push(signal);
    this.#wake?.();
  }
}
