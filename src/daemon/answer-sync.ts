/*
 * Answers requests that `erp-bridge sync` has left in the database while the daemon runs. A poll is one small read of
 * an index that is nearly always empty. A request that a crash interrupted is closed at the next start.
 */

import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import {
  loadSyncRequests,
  markSyncTaken,
  type SyncOutcome,
  type SyncRequest,
  saveSyncResult,
} from "../pass/sync-request-rows.ts";
import { asError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type RunResult, wordsOf } from "./run-job.ts";

/** How long a person who typed `sync` waits at most before it takes effect. */
const LOOK_MS = 250;

/** `only`: the one key of a feed that is requested. */
type RunByName = (name: string, only: string | undefined) => Promise<RunResult>;

export class SyncRequestPoller {
  readonly #context: JobContext;
  readonly #runJob: RunByName;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(context: JobContext, runJobByName: RunByName) {
    this.#context = context;
    this.#runJob = runJobByName;
  }

  start(signal: AbortSignal): void {
    this.#timer = setInterval(() => void this.look(signal), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Resolves when no request is being answered. */
  async whenIdle(): Promise<void> {
    await this.#looking;
  }

  /** Answers all open requests, one after another: their passes would wait for each other anyway. */
  async look(signal: AbortSignal): Promise<void> {
    if (this.#looking !== undefined || signal.aborted) return;
    this.#looking = this.#answerAll(signal);
    await this.#looking;
    this.#looking = undefined;
  }

  async #answerAll(signal: AbortSignal): Promise<void> {
    try {
      for (const request of loadSyncRequests(this.#context.store)) await this.#answer(request, signal);
    } catch (error) {
      this.#context.log.debug({ errorCode: asError(error).code }, "A request of sync could not be answered.");
    }
  }

  async #answer(request: SyncRequest, signal: AbortSignal): Promise<void> {
    const { store, clock, client } = this.#context;
    await commit(this.#context, signal, () => markSyncTaken(store, request.id, isoTime(clock.nowMs())));
    const outcomes: SyncOutcome[] = [];
    for (const job of request.jobs) {
      outcomes.push(outcomeOf(job, await this.#run(job, request.only ?? undefined), client.hideSecrets));
      const finishedAt = outcomes.length === request.jobs.length ? isoTime(clock.nowMs()) : null;
      await commit(this.#context, signal, () => saveSyncResult(store, request.id, outcomes, finishedAt));
    }
  }

  async #run(job: string, only: string | undefined): Promise<RunResult> {
    try {
      return await this.#runJob(job, only);
    } catch (error) {
      return { outcome: "failed", counts: {}, error: asError(error) };
    }
  }
}

/** The result of a pass, as commands show it. */
export function outcomeOf(job: string, result: RunResult, hideSecrets: (text: string) => string): SyncOutcome {
  const hold = "hold" in result ? result.hold : undefined;
  return {
    job,
    outcome: result.outcome,
    counts: result.counts,
    errorCode: result.error?.code ?? null,
    hold: hold === undefined ? null : { area: hold.area, reason: hold.reason },
    error: wordsOf(result, hideSecrets),
  };
}
