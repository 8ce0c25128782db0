/*
 * Keeps jobs from asking where the service said no. Holds are rows, so that they outlive a restart and `resume` can
 * lift them; their deadlines are kept on the monotonic clock while the process lives, so that a wall clock that
 * jumps neither hammers the service nor silences the bridge.
 */
import type { BridgeError } from "../domain/errors.ts";
import {
  CREDENTIALS_PROBE_MS,
  type HoldPlan,
  type HoldReason,
  PAYMENT_PROBE_MS,
  REFUSED_PROBE_MS,
} from "../domain/holds.ts";
import { isoTime } from "../domain/ports.ts";
import { RETRY_AFTER_MAX_MS } from "../domain/retry-after.ts";
import { deleteHold, type HoldRow, loadHoldsOf, saveHold } from "../store/holds.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

/** Reasons that keep requests from leaving, and how long at most until one may try again; null: a person decides. */
const BLOCKING: Partial<Record<HoldReason, number | null>> = {
  credentials: CREDENTIALS_PROBE_MS,
  payment: PAYMENT_PROBE_MS,
  "rate limit": RETRY_AFTER_MAX_MS,
  refused: REFUSED_PROBE_MS,
  shape: null,
};

export type Admission = { state: "open" } | { state: "probe" } | { state: "held"; hold: HoldRow };

export class HoldGate {
  readonly #context: JobContext;
  /** Monotonic time of the next probe, by area and reason. */
  readonly #probeAtMs = new Map<string, number>();

  constructor(context: JobContext) {
    this.#context = context;
  }

  /**
   * Whether a job of these areas may ask now. A `probe` has already moved the hold's next probe on, in the database
   * too, so that whatever happens to it there is at most one in a hold's window.
   */
  async admit(areas: readonly string[], signal: AbortSignal): Promise<Admission> {
    const { store, clock } = this.#context;
    const due: { hold: HoldRow; windowMs: number }[] = [];
    for (const hold of areas.flatMap((area) => loadHoldsOf(store, area))) {
      const windowMs = BLOCKING[hold.reason];
      if (windowMs === undefined) continue;
      if (windowMs === null || hold.nextProbeAt === null) return { state: "held", hold };
      if (this.#waitOf(hold, hold.nextProbeAt, windowMs) > 0) return { state: "held", hold };
      due.push({ hold, windowMs });
    }
    if (due.length === 0) return { state: "open" };
    await commit(this.#context, signal, () => {
      for (const { hold, windowMs } of due) {
        this.#probeAtMs.set(keyOf(hold), clock.monotonicMs() + windowMs);
        saveHold(store, { ...hold, nextProbeAt: isoTime(clock.nowMs() + windowMs) });
      }
    });
    return { state: "probe" };
  }

  /** A request of these areas was answered well: holds that waited for that end. */
  async passed(areas: readonly string[], signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const over = areas
      .flatMap((area) => loadHoldsOf(store, area))
      .filter((hold) => hold.nextProbeAt !== null && BLOCKING[hold.reason] !== undefined);
    if (over.length === 0) return;
    await commit(this.#context, signal, () => {
      for (const hold of over) deleteHold(store, hold.area, hold.reason);
    });
    for (const hold of over) {
      this.#probeAtMs.delete(keyOf(hold));
      log.info({ area: hold.area, reason: hold.reason }, `${hold.area}: goes on again.`);
    }
  }

  /** Begins or prolongs a hold. */
  async hold(plan: HoldPlan, error: Pick<BridgeError, "message">, signal: AbortSignal): Promise<void> {
    const { store, clock, log, client } = this.#context;
    const now = clock.nowMs();
    const nextProbeAt = plan.probeAfterMs === null ? null : isoTime(now + plan.probeAfterMs);
    const row: HoldRow = {
      area: plan.area,
      reason: plan.reason,
      since: isoTime(now),
      nextProbeAt,
      detail: client.hideSecrets(error.message),
    };
    const isNew = await commit(this.#context, signal, () => saveHold(store, row));
    if (plan.probeAfterMs !== null) this.#probeAtMs.set(keyOf(row), clock.monotonicMs() + plan.probeAfterMs);
    if (isNew) log.warn({ area: plan.area, reason: plan.reason, nextProbeAt }, `${plan.area}: held (${plan.reason}).`);
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
