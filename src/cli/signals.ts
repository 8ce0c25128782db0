import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

export type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Signals in the order in which they came. From the moment it is made no reload ends the process by itself; from
 * `takeStops` on no stop does either, also while an earlier one is still being worked on. SIGHUP asks for a reload, except where
 * it says that the terminal was closed: that is a stop.
 */
export class SignalQueue {
  readonly #waiting: (StopSignal | "SIGHUP")[] = [];
  #wake: (() => void) | undefined;
  #onStop: (() => void) | undefined;
  #isStopAsked = false;
  readonly #source: Pick<NodeJS.Process, "on">;

  constructor(source: Pick<NodeJS.Process, "on" | "kill" | "pid"> = process, isTerminalClosed = watchTerminal()) {
    this.#source = source;
    source.on("SIGHUP", () => {
      if (isTerminalClosed()) source.kill(source.pid, "SIGTERM");
      else this.#take("SIGHUP");
    });
  }

  /** Until then a stop ends the process at once: a start that hangs must not keep it. */
  takeStops(): void {
    for (const signal of ["SIGTERM", "SIGINT"] as const) this.#source.on(signal, () => this.#take(signal));
  }

  /** Whether a stop has come, even if it was not taken yet. */
  get isStopAsked(): boolean {
    return this.#isStopAsked;
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
    if (signal !== "SIGHUP") {
      this.#isStopAsked = true;
      this.#onStop?.();
    }
    this.#waiting.push(signal);
    this.#wake?.();
  }
}

/** Aborted by SIGINT and SIGTERM, until it is disposed of. */
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
 * Whether the terminal that this process was started on is closed. False where none of its streams was one: `nohup` and
 * whoever sends all of them elsewhere mean the program to outlive the terminal.
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
