/*
 * Calls one address while everything is fresh, so that a watcher elsewhere raises the alarm when the calls stop:
 * also when this machine, its power or its network is what has stopped. Has no part in any flow; nothing is kept of
 * it but whether calling fails, and a crash loses at most one call.
 */

import type { JobContext } from "../pass/job.ts";
import { isOfDatabase } from "../platform/troubles.ts";
import { loadQuickFacts } from "./alert-rows.ts";
import { isAllFresh } from "./alerts.ts";
import type { Channels } from "./channels.ts";

const EVERY_MS = 60_000;

export class SendHeartbeat {
  readonly #context: JobContext;
  readonly #channels: Channels;
  readonly #call: (signal: AbortSignal) => Promise<void>;
  readonly #startedAtMs: number;
  #lastMs: number | undefined;

  constructor(context: JobContext, channels: Channels, call: (signal: AbortSignal) => Promise<void>) {
    this.#context = context;
    this.#channels = channels;
    this.#call = call;
    this.#startedAtMs = context.clock.nowMs();
  }

  /** Calls where a minute has passed and nothing is stale or failing. */
  async look(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const nowMs = clock.monotonicMs();
    if (this.#lastMs !== undefined && nowMs - this.#lastMs < EVERY_MS) return;
    const { flows, met } = loadQuickFacts(store);
    if (met !== undefined && isOfDatabase(met)) return;
    if (!isAllFresh(flows, clock.nowMs(), this.#startedAtMs)) return;
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
