/*
 * Keeps jobs from asking where the service said no. Holds are rows, so that they outlive a restart and `resume` can
 * lift them; their deadlines are kept on the monotonic clock while the process lives, so that a wall clock that
 * jumps neither hammers the service nor silences the bridge. A hold that a full disk keeps from being written is kept
 * in memory: after a crash the same answer asks for it again.
 */
import type { BridgeError } from "../domain/errors.ts";
import {
  CREDENTIALS_PROBE_MS,
  type HoldPlan,
  type HoldReason,
  PAYMENT_PROBE_MS,
  RATE_LIMIT_DEFAULT_MS,
  REFUSED_PROBE_MS,
} from "../domain/holds.ts";
import { isoTime } from "../domain/ports.ts";
import { RETRY_AFTER_MAX_MS } from "../domain/retry-after.ts";
import { deleteHold, type HoldRow, loadHolds, loadHoldsOf, saveHold } from "../store/holds.ts";
import { commit } from "./commit.ts";
import { describeFailure } from "./describe-failure.ts";
import type { JobContext } from "./job.ts";

/** Reasons that keep requests from leaving, and how long at most until one may try again; null: a person decides. */
const BLOCKING: Partial<Record<HoldReason, number | null>> = {
  credentials: CREDENTIALS_PROBE_MS,
  payment: PAYMENT_PROBE_MS,
  "rate limit": RETRY_AFTER_MAX_MS,
  refused: REFUSED_PROBE_MS,
  shape: null,
};

/** Reasons that are about one flow's own requests; the last of a job's areas is its own name. */
const OF_ONE_FLOW: ReadonlySet<HoldReason> = new Set<HoldReason>(["refused", "shape"]);

/** A flow that was let through to probe and had nothing to ask leaves the next probes to the others for so long. */
const OTHERS_FIRST_MS = 5 * 60_000;

export type Admission =
  | { state: "open" }
  /** One may try whether these holds are over; as they were before their next probe was moved on. */
  | { state: "probe"; holds: readonly HoldRow[] }
  | { state: "held"; hold: HoldRow };

export class HoldGate {
  readonly #context: JobContext;
  /** Monotonic time of the next probe, by area and reason. */
  readonly #probeAtMs = new Map<string, number>();
  /** Monotonic time until which an answer has asked for patience; a shorter wait that another one asks for is over before. */
  readonly #toldUntilMs = new Map<string, number>();
  /** Holds that could not be written. */
  readonly #unsaved = new Map<string, HoldRow>();
  /** Until when a flow leaves the probes of a hold to others, by hold and flow. */
  readonly #othersFirstUntilMs = new Map<string, number>();
  /** The holds that stood at the start have been looked at. */
  #isCounting = false;

  constructor(context: JobContext) {
    this.#context = context;
  }

  /**
   * Whether a job of these areas may ask now. A `probe` has already moved the hold's next probe on, in the database
   * too, so that whatever happens to it there is at most one in a hold's window.
   */
  async admit(areas: readonly string[], signal: AbortSignal): Promise<Admission> {
    const { store, clock } = this.#context;
    this.#countFromStart();
    const due: { hold: HoldRow; windowMs: number }[] = [];
    let held: HoldRow | undefined;
    for (const hold of areas.flatMap((area) => this.#holdsOf(area))) {
      const windowMs = BLOCKING[hold.reason];
      // The flow that pulls bears the name of its area: what concerns its own requests holds no other flow there.
      if (windowMs === undefined || (OF_ONE_FLOW.has(hold.reason) && hold.area !== areas.at(-1))) continue;
      // Every hold is looked at, so that their times run beside one another and not one after the other.
      if (this.#isWaiting(hold, windowMs, areas)) held ??= hold;
      // What the service asked for is over: a probe that fails on the way must not cost the longest wait there is.
      else due.push({ hold, windowMs: hold.reason === "rate limit" ? RATE_LIMIT_DEFAULT_MS : (windowMs ?? 0) });
    }
    if (held !== undefined) return { state: "held", hold: held };
    if (due.length === 0) return { state: "open" };
    // In memory first: while the commit waits for the write lock, another job must not be let through as well.
    for (const { hold, windowMs } of due) this.#probeAtMs.set(keyOf(hold), clock.monotonicMs() + windowMs);
    try {
      await commit(this.#context, signal, () => {
        for (const { hold, windowMs } of due) {
          saveHold(store, { ...hold, nextProbeAt: isoTime(clock.nowMs() + windowMs) });
        }
      });
    } catch (error) {
      for (const { hold } of due) this.#probeAtMs.set(keyOf(hold), clock.monotonicMs());
      throw error;
    }
    for (const { hold } of due) this.#unsaved.delete(keyOf(hold));
    return { state: "probe", holds: due.map(({ hold }) => hold) };
  }

  /**
   * The service has let a probe in: the holds that it tried are over, and are returned. A pass that was no probe lifts
   * nothing, because another one may have been refused while it ran.
   */
  async passed(admission: Admission, signal: AbortSignal): Promise<readonly HoldRow[]> {
    if (admission.state !== "probe") return [];
    const { holds } = admission;
    await commit(this.#context, signal, () => {
      for (const hold of holds) deleteHold(this.#context.store, hold.area, hold.reason);
    });
    for (const hold of holds) this.#probeAtMs.delete(keyOf(hold));
    return holds;
  }

  /** A probe that asked nothing is given back, and others may take it first: they may have something to ask. */
  async unused(admission: Admission, areas: readonly string[], signal: AbortSignal): Promise<void> {
    if (admission.state !== "probe") return;
    const { store, clock } = this.#context;
    const { holds } = admission;
    await commit(this.#context, signal, () => {
      for (const hold of holds) saveHold(store, hold);
    });
    for (const hold of holds) {
      this.#probeAtMs.set(keyOf(hold), clock.monotonicMs());
      this.#othersFirstUntilMs.set(flowKeyOf(hold, areas), clock.monotonicMs() + OTHERS_FIRST_MS);
    }
  }

  /** Begins or prolongs a hold. Never throws: one that cannot be written is in force all the same. */
  async hold(plan: HoldPlan, error: BridgeError, signal: AbortSignal): Promise<HoldRow> {
    const { store, clock, log, client } = this.#context;
    const now = clock.nowMs();
    const key = keyOf(plan);
    const waitMs =
      plan.probeAfterMs === null
        ? null
        : Math.max(plan.probeAfterMs, (this.#toldUntilMs.get(key) ?? 0) - clock.monotonicMs());
    const row: HoldRow = {
      area: plan.area,
      reason: plan.reason,
      since: isoTime(now),
      nextProbeAt: waitMs === null ? null : isoTime(now + waitMs),
      detail: client.hideSecrets(describeFailure(error)),
    };
    if (waitMs !== null) {
      this.#probeAtMs.set(key, clock.monotonicMs() + waitMs);
      this.#toldUntilMs.set(key, clock.monotonicMs() + waitMs);
    }
    this.#unsaved.set(key, { ...row, since: this.#unsaved.get(key)?.since ?? row.since });
    try {
      await commit(this.#context, signal, () => saveHold(store, row));
      this.#unsaved.delete(key);
    } catch {
      log.debug({ area: row.area, reason: row.reason }, "The hold could not be written and is kept in memory.");
    }
    return row;
  }

  /** What was begun before a restart runs from the restart on, also where nobody has anything to ask yet. */
  #countFromStart(): void {
    if (this.#isCounting) return;
    for (const hold of loadHolds(this.#context.store)) {
      const windowMs = BLOCKING[hold.reason] ?? null;
      if (windowMs !== null && hold.nextProbeAt !== null) this.#waitOf(hold, hold.nextProbeAt, windowMs);
    }
    this.#isCounting = true;
  }

  #isWaiting(hold: HoldRow, windowMs: number | null, areas: readonly string[]): boolean {
    if (windowMs === null || hold.nextProbeAt === null) return true;
    if (this.#waitOf(hold, hold.nextProbeAt, windowMs) > 0) return true;
    return (this.#othersFirstUntilMs.get(flowKeyOf(hold, areas)) ?? 0) > this.#context.clock.monotonicMs();
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
    if (probeAt === undefined) {
      // Begun by another process or before a restart: the wall clock is all there is, and it may be wrong by years.
      const leftMs = Math.min(Math.max(Date.parse(nextProbeAt) - clock.nowMs(), 0), windowMs);
      probeAt = clock.monotonicMs() + leftMs;
      this.#probeAtMs.set(key, probeAt);
    }
    return probeAt - clock.monotonicMs();
  }
}

function keyOf(hold: Pick<HoldRow, "area" | "reason">): string {
  return `${hold.area}\n${hold.reason}`;
}

function flowKeyOf(hold: HoldRow, areas: readonly string[]): string {
  return `${keyOf(hold)}\n${areas.join()}`;
}
