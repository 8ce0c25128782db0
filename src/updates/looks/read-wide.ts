/*
 * Reads changes further back than the position asks for: a wide re-poll, once a day or after one that failed; the rest of
 * one that was too large for a pass; a backfill. All come after new changes, except a wide re-poll that is due and did not fail.
 */

import { deleteMeta } from "../../database/meta.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import { stopsPass } from "../../pass/holds.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadWatermark, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { BridgeError } from "../../platform/errors.ts";
import type { FindCutChanges } from "../cuts/find-cut-changes.ts";
import { planFirstAsk } from "../pages/follow.ts";
import { beginPass, type FollowOptions, type Pass } from "../pages/follow-pass.ts";
import type { Rest } from "../pages/rest-rows.ts";
import { isPositionRefused } from "../pages/since-limits.ts";
import { isWideDue, narrow, noteWideFailure } from "../pages/wide-failure.ts";
import { WIDE_FAILURE } from "../times/learned-rows.ts";
import { BACKFILL, failBackfill } from "./backfill.ts";
import { LookNear } from "./look-near.ts";
import type { LookOther } from "./look-other.ts";

export class ReadWide {
  readonly #context: JobContext;
  readonly #options: FollowOptions;
  readonly #cuts: FindCutChanges;
  readonly #near: LookNear;
  readonly #other: LookOther;
  readonly #readAndStore: (pass: Pass) => Promise<boolean>;

  /** @param parts.readAndStore reads the pages of a pass; false where a limit ended it */
  constructor(
    context: JobContext,
    options: FollowOptions,
    parts: { cuts: FindCutChanges; other: LookOther; readAndStore: (pass: Pass) => Promise<boolean> },
  ) {
    this.#context = context;
    this.#options = options;
    this.#cuts = parts.cuts;
    this.#other = parts.other;
    this.#readAndStore = parts.readAndStore;
    this.#near = new LookNear(context, options.follow, parts.readAndStore);
  }

  /** What is read further back, after new changes. */
  async plan(
    pass: Pass,
    { due, wideRest }: { due: number | undefined; wideRest: Rest | undefined },
  ): Promise<(() => Promise<boolean>) | undefined> {
    const { store, clock } = this.#context;
    const { counts, signal } = pass;
    const failure = WIDE_FAILURE.load(store);
    if (failure !== undefined && due === undefined && wideRest === undefined)
      await commit(this.#context, signal, () => WIDE_FAILURE.delete(store));
    const isWaiting = failure !== undefined && !isWideDue(failure, clock.monotonicMs());
    if (failure !== undefined && due !== undefined && !isWaiting)
      return async () => await this.#repeat(pass, narrow(failure, due, this.#options.follow.overlapMs));
    if (wideRest !== undefined && isWaiting) return undefined;
    if (wideRest !== undefined || BACKFILL.load(store) !== undefined)
      return async () => await this.readFurther(wideRest, { counts, signal });
    return this.#near.isDue(pass) ? async () => await this.#near.look({ counts, signal }) : undefined;
  }

  /** A wide re-poll that failed before. */
  async #repeat({ counts, signal }: Pass, overlapMs: number): Promise<boolean> {
    const { follow } = this.#options;
    const watermark = loadWatermark(this.#context.store, UPDATES_STREAM);
    const rules = { ...follow, overlapMs };
    const again = { counts, signal, rules, watermark, rest: undefined, isWide: true, isFirst: false };
    return await this.readRange(beginPass(this.#context, follow, again));
  }

  /** A wide re-poll, or the rest of one. */
  async readRange(pass: Pass): Promise<boolean> {
    const { store } = this.#context;
    try {
      const isComplete = await (pass.rest === undefined ? this.readInBoth(pass) : this.#readAndStore(pass));
      await commit(this.#context, pass.signal, () => {
        if (pass.rest === undefined) deleteMeta(store, "sweep_wanted");
        if (isComplete) WIDE_FAILURE.delete(store);
      });
      return isComplete;
    } catch (error) {
      if (isOfRange(error)) await commit(this.#context, pass.signal, () => noteWideFailure(this.#context));
      throw error;
    }
  }

  /** Requests in the position's form; where timestamps are served in another form too, now and then in that one. */
  async readInBoth(pass: Pass): Promise<boolean> {
    // A service with tokens may use digits that look like a time in another form.
    const hasTokens = this.#options.rules.next !== null;
    let isComplete: boolean;
    try {
      isComplete = await this.#readAndStore(pass);
    } catch (error) {
      if (!hasTokens && isPositionRefused(error)) await this.#other.look(pass, { isRefused: true });
      throw error;
    }
    if (isComplete && !hasTokens) await this.#other.look(pass);
    return isComplete;
  }

  /** Reads the rest of a wide re-poll, or a backfill. */
  async readFurther(wideRest: Rest | undefined, { counts, signal }: Pick<Pass, "counts" | "signal">): Promise<boolean> {
    const { store } = this.#context;
    const { follow } = this.#options;
    const { from: backfill, isOwn = false } = (wideRest === undefined ? BACKFILL.load(store) : undefined) ?? {};
    const now = loadWatermark(store, UPDATES_STREAM);
    const wide = { counts, signal, rules: follow, watermark: now, rest: wideRest, isWide: true, isFirst: false };
    const older = beginPass(this.#context, follow, { ...wide, backfill: backfill ?? wideRest?.backfill?.from });
    if (backfill === undefined) return await this.readRange(older);
    older.rest = {
      asked: planFirstAsk(
        { watermark: backfill, serviceNow: undefined, form: older.learned.form },
        { ...follow, overlapMs: 0 },
      ),
      begunAt: undefined,
    };
    return await this.#fillBack(older, isOwn);
  }

  async #fillBack(pass: Pass, isOwn: boolean): Promise<boolean> {
    const { store, log } = this.#context;
    try {
      return await this.#readAndStore(pass);
    } catch (error) {
      if (stopsPass(error)) throw error;
      if (isPositionRefused(error)) {
        if (isOwn) {
          await this.#cuts.readAll(pass.signal);
          return true;
        }
        throw new BridgeError("request_refused", m.updates.backfillTooFar({ from: pass.backfill ?? "" }), {
          hint: m.updates.backfillNearer,
          cause: error,
        });
      }
      const isGivenUp = await commit(this.#context, pass.signal, () => failBackfill(store));
      if (isGivenUp) log.warn({}, m.updates.backfillGivenUp);
      throw error;
    }
  }
}

/** Whether another range may be answered. */
function isOfRange(error: unknown): boolean {
  return error instanceof BridgeError && (error.code === "timed_out" || !stopsPass(error));
}
