/*
 * Work with a schedule of its own beside the passes of a job: wide re-polls, comparisons, copies, the removal of old
 * history. The next time of each is kept in the database, so that a time which passed while no process ran (a machine
 * that is off at night, `sync` from cron) is made up for by the next one.
 */
import { RETRY_MS } from "../backup/back-up.ts";
import { MetaValue } from "../database/meta.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import type { ScheduleEntry } from "./scheduler.ts";

/** By job, which has at most one such entry. */
type Times = Partial<Record<string, string>>;

export const PLANNED = new MetaValue<Times>("planned", {});

export interface Pattern {
  /** The next run after now. */
  nextMs(nowMs: number): number;
  longestIntervalMs(): number;
}

export class PlannedWork {
  readonly #context: JobContext;
  readonly #patternOf: (entry: ScheduleEntry) => Pattern;

  constructor(context: JobContext, patternOf: (entry: ScheduleEntry) => Pattern) {
    this.#context = context;
    this.#patternOf = patternOf;
  }

  /** Those of these entries whose time has come; one without a time gets one, and is due if it would run at a start. */
  async due(entries: readonly ScheduleEntry[], signal: AbortSignal): Promise<ScheduleEntry[]> {
    const nowMs = this.#context.clock.nowMs();
    const times = PLANNED.load(this.#context.store);
    const due: ScheduleEntry[] = [];
    const planned: Times = {};
    for (const entry of entries) {
      const { runner, atStart } = entry;
      const at = times[runner.name];
      const nextMs = this.#nextMs(entry);
      if (at === undefined && (await atStart?.(this.#patternOf(entry).longestIntervalMs())) === true) due.push(entry);
      else if (at !== undefined && Date.parse(at) <= nowMs) due.push(entry);
      // A later time is of another pattern, or of a clock that was ahead.
      else if ((at === undefined || Date.parse(at) > nextMs) && Number.isFinite(nextMs))
        planned[runner.name] = isoTime(nextMs);
    }
    if (Object.keys(planned).length > 0) await this.#save(planned, signal);
    return due;
  }

  /** Makes the preparations of those of these entries whose time has come; the next pass of their jobs does the work. */
  async prepareDue(entries: readonly ScheduleEntry[], signal: AbortSignal): Promise<void> {
    for (const entry of await this.due(entries, signal)) {
      await entry.before?.(signal);
      await this.settle(entry, signal);
    }
  }

  /** The work of this entry is done, or its request outlives the process. */
  async settle(entry: ScheduleEntry, signal: AbortSignal, hasFailed = false): Promise<void> {
    const retryMs = hasFailed ? this.#context.clock.nowMs() + RETRY_MS : Number.POSITIVE_INFINITY;
    const nextMs = Math.min(this.#nextMs(entry), retryMs);
    if (Number.isFinite(nextMs)) await this.#save({ [entry.runner.name]: isoTime(nextMs) }, signal);
  }

  #nextMs(entry: ScheduleEntry): number {
    return this.#patternOf(entry).nextMs(this.#context.clock.nowMs());
  }

  async #save(times: Times, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    await commit(this.#context, signal, () => PLANNED.save(store, { ...PLANNED.load(store), ...times }));
  }
}
