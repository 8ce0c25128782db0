/*
 * Decides when one job runs: one pass at a time, another one at once while work remains, and with growing delays while
 * it fails. A crash loses nothing that matters: every job runs at start, and its work is in the database.
 */

import { addCounts } from "../pass/counts.ts";
import { Liveness } from "../platform/liveness.ts";
import type { Clock } from "../platform/ports.ts";
import { passBackoffMs } from "./backoff.ts";
import type { RunResult } from "./run-job.ts";

/** Passes in a row per trigger, so that other jobs get a turn even if the service never runs out of work. */
const PASSES_IN_ROW_MAX = 1_000;

export interface RunnerOptions {
  name: string;
  clock: Clock;
  run: (signal: AbortSignal) => Promise<RunResult>;
  /** Waits before each pass. */
  before?: (signal: AbortSignal) => Promise<void>;
  /** Called with every pass. */
  onResult?: (result: RunResult) => void;
  /** Whether a hold that stops the job stands. */
  isHeld?: () => boolean;
  /** The program is to end soon: no further pass. */
  isStopping: () => boolean;
}

export class JobRunner {
  readonly name: string;
  readonly #options: RunnerOptions;
  readonly #liveness = new Liveness();
  #running: Promise<RunResult | undefined> | undefined;
  #isAskedAgain = false;
  #failures = 0;
  #retryAtMs: number | undefined;
  /** When deferred work is due. */
  #dueAtMs = Number.POSITIVE_INFINITY;
  /** A hold stopped the last pass. */
  #wasHeld = false;
  #lastStartMs: number;

  constructor(options: RunnerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#lastStartMs = options.clock.monotonicMs();
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when no pass is running, or after `longestMs`. */
  async whenIdle(limit?: { longestMs: number; signal: AbortSignal }): Promise<void> {
    if (this.#running === undefined || limit === undefined) return void (await this.#running);
    const ended = new AbortController();
    const signal = AbortSignal.any([limit.signal, ended.signal]);
    const wait = this.#options.clock.sleep(limit.longestMs, signal).catch(() => {});
    await Promise.race([this.#running.catch(() => {}), wait]);
    ended.abort();
  }

  /** Milliseconds on the monotonic clock since the last pass began. */
  sinceLastStartMs(): number {
    return this.#options.clock.monotonicMs() - this.#lastStartMs;
  }

  /** Milliseconds since the running pass was last seen to make a sign of life; 0 where none runs. */
  silentMs(): number {
    const silentMs = this.#liveness.silentMs(this.#options.clock.monotonicMs());
    return this.isRunning ? silentMs : 0;
  }

  /** A scheduled run: does nothing while the job backs off after a failure. */
  trigger(signal: AbortSignal): void {
    if (this.#retryAtMs !== undefined && this.#options.clock.monotonicMs() < this.#retryAtMs) return;
    void this.runNow(signal);
  }

  /** Called by the scheduler's tick: starts a retry, deferred work that is due, or a pass that a hold stopped and that no hold stops now. */
  retryIfDue(signal: AbortSignal): void {
    if (this.isRunning) return;
    const atMs = this.#retryAtMs ?? this.#dueAtMs;
    const isFree = this.#wasHeld && this.#options.isHeld?.() === false;
    if (isFree || this.#options.clock.monotonicMs() >= atMs) void this.runNow(signal);
  }

  /**
   * Runs at once, whatever the backoff. If a pass is running, another one follows it, so that everything written before
   * the call is seen. Resolves with the last result and the counts of all passes; undefined where it was stopped before
   * it began.
   * @param passesMax passes in a row, where none is running
   */
  async runNow(signal: AbortSignal, passesMax = PASSES_IN_ROW_MAX): Promise<RunResult | undefined> {
    if (this.#options.isStopping()) return undefined;
    this.#isAskedAgain = true;
    this.#running ??= this.#runUntilDone(signal, passesMax);
    return await this.#running;
  }

  async #runUntilDone(signal: AbortSignal, passesMax: number): Promise<RunResult | undefined> {
    let result: RunResult | undefined;
    try {
      for (let passes = 0; passes < passesMax && !this.#options.isStopping(); passes++) {
        if (this.#options.before !== undefined) await this.#options.before(signal);
        this.#isAskedAgain = false;
        this.#lastStartMs = this.#options.clock.monotonicMs();
        const pass = await this.#liveness.during(() => this.#options.run(signal));
        this.#note(pass);
        this.#options.onResult?.(pass);
        result = result === undefined ? pass : addUp(result, pass);
        if (pass.outcome === "failed" || pass.outcome === "stopped") break;
        if (pass.outcome !== "more" && !this.#isAskedAgain) break;
      }
      return result;
    } finally {
      // Here and not in the caller: a request that arrives in between would otherwise count as covered by this run.
      this.#running = undefined;
    }
  }

  #note(result: RunResult): void {
    this.#wasHeld = result.outcome === "held";
    const dueInMs = result.outcome === "held" ? result.leftMs : dueIn(result);
    this.#dueAtMs = dueInMs === undefined ? Number.POSITIVE_INFINITY : this.#options.clock.monotonicMs() + dueInMs;
    if (result.outcome !== "failed") {
      this.#failures = 0;
      this.#retryAtMs = undefined;
      return;
    }
    const { clock } = this.#options;
    this.#failures = result.hasProgressed === true ? Math.max(this.#failures, 1) : this.#failures + 1;
    this.#retryAtMs = clock.monotonicMs() + passBackoffMs(this.#failures, clock.random());
  }
}

/** Milliseconds until work that a pass deferred is due. */
export function dueIn(result: RunResult): number | undefined {
  return result.error === null && "dueInMs" in result ? result.dueInMs : undefined;
}

/** Merges two passes in a row: the outcome of the later one, and the counts of both. */
export function addUp(before: RunResult, last: RunResult): RunResult {
  const counts = { ...before.counts };
  addCounts(counts, last.counts);
  if (last.outcome === "idle" && Object.keys(counts).length > 0) return { ...last, outcome: "done", counts };
  return { ...last, counts };
}
