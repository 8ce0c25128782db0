/*
 * Stores what a pass has read. Keeps the second guarantee: the watermark moves only in the transaction that stores the
 * last of the changes that it covers, or queues reads of them. After a crash the older watermark requests them again,
 * and what is stored is recognised without a write.
 */

import { withLargeKept } from "../../batches/keep-body.ts";
import type { LateOrders } from "../../confirm/late-orders.ts";
import { m } from "../../messages/messages.ts";
import { isUnchanged } from "../../orders/ingest-options.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { commit } from "../../pass/commit.ts";
import { addCount } from "../../pass/counts.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../../pass/hold-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadWatermark, SWEEP_STREAM, saveWatermark, TIME_STREAM, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { readInTurns } from "../../pass/read-in-turns.ts";
import { isoTime } from "../../platform/ports.ts";
import { saveMatchedPaths } from "../../records/check-paths.ts";
import { forgetUnstored } from "../../records/unstored-records.ts";
import { COVERED_STREAM, type Cut, loadAnchors, saveAnchors } from "../cuts/cut-rows.ts";
import type { FindCutChanges } from "../cuts/find-cut-changes.ts";
import { BACKFILL } from "../looks/backfill.ts";
import { settleLookBack } from "../looks/look-back.ts";
import { AHEAD, type Ahead, loadLearned, saveLearned } from "../times/learned-rows.ts";
import { applyChange } from "./apply-change.ts";
import { type FollowRules, instantOf, isLater, isToken } from "./follow.ts";
import type { FollowOptions, Pass } from "./follow-pass.ts";
import { type Anchor, mergeAnchors } from "./page-cover.ts";
import { RESTS, type Rest, saveRest } from "./rest-rows.ts";

const RECORDS_PER_COMMIT = 100;

/** What the end of a pass saves beside its changes; empty where only changes are stored. */
export interface PassEnd {
  watermark?: string | undefined;
  cut?: Cut | undefined;
  covered?: string | undefined;
  /** Set where the watermark moves ahead of this machine's clock, or where such times were ignored. */
  ahead?: Ahead | undefined;
  swept?: string | undefined;
  /** Null: delete it; undefined: keep it. */
  rest?: Rest | null;
  isBehind?: boolean | undefined;
  isWhole: boolean;
  /** All changes since `backfill` were served. */
  isFilled?: boolean;
}

export class StorePass {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #follow: FollowRules;
  readonly #late: LateOrders;
  readonly #cuts: FindCutChanges;
  /** A saved rest is valid only for requests of the same form. */
  readonly #signature: string;

  constructor(
    context: JobContext,
    { rules, follow, late }: FollowOptions,
    { cuts, signature }: { cuts: FindCutChanges; signature: string },
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#follow = follow;
    this.#late = late;
    this.#cuts = cuts;
    this.#signature = signature;
  }

  /** Stores new changes, a limited number per transaction; the watermark moves in the last one. */
  async store(pass: Pass, end: PassEnd): Promise<void> {
    const { watermark, cut, covered, swept, ahead, isWhole } = end;
    const { store } = this.#context;
    const rules = this.#rules;
    const news = await readInTurns(this.#context.clock, {}, pass.changes.applyChange(isWhole), pass.signal);
    const learns = JSON.stringify(loadLearned(store)) !== JSON.stringify(pass.learned);
    const settles = end.rest !== undefined && this.#isUnsettled(pass, end);
    const anchors = this.#newAnchors(pass, end);
    const isQuiet = [watermark, cut, covered, swept, anchors, ahead].every((each) => each === undefined);
    if (news.length === 0 && isQuiet && !learns && !settles) return;
    const { at, askedAt } = pass;
    const options = {
      ...{ store, rules, at, askedAt },
      machineMs: this.#context.clock.monotonicMs(),
      from: this.#askedFrom(pass),
    };
    await withLargeKept(this.#context, { source: "update", served: news, signal: pass.signal }, async () => {
      for (let from = 0; from === 0 || from < news.length; from += RECORDS_PER_COMMIT) {
        if (from > 0) await this.#context.clock.sleep(0, pass.signal);
        const part = news.slice(from, from + RECORDS_PER_COMMIT);
        const isLast = from + RECORDS_PER_COMMIT >= news.length;
        const ingested = await commit(this.#context, pass.signal, () => {
          saveMatchedPaths(store, { mapping: rules.update, matched: [...pass.matched], at: pass.at });
          const done = part.map((each) => applyChange(options, each));
          if (isLast) saveLearned(store, pass.learned);
          if (isLast && watermark !== undefined) this.#saveTime(pass, watermark);
          // The order matters:
          // 1. The changes before the position are stored, or their reads queued, in this transaction or one before it.
          // 2. `planPosition` has decided not to move it over a page that was cut.
          // 3. Only now, in the last transaction, the watermark moves.
          if (isLast && watermark !== undefined && !this.#isOvertaken(pass, watermark))
            saveWatermark(store, UPDATES_STREAM, watermark, pass.at);
          if (isLast && ahead !== undefined) AHEAD.save(store, ahead);
          if (isLast && cut !== undefined) this.#cuts.save(cut, pass.at);
          if (isLast && (watermark ?? cut) !== undefined) this.#late.savePassed(pass.at);
          if (isLast && anchors !== undefined) saveAnchors(store, anchors);
          if (isLast && covered !== undefined) saveWatermark(store, COVERED_STREAM, covered, pass.at);
          if (isLast && swept !== undefined) saveWatermark(store, SWEEP_STREAM, swept, pass.at);
          if (isLast && settles) this.#settle(pass, end);
          return done;
        });
        for (const each of part) for (const what of [each.unstored, each.overtaken]) forgetUnstored(store, what);
        for (const what of ingested) if (!isUnchanged(what)) addCount(pass.counts, what);
      }
    });
  }

  /** The time from which following requests changes (UTC); everything before there is a watermark. */
  #askedFrom({ watermark }: Pass): string | undefined {
    const { timezone, overlapMs } = this.#follow;
    const ns = instantOf(watermark, timezone) ?? instantOf(loadWatermark(this.#context.store, TIME_STREAM), timezone);
    if (ns !== undefined) return isoTime(Number(ns / 1_000_000n) - overlapMs);
    return watermark === undefined ? isoTime(0) : undefined;
  }

  /** Whether a pull has saved a first position during this first pass that is later than the pass's own. */
  #isOvertaken({ watermark, learned }: Pass, position: string): boolean {
    const { timezone } = this.#follow;
    const standing = watermark === undefined ? loadWatermark(this.#context.store, UPDATES_STREAM) : undefined;
    if (standing === undefined || isToken(position, learned.form, timezone)) return false;
    return isLater(standing, position, this.#follow);
  }

  /** Includes changes that do not move the position: every complete answer from before them has their orders. */
  #newAnchors({ anchors, high }: Pass, { watermark, cut, isWhole }: PassEnd): readonly Anchor[] | undefined {
    // A page that is the same whatever is asked does not show how far changes go.
    if (cut?.isOther) return undefined;
    if (high === undefined || (!isWhole && watermark === undefined && cut === undefined)) return undefined;
    const known = loadAnchors(this.#context.store);
    const merged = mergeAnchors(known, anchors, high.ns);
    const isSame = (anchor: Anchor, at: number) => anchor.orderId === known[at]?.orderId && anchor.ns === known[at].ns;
    return merged.length === known.length && merged.every(isSame) ? undefined : merged;
  }

  /** Whether the end of the pass changes a saved rest, backfill or hold. */
  #isUnsettled(pass: Pass, end: { rest?: Rest | null; isBehind?: boolean | undefined }): boolean {
    const { store } = this.#context;
    const isThere = RESTS[restOf(pass)].load(store) !== undefined;
    const isShown = loadHoldsOf(store, "updates").some(({ reason }) => reason === "behind");
    return (
      end.rest !== null ||
      isThere ||
      pass.backfill !== undefined ||
      (end.isBehind !== undefined && isShown !== end.isBehind)
    );
  }

  #settle(pass: Pass, { rest = null, isBehind, isFilled }: Pick<PassEnd, "rest" | "isBehind" | "isFilled">): void {
    const { store, log } = this.#context;
    const of = restOf(pass);
    // If it continues, it was already removed when it began, and a newer one may wait.
    const isContinued = pass.rest?.backfill !== undefined;
    if (pass.backfill !== undefined && !isContinued && BACKFILL.load(store)?.from === pass.backfill)
      BACKFILL.delete(store);
    if (isFilled && pass.backfill !== undefined) {
      const isNamed = !pass.changes.hasUnnamed && pass.rest?.backfill?.hasUnnamed !== true;
      const released = settleLookBack(store, { from: pass.backfill, isNamed, at: pass.at });
      if (released > 0) log.info({ released }, m.updates.servedByName({ count: released }));
    }
    if (rest === null) RESTS[of].delete(store);
    else saveRest(store, of, rest, this.#signature);
    if (isBehind === false) deleteHold(store, "updates", "behind");
    // A complete wide re-poll covers what following had left to do.
    if (isBehind === false && pass.isWide) RESTS.updates.delete(store);
    if (isBehind !== true) return;
    const detail = m.updates.passFull({ count: pass.changes.records });
    saveHold(store, { area: "updates", reason: "behind", since: pass.at, nextProbeAt: null, detail });
  }

  /** Saves, beside a token, the time up to which changes are stored: the fallback if the service forgets the token. */
  #saveTime({ high, watermark, learned, at }: Pass, position: string): void {
    const { store } = this.#context;
    const follow = this.#follow;
    if (!isToken(position, learned.form, follow.timezone)) return;
    const isTime = watermark !== undefined && !isToken(watermark, learned.form, follow.timezone);
    const time = high?.text ?? (isTime ? watermark : undefined);
    if (time !== undefined && isLater(time, loadWatermark(store, TIME_STREAM), follow))
      saveWatermark(store, TIME_STREAM, time, at);
  }
}

function restOf({ isWide }: Pass): keyof typeof RESTS {
  return isWide ? "sweep" : "updates";
}
