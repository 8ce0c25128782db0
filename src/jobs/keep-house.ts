/*
 * Removes history that is older than it is to be kept: rows of `runs` and of `order_events`, confirmed batches and sent
 * status requests. In small transactions with pauses in between, so that the ERP and the other jobs never wait for it.
 * Orders, what waits and what was refused are never removed, and `order_events.seq` goes on from where it was. Nothing is
 * removed while the service does not confirm this machine's time: a clock that is years ahead would take everything for
 * old. A crash in the middle leaves the rest for the next night.
 */
import { clockOffsetS } from "../domain/clock-offset.ts";
import { isoTime } from "../domain/ports.ts";
import { deleteConfirmedBefore } from "../store/batches.ts";
import { deleteEventsBefore } from "../store/orders.ts";
import { deleteRunsBefore } from "../store/runs.ts";
import { deleteSentBefore } from "../store/status-requests.ts";
import { commit } from "./commit.ts";
import type { Job, JobContext, JobReport } from "./job.ts";

/** Rows removed in one transaction: a few milliseconds of the write lock. */
const ROWS_PER_COMMIT = 500;
/** Between two transactions, for everybody else. */
const PAUSE_MS = 20;
/** Transactions in one pass; the next pass follows at once, and a stop is noticed in between. */
const COMMITS_PER_PASS = 500;

export interface Retention {
  runsMs: number;
  eventsMs: number;
  batchesMs: number;
  requestsMs: number;
}

export class KeepHouse implements Job {
  readonly name = "upkeep";
  readonly areas = [];
  readonly #context: JobContext;
  readonly #retention: Retention;

  constructor(context: JobContext, retention: Retention) {
    this.#context = context;
    this.#retention = retention;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const { store, clock } = this.#context;
    if (!this.#isTimeConfirmed()) return { outcome: "idle", counts: {} };
    const { runsMs, eventsMs, batchesMs, requestsMs } = this.#retention;
    const nowMs = clock.nowMs();
    const removals = {
      runs: (limit: number) => deleteRunsBefore(store, isoTime(nowMs - runsMs), limit),
      events: (limit: number) => deleteEventsBefore(store, isoTime(nowMs - eventsMs), limit),
      batches: (limit: number) => deleteConfirmedBefore(store, isoTime(nowMs - batchesMs), limit),
      requests: (limit: number) => deleteSentBefore(store, isoTime(nowMs - requestsMs), limit),
    };
    const counts: Record<string, number> = {};
    let isDone = true;
    for (const [what, remove] of Object.entries(removals)) {
      const removed = await this.#remove(remove, signal);
      if (removed.count > 0) counts[what] = removed.count;
      isDone &&= removed.isDone;
    }
    return { outcome: Object.keys(counts).length === 0 ? "idle" : isDone ? "done" : "more", counts };
  }

  /** Rows bear this machine's time, and their age is reckoned by it: the service must say that it is right. */
  #isTimeConfirmed(): boolean {
    const { client, clock, log } = this.#context;
    const isConfirmed = client.serviceNow !== undefined && clockOffsetS(client.serviceNow, clock.nowMs()) === undefined;
    if (!isConfirmed) log.info({}, "Old history stays, because the service does not confirm this machine's time.");
    return isConfirmed;
  }

  async #remove(remove: (limit: number) => number, signal: AbortSignal): Promise<{ count: number; isDone: boolean }> {
    let count = 0;
    for (let commits = 0; commits < COMMITS_PER_PASS; commits++) {
      const removed = await commit(this.#context, signal, () => remove(ROWS_PER_COMMIT));
      count += removed;
      if (removed < ROWS_PER_COMMIT) return { count, isDone: true };
      if (this.#context.isStopping()) return { count, isDone: false };
      await this.#context.clock.sleep(PAUSE_MS, signal);
    }
    return { count, isDone: false };
  }
}
