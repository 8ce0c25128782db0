/*
 * The budget of reads in the background (`plan-read-budget.ts`), as the jobs that make such reads use it. It is one value
 * in `meta`, so that it also holds where each pass is a process. Reads are taken from it a few at a time, before they are
 * made; a crash in between loses these.
 */

import type { Store } from "../../database/store.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { READ_BUDGET } from "../times/learned-rows.ts";
import { nextRoomMs, planAfterWait, planTaking, roomOf } from "./plan-read-budget.ts";

/** So few that those which are taken and not made hardly count, and so many that writing them costs little. */
const READS_PER_WRITE = 10;

/** The service has asked all to wait for long. To be called inside the transaction that saves the hold. */
export function noteLongWait(store: Store, nowMs: number): void {
  READ_BUDGET.save(store, planAfterWait(READ_BUDGET.load(store), nowMs));
}

type Context = Pick<JobContext, "store" | "clock" | "log">;

export class BackgroundReads {
  readonly #context: Context;
  readonly #part: number;
  /** Taken from the budget and not made yet. */
  #left = 0;

  /** @param part of the budget that these reads may use up: the rest of it is left to others */
  constructor(context: Context, part = 1) {
    this.#context = context;
    this.#part = part;
  }

  /** How many may be made now. */
  get room(): number {
    const { store, clock } = this.#context;
    return this.#left + roomOf(READ_BUDGET.load(store), clock.nowMs(), this.#part);
  }

  /** Milliseconds until there is more room. */
  get moreInMs(): number {
    return nextRoomMs(this.#context.clock.nowMs());
  }

  /**
   * Whether one more read may be made; it then counts as made.
   * @param wanted reads of this pass that are still to be made, with this one
   */
  async take(wanted: number, signal: AbortSignal): Promise<boolean> {
    if (this.#left === 0) this.#left = await this.#takeSome(Math.min(wanted, READS_PER_WRITE), signal);
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  async #takeSome(wanted: number, signal: AbortSignal): Promise<number> {
    const { store, clock } = this.#context;
    if (this.room === 0) return 0;
    return await commit(this.#context, signal, () => {
      const planned = planTaking(READ_BUDGET.load(store), {
        wanted,
        nowMs: clock.nowMs(),
        part: this.#part,
      });
      READ_BUDGET.save(store, planned.budget);
      return planned.taken;
    });
  }
}
