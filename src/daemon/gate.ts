/*
 * Keeps jobs from sending requests that the service refuses. Holds are rows, so that they outlive a restart and
 * `resume` can lift them.
 */

import { loadWorkLeft } from "../health/work-left.ts";
import { withTexts } from "../messages/pack.ts";
import { commit } from "../pass/commit.ts";
import { describeFailure } from "../pass/describe-failure.ts";
import { HOLDS, isOfFlowOrArea, isRequestedWait } from "../pass/hold-reasons.ts";
import { deleteHold, type HoldRow, saveHold } from "../pass/hold-rows.ts";
import { type HoldPlan, planHold, scopeOfRefusal } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { AREA_FLOWS, JOB_NAMES } from "../pass/job-names.ts";
import { saveRefusedProbe, saveYielded } from "../pass/refused-probes.ts";
import type { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type Area, ServiceError } from "../service/service-error.ts";
import { noteLongWait } from "../updates/reads/background-reads.ts";
import { isLongWait } from "../updates/reads/plan-read-budget.ts";
import { flowOf, keyOf } from "./hold-key.ts";
import { ProbeQueues } from "./probe-queues.ts";
import { isShared, StandingHolds } from "./standing-holds.ts";
import { Verdicts } from "./verdicts.ts";

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
  readonly #holds: StandingHolds;
  readonly #verdicts = new Verdicts();
  /** Monotonic time until which the service asked to wait, by hold; a shorter wait from another answer does not end it. */
  readonly #requestedUntilMs = new Map<string, number>();
  readonly #queues: ProbeQueues;
  /** By hold: the flow that was refused since the hold's last probe began; that probe does not cover it. */
  readonly #refusedSince = new Map<string, { flow: string; row: HoldRow }>();

  constructor(context: JobContext) {
    this.#context = context;
    this.#holds = new StandingHolds(context);
    this.#queues = new ProbeQueues(context);
  }

  /**
   * Whether a job of these areas may send requests now; its own name comes last. For a `probe` the hold's next probe is
   * already postponed, in the database too, so that a crash does not repeat it at once.
   */
  async admit(areas: readonly string[], signal: AbortSignal): Promise<Admission> {
    const { store, clock } = this.#context;
    this.#holds.countFromStart();
    await this.#holds.bringBack(areas, signal);
    const due: { hold: HoldRow; windowMs: number }[] = [];
    const yielded: HoldRow[] = [];
    let held: HoldRow | undefined;
    let leftMs = 0;
    for (const { hold, windowMs } of this.#holds.stopping(areas)) {
      // All holds are checked, so that their waits run in parallel.
      const turn = this.#turnOf(hold, windowMs, areas);
      if (turn !== "probe") {
        held ??= hold;
        leftMs = Math.max(leftMs, this.#holds.waitOf(hold, windowMs), YIELDED_MS);
        if (turn === "yield" && this.#queues.noteYielded(hold, areas)) yielded.push(hold);
      }
      // A probe that fails for another reason must not cost the longest wait; one that is refused as before sets it again.
      else {
        const { probeMs } = HOLDS[isRequestedWait(hold.reason) ? "rate limit" : "refused"].blocks;
        due.push({ hold, windowMs: Math.min(windowMs ?? 0, probeMs) });
      }
    }
    if (yielded.length > 0)
      await commit(this.#context, signal, () => {
        for (const hold of yielded) saveYielded(store, hold, flowOf(areas));
      });
    if (held !== undefined) return { state: "held", hold: held, leftMs: Number.isFinite(leftMs) ? leftMs : undefined };
    if (due.length === 0) return { state: "open" };
    for (const { hold } of due) {
      this.#queues.noteBegun(hold);
      this.#refusedSince.delete(keyOf(hold));
    }
    // In memory first: while the commit waits for the write lock, no other job may be let through.
    for (const { hold, windowMs } of due) this.#holds.postpone(hold, clock.monotonicMs() + windowMs);
    try {
      await commit(this.#context, signal, () => {
        for (const { hold, windowMs } of due) {
          saveHold(store, { ...hold, nextProbeAt: isoTime(clock.nowMs() + this.#holds.storedMs(hold, windowMs)) });
        }
      });
    } catch (error) {
      // A flow that was refused meanwhile keeps its wait.
      for (const { hold } of due)
        if (!this.#refusedSince.has(keyOf(hold))) this.#holds.postpone(hold, clock.monotonicMs());
      throw error;
    }
    for (const { hold } of due) this.#holds.noteSaved(hold);
    return { state: "probe", holds: due.map(({ hold }) => hold) };
  }

  /** Whether a hold stops a job of these areas, due for a probe or not; its own name comes last. */
  isHeld(areas: readonly string[]): boolean {
    try {
      return this.#holds.stopping(areas).length > 0;
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
      const untilMs = this.#holds.endWait(hold);
      this.#refusedSince.delete(key);
      this.#queues.forget(hold);
      if (refused === undefined || untilMs === undefined) continue;
      this.#requestedUntilMs.delete(key);
      this.#holds.noteSaved(hold);
      this.#holds.postpone(ofFlow(refused), untilMs);
      this.#requestedUntilMs.set(keyOf(ofFlow(refused)), untilMs);
    }
    for (const { row, untilMs } of longer) this.#holds.postpone(row, untilMs);
    return holds;
  }

  /** Holds that are left of one of an area: of each flow whose own refusal asks for a longer wait. */
  #listLonger(hold: HoldRow): { row: HoldRow; untilMs: number }[] {
    const { clock } = this.#context;
    return this.#holds.own.of(hold).flatMap(({ flow, untilMs }) => {
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
      .flatMap((area) => this.#holds.of(area))
      .filter((hold) => this.#holds.waitOf(hold) <= 0)
      .filter((hold) => isRequestedWait(hold.reason) || this.#hasNothing(hold));
    if (over.length === 0) return;
    await commit(this.#context, signal, () => {
      for (const hold of over) this.#end(hold);
    });
    for (const hold of over) this.#forget(hold);
  }

  #forget(hold: HoldRow): void {
    this.#holds.endWait(hold);
    this.#holds.noteSaved(hold);
    this.#queues.forget(hold);
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
      this.#holds.postpone(hold, clock.monotonicMs());
      this.#queues.noteUnused(hold, areas);
    }
  }

  /**
   * A probe of these holds has ended, and they stand: what it asked failed for another reason. That may last for ever at one endpoint, so the
   * next probe is left to flows that wait, as after a refusal.
   */
  async inVain(holds: readonly HoldRow[], areas: readonly string[], signal: AbortSignal): Promise<void> {
    const left = holds.filter((hold) => hold.scope === "area" && this.#refusedSince.get(keyOf(hold)) === undefined);
    if (left.length === 0) return;
    for (const hold of left) this.#queues.noteRefused(hold, areas);
    await commit(this.#context, signal, () => {
      for (const hold of left) saveRefusedProbe(this.#context.store, hold, flowOf(areas));
    });
  }

  /** The hold that a failed pass of a job requires. */
  planFor(error: BridgeError, areas: readonly string[]): HoldPlan | undefined {
    const flow = flowOf(areas);
    const plan = planHold(error, flow);
    if (plan === undefined || !isOfFlowOrArea(plan.reason) || !(error instanceof ServiceError)) return plan;
    this.#verdicts.note(areas, { isAccepted: false, atMs: this.#context.clock.monotonicMs() });
    if (plan.scope === "flow") return plan;
    const standing = this.#holds.of(flow).find(({ reason }) => reason === plan.reason)?.scope;
    return planHold(error, flow, scopeOfRefusal(flow, this.#verdicts.of(error.area), standing));
  }

  /** Records that a pass which sent requests, and began at this monotonic time, has succeeded. */
  noteAccepted(areas: readonly string[], beganMs: number): void {
    this.#verdicts.note(areas, { isAccepted: true, atMs: beganMs });
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
    const replaced = isOfOrder ? [] : this.#holds.replacedBy(plan, areas);
    const isProbeRefused =
      plan.scope === "area" &&
      this.#holds.of(plan.area).some(({ reason, scope }) => reason === plan.reason && scope === "area");
    if (plan.probeAfterMs !== null && isShared(plan))
      this.#holds.own.set(plan, areas, clock.monotonicMs() + plan.probeAfterMs);
    const probeAfterMs =
      plan.probeAfterMs === null ? null : Math.min(plan.probeAfterMs, this.#holds.windowOf(plan) ?? plan.probeAfterMs);
    const waitMs =
      probeAfterMs === null
        ? null
        : Math.max(probeAfterMs, (this.#requestedUntilMs.get(key) ?? 0) - clock.monotonicMs());
    const row: HoldRow = {
      area: plan.area,
      reason: plan.reason,
      since: [isoTime(now), ...(plan.scope === "area" ? replaced : []).map(({ since }) => since)].sort()[0] ?? "",
      nextProbeAt: waitMs === null ? null : isoTime(now + this.#holds.storedMs(plan, waitMs)),
      detail: withTexts(describeFailure(error), client.hideSecrets),
      scope: plan.scope,
    };
    for (const hold of replaced) this.#forget(hold);
    if (isProbeRefused) this.#queues.noteRefused(plan, areas);
    else this.#queues.forget(plan);
    if (waitMs !== null) {
      this.#holds.postpone(plan, clock.monotonicMs() + waitMs);
      this.#requestedUntilMs.set(key, clock.monotonicMs() + waitMs);
    }
    this.#refusedSince.set(key, { flow: flowOf(areas), row });
    this.#holds.keepUnsaved(row);
    try {
      await commit(this.#context, signal, () => {
        for (const hold of replaced) deleteHold(store, hold.area, hold.reason);
        saveHold(store, row);
        saveRefusedProbe(store, row, isProbeRefused ? flowOf(areas) : undefined);
        if (isLongWait(plan)) noteLongWait(store, now);
      });
      this.#holds.noteSaved(row);
    } catch {
      log.debug({ area: row.area, reason: row.reason }, "The hold could not be written and is kept in memory.");
    }
    // One of the area may be probed sooner from now on.
    for (const hold of this.#holds.of(areas[0] ?? plan.area)) if (isShared(hold)) this.#holds.waitOf(hold);
    return row;
  }

  /** Whether a flow of these areas waits for the next probe, leaves it to others, or takes it. */
  #turnOf(hold: HoldRow, windowMs: number | null, areas: readonly string[]): "wait" | "yield" | "probe" {
    if (windowMs === null || hold.nextProbeAt === null) return "wait";
    const waitMs = this.#holds.waitOf(hold, windowMs);
    const isOwn = this.#holds.own.untilMs(hold, areas) > this.#context.clock.monotonicMs();
    const isWaiting = waitMs > 0 || isOwn;
    if (!isWaiting && !this.#queues.isYielding(hold, areas)) return "probe";
    this.#queues.noteWaiting(hold, areas);
    return isWaiting ? "wait" : "yield";
  }
}

function ofFlow({ flow, row }: { flow: string; row: HoldRow }): HoldRow {
  return { ...row, area: flow, scope: "flow" };
}
