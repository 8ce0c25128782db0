/*
 * Removes history that is older than its retention: rows of `runs` and `order_events`, confirmed batches and sent
 * status requests. Works in small transactions with pauses, so that the ERP and other jobs never wait long. Orders,
 * pending work and refused records are never removed, and `order_events.seq` continues. Nothing is removed by a time
 * that the service has not confirmed, now or when the rows were written ({@link addMark}): to a clock that is years
 * ahead everything looks old. Where the service sends no `Date`, the timestamps of the newest orders plus the time
 * since then replace it; without orders only the number of runs is limited. A crash in the middle leaves the rest for
 * the next night.
 */

import { deleteConfirmedBefore } from "../batches/batch-rows.ts";
import { clockOffsetS } from "../health/clock-offset.ts";
import { m } from "../messages/messages.ts";
import { deleteEventsUpTo, loadNewestTimestamps } from "../orders/order-rows.ts";
import { commit } from "../pass/commit.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { deleteRunsBeyond, deleteRunsUpTo, type Old } from "../pass/runs.ts";
import { reachedTimeMs } from "../pass/served-time.ts";
import { isoTime } from "../platform/ports.ts";
import { deleteSentBefore } from "../statuses/status-rows.ts";
import { addMark, type History, idAsOldAs, loadLargest, loadMarks, MARKS, type Mark } from "./history-marks.ts";

/** Rows per transaction: a few milliseconds of the write lock. */
const ROWS_PER_COMMIT = 500;
/** Pause between two transactions, for other writers. */
const PAUSE_MS = 20;
/** Limit for runs of any age: years of one pass a minute. */
const RUNS_MAX = 2_000_000;
/** How many orders' timestamps are read to estimate the time. */
const ORDERS_SAMPLED = 21;
/** Transactions per pass. The next pass follows at once, and a stop is noticed in between. */
const COMMITS_PER_PASS = 500;

export interface Retention {
  runsMs: number;
  eventsMs: number;
  batchesMs: number;
  requestsMs: number;
  /** Time zone of timestamps without one. */
  zone: string;
}

export class PruneHistory implements Job {
  readonly name = "upkeep";
  readonly areas = [];
  readonly #context: JobContext;
  readonly #retention: Retention;
  /** The largest time in orders' timestamps, and when it was read by the monotonic clock. */
  #reached: { ms: number; sinceMs: number } | undefined;

  constructor(context: JobContext, retention: Retention) {
    this.#context = context;
    this.#retention = retention;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const { store } = this.#context;
    const { runsMs, eventsMs, batchesMs, requestsMs } = this.#retention;
    const nowMs = this.#confirmedNow();
    const marks = nowMs === undefined ? undefined : await this.#mark(nowMs, signal);
    /** Where the time is unknown, no row is old. */
    const old = (what: History, keptMs: number): Old =>
      nowMs === undefined || marks === undefined
        ? { upTo: 0, before: "", now: "" }
        : {
            upTo: idAsOldAs(marks[what], nowMs - keptMs),
            before: isoTime(nowMs - keptMs),
            now: isoTime(nowMs),
          };
    const removals = {
      runs: (limit: number) =>
        deleteRunsUpTo(store, old("runs", runsMs).upTo, limit) || deleteRunsBeyond(store, RUNS_MAX, limit),
      events: (limit: number) => deleteEventsUpTo(store, old("events", eventsMs).upTo, limit),
      batches: (limit: number) => deleteConfirmedBefore(store, old("batches", batchesMs), limit),
      requests: (limit: number) => deleteSentBefore(store, old("requests", requestsMs), limit),
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

  /** Times in rows may come from a wrong clock, so the present ids are recorded with a confirmed time. */
  async #mark(nowMs: number, signal: AbortSignal): Promise<Record<History, Mark[]>> {
    const { store, clock, client } = this.#context;
    const { runsMs, eventsMs, batchesMs, requestsMs } = this.#retention;
    // Without a `Date` both the timestamps and this clock may be behind; the latest time makes the mark too young
    // rather than too old.
    const reachedMs = client.serviceNow === undefined ? this.#reachedNow() : undefined;
    const atMs = Math.max(nowMs, clock.nowMs(), reachedMs ?? 0);
    const marks = loadMarks(store);
    const largest = loadLargest(store);
    const add = (what: History, keptMs: number) => addMark(marks[what], { atMs, id: largest[what] }, keptMs);
    const added = {
      runs: add("runs", runsMs),
      events: add("events", eventsMs),
      batches: add("batches", batchesMs),
      requests: add("requests", requestsMs),
    };
    await commit(this.#context, signal, () => MARKS.save(store, added));
    return added;
  }

  /**
   * Rows have this machine's time, and their age is measured by it, so the service must confirm the clock. Undefined
   * where it does not. Where the service sends no `Date`, the result is never later than the time estimated from its
   * timestamps.
   */
  #confirmedNow(): number | undefined {
    const { client, clock, log } = this.#context;
    const nowMs = clock.nowMs();
    const served = client.serviceNow === undefined ? this.#reachedNow() : undefined;
    if (served !== undefined) return Math.min(nowMs, served);
    if (client.serviceNow !== undefined && clockOffsetS(client.serviceNow, nowMs) === undefined) return nowMs;
    log.info({}, m.daemon.historyStays);
    return undefined;
  }

  #reachedNow(): number | undefined {
    const { store, clock } = this.#context;
    const reachedMs = reachedTimeMs(loadNewestTimestamps(store, ORDERS_SAMPLED), this.#retention.zone);
    if (reachedMs === undefined) return undefined;
    const sinceMs = clock.monotonicMs();
    if (this.#reached === undefined || reachedMs > this.#reached.ms + sinceMs - this.#reached.sinceMs)
      this.#reached = { ms: reachedMs, sinceMs };
    return this.#reached.ms + sinceMs - this.#reached.sinceMs;
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
