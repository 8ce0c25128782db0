/*
 * Confirmed batches that are served again without a new one in between: their confirm has no effect, and orders behind
 * them do not come. Saved in the transaction that notes the confirm, so that it is noticed also where each pass is a
 * process of its own, but only from a quarter of an hour after the confirm. After a crash before it, the delivery is not
 * counted.
 */
import { hash } from "node:crypto";
import type { BatchRow } from "../batches/batch-rows.ts";
import type { PullPass } from "../batches/pull-pass.ts";
import { MetaValue } from "../database/meta.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import type { ConfirmForm } from "./confirm-form.ts";
import { loadConfirmedAt } from "./outcome-rows.ts";

/** A batch served so often after its confirm was accepted: the confirm has no effect, which is logged. */
export const SERVED_AGAIN_MAX = 5;
/** After so long the pass fails, because no orders behind this batch are delivered. */
const SERVED_AGAIN_MS = 15 * 60_000;
const AGAIN_MAX = 1_000;
/** Of batches that are awaited. */
const SERVED_MAX = 1_000;

interface Again {
  times: number;
  /** When it was first served again, by the clock of the machine and by the monotonic one. */
  since: string;
  sinceMs: number;
  /** Served again to this process. */
  isHere: boolean;
  /** It was confirmed long ago. Before that, a service that repeats its batches for a short while causes no write. */
  isSaved: boolean;
}

/** The saved form: `times` up to {@link SERVED_AGAIN_MAX}, so that a batch that is served for ever is not written for ever. */
interface Saved {
  /** Digest of the body that had no effect: another one is another matter. */
  form: string;
  batches: { id: number; times: number; since: string }[];
}

const SAVED = new MetaValue<Saved | undefined>("served_again");

export class ServedAgain {
  readonly #context: Pick<JobContext, "store" | "clock">;
  readonly #form: string;
  /** By row id of the batch. */
  readonly #known = new Map<number, Again>();
  /** The last pass in which a batch was served. */
  #servedIn: PullPass | undefined;
  /** Those whose confirm was accepted more than once, and the last pass in which each was served. */
  readonly #served = new Map<number, { row: BatchRow; pass: PullPass }>();

  constructor(context: Pick<JobContext, "store" | "clock">, form: ConfirmForm) {
    this.#context = context;
    this.#form = hash("sha256", JSON.stringify(form));
    this.#recall();
  }

  /** Whether this process has had the batch served again. */
  has(id: number): boolean {
    return this.#known.get(id)?.isHere === true;
  }

  /** Whether batches were served again before, and this pass has served none: nothing waits behind them. */
  isOver(pass: PullPass): boolean {
    return this.#servedIn !== pass && this.#known.size > 0;
  }

  noteServed(row: BatchRow, pass: PullPass): void {
    this.#servedIn = pass;
    if (this.#served.has(row.id)) this.#served.set(row.id, { row, pass });
  }

  /** Batches whose confirm was accepted more than once, and that this pass has not served: one of the confirms took effect. */
  listUnserved(pass: PullPass): BatchRow[] {
    return [...this.#served.values()].filter((served) => served.pass !== pass).map(({ row }) => row);
  }

  noteUnserved(id: number): void {
    this.#served.delete(id);
  }

  /**
   * The batch's confirm was accepted. Detects confirms without effect: no new batch comes, and confirmed ones are served
   * again, under the same or changing names.
   */
  noteConfirmed(row: BatchRow, pass: PullPass): { times: number; isLong: boolean } | undefined {
    if (row.state !== "confirmed") {
      this.clear();
      return undefined;
    }
    if (this.#served.size >= SERVED_MAX) this.#served.clear();
    if (this.has(row.id)) this.#served.set(row.id, { row, pass });
    return this.#count(row.id);
  }

  /** Returns how often the batch was served again, and whether that lasts too long. */
  #count(id: number): { times: number; isLong: boolean } {
    const { clock } = this.#context;
    const nowMs = clock.monotonicMs();
    if (this.#known.size >= AGAIN_MAX) this.#known.clear();
    const since = isoTime(clock.nowMs());
    const before = this.#known.get(id) ?? { times: 0, since, sinceMs: nowMs, isSaved: false };
    const times = before.times + 1;
    const isSaved = before.isSaved || this.#isOfLongAgo(id);
    this.#known.set(id, { ...before, times, isHere: true, isSaved });
    return { times, isLong: times >= SERVED_AGAIN_MAX && nowMs - before.sinceMs >= SERVED_AGAIN_MS };
  }

  /** Another batch came, or none: nothing waits behind these. */
  clear(): void {
    this.#known.clear();
  }

  /** To be called inside a transaction. Writes only what has changed. */
  save(): void {
    const { store } = this.#context;
    const batches = [...this.#known]
      .filter(([, { isSaved }]) => isSaved)
      .map(([id, { times, since }]) => ({ id, times: Math.min(times, SERVED_AGAIN_MAX), since }));
    SAVED.save(store, batches.length === 0 ? undefined : { form: this.#form, batches });
  }

  /** A time in the future is of a clock that was wrong. */
  #isOfLongAgo(id: number): boolean {
    const { store, clock } = this.#context;
    const confirmedAt = loadConfirmedAt(store, id);
    return confirmedAt !== undefined && Math.abs(clock.nowMs() - Date.parse(confirmedAt)) >= SERVED_AGAIN_MS;
  }

  /** A time in the future is of a clock that was wrong: counted from now. */
  #recall(): void {
    const { store, clock } = this.#context;
    const saved = SAVED.load(store);
    if (saved?.form !== this.#form) return;
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    for (const { id, times, since } of saved.batches) {
      const savedMs = Date.parse(since);
      const beganMs = savedMs <= nowMs ? savedMs : nowMs;
      const sinceMs = monotonicMs - Math.min(nowMs - beganMs, SERVED_AGAIN_MS);
      this.#known.set(id, { times, since: isoTime(beganMs), sinceMs, isHere: false, isSaved: true });
    }
  }
}
