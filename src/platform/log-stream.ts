/*
 * Standard error without waiting for it. A terminal whose output is stopped (Ctrl-S, a line that hangs), or a pipe that no program
 * reads, takes nothing for hours, and one thread does everything here: what finds no room waits in memory up to a limit, is
 * tried again, and beyond that is dropped and counted.
 */
import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { isatty } from "node:tty";

/** Of lines that wait: a terminal that was stopped for a moment misses nothing. */
const WAITING_BYTES_MAX = 256_000;
const TRY_AGAIN_MS = 100;

/** Writes as much as there is room for, and returns how much that was; throws EAGAIN where there is none. */
export type WriteSome = (bytes: Uint8Array) => number;

export class LogStream {
  readonly #writeSome: WriteSome;
  readonly #retry: (again: () => void) => void;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isRetrying = false;
  #sayDropped: (lines: number) => string;

  /** @param retry calls back in a while */
  constructor(writeSome: WriteSome, retry: (again: () => void) => void = retryLater) {
    this.#writeSome = writeSome;
    this.#retry = retry;
    this.#sayDropped = () => "";
  }

  /** @param sayDropped the line that is written in the place of lines that found no room */
  onDropped(sayDropped: (lines: number) => string): void {
    this.#sayDropped = sayDropped;
  }

  /** Returns at once, whatever the stream does. */
  write(line: string): void {
    const bytes = Buffer.from(line, "utf8");
    if (this.#waiting.length > 0) this.#drain();
    if (this.#waitingBytes + bytes.length > WAITING_BYTES_MAX || this.#dropped > 0) {
      this.#dropped += 1;
      return;
    }
    this.#keep(bytes);
    if (this.#waiting.length === 1) this.#drain();
  }

  #keep(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #drain(): void {
    while (this.#waiting.length > 0 || this.#dropped > 0) {
      const next = this.#waiting[0];
      if (next === undefined) {
        const lines = this.#dropped;
        this.#dropped = 0;
        this.#keep(Buffer.from(this.#sayDropped(lines), "utf8"));
        continue;
      }
      const written = this.#attempt(next);
      if (written === undefined) {
        this.#tryAgain();
        return;
      }
      this.#waitingBytes -= written;
      if (written === next.length) this.#waiting.shift();
      else this.#waiting[0] = next.subarray(written);
    }
  }

  /** Undefined where there is no room. What fails otherwise, as a closed terminal does, is as good as written. */
  #attempt(bytes: Uint8Array): number | undefined {
    try {
      return this.#writeSome(bytes);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EAGAIN" ? undefined : bytes.length;
    }
  }

  #tryAgain(): void {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    this.#retry(() => {
      this.#isRetrying = false;
      this.#drain();
    });
  }
}

function retryLater(again: () => void): void {
  // Nothing that waits here keeps the program.
  setTimeout(again, TRY_AGAIN_MS).unref();
}

let standardError: LogStream | undefined;

/** One for the process: what waits comes before all that is written later. */
export function standardErrorStream(): LogStream {
  standardError ??= new LogStream(writeTo(openWithoutWaiting()));
  return standardError;
}

function writeTo(descriptor: number): WriteSome {
  return (bytes) => writeSync(descriptor, bytes);
}

/**
 * Standard error opened once more, because whether a descriptor waits is a matter of its opening: the shell's own stays as it is.
 * Sockets cannot be opened so, and Node has made them such that they do not wait; files take everything.
 */
function openWithoutWaiting(): number {
  const stderr = 2;
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const isTerminal = isatty(stderr);
  if (!isTerminal && !isPipe(stderr)) return stderr;
  // Of a terminal of another user, as under sudo, only the second one can be opened.
  for (const file of ["/proc/self/fd/2", ...(isTerminal ? ["/dev/tty"] : [])]) {
    try {
      return openSync(file, flags);
    } catch {
      // The next one.
    }
  }
  return stderr;
}

function isPipe(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFIFO();
  } catch {
    return false;
  }
}
