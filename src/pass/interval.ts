import { loadMeta, saveMeta, type TextKey } from "../database/meta.ts";
import { isoTime } from "../platform/ports.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

type Context = Pick<JobContext, "store" | "clock" | "log">;

/** Work at intervals that go on in the next process: where each pass is one, the work would otherwise never be due. */
export class Interval {
  readonly #context: Context;
  readonly #key: TextKey;
  readonly #everyMs: number;
  readonly #isDueFirst: boolean;
  /** Monotonic. */
  #atMs: number | undefined;

  /**
   * @param key where the time of the last work is stored
   * @param isDueFirst whether the work is due where it was never done, or only an interval later
   */
  constructor(context: Context, key: TextKey, everyMs: number, { isDueFirst = true } = {}) {
    this.#context = context;
    this.#key = key;
    this.#everyMs = everyMs;
    this.#isDueFirst = isDueFirst;
  }

  /** Returns whether the work is due; the next one then is due an interval later. */
  async begin(signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#context;
    const last = loadMeta(store, this.#key);
    this.#atMs ??= clock.monotonicMs() + leftMs(last, clock.nowMs(), this.#everyMs);
    if (clock.monotonicMs() < this.#atMs) return false;
    this.#atMs = clock.monotonicMs() + this.#everyMs;
    await commit(this.#context, signal, () => saveMeta(store, this.#key, isoTime(clock.nowMs())));
    return last !== undefined || this.#isDueFirst;
  }
}

/** How long the work is not due yet. A time of a clock that was ahead does not count. */
export function leftMs(last: string | undefined, nowMs: number, everyMs: number): number {
  const agoMs = nowMs - Date.parse(last ?? "");
  return agoMs >= 0 && agoMs < everyMs ? everyMs - agoMs : 0;
}
