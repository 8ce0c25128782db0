/*
 * Calls one address while everything is fresh, so that an external monitor raises the alarm when the calls stop, even
 * where this machine, its power or its network has failed. Independent of all flows. Stores only whether calling fails;
 * a crash loses at most one call.
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

  /** Calls where a minute has passed and no condition stalls a flow. */
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
