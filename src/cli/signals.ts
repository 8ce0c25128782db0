import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

export type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Signals in order of arrival. From construction on, SIGHUP does not end the process; from `takeStops` on, neither do
 * SIGTERM and SIGINT, not even while an earlier signal is handled. SIGHUP means reload, except where the terminal was
 * closed: then it means stop.
 */
export class SignalQueue {
  readonly #waiting: (StopSignal | "SIGHUP")[] = [];
  #wake: (() => void) | undefined;
  #onStop: (() => void) | undefined;
  readonly #stop = new AbortController();
  readonly #source: Pick<NodeJS.Process, "on">;

  constructor(source: Pick<NodeJS.Process, "on" | "kill" | "pid"> = process, isTerminalClosed = watchTerminal()) {
    this.#source = source;
    source.on("SIGHUP", () => {
      if (isTerminalClosed()) source.kill(source.pid, "SIGTERM");
      else this.#take("SIGHUP");
    });
  }

  /** Queues stops from now on. Before that a stop ends the process at once, even where the start hangs. */
  takeStops(): void {
    for (const signal of ["SIGTERM", "SIGINT"] as const) this.#source.on(signal, () => this.#take(signal));
  }

  /** Aborted when a stop has arrived, handled or not. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** The next signal. SIGTERM and SIGINT overtake reloads; several reloads count as one. */
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

  /** From now on a further SIGTERM or SIGINT calls `leave`. */
  onSecondStop(leave: () => void): void {
    this.#onStop = leave;
  }

  #take(signal: StopSignal | "SIGHUP"): void {
    if (signal !== "SIGHUP") {
      this.#stop.abort();
      this.#onStop?.();
    }
    this.#waiting.push(signal);
    this.#wake?.();
  }
}

/** A signal that SIGINT and SIGTERM abort, until it is disposed of. */
export function interruption(onStop: () => void = () => {}): Disposable & { signal: AbortSignal } {
  const abort = new AbortController();
  const stop = () => {
    abort.abort();
    onStop();
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  return {
    signal: abort.signal,
    [Symbol.dispose]() {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
    },
  };
}

/**
 * Whether the terminal that this process was started on is closed. Always false where none of its streams was a
 * terminal: with `nohup` or redirected streams the program is meant to outlive the terminal.
 */
function watchTerminal(): () => boolean {
  const isOnTerminal = [0, 1, 2].some((stream) => isatty(stream));
  return () => isOnTerminal && !hasControllingTerminal();
}

function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
