/*
 * Refusals of several batches in a row, over the ends of passes and processes: the service refuses confirms as such, and none
 * but a probe is sent for a while.
 */

import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import type { ConfirmTimes, SavedTimes } from "./confirm-record.ts";
import { WAIT_MAX_MS } from "./plan-wait.ts";

export class ConfirmBreaker {
  readonly #times: SavedTimes;
  /** Batches whose confirm was refused since the last one that was accepted, as far as they are counted. */
  readonly #batches: Set<number>;
  /** After several in a row none is tried before then (monotonic). */
  #untilMs: number;

  constructor(times: SavedTimes, { forbidden }: Pick<ConfirmTimes, "forbidden"> = {}) {
    this.#times = times;
    this.#batches = new Set(forbidden?.batches);
    this.#untilMs = forbidden === undefined ? 0 : times.readUntil(forbidden.until, WAIT_MAX_MS);
  }

  /** Whether several confirms in a row were refused, and none was accepted since: `probe` if one may be tried now. */
  get forbidden(): "none" | "probe" | "all" {
    if (this.#batches.size < FAILURES_IN_ROW_MAX) return "none";
    return this.#times.nowMs >= this.#untilMs ? "probe" : "all";
  }

  /** The service refuses the batch's confirm for so long, while it answers pulls. */
  noteForbidden(id: number, forMs: number): void {
    if (this.#batches.size < FAILURES_IN_ROW_MAX) this.#batches.add(id);
    this.#untilMs = Math.max(this.#untilMs, this.#times.nowMs + forMs);
    this.#times.isUnsaved = true;
  }

  noteAccepted(): void {
    if (this.#batches.size === 0) return;
    this.#batches.clear();
    this.#times.isUnsaved = true;
  }

  toSaved(): Pick<ConfirmTimes, "forbidden"> {
    if (this.#batches.size === 0) return {};
    return { forbidden: { batches: [...this.#batches], until: this.#times.toText(this.#untilMs) } };
  }
}
