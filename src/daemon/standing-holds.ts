/*
 * The holds that stop jobs, and how long each waits until its next probe. Deadlines use the monotonic clock while the
 * process lives, so that a jump of the wall clock neither floods the service nor silences the bridge. A hold that a full
 * disk keeps from being written is kept in memory; after a crash the next refusal sets it again.
 */

import { commit } from "../pass/commit.ts";
import { factsOf, isOfFlowOrArea, isRequestedWait } from "../pass/hold-reasons.ts";
import { type HoldRow, loadHolds, loadHoldsOf, saveHoldTimes } from "../pass/hold-rows.ts";
import type { HoldPlan } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { AREA_FLOWS } from "../pass/job-names.ts";
import { isoTime } from "../platform/ports.ts";
import { RETRY_AFTER_MAX_MS } from "../service/retry-after.ts";
import type { Area } from "../service/service-error.ts";
import { type HoldKey, keyOf } from "./hold-key.ts";
import { OwnWaits } from "./own-waits.ts";

export class StandingHolds {
  /** Of holds of a whole area: longer waits of single flows. */
  readonly own = new OwnWaits();
  readonly #context: JobContext;
  /** Monotonic time of the next probe, by area and reason. */
  readonly #probeAtMs = new Map<string, number>();
  /** Holds that could not be written. */
  readonly #unsaved = new Map<string, HoldRow>();
  /** Deadlines of the holds that existed at the start are set. */
  #isCounting = false;

  constructor(context: JobContext) {
    this.#context = context;
  }

  /** Deadlines from before a restart run from the restart on, even where no request is due yet. */
  countFromStart(): void {
    if (this.#isCounting) return;
    for (const hold of loadHolds(this.#context.store)) this.waitOf(hold, longestWaitOf(hold.reason) ?? null);
    this.#isCounting = true;
  }

  /**
   * Stores a wait that is longer than the longest anew: the clock was ahead when it began. Otherwise each process would
   * count from its own start.
   */
  async bringBack(areas: readonly string[], signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const nowMs = clock.nowMs();
    const now = isoTime(nowMs);
    const ahead = this.stopping(areas).flatMap(({ hold }) => {
      const { since, nextProbeAt } = hold;
      const windowMs = longestWaitOf(hold.reason) ?? null;
      if (windowMs === null || nextProbeAt === null) return [];
      if (Date.parse(nextProbeAt) <= nowMs + longestOf({ since, nextProbeAt }, { windowMs, nowMs })) return [];
      const waitMs = this.waitOf(hold, windowMs);
      // The probe of a hold that is due stores its next time.
      return waitMs <= 0 ? [] : [{ ...hold, since: since > now ? now : since, nextProbeAt: isoTime(nowMs + waitMs) }];
    });
    if (ahead.length === 0) return;
    await commit(this.#context, signal, () => {
      for (const hold of ahead) saveHoldTimes(store, hold);
    });
  }

  /** The holds that stop a job of these areas, with the time between two probes; null: only a person ends the hold. */
  stopping(areas: readonly string[]): { hold: HoldRow; windowMs: number | null }[] {
    return areas
      .flatMap((area) => this.of(area))
      .flatMap((hold) => {
        const windowMs = this.windowOf(hold);
        // `orders` is both an area and the flow that pulls: a hold of that flow does not hold the area's other flows.
        const isOther = hold.scope === "flow" && hold.area !== areas.at(-1);
        return windowMs === undefined || isOther ? [] : [{ hold, windowMs }];
      });
  }

  /**
   * The longest wait until a probe: of a hold of a whole area, the shortest of those that its endpoints are refused with.
   * One refusal with a longer wait would otherwise keep the others from being tried.
   */
  windowOf({ area, scope, reason }: Pick<HoldRow, "area" | "scope" | "reason">): number | null | undefined {
    const own = longestWaitOf(reason);
    if (!isShared({ scope, reason }) || own === undefined || own === null) return own;
    // After a restart it is not known which endpoint it is of.
    if (this.own.of({ area, reason }).length === 0) return own;
    const flows: readonly string[] = AREA_FLOWS[area as Area] ?? [];
    const standing = [...new Set([area, ...flows])].flatMap((each) => this.of(each));
    const windows = standing.flatMap((hold) =>
      areProbesShared(hold.reason) ? [longestWaitOf(hold.reason) ?? own] : [],
    );
    return Math.min(own, ...windows);
  }

  /** What is saved is the longest wait of an endpoint, which counts after a restart. */
  storedMs(hold: Pick<HoldRow, "area" | "reason">, waitMs: number): number {
    const nowMs = this.#context.clock.monotonicMs();
    return Math.max(waitMs, ...this.own.of(hold).map(({ untilMs }) => untilMs - nowMs));
  }

  /** Of one area or flow: those stored, and those that could not be written. */
  of(area: string): HoldRow[] {
    const rows = loadHoldsOf(this.#context.store, area);
    const unsaved = [...this.#unsaved.values()].filter(
      (hold) => hold.area === area && rows.every(({ reason }) => reason !== hold.reason),
    );
    return [...rows, ...unsaved];
  }

  /** Milliseconds until the next probe; without end where only a person ends the hold. */
  waitOf(hold: HoldRow, windowMs = this.windowOf(hold) ?? null): number {
    if (windowMs === null || hold.nextProbeAt === null) return Number.POSITIVE_INFINITY;
    const { clock } = this.#context;
    const key = keyOf(hold);
    let probeAt = this.#probeAtMs.get(key);
    // Another endpoint was refused since, with a shorter wait.
    if (probeAt !== undefined && isShared(hold) && probeAt - clock.monotonicMs() > windowMs) {
      probeAt = clock.monotonicMs() + windowMs;
      this.#probeAtMs.set(key, probeAt);
    }
    if (probeAt === undefined) {
      // Set by another process or before a restart: only the wall clock is available, and it may be wrong by years.
      const nowMs = clock.nowMs();
      const longestMs = longestOf({ ...hold, nextProbeAt: hold.nextProbeAt }, { windowMs, nowMs });
      const leftMs = Math.min(Math.max(Date.parse(hold.nextProbeAt) - nowMs, 0), longestMs);
      probeAt = clock.monotonicMs() + leftMs;
      this.#probeAtMs.set(key, probeAt);
    }
    return probeAt - clock.monotonicMs();
  }

  postpone(hold: HoldKey, untilMs: number): void {
    this.#probeAtMs.set(keyOf(hold), untilMs);
  }

  /** Returns until when the hold would have waited. */
  endWait(hold: HoldKey): number | undefined {
    const untilMs = this.#probeAtMs.get(keyOf(hold));
    this.#probeAtMs.delete(keyOf(hold));
    this.own.forget(hold);
    return untilMs;
  }

  /** Until `noteSaved`. */
  keepUnsaved(row: HoldRow): void {
    const key = keyOf(row);
    this.#unsaved.set(key, { ...row, since: this.#unsaved.get(key)?.since ?? row.since });
  }

  noteSaved(hold: HoldKey): void {
    this.#unsaved.delete(keyOf(hold));
  }

  /** Holds of the same reason that a new hold replaces: those of its flows, or the one of the whole area. */
  replacedBy({ area, scope, reason }: HoldPlan, areas: readonly string[]): HoldRow[] {
    const isSame = (hold: HoldRow) => hold.reason === reason && hold.area !== area && !this.#isRequestedWait(hold);
    if (scope === "flow") return this.of(areas[0] ?? area).filter((hold) => isSame(hold) && hold.scope === "area");
    const flows: readonly string[] = AREA_FLOWS[area as Area] ?? [];
    return flows.flatMap((flow) => this.of(flow)).filter((hold) => isSame(hold) && hold.scope === "flow");
  }

  /** Whether the service asked for this wait and it is not over; then no other hold replaces it. */
  #isRequestedWait(hold: HoldRow): boolean {
    if (!isRequestedWait(hold.reason) || hold.nextProbeAt === null) return false;
    return this.waitOf(hold, RETRY_AFTER_MAX_MS) > 0;
  }
}

/** The longest that a stored hold may still wait. Where the clock was ahead when it began, no longer than it was to wait then. */
function longestOf(
  { since, nextProbeAt }: { since: string; nextProbeAt: string },
  { windowMs, nowMs }: { windowMs: number; nowMs: number },
): number {
  const sinceMs = Date.parse(since);
  return sinceMs > nowMs ? Math.min(windowMs, Math.max(Date.parse(nextProbeAt) - sinceMs, 0)) : windowMs;
}

export function isShared({ scope, reason }: Pick<HoldRow, "scope" | "reason">): boolean {
  return scope === "area" && areProbesShared(reason);
}

/** The longest wait until a probe; null: only a person ends the hold; undefined: it blocks no requests. */
function longestWaitOf(reason: string): number | null | undefined {
  return isRequestedWait(reason) ? RETRY_AFTER_MAX_MS : factsOf(reason).blocks?.probeMs;
}

/** Of refusals of one area: any endpoint of it may show that the service is well. */
function areProbesShared(reason: string): boolean {
  return isOfFlowOrArea(reason) && !isRequestedWait(reason);
}
