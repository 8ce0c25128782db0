/*
 * Standard error without blocking. A stopped terminal (Ctrl-S, a line that hangs) or a pipe that no program reads may
 * accept nothing for hours, and the program has one thread. What cannot be written waits in memory up to a limit and is
 * retried; what exceeds the limit is dropped and counted.
 */
import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { isatty } from "node:tty";

/** Limit for waiting lines: a terminal that is stopped for a moment loses none. */
const WAITING_BYTES_MAX = 256_000;
const TRY_AGAIN_MS = 100;

/** Writes as much as fits and returns the number of bytes; throws EAGAIN where nothing fits. */
export type WriteSome = (bytes: Uint8Array) => number;

export class LogStream {
  readonly #writeSome: WriteSome;
  readonly #retry: (again: () => void) => void;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isRetrying = false;
  #sayDropped: (lines: number) => string;

  /** @param retry calls back after a delay */
  constructor(writeSome: WriteSome, retry: (again: () => void) => void = retryLater) {
    this.#writeSome = writeSome;
    this.#retry = retry;
    this.#sayDropped = () => "";
  }

  /** @param sayDropped makes the line that replaces dropped lines */
  onDropped(sayDropped: (lines: number) => string): void {
    this.#sayDropped = sayDropped;
  }

  /** Never blocks. */
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

  /** Bytes written; undefined where nothing fits. Any other failure, such as a closed terminal, discards the bytes. */
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
  // Waiting lines must not keep the process alive.
  setTimeout(again, TRY_AGAIN_MS).unref();
}

let standardError: LogStream | undefined;

/** One per process, so that lines keep their order. */
export function standardErrorStream(): LogStream {
  standardError ??= new LogStream(writeTo(openWithoutWaiting()));
  return standardError;
}

function writeTo(descriptor: number): WriteSome {
  return (bytes) => writeSync(descriptor, bytes);
}

/**
 * Opens standard error a second time: `O_NONBLOCK` belongs to the open file description, and the shell shares the
 * inherited one. Sockets cannot be opened this way, and Node has already made them non-blocking; files never block.
 */
function openWithoutWaiting(): number {
  const stderr = 2;
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const isTerminal = isatty(stderr);
  if (!isTerminal && !isPipe(stderr)) return stderr;
  // Another user's terminal, as under sudo, can be opened only as `/dev/tty`.
  for (const file of ["/proc/self/fd/2", ...(isTerminal ? ["/dev/tty"] : [])]) {
    try {
      return openSync(file, flags);
    } catch {
      // Try the next one.
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
