/*
 * Keeps jobs from sending requests that the service refuses. Holds are rows, so that they outlive a restart and
 * `resume` can lift them. Their deadlines use the monotonic clock while the process lives, so that a jump of the wall
 * clock neither floods the service nor silences the bridge. A hold that a full disk keeps from being written is kept in
 * memory; after a crash the next refusal sets it again. The last answer to each flow is kept in memory only: after a
 * restart a hold keeps its scope until two flows have been answered again.
 */

import type { HoldReason } from "../database/hold-names.ts";
import { loadWorkLeft } from "../health/work-left.ts";
import { withTexts } from "../messages/pack.ts";
import { commit } from "../pass/commit.ts";
import { describeFailure } from "../pass/describe-failure.ts";
import { deleteHold, type HoldRow, loadHolds, loadHoldsOf, saveHold, saveHoldTimes } from "../pass/hold-rows.ts";
import {
  CREDENTIALS_PROBE_MS,
  type HoldPlan,
  OF_FLOW_OR_AREA,
  PAYMENT_PROBE_MS,
  planHold,
  RATE_LIMIT_DEFAULT_MS,
  REFUSED_PROBE_MS,
  scopeOfRefusal,
  type Verdict,
} from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { AREA_FLOWS, JOB_NAMES } from "../pass/job-names.ts";
import { saveRefusedProbe } from "../pass/refused-probes.ts";
import type { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { RETRY_AFTER_MAX_MS } from "../service/retry-after.ts";
import { type Area, ServiceError } from "../service/service-error.ts";
import { flowOf, keyOf } from "./hold-key.ts";
import { OwnWaits } from "./own-waits.ts";
import { ProbeQueues } from "./probe-queues.ts";

/** Reasons that block requests, each with the longest wait until a probe; null: only a person ends the hold. */
const BLOCKING: Partial<Record<HoldReason, number | null>> = {
  credentials: CREDENTIALS_PROBE_MS,
  payment: PAYMENT_PROBE_MS,
  "rate limit": RETRY_AFTER_MAX_MS,
  refused: REFUSED_PROBE_MS,
  unread: REFUSED_PROBE_MS,
  unrestored: null,
};

/** Reasons whose holds of one area share the probes: any endpoint of the area may show that the service is well. */
const SHARED: ReadonlySet<HoldReason> = new Set<HoldReason>(["credentials", "payment"]);

/** A job that left a probe to others asks again after so long. */
const YIELDED_MS = 60_000;

export type Admission =
  | { state: "open" }
  /** One pass may try whether these holds are over; `holds` are as before their next probe was postponed. */
  | { state: "probe"; holds: readonly HoldRow[] }
  /** `leftMs`: until this job may try; undefined where only a person ends the hold. */
  | { state: "held"; hold: HoldRow; leftMs: number | undefined };

export class HoldGate {
  readonly #context: JobContext;
  /** Monotonic time of the next probe, by area and reason. */
  readonly #probeAtMs = new Map<string, number>();
  /**
   * Monotonic time until which the service asked to wait, by hold; a shorter wait from another answer does not end it.
   */
  readonly #requestedUntilMs = new Map<string, number>();
  /** Holds that could not be written. */
  readonly #unsaved = new Map<string, HoldRow>();
  readonly #own = new OwnWaits();
  readonly #queues: ProbeQueues;
  /** By hold: the flow that was refused since the hold's last probe began; that probe does not cover it. */
  readonly #refusedSince = new Map<string, { flow: string; row: HoldRow }>();
  /** The last answer to each flow, by area and flow. */
  readonly #verdicts = new Map<string, Verdict>();
  /** Deadlines of the holds that existed at the start are set. */
  #isCounting = false;

  constructor(context: JobContext) {
    this.#context = context;
    this.#queues = new ProbeQueues(context);
  }

  /**
   * Whether a job of these areas may send requests now; its own name comes last. For a `probe` the hold's next probe is
   * already postponed, in the database too, so that a crash does not repeat it at once.
   */
  async admit(areas: readonly string[], signal: AbortSignal): Promise<Admission> {
    const { store, clock } = this.#context;
    this.#countFromStart();
    await this.#bringBack(areas, signal);
    const due: { hold: HoldRow; windowMs: number }[] = [];
    let held: HoldRow | undefined;
    let leftMs = 0;
    for (const { hold, windowMs } of this.#stopping(areas)) {
      // All holds are checked, so that their waits run in parallel.
      if (this.#isWaiting(hold, windowMs, areas)) {
        held ??= hold;
        leftMs = Math.max(leftMs, this.#leftOf(hold, windowMs));
      }
      // A probe that fails for another reason must not cost the longest wait; one that is refused as before sets it again.
      else {
        const longestMs = hold.reason === "rate limit" ? RATE_LIMIT_DEFAULT_MS : REFUSED_PROBE_MS;
        due.push({ hold, windowMs: Math.min(windowMs ?? 0, longestMs) });
      }
    }
    if (held !== undefined) return { state: "held", hold: held, leftMs: Number.isFinite(leftMs) ? leftMs : undefined };
    if (due.length === 0) return { state: "open" };
    for (const { hold } of due) {
      this.#queues.noteBegun(hold);
      this.#refusedSince.delete(keyOf(hold));
    }
    // In memory first: while the commit waits for the write lock, no other job may be let through.
    for (const { hold, windowMs } of due) this.#probeAtMs.set(keyOf(hold), clock.monotonicMs() + windowMs);
    try {
      await commit(this.#context, signal, () => {
        for (const { hold, windowMs } of due) {
          saveHold(store, { ...hold, nextProbeAt: isoTime(clock.nowMs() + this.#storedMs(hold, windowMs)) });
        }
      });
    } catch (error) {
      // A flow that was refused meanwhile keeps its wait.
      for (const { hold } of due)
        if (!this.#refusedSince.has(keyOf(hold))) this.#probeAtMs.set(keyOf(hold), clock.monotonicMs());
      throw error;
    }
    for (const { hold } of due) this.#unsaved.delete(keyOf(hold));
    return { state: "probe", holds: due.map(({ hold }) => hold) };
  }

  /**
   * Stores a wait that is longer than the longest anew: the clock was ahead when it began. Otherwise each process would
   * count from its own start.
   */
  async #bringBack(areas: readonly string[], signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const nowMs = clock.nowMs();
    const now = isoTime(nowMs);
    const ahead = this.#stopping(areas).flatMap(({ hold }) => {
      const { since, nextProbeAt } = hold;
      const windowMs = BLOCKING[hold.reason] ?? null;
      if (windowMs === null || nextProbeAt === null || Date.parse(nextProbeAt) <= nowMs + windowMs) return [];
      const waitMs = this.#waitOf(hold, nextProbeAt, windowMs);
      // The probe of a hold that is due stores its next time.
      return waitMs <= 0 ? [] : [{ ...hold, since: since > now ? now : since, nextProbeAt: isoTime(nowMs + waitMs) }];
    });
    if (ahead.length === 0) return;
    await commit(this.#context, signal, () => {
      for (const hold of ahead) saveHoldTimes(store, hold);
    });
  }

  /** Whether a hold stops a job of these areas, due for a probe or not; its own name comes last. */
  isHeld(areas: readonly string[]): boolean {
    try {
      return this.#stopping(areas).length > 0;
    } catch {
      // The pass itself reports that the database cannot be read.
      return true;
    }
  }

  /**
   * The service accepted a probe: deletes and returns the holds that it tried. A pass that was no probe lifts nothing,
   * because another one may have been refused meanwhile; a flow that was refused during the probe keeps a hold of its
   * own.
   */
  async passed(admission: Admission, signal: AbortSignal): Promise<readonly HoldRow[]> {
    if (admission.state !== "probe") return [];
    const { holds } = admission;
    const longer = holds.flatMap((hold) => this.#listLonger(hold));
    await commit(this.#context, signal, () => {
      for (const hold of holds) this.#end(hold);
      for (const { row } of longer) saveHold(this.#context.store, row);
      for (const hold of holds) {
        const refused = this.#refusedSince.get(keyOf(hold));
        if (refused !== undefined) saveHold(this.#context.store, ofFlow(refused));
      }
    });
    for (const hold of holds) {
      const key = keyOf(hold);
      const refused = this.#refusedSince.get(key);
      const untilMs = this.#probeAtMs.get(key);
      for (const map of [this.#probeAtMs, this.#refusedSince]) map.delete(key);
      this.#queues.forget(hold);
      this.#own.forget(hold);
      if (refused === undefined || untilMs === undefined) continue;
      for (const map of [this.#requestedUntilMs, this.#unsaved]) map.delete(key);
      for (const map of [this.#probeAtMs, this.#requestedUntilMs]) map.set(keyOf(ofFlow(refused)), untilMs);
    }
    for (const { row, untilMs } of longer) this.#probeAtMs.set(keyOf(row), untilMs);
    return holds;
  }

  /** Holds that are left of one of an area: of each flow whose own refusal asks for a longer wait. */
  #listLonger(hold: HoldRow): { row: HoldRow; untilMs: number }[] {
    const { clock } = this.#context;
    return this.#own.of(hold).flatMap(({ flow, untilMs }) => {
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0) return [];
      return [{ row: { ...ofFlow({ flow, row: hold }), nextProbeAt: isoTime(clock.nowMs() + leftMs) }, untilMs }];
    });
  }

  /**
   * For a flow of these areas without work: ends waits that the service asked for and that have passed, and holds whose
   * probe is due where none of their flows has anything to send, because no request would end them.
   */
  async endWaits(areas: readonly string[], signal: AbortSignal): Promise<void> {
    const over = areas
      .flatMap((area) => this.#holdsOf(area))
      .filter(({ reason, nextProbeAt }) => (BLOCKING[reason] ?? null) !== null && nextProbeAt !== null)
      .filter((hold) => this.#waitOf(hold, hold.nextProbeAt ?? "", this.#windowOf(hold) ?? 0) <= 0)
      .filter((hold) => hold.reason === "rate limit" || this.#hasNothing(hold));
    if (over.length === 0) return;
    await commit(this.#context, signal, () => {
      for (const hold of over) this.#end(hold);
    });
    for (const hold of over) {
      for (const map of [this.#probeAtMs, this.#unsaved]) map.delete(keyOf(hold));
      this.#queues.forget(hold);
      this.#own.forget(hold);
    }
  }

  #end(hold: HoldRow): void {
    const { store } = this.#context;
    deleteHold(store, hold.area, hold.reason);
    saveRefusedProbe(store, hold, undefined);
  }

  #hasNothing({ area, scope }: HoldRow): boolean {
    const flows = scope === "area" ? (AREA_FLOWS[area as Area] ?? []) : JOB_NAMES.filter((name) => name === area);
    return flows.length > 0 && flows.every((flow) => loadWorkLeft(this.#context.store, flow).left === 0);
  }

  /** Returns a probe that sent no request. Other flows may take it first, because they may have something to send. */
  async unused(admission: Admission, areas: readonly string[], signal: AbortSignal): Promise<void> {
    if (admission.state !== "probe") return;
    const { store, clock } = this.#context;
    const returned = () => admission.holds.filter((hold) => !this.#refusedSince.has(keyOf(hold)));
    await commit(this.#context, signal, () => {
      for (const hold of returned()) saveHold(store, hold);
    });
    for (const hold of returned()) {
      this.#probeAtMs.set(keyOf(hold), clock.monotonicMs());
      this.#queues.noteUnused(hold, areas);
    }
  }

  /** The hold that a failed pass of a job requires. */
  planFor(error: BridgeError, areas: readonly string[]): HoldPlan | undefined {
    const flow = flowOf(areas);
    const plan = planHold(error, flow);
    if (plan === undefined || !OF_FLOW_OR_AREA.has(plan.reason) || !(error instanceof ServiceError)) return plan;
    this.#note(areas, { isAccepted: false, atMs: this.#context.clock.monotonicMs() });
    if (plan.scope === "flow") return plan;
    const verdicts = [...this.#verdicts.entries()].flatMap(([key, verdict]) =>
      key.startsWith(`${error.area}\n`) ? [verdict] : [],
    );
    const standing = this.#holdsOf(flow).find(({ reason }) => reason === plan.reason)?.scope;
    return planHold(error, flow, scopeOfRefusal(flow, verdicts, standing));
  }

  /** Records that a pass which sent requests, and began at this monotonic time, has succeeded. */
  noteAccepted(areas: readonly string[], beganMs: number): void {
    this.#note(areas, { isAccepted: true, atMs: beganMs });
  }

  #note(areas: readonly string[], verdict: Omit<Verdict, "flow">): void {
    const flow = flowOf(areas);
    this.#verdicts.set(`${areas[0] ?? flow}\n${flow}`, { flow, ...verdict });
  }

  /**
   * Sets or prolongs a hold. Never throws: a hold that cannot be written is in force in memory.
   * @param areas of the job that failed
   */
  async hold(
    plan: HoldPlan,
    error: BridgeError,
    signal: AbortSignal,
    areas: readonly string[] = [plan.area],
  ): Promise<HoldRow> {
    const { store, clock, log, client } = this.#context;
    const now = clock.nowMs();
    const key = keyOf(plan);
    // An answer about one order says nothing about the area, and ends no hold of it.
    const isOfOrder = error instanceof ServiceError && error.target === "order";
    const replaced = isOfOrder ? [] : this.#replacedBy(plan, areas);
    const isProbeRefused =
      plan.scope === "area" &&
      this.#holdsOf(plan.area).some(({ reason, scope }) => reason === plan.reason && scope === "area");
    if (plan.probeAfterMs !== null && isShared(plan))
      this.#own.set(plan, areas, clock.monotonicMs() + plan.probeAfterMs);
    const probeAfterMs =
      plan.probeAfterMs === null ? null : Math.min(plan.probeAfterMs, this.#windowOf(plan) ?? plan.probeAfterMs);
    const waitMs =
      probeAfterMs === null
        ? null
        : Math.max(probeAfterMs, (this.#requestedUntilMs.get(key) ?? 0) - clock.monotonicMs());
    const row: HoldRow = {
      area: plan.area,
      reason: plan.reason,
      since: [isoTime(now), ...(plan.scope === "area" ? replaced : []).map(({ since }) => since)].sort()[0] ?? "",
      nextProbeAt: waitMs === null ? null : isoTime(now + this.#storedMs(plan, waitMs)),
      detail: withTexts(describeFailure(error), client.hideSecrets),
      scope: plan.scope,
    };
    for (const hold of replaced) {
      this.#probeAtMs.delete(keyOf(hold));
      this.#unsaved.delete(keyOf(hold));
      this.#queues.forget(hold);
      this.#own.forget(hold);
    }
    if (isProbeRefused) this.#queues.noteRefused(plan, areas);
    else this.#queues.forget(plan);
    if (waitMs !== null) {
      this.#probeAtMs.set(key, clock.monotonicMs() + waitMs);
      this.#requestedUntilMs.set(key, clock.monotonicMs() + waitMs);
    }
    this.#refusedSince.set(key, { flow: flowOf(areas), row });
    this.#unsaved.set(key, { ...row, since: this.#unsaved.get(key)?.since ?? row.since });
    try {
      await commit(this.#context, signal, () => {
        for (const hold of replaced) deleteHold(store, hold.area, hold.reason);
        saveHold(store, row);
        saveRefusedProbe(store, row, isProbeRefused ? flowOf(areas) : undefined);
      });
      this.#unsaved.delete(key);
    } catch {
      log.debug({ area: row.area, reason: row.reason }, "The hold could not be written and is kept in memory.");
    }
    // One of the area may be probed sooner from now on.
    for (const hold of this.#holdsOf(areas[0] ?? plan.area))
      if (isShared(hold) && hold.nextProbeAt !== null) this.#waitOf(hold, hold.nextProbeAt, this.#windowOf(hold) ?? 0);
    return row;
  }

  /** Deadlines from before a restart run from the restart on, even where no request is due yet. */
  #countFromStart(): void {
    if (this.#isCounting) return;
    for (const hold of loadHolds(this.#context.store)) {
      const windowMs = BLOCKING[hold.reason] ?? null;
      if (windowMs !== null && hold.nextProbeAt !== null) this.#waitOf(hold, hold.nextProbeAt, windowMs);
    }
    this.#isCounting = true;
  }

  /** Holds of the same reason that a new hold replaces: those of its flows, or the one of the whole area. */
  #replacedBy({ area, scope, reason }: HoldPlan, areas: readonly string[]): HoldRow[] {
    const isSame = (hold: HoldRow) => hold.reason === reason && hold.area !== area && !this.#isRequestedWait(hold);
    if (scope === "flow")
      return this.#holdsOf(areas[0] ?? area).filter((hold) => isSame(hold) && hold.scope === "area");
    const flows: readonly string[] = AREA_FLOWS[area as Area] ?? [];
    return flows.flatMap((flow) => this.#holdsOf(flow)).filter((hold) => isSame(hold) && hold.scope === "flow");
  }

  /** Whether the service asked for this wait and it is not over; then no other hold replaces it. */
  #isRequestedWait(hold: HoldRow): boolean {
    if (hold.reason !== "rate limit" || hold.nextProbeAt === null) return false;
    return this.#waitOf(hold, hold.nextProbeAt, RETRY_AFTER_MAX_MS) > 0;
  }

  /** How long a held job waits; one that leaves a probe to others asks again soon. */
  #leftOf(hold: HoldRow, windowMs: number | null): number {
    if (windowMs === null || hold.nextProbeAt === null) return Number.POSITIVE_INFINITY;
    return Math.max(this.#waitOf(hold, hold.nextProbeAt, windowMs), YIELDED_MS);
  }

  #isWaiting(hold: HoldRow, windowMs: number | null, areas: readonly string[]): boolean {
    if (windowMs === null || hold.nextProbeAt === null) return true;
    const waitMs = this.#waitOf(hold, hold.nextProbeAt, windowMs);
    const isOwn = this.#own.untilMs(hold, areas) > this.#context.clock.monotonicMs();
    // Where each pass is a process of its own, the time of day says how long nobody has taken the probe.
    const dueMs = Math.min(waitMs, Date.parse(hold.nextProbeAt) - this.#context.clock.nowMs());
    const isWaiting = waitMs > 0 || isOwn || this.#queues.isYielding(hold, areas, dueMs);
    if (isWaiting) this.#queues.noteWaiting(hold, areas);
    return isWaiting;
  }

  /** The holds that stop a job of these areas, with the time between two probes; null: only a person ends the hold. */
  #stopping(areas: readonly string[]): { hold: HoldRow; windowMs: number | null }[] {
    return areas
      .flatMap((area) => this.#holdsOf(area))
      .flatMap((hold) => {
        const windowMs = this.#windowOf(hold);
        // `orders` is both an area and the flow that pulls: a hold of that flow does not hold the area's other flows.
        const isOther = hold.scope === "flow" && hold.area !== areas.at(-1);
        return windowMs === undefined || isOther ? [] : [{ hold, windowMs }];
      });
  }

  /**
   * The longest wait until a probe: of a hold of a whole area, the shortest of those that its endpoints are refused with.
   * One refusal with a longer wait would otherwise keep the others from being tried.
   */
  #windowOf({ area, scope, reason }: Pick<HoldRow, "area" | "scope" | "reason">): number | null | undefined {
    const own = BLOCKING[reason];
    if (!isShared({ scope, reason }) || own === undefined || own === null) return own;
    // After a restart it is not known which endpoint it is of.
    if (this.#own.of({ area, reason }).length === 0) return own;
    const flows: readonly string[] = AREA_FLOWS[area as Area] ?? [];
    const standing = [...new Set([area, ...flows])].flatMap((each) => this.#holdsOf(each));
    const windows = standing.flatMap((hold) => (SHARED.has(hold.reason) ? [BLOCKING[hold.reason] ?? own] : []));
    return Math.min(own, ...windows);
  }

  /** What is saved is the longest wait of an endpoint, which counts after a restart. */
  #storedMs(hold: Pick<HoldRow, "area" | "reason">, waitMs: number): number {
    const nowMs = this.#context.clock.monotonicMs();
    return Math.max(waitMs, ...this.#own.of(hold).map(({ untilMs }) => untilMs - nowMs));
  }

  #holdsOf(area: string): HoldRow[] {
    const rows = loadHoldsOf(this.#context.store, area);
    const unsaved = [...this.#unsaved.values()].filter(
      (hold) => hold.area === area && rows.every(({ reason }) => reason !== hold.reason),
    );
    return [...rows, ...unsaved];
  }

  #waitOf(hold: HoldRow, nextProbeAt: string, windowMs: number): number {
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
      const leftMs = Math.min(Math.max(Date.parse(nextProbeAt) - clock.nowMs(), 0), windowMs);
      probeAt = clock.monotonicMs() + leftMs;
      this.#probeAtMs.set(key, probeAt);
    }
    return probeAt - clock.monotonicMs();
  }
}

function isShared({ scope, reason }: Pick<HoldRow, "scope" | "reason">): boolean {
  return scope === "area" && SHARED.has(reason);
}

function ofFlow({ flow, row }: { flow: string; row: HoldRow }): HoldRow {
  return { ...row, area: flow, scope: "flow" };
}
