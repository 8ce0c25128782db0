/*
 * Runs jobs outside their schedule: one that a person asks for, to its end, and all of a `sync`.
 */
import { m } from "../messages/messages.ts";
import type { RunMirror } from "../mirror/run-mirror.ts";
import type { JobContext } from "../pass/job.ts";
import type { FlowName, JobName } from "../pass/job-names.ts";
import type { SyncOutcome } from "../pass/sync-request-rows.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { outcomeOf } from "./answer-sync.ts";
import { addUp, dueIn, type JobRunner } from "./job-runner.ts";
import type { PlannedWork } from "./planned-work.ts";
import type { RunResult } from "./run-job.ts";
import type { ScheduleEntry } from "./scheduler.ts";

/** A requested job waits for work that is due this soon, at most this many times, so that the caller finds it done. */
const DUE_SOON_MS = 30_000;
const DUE_ROUNDS = 2;
/** How often a wait checks for a stop. */
const STOP_LOOK_MS = 250;
/** Jobs that `sync` runs only at their times. */
const NIGHTLY: ReadonlySet<string> = new Set<FlowName>(["reconcile", "backup", "upkeep"]);

export class RunByName {
  readonly #context: JobContext;
  readonly #schedules: readonly ScheduleEntry[];
  readonly #runners: ReadonlyMap<FlowName, JobRunner>;
  readonly #planned: PlannedWork;
  /** Aborted when the program ends. */
  readonly #signal: AbortSignal;
  readonly #mirror: RunMirror | undefined;

  constructor(
    context: JobContext,
    schedules: readonly ScheduleEntry[],
    { planned, signal, mirror }: { planned: PlannedWork; signal: AbortSignal; mirror: RunMirror | undefined },
  ) {
    this.#context = context;
    this.#schedules = schedules;
    this.#runners = new Map(schedules.map(({ runner }) => [runner.name as FlowName, runner]));
    this.#planned = planned;
    this.#signal = signal;
    this.#mirror = mirror;
  }

  /**
   * Runs one job to its end, never beside a scheduled pass of it.
   * @param only the one key of a feed to send, as named in `quarantine`
   */
  async runJob(name: FlowName, only?: string): Promise<RunResult> {
    const runner = this.#runners.get(name);
    if (runner === undefined) {
      throw new BridgeError("usage", m.daemon.notSwitchedOn({ name }), { hint: m.daemon.setPath({ name }) });
    }
    const entry = this.#schedules.find((each) => each.runner.name === name && each.before === undefined);
    const release = only === undefined ? entry?.endWithBacklog?.() : entry?.limitTo?.(only);
    try {
      let result = await runner.runNow(this.#signal);
      for (let round = 0; round < DUE_ROUNDS && result !== undefined; round++) {
        const dueInMs = dueIn(result) ?? Number.POSITIVE_INFINITY;
        if (dueInMs > DUE_SOON_MS || !(await this.#waitFor(dueInMs))) break;
        const next = await runner.runNow(this.#signal);
        if (next !== undefined) result = addUp(result, next);
      }
      return result ?? { outcome: "stopped", counts: {}, error: new BridgeError("stopped", m.daemon.stopped) };
    } finally {
      release?.();
    }
  }

  /** Waits between passes, so that other jobs continue. Returns false where the program is to end. */
  async #waitFor(ms: number): Promise<boolean> {
    const { clock } = this.#context;
    const untilMs = clock.monotonicMs() + ms;
    for (let leftMs = ms; leftMs > 0; leftMs = untilMs - clock.monotonicMs()) {
      if (this.#context.isStopping() || this.#signal.aborted) return false;
      await clock.sleep(Math.min(leftMs, STOP_LOOK_MS));
    }
    return !this.#context.isStopping();
  }

  /**
   * Runs one bounded pass of each job, in order, with what the daemon's schedule would have requested of it since the
   * last sync.
   * @param options.hasUpkeep also the comparison of stored orders, copies and the removal of old history, where they are due
   * @throws Fenced where another machine works for the shop
   */
  async sync(
    names: readonly JobName[],
    onOutcome: (outcome: SyncOutcome) => void,
    { only, hasUpkeep = false }: { only?: string | undefined; hasUpkeep?: boolean } = {},
  ): Promise<void> {
    const show = (name: FlowName, result: RunResult) => {
      if (this.#mirror?.fenced !== undefined) throw this.#mirror.fenced;
      onOutcome(outcomeOf(name, result, this.#context.client.hideSecrets));
    };
    for (const name of names) {
      if (only === undefined) await this.#prepareDue(name);
      show(name, await this.runJob(name, only));
    }
    if (hasUpkeep) await this.#runNightly(show);
  }

  /** One pass of each: a comparison of many orders goes on in the next sync, so that orders do not wait for it. */
  async #runNightly(show: (name: FlowName, result: RunResult) => void): Promise<void> {
    const signal = this.#signal;
    const nightly = this.#schedules.filter(({ runner, before }) => before === undefined && NIGHTLY.has(runner.name));
    for (const entry of await this.#planned.due(nightly, signal)) {
      const result = await entry.runner.runNow(signal, 1);
      if (result === undefined) return;
      show(entry.runner.name as FlowName, result);
      const { outcome } = result;
      const isOver = outcome !== "stopped" && outcome !== "more" && dueIn(result) === undefined;
      if (isOver) await this.#planned.settle(entry, signal, outcome === "failed");
    }
  }

  /** Requests the wide re-poll or comparison of this job whose time has come. */
  async #prepareDue(name: JobName): Promise<void> {
    const signal = this.#signal;
    const prepared = this.#schedules.filter(({ runner, before }) => runner.name === name && before !== undefined);
    try {
      await this.#planned.prepareDue(prepared, signal);
    } catch (error) {
      // The pass reports why nothing can be written.
      this.#context.log.debug({ job: name, errorCode: asError(error).code }, "Planned work could not be requested.");
    }
  }
}
