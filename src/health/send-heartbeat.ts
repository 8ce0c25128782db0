/*
 * Calls one address while everything is fresh, so that a watcher elsewhere raises the alarm when the calls stop:
 * also when this machine, its power or its network is what has stopped. Has no part in any flow; nothing is kept of
 * it but whether calling fails, and a crash loses at most one call.
 */

import type { JobContext } from "../pass/job.ts";
import type { Channels } from "./channels.ts";
import { traitOf } from "./conditions.ts";
import type { Watched } from "./watched.ts";

const EVERY_MS = 60_000;

export class SendHeartbeat {
  readonly #context: JobContext;
  readonly #channels: Channels;
  readonly #watched: () => Watched;
  readonly #call: (signal: AbortSignal) => Promise<void>;
  #lastMs: number | undefined;

  constructor(
    context: JobContext,
    channels: Channels,
    { watched, call }: { watched: () => Watched; call: (signal: AbortSignal) => Promise<void> },
  ) {
    this.#context = context;
    this.#channels = channels;
    this.#watched = watched;
    this.#call = call;
  }

  /** Calls where a minute has passed and nothing is stale or failing. */
  async look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const nowMs = clock.monotonicMs();
    if (this.#lastMs !== undefined && nowMs - this.#lastMs < EVERY_MS) return;
    if (this.#watched().conditions.some((condition) => traitOf(condition).stalls)) return;
    this.#lastMs = nowMs;
    try {
      await this.#call(signal);
      this.#channels.noteSuccess("heartbeat");
    } catch (error) {
      this.#channels.noteFailure("heartbeat", error);
    }
    this.#channels.save();
  }
}
