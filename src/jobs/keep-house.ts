/*
 * Removes history that is older than it is to be kept: rows of `runs` and of `order_events`. In small transactions with
 * pauses in between, so that the ERP and the other jobs never wait for it. Orders and what waits are never removed, and
 * `order_events.seq` goes on from where it was. A crash in the middle leaves the rest for the next night.
 */
import { isoTime } from "../domain/ports.ts";
import { deleteEventsBefore } from "../store/orders.ts";
import { deleteRunsBefore } from "../store/runs.ts";
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
    const runsBefore = isoTime(clock.nowMs() - this.#retention.runsMs);
    const eventsBefore = isoTime(clock.nowMs() - this.#retention.eventsMs);
    const runs = await this.#remove((limit) => deleteRunsBefore(store, runsBefore, limit), signal);
    const events = await this.#remove((limit) => deleteEventsBefore(store, eventsBefore, limit), signal);
    const removed = runs.count + events.count;
    const counts = { ...(runs.count > 0 && { runs: runs.count }), ...(events.count > 0 && { events: events.count }) };
    return { outcome: removed === 0 ? "idle" : runs.isDone && events.isDone ? "done" : "more", counts };
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
