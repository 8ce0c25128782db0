import type { Message } from "../messages/message.ts";

/** What the core is handed instead of reaching for it: time, chance, sleep and a place to report to. */

export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump; only for what people read and for times kept across a restart. */
  nowMs(): number;
  /** Never jumps, milliseconds from a start that all processes of the machine share until it is restarted. Every wait and deadline uses this one. */
  monotonicMs(): number;
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
}

/** Structured logging: chosen fields only, then one sentence. */
export interface Log {
  debug(fields: object, message: string | Message): void;
  info(fields: object, message: Message): void;
  warn(fields: object, message: Message): void;
  error(fields: object, message: Message): void;
}

/** UTC ISO 8601 with milliseconds: the form of every time that the bridge writes. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
