/*
 * A service that sends no `Date` may have written times that lie ahead: its clock was wrong for an hour, or one order's time is. The watermark
 * went there, and what is written later lies before it. While it lies ahead of this machine's clock, changes are also asked for from
 * the newest time before that which does not. What only this brings, and is later than that, shows that the clock is right: the watermark goes back, and no time ahead of
 * that clock moves it any more. Where this machine's clock is behind instead, nothing new comes, and the watermark stays. What stands of it is
 * written in the transactions that move the watermark.
 */

import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { addCounts } from "../pass/counts.ts";
import type { JobContext } from "../pass/job.ts";
import { loadNewestTimestamp, loadWatermark, saveWatermark, UPDATES_STREAM } from "../pass/position-rows.ts";
import { loadCut } from "./cut-rows.ts";
import { AHEAD_MS, type FollowRules, instantOf, isLater, liesAhead, planFirstAsk } from "./follow.ts";
import { beginPass, type Pass } from "./follow-pass.ts";
import { type Ahead, loadAhead, saveAhead } from "./learned-rows.ts";
import { isPositionRefused } from "./since-limits.ts";

const MS_NS = 1_000_000n;
const LOOK_EVERY_MS = 5 * 60_000;
/** Where the clock of this machine is far behind, very many changes lie between, or many requests where pages are small. */
const WIDE_RECORDS = 500;
const WIDE_PAGES = 10;
const WIDE_EVERY_MS = 3_600_000;

/** Whether nothing but this machine's clock says that the watermark lies ahead. */
function isAheadHere({ store, client, clock }: Context, pass: Pick<Pass, "learned">, rules: FollowRules): boolean {
  return (
    client.serviceNow === undefined &&
    liesAhead(loadWatermark(store, UPDATES_STREAM), clock.nowMs(), pass.learned.form, rules)
  );
}

type Context = Pick<JobContext, "store" | "client" | "clock">;

/** What is saved with a watermark that now lies ahead of this machine's clock, and did not before. */
export function planAhead(
  { store, client, clock }: Context,
  position: string | undefined,
  { watermark, near, learned, at }: Pass,
  rules: FollowRules,
): Ahead | undefined {
  const isAhead = (text: string | undefined) => liesAhead(text, clock.nowMs(), learned.form, rules);
  if (client.serviceNow !== undefined || !isAhead(position) || isAhead(watermark)) return undefined;
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

  constructor(context: JobContext, follow: FollowRules, readAndStore: (pass: Pass) => Promise<boolean>) {
    this.#context = context;
    this.#follow = follow;
    this.#readAndStore = readAndStore;
  }

  isDue(pass: Pick<Pass, "learned">): boolean {
    return this.#context.clock.monotonicMs() >= this.#dueMs && isAheadHere(this.#context, pass, this.#follow);
  }

  /** False where a bound ended it: the rest is read as that of a sweep. */
  async look({ counts, signal }: Pick<Pass, "counts" | "signal">): Promise<boolean> {
    const { store, clock } = this.#context;
    const follow = this.#follow;
    this.#dueMs = clock.monotonicMs() + LOOK_EVERY_MS;
    const watermark = loadWatermark(store, UPDATES_STREAM);
    const own: Record<string, number> = {};
    const begin = { counts: own, signal, rules: follow, watermark, rest: undefined, isSweep: true, isFirst: false };
    const pass = beginPass(this.#context, follow, begin);
    const ahead = await this.#begin(pass, watermark ?? "");
    // What was made before bears its time also where a service says only now how it was.
    pass.changes.newsAfterNs = instantOf(ahead.near, follow.timezone) ?? -1n;
    const { form } = pass.learned;
    const asked = planFirstAsk({ watermark: ahead.near ?? ahead.at, serviceNow: undefined, form }, follow);
    pass.rest = { asked, begunAt: undefined };
    let isComplete = true;
    try {
      isComplete = await this.#readAndStore(pass);
    } catch (error) {
      if (isPositionRefused(error)) return true;
      throw error;
    } finally {
      addCounts(counts, own);
      const isWide = !isComplete || pass.changes.records > Math.min(WIDE_RECORDS, WIDE_PAGES * pass.pageMax);
      if (isWide) this.#dueMs = clock.monotonicMs() + WIDE_EVERY_MS;
    }
    if (!isComplete || loadCut(store) !== undefined) return isComplete;
    // What lies ahead as well would have come anyway.
    const { earliestNewsNs } = pass.changes;
    const isNear =
      earliestNewsNs !== undefined && earliestNewsNs <= BigInt(Math.floor(clock.nowMs()) + AHEAD_MS) * MS_NS;
    const isNews = isNear && Object.entries(own).some(([name, count]) => name !== "quarantined" && count > 0);
    await this.#settle(ahead, { pass, isNews });
    return true;
  }

  async #begin(pass: Pass, watermark: string): Promise<Ahead> {
    const { store, clock } = this.#context;
    const standing = loadAhead(store);
    if (standing !== undefined) return standing;
    const isAhead = (text: string | undefined) => liesAhead(text, clock.nowMs(), pass.learned.form, this.#follow);
    const near = newestBefore(store, isAhead);
    const begun = { at: pass.at, watermark, isProven: false, ...(near !== undefined && { near }) };
    await commit(this.#context, pass.signal, () => saveAhead(store, begun));
    return begun;
  }

  async #settle(ahead: Ahead, { pass, isNews }: { pass: Pass; isNews: boolean }): Promise<void> {
    const { store, log } = this.#context;
    const served = pass.near?.text;
    const near = served !== undefined && isLater(served, ahead.near, this.#follow) ? served : ahead.near;
    // Where it goes back to was sent by the service, and all that came after it is asked for once more.
    const back = ahead.near ?? near;
    const isBack = isNews && back !== undefined;
    if (!isBack && near === ahead.near) return;
    await commit(this.#context, pass.signal, () => {
      if (isBack) saveWatermark(store, UPDATES_STREAM, back, pass.at);
      saveAhead(store, { ...ahead, ...(near !== undefined && { near }), isProven: isBack || ahead.isProven });
    });
    if (isBack) log.warn({ watermark: pass.watermark, since: back }, m.updates.watermarkBack);
  }
}
