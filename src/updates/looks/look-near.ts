/*
 * Corrects a watermark that is ahead, where the service sends no `Date` and its clock, or one order's time, was wrong:
 * later changes then have earlier times. While the watermark is ahead of this machine's clock, changes are also
 * requested from the newest time before it. If only that brings changes with later times, this machine's clock is
 * right: the watermark goes back, and no time ahead of this clock moves it any more. If this clock is behind instead,
 * nothing new comes, and the watermark stays. The state is saved in the transactions that move the watermark.
 */

import type { Store } from "../../database/store.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import { addCounts } from "../../pass/counts.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadNewestTimestamp, loadWatermark, saveWatermark, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { MS_NS } from "../../platform/durations.ts";
import { loadCut } from "../cuts/cut-rows.ts";
import { AHEAD_MS, type FollowRules, instantOf, isLater, liesAhead, planFirstAsk } from "../pages/follow.ts";
import { beginPass, type Pass } from "../pages/follow-pass.ts";
import { isPositionRefused } from "../pages/since-limits.ts";
import { planWrongDays } from "../times/latest-time.ts";
import { AHEAD, type Ahead } from "../times/learned-rows.ts";

const LOOK_EVERY_MS = 5 * 60_000;
/** With a clock far behind, many changes lie between, or many requests where pages are small. */
const WIDE_RECORDS = 500;
const WIDE_PAGES = 10;
const WIDE_EVERY_MS = 3_600_000;
const REFUSED_WAIT_MAX_MS = 3_600_000;

/** Whether the watermark is ahead by this machine's clock only. */
function isAheadHere({ store, client, clock }: Context, pass: Pick<Pass, "learned">, rules: FollowRules): boolean {
  return (
    client.serviceNow === undefined &&
    liesAhead(loadWatermark(store, UPDATES_STREAM), clock.nowMs(), pass.learned.form, rules)
  );
}

type Context = Pick<JobContext, "store" | "client" | "clock">;

/**
 * The row to save with a watermark that is now ahead of this machine's clock and was not before, or with times that were
 * ignored.
 */
export function planAhead(
  { store, client, clock }: Context,
  position: string | undefined,
  { watermark, near, learned, at, wrongDays: added }: Pass,
  rules: FollowRules,
): Ahead | undefined {
  const isAhead = (text: string | undefined) => liesAhead(text, clock.nowMs(), learned.form, rules);
  if (client.serviceNow !== undefined) return undefined;
  if (!isAhead(position) || isAhead(watermark)) {
    const standing = AHEAD.load(store);
    const wrongDays = standing && planWrongDays(standing.wrongDays ?? [], added, clock.nowMs());
    return wrongDays && { ...standing, wrongDays };
  }
  const from = near?.text ?? watermark ?? newestBefore(store, isAhead);
  return { at, watermark: position ?? "", isProven: false, ...(from !== undefined && { near: from }) };
}

function newestBefore(store: Store, isAhead: (text: string | undefined) => boolean): string | undefined {
  const newest = loadNewestTimestamp(store) ?? undefined;
  return isAhead(newest) ? undefined : newest;
}

export class LookNear {
  readonly #context: JobContext;
  readonly #follow: FollowRules;
  readonly #readAndStore: (pass: Pass) => Promise<boolean>;
  /** Monotonic. */
  #dueMs = Number.NEGATIVE_INFINITY;
  /** Until the next request; doubles while the service refuses them. */
  #waitMs = LOOK_EVERY_MS;

  constructor(context: JobContext, follow: FollowRules, readAndStore: (pass: Pass) => Promise<boolean>) {
    this.#context = context;
    this.#follow = follow;
    this.#readAndStore = readAndStore;
  }

  isDue(pass: Pick<Pass, "learned">): boolean {
    return this.#context.clock.monotonicMs() >= this.#dueMs && isAheadHere(this.#context, pass, this.#follow);
  }

  /** Returns false where a limit ended it; the rest is read as that of a wide re-poll. */
  async look({ counts, signal }: Pick<Pass, "counts" | "signal">): Promise<boolean> {
    const { store, clock } = this.#context;
    const follow = this.#follow;
    this.#dueMs = clock.monotonicMs() + LOOK_EVERY_MS;
    const watermark = loadWatermark(store, UPDATES_STREAM);
    const own: Record<string, number> = {};
    const begin = { counts: own, signal, rules: follow, watermark, rest: undefined, isWide: true, isFirst: false };
    const pass = beginPass(this.#context, follow, begin);
    const ahead = await this.#begin(pass, watermark ?? "");
    // A change made before may be listed only now, with its own time.
    pass.changes.newsAfterNs = instantOf(ahead.near, follow.timezone) ?? -1n;
    const { form } = pass.learned;
    const asked = planFirstAsk({ watermark: ahead.near ?? ahead.at, serviceNow: undefined, form }, follow);
    pass.rest = { asked, begunAt: undefined };
    let isComplete = true;
    try {
      isComplete = await this.#readAndStore(pass);
      this.#waitMs = LOOK_EVERY_MS;
    } catch (error) {
      if (!isPositionRefused(error)) throw error;
      this.#waitMs = Math.min(this.#waitMs * 2, REFUSED_WAIT_MAX_MS);
      this.#dueMs = clock.monotonicMs() + this.#waitMs;
      return true;
    } finally {
      addCounts(counts, own);
      const isWide = !isComplete || pass.changes.records > Math.min(WIDE_RECORDS, WIDE_PAGES * pass.pageMax);
      if (isWide) this.#dueMs = clock.monotonicMs() + WIDE_EVERY_MS;
    }
    if (!isComplete || loadCut(store) !== undefined) return isComplete;
    // A change that is ahead too would have come without this.
    const { earliestNewsNs } = pass.changes;
    const isNear =
      earliestNewsNs !== undefined && earliestNewsNs <= BigInt(Math.floor(clock.nowMs()) + AHEAD_MS) * MS_NS;
    const isNews = isNear && Object.entries(own).some(([name, count]) => name !== "quarantined" && count > 0);
    await this.#settle(ahead, { pass, isNews });
    return true;
  }

  async #begin(pass: Pass, watermark: string): Promise<Ahead> {
    const { store, clock } = this.#context;
    const standing = AHEAD.load(store);
    if (standing !== undefined) return standing;
    const isAhead = (text: string | undefined) => liesAhead(text, clock.nowMs(), pass.learned.form, this.#follow);
    const near = newestBefore(store, isAhead);
    const begun = { at: pass.at, watermark, isProven: false, ...(near !== undefined && { near }) };
    await commit(this.#context, pass.signal, () => AHEAD.save(store, begun));
    return begun;
  }

  async #settle(ahead: Ahead, { pass, isNews }: { pass: Pass; isNews: boolean }): Promise<void> {
    const { store, log } = this.#context;
    const served = pass.near?.text;
    const near = served !== undefined && isLater(served, ahead.near, this.#follow) ? served : ahead.near;
    // The service has sent the time to which it goes back, and everything after it is requested again.
    const back = ahead.near ?? near;
    const isBack = isNews && back !== undefined;
    if (!isBack && near === ahead.near) return;
    await commit(this.#context, pass.signal, () => {
      if (isBack) saveWatermark(store, UPDATES_STREAM, back, pass.at);
      const wrong = isBack && pass.watermark !== undefined ? { watermark: pass.watermark } : {};
      AHEAD.save(store, {
        ...ahead,
        ...(near !== undefined && { near }),
        ...wrong,
        isProven: isBack || ahead.isProven,
      });
    });
    if (isBack) log.warn({ watermark: pass.watermark, since: back }, m.updates.watermarkBack);
  }
}
