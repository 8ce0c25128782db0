/* Time, randomness, sleep and logging, handed in so that tests control them. */

import type { Message } from "../messages/message.ts";

export interface Clock {
  /**
   * Wall clock, milliseconds since 1970. May jump; only for display and for times kept across a restart of the machine.
   */
  nowMs(): number;
  /** Never jumps; milliseconds since the machine's start, shared by all its processes. For every wait and deadline. */
  monotonicMs(): number;
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
}

/** Structured logging: chosen fields, then one sentence. */
export interface Log {
  debug(fields: object, message: string | Message): void;
  info(fields: object, message: Message): void;
  warn(fields: object, message: Message): void;
  error(fields: object, message: Message): void;
}

/** UTC, ISO 8601 with milliseconds: the form of every time that the bridge writes. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
