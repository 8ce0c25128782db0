/*
 * Follows later changes of orders: one pass reads what is new page by page (`read-pages.ts`), finds out whether pages have left something out
 * (`judge-pages.ts`), decides where the position goes (`plan-position.ts`) and stores all of it together
 * (`store-pass.ts`). Then orders with a queued read are read.
 */

import { CompletenessCheck, UnusualEmptyError } from "../completeness/check-completeness.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { asksAllToWait, stopsPass } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { hasPulled, loadWatermark, SWEEP_STREAM, UPDATES_STREAM } from "../pass/position-rows.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { forgetUnstoredChanges } from "../records/unstored-records.ts";
import { failBackfill, loadBackfill } from "./backfill.ts";
import { loadCut } from "./cut-rows.ts";
import { FindCutChanges } from "./find-cut-changes.ts";
import { isToken, liesAhead, planFirstAsk, planSweep } from "./follow.ts";
import { beginPass, type FollowOptions, type Pass } from "./follow-pass.ts";
import { JudgePages } from "./judge-pages.ts";
import type { Learned } from "./learn-form.ts";
import { isLookBackDue, requestLookBack } from "./look-back.ts";
import { LookNear, planAhead } from "./look-near.ts";
import { LookOther } from "./look-other.ts";
import { type Found, planCut } from "./plan-cut.ts";
import { planPosition } from "./plan-position.ts";
import type { ReadOrders } from "./read-orders.ts";
import { ReadPages } from "./read-pages.ts";
import { type Backfilled, loadRest, type Rest } from "./rest-rows.ts";
import { isPositionRefused } from "./since-limits.ts";
import { endTie, findTieOver } from "./step-over.ts";
import { StorePass } from "./store-pass.ts";

interface Followed {
  /** False where a bound of the pass ended it and the next one goes on at once. */
  isComplete: boolean;
  wide?: () => Promise<boolean>;
}

/** What has failed without ending the pass. */
interface Trouble {
  ofChanges?: unknown;
  ofOrders?: unknown;
}

function stopsAll(error: unknown): boolean {
  return error !== undefined && stopsPass(error);
}

export class FollowUpdates implements Job {
  readonly name = "updates";
  readonly areas = ["orders", "updates"];
  readonly #context: JobContext;
  readonly #options: FollowOptions;
  readonly #readOrders: ReadOrders;
  readonly #cuts: FindCutChanges;
  readonly #completeness: CompletenessCheck;
  readonly #stored: StorePass;
  readonly #pages: ReadPages;
  readonly #judge: JudgePages;
  readonly #near: LookNear;
  readonly #other: LookOther;
  #sweepWanted = false;
  /** A look from before was ended by a wait behind what is new. */
  #isWideNext = false;
  /** Following was ended by what ends the pass: queued reads have the first turn of the next one. */
  #isReadNext = false;
  readonly #told = { future: false, ahead: false };
  /** A rest is of use only where the same is asked in the same form. */
  readonly #signature: string;

  constructor(context: JobContext, options: FollowOptions, readOrders: ReadOrders) {
    this.#context = context;
    this.#options = options;
    this.#readOrders = readOrders;
    const { rules, follow } = options;
    this.#signature = JSON.stringify([rules.signature, rules.next?.text ?? null, follow.since, follow.timezone]);
    this.#cuts = new FindCutChanges(context, follow);
    this.#completeness = new CompletenessCheck(context, "updates", rules.changes.text);
    this.#stored = new StorePass(context, options, { cuts: this.#cuts, signature: this.#signature });
    this.#pages = new ReadPages(context, options, { completeness: this.#completeness, stored: this.#stored });
    this.#judge = new JudgePages(context, follow.timezone, this.#pages);
    this.#other = new LookOther(context, follow, { pages: this.#pages, stored: this.#stored });
    this.#near = new LookNear(context, follow, (pass) => this.#readAndStore(pass));
  }

  /** The next pass looks back further, for changes that appeared late. */
  requestSweep(): void {
    this.#sweepWanted = true;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    this.#options.late.beginPass();
    try {
      return await this.#run(signal);
    } finally {
      this.#options.late.endPass();
      forgetUnstoredChanges(this.#context.store);
    }
  }

  async #run(signal: AbortSignal): Promise<JobReport> {
    const counts: Record<string, number> = {};
    const trouble: Trouble = {};
    this.#pages.beginPass();
    await this.#takeTurn(trouble, { counts, signal });
    this.#isReadNext = true;
    const { isComplete = true, wide } = (await this.#try(trouble, () => this.#follow(counts, signal))) ?? {};
    this.#isReadNext = false;
    const isSearching = await this.#cuts.requestReads(signal);
    const before = this.#readOrders.unannounced;
    // Orders with a queued read do not wait for the next good answer of another path, nor for the rest of a look from before.
    let left = await this.#readOwed(trouble, { counts, signal });
    let isWideComplete = true;
    if (wide !== undefined && !stopsAll(trouble.ofOrders)) {
      this.#isWideNext = true;
      isWideComplete = (await this.#try(trouble, wide)) ?? true;
      this.#isWideNext = false;
      if (trouble.ofOrders === undefined) left = await this.#readOwed(trouble, { counts, signal });
    }
    const { ofChanges, ofOrders } = trouble;
    if (ofOrders === undefined && isSearching && this.#readOrders.unannounced > before) await this.#cuts.show(signal);
    if (ofChanges !== undefined) throw ofOrders ?? ofChanges;
    // Changes are followed, whatever becomes of single orders.
    if (ofOrders !== undefined) return { outcome: "done", counts, failure: asError(ofOrders) };
    const worked = Object.values(counts).some((count) => count > 0);
    return {
      outcome:
        !isComplete || !isWideComplete || (worked && (left > 0 || isSearching)) ? "more" : worked ? "done" : "idle",
      counts,
    };
  }

  /** Where so few requests are answered that what is new takes them all, the rest of a look from before has the first of every other pass. */
  async #takeTurn(trouble: Trouble, { counts, signal }: Pick<Pass, "counts" | "signal">): Promise<void> {
    const isReadNext = this.#isReadNext;
    this.#isReadNext = false;
    if (isReadNext) {
      await this.#cuts.requestReads(signal);
      await this.#readOwed(trouble, { counts, signal });
    }
    if (stopsAll(trouble.ofOrders)) throw trouble.ofOrders;
    const rest = this.#isWideNext ? loadRest(this.#context.store, "sweep_rest", this.#signature) : undefined;
    this.#isWideNext = false;
    if (rest === undefined) return;
    await this.#try(trouble, async () => await this.#readWide(rest, { counts, signal }));
    await this.#readOwed(trouble, { counts, signal });
  }

  /** @throws what ends the pass */
  async #try<T>(trouble: Trouble, follow: () => Promise<T>): Promise<T | undefined> {
    try {
      return await follow();
    } catch (error) {
      if (stopsPass(error)) throw error;
      // What was read is stored, no position has moved, and it may be over with the next pass.
      if (!(error instanceof UnusualEmptyError && error.isBrief)) trouble.ofChanges = error;
      return undefined;
    }
  }

  async #readOwed(trouble: Trouble, { counts, signal }: Pick<Pass, "counts" | "signal">): Promise<number> {
    try {
      return await this.#readOrders.readOwed(counts, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      trouble.ofOrders = error;
      return 0;
    }
  }

  /** Follows what is new. Where that came to its end, `wide` goes on with what looks further back. */
  async #follow(counts: Record<string, number>, signal: AbortSignal): Promise<Followed> {
    const { store, client } = this.#context;
    const { follow, sweepOverlapMs } = this.#options;
    const watermark = loadWatermark(store, UPDATES_STREAM);
    // The first pull determines from when on there are changes to follow. All changes ever made are not asked for instead.
    if (watermark === undefined && !hasPulled(store)) return { isComplete: true };
    const sweptAt = loadWatermark(store, SWEEP_STREAM);
    const sweepRest = loadRest(store, "sweep_rest", this.#signature);
    const wanted = { sweepOverlapMs, overlapMs: follow.overlapMs, isWanted: this.#sweepWanted };
    const lookBackMs = sweepRest === undefined ? planSweep(sweptAt, client.serviceNow, wanted) : undefined;
    const rules = { ...follow, overlapMs: lookBackMs ?? follow.overlapMs };
    const isSweep = lookBackMs !== undefined;
    const rest = isSweep ? undefined : loadRest(store, "updates_rest", this.#signature);
    const isFirst = sweptAt === undefined;
    const pass = beginPass(this.#context, follow, { counts, signal, rules, watermark, rest, isSweep, isFirst });
    const isComplete = await this.#readInBoth(pass);
    if (isSweep) this.#sweepWanted = false;
    // Following what is new goes before the rest of a sweep that was too wide for one pass.
    if (isComplete && sweepRest === undefined) await this.#lookBack(signal);
    if (!isComplete) return { isComplete };
    if (sweepRest === undefined && loadBackfill(store) === undefined)
      return this.#near.isDue(pass)
        ? { isComplete, wide: async () => await this.#near.look({ counts, signal }) }
        : { isComplete };
    return { isComplete, wide: async () => await this.#readWide(sweepRest, { counts, signal }) };
  }

  /** In the form of the position, and where times are served in another one as well, from time to time in that. */
  async #readInBoth(pass: Pass): Promise<boolean> {
    // Digits are a position of the service's own where the form is not one of digits.
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

  /** The rest of a sweep that was too wide for one pass, or what a backfill asks for. */
  async #readWide(sweepRest: Rest | undefined, { counts, signal }: Pick<Pass, "counts" | "signal">): Promise<boolean> {
    const { store } = this.#context;
    const { follow } = this.#options;
    const { from: backfill, isOwn = false } = (sweepRest === undefined ? loadBackfill(store) : undefined) ?? {};
    const now = loadWatermark(store, UPDATES_STREAM);
    const wide = { counts, signal, rules: follow, watermark: now, rest: sweepRest, isSweep: true, isFirst: false };
    const older = beginPass(this.#context, follow, { ...wide, backfill: backfill ?? sweepRest?.backfill?.from });
    if (backfill === undefined) return await this.#readAndStore(older);
    older.rest = {
      asked: planFirstAsk(
        { watermark: backfill, serviceNow: undefined, form: older.learned.form },
        { ...follow, overlapMs: 0 },
      ),
      begunAt: undefined,
    };
    return await this.#fillBack(older, isOwn);
  }

  /** Changes that named no order are asked for again. */
  async #lookBack(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    if (!isLookBackDue(store, clock.nowMs())) return;
    await commit(this.#context, signal, () => requestLookBack(store, isoTime(clock.nowMs())));
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

  /** One pass over pages, from the watermark or from where the last one stopped. False where a bound ended it. */
  async #readAndStore(pass: Pass): Promise<boolean> {
    const { watermark, isSweep, rest } = pass;
    const { follow } = this.#options;
    const { store } = this.#context;
    const leastNow = this.#pages.first.leastNow;
    let isComplete: boolean;
    let found: Found | undefined;
    let wait: unknown;
    try {
      isComplete = await this.#pages.readPages(pass, this.#context.client.serviceNow);
      const isAnswered = pass.otherQuestion === undefined;
      if (isComplete && isAnswered) await this.#completeness.judgeEnd(pass.metadata, pass.signal);
      if (isComplete && isAnswered && pass.wholeMetadata !== undefined)
        await this.#completeness.learnWhole(pass.wholeMetadata, pass.signal);
      found = await this.#judge.judge(pass);
    } catch (error) {
      // What was read is stored; the watermark stays where it is, and the rest is asked for again. A service that refuses to
      // go on from there is asked from the watermark.
      const isRefused = rest !== undefined && isPositionRefused(error);
      const end = this.#judge.endAtWait(pass, error);
      if (end === undefined) {
        const watermark = this.#reachedAtWait(pass, error);
        await this.#stored.store(pass, { isWhole: false, ...(isRefused && { rest: null }), watermark });
        throw error;
      }
      // As at a bound.
      [isComplete, found, wait] = [false, end.found, error];
    }
    this.#tellFuture(pass.future);
    const { serviceDate, high, skipped, token, serviceNow, at } = pass;
    const isAnswered = pass.otherQuestion === undefined;
    const isWhole = isComplete && isAnswered && rest === undefined;
    const covered = isWhole ? (serviceDate ?? leastNow ?? high?.text ?? skipped?.to) : undefined;
    const { timezone } = follow;
    const { form } = pass.learned;
    // Positions of the service's own go on behind any timestamp.
    const isByToken = token !== undefined || (watermark !== undefined && isToken(watermark, form, timezone));
    const tieNs = isByToken || pass.isTieOver ? undefined : findTieOver(this.#context, pass);
    const cut = planCut({
      standing: loadCut(store),
      isSweep,
      at,
      watermark,
      timezone,
      high,
      found,
      skipped,
      covered,
      tieNs,
    });
    if (found?.verdict === "cut" && !found.isMixed) pass.learned = learnCut(pass.learned, found.size);
    const position = planPosition(
      { watermark, token, high, serviceNow, serviceDate, form, isCut: cut !== undefined },
      follow,
    );
    // Where the service names positions, one that was not asked yet may be on the way to older changes.
    const isAsked = wait === undefined || this.#options.rules.next === null;
    const moved = isAsked ? position.watermark : this.#reachedAtWait(pass, wait);
    this.#tellAhead(position.reached ?? watermark, pass);
    const begunAt = rest === undefined ? serviceDate : rest.begunAt;
    await this.#stored.store(pass, {
      watermark: moved,
      cut,
      ahead: planAhead(this.#context, moved, pass, follow),
      isWhole,
      isFilled: isComplete && pass.backfill !== undefined && cut === undefined,
      covered: pass.isNarrowed && cut === undefined && this.#pages.first.isCoverLater(covered) ? covered : undefined,
      swept: isComplete && isAnswered && (isSweep || pass.isFirst) ? begunAt : undefined,
      rest: !isComplete && pass.asked !== undefined ? { asked: pass.asked, begunAt, backfill: filledBy(pass) } : null,
      // Whether more than a pass may read is left behind the watermark, where this pass can determine it.
      isBehind: isSweep || wait !== undefined ? (isComplete && rest === undefined ? false : undefined) : !isComplete,
    });
    this.#pages.first.noteCovered(covered);
    if (pass.isTieOver) await endTie(this.#context, pass.signal);
    if (wait !== undefined) throw wait;
    if (!isComplete) this.#tellBound(pass);
    return isComplete;
  }

  /** A token that was asked and answered covers what came before it: where the service asks to wait behind it, the next pass begins there. */
  #reachedAtWait(pass: Pass, error: unknown): string | undefined {
    const { watermark, token, high, serviceNow, serviceDate, isSweep } = pass;
    const { form } = pass.learned;
    const { follow } = this.#options;
    if (!asksAllToWait(error) || isSweep || token === undefined || !isToken(token, form, follow.timezone))
      return undefined;
    const isCut = loadCut(this.#context.store) !== undefined;
    return planPosition({ watermark, token, high, serviceNow, serviceDate, form, isCut }, follow).watermark;
  }

  #tellBound({ changes, isSweep }: Pass): void {
    const { log } = this.#context;
    const fields = { records: changes.records };
    if (isSweep) log.info(fields, m.updates.wideUnfinished);
    else log.info(fields, m.updates.moreWait);
  }

  /** One line when it begins: the same changes come with every poll. */
  #tellFuture(future: number): void {
    if (future > 0 && !this.#told.future) {
      this.#context.log.warn({ future }, m.updates.fromFuture);
    }
    this.#told.future = future > 0;
  }

  /** Without a Date the service's time is unknown. This machine's own decides nothing, and is good enough for a hint. */
  #tellAhead(position: string | undefined, { serviceNow, learned }: Pass): void {
    const { clock, log } = this.#context;
    const isAhead = serviceNow === undefined && liesAhead(position, clock.nowMs(), learned.form, this.#options.follow);
    if (isAhead && !this.#told.ahead) {
      log.warn({ watermark: position }, m.updates.watermarkAhead);
    }
    this.#told.ahead = isAhead;
  }
}

/** What a backfill that goes on in the next pass keeps. */
function filledBy({ backfill, changes, rest }: Pass): Backfilled | undefined {
  if (backfill === undefined) return undefined;
  return { from: backfill, hasUnnamed: changes.hasUnnamed || rest?.backfill?.hasUnnamed === true };
}

/** How many changes the smallest page held that was cut. */
function learnCut(learned: Learned, size: number): Learned {
  return { ...learned, cutSize: Math.min(size, learned.cutSize ?? size) };
}
