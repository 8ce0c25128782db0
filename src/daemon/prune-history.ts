/*
 * Removes history that is older than it is to be kept: rows of `runs` and of `order_events`, confirmed batches and sent
 * status requests. In small transactions with pauses in between, so that the ERP and the other jobs never wait for it.
 * Orders, what waits and what was refused are never removed, and `order_events.seq` goes on from where it was. Nothing is
 * removed by a time that the service does not confirm, now or when the rows were written ({@link addMark}): a clock that is years ahead would take everything for old. Where its
 * answers have no `Date`, the timestamps of the newest orders and the time since then stand for it; where there are no orders either,
 * only the number of runs is bounded. A crash in the middle leaves the rest for the next night.
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
import { addMark, type History, idAsOldAs, loadLargest, loadMarks, type Mark, saveMarks } from "./history-marks.ts";

/** Rows removed in one transaction: a few milliseconds of the write lock. */
const ROWS_PER_COMMIT = 500;
/** Between two transactions, for other writers. */
const PAUSE_MS = 20;
/** Runs that are kept at most, whatever their age: years of a pass a minute. */
const RUNS_MAX = 2_000_000;
/** Orders whose timestamps are asked for the time. */
const STAMPS = 21;
/** Transactions in one pass; the next pass follows at once, and a stop is noticed in between. */
const COMMITS_PER_PASS = 500;

export interface Retention {
  runsMs: number;
  eventsMs: number;
  batchesMs: number;
  requestsMs: number;
  /** Of timestamps that name none. */
  zone: string;
}

export class PruneHistory implements Job {
  readonly name = "upkeep";
  readonly areas = [];
  readonly #context: JobContext;
  readonly #retention: Retention;
  /** What timestamps had reached, and when by the monotonic clock. */
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
    /** Where nothing is known: up to no row. */
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

  /** A time in rows may have been written by a clock that was wrong then: what there was at this time is known by its number. */
  async #mark(nowMs: number, signal: AbortSignal): Promise<Record<History, Mark[]>> {
    const { store, clock, client } = this.#context;
    const { runsMs, eventsMs, batchesMs, requestsMs } = this.#retention;
    // Without a `Date` both the timestamps and this clock may be behind: a mark is rather too young.
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
    await commit(this.#context, signal, () => saveMarks(store, added));
    return added;
  }

  /**
   * Rows bear this machine's time, and their age is reckoned by it: the service must say that it is right. Undefined where it
   * does not. Without a `Date` of the service's it is never later than what the service's timestamps have reached since.
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
    const reachedMs = reachedTimeMs(loadNewestTimestamps(store, STAMPS), this.#retention.zone);
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
