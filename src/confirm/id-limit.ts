import type { ConfirmTimes, SavedTimes } from "./confirm-record.ts";

/**
 * For so long no confirm names more ids than were last accepted. A gateway's limit rarely changes, but a faulty gateway
 * is repaired sooner.
 */
const LIMIT_FOR_MS = 24 * 3_600_000;

/** How many ids the service accepts in one confirm. */
export class IdLimit {
  readonly #times: SavedTimes;
  /** `untilMs`: monotonic. */
  #limit: { size: number; untilMs: number } | undefined;

  constructor(times: SavedTimes, { idsMax }: Pick<ConfirmTimes, "idsMax"> = {}) {
    this.#times = times;
    if (idsMax !== undefined) this.#limit = { size: idsMax.size, untilMs: times.readUntil(idsMax.until, LIMIT_FOR_MS) };
  }

  /** Undefined where no limit is known. */
  get size(): number | undefined {
    const { size, untilMs = 0 } = this.#limit ?? {};
    return this.#times.nowMs < untilMs ? size : undefined;
  }

  set size(size: number | undefined) {
    this.#limit = size === undefined ? undefined : { size, untilMs: this.#times.nowMs + LIMIT_FOR_MS };
    this.#times.isUnsaved = true;
  }

  toSaved(): Pick<ConfirmTimes, "idsMax"> {
    if (this.#limit === undefined) return {};
    return { idsMax: { size: this.#limit.size, until: this.#times.toText(this.#limit.untilMs) } };
  }
}
