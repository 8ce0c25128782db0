/*
 * Follows later changes of orders. One pass reads new changes page by page (`read-pages.ts`), finds out whether pages
 * left changes out (`judge-pages.ts`), decides where the watermark goes (`plan-position.ts`), and saves it with the
 * changes (`store-pass.ts`). Then orders with a queued read are read.
 */

import { CompletenessCheck, UnusualEmptyError } from "../completeness/check-completeness.ts";
import { loadMeta, saveMeta } from "../database/meta.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { asksAllToWait, stopsPass } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { findBehind, moveBehind } from "../pass/orders-behind.ts";
import { hasPulled, loadWatermark, SWEEP_STREAM, UPDATES_STREAM } from "../pass/position-rows.ts";
import { loadCompleteAt } from "../pass/runs.ts";
import { asError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { forgetUnstoredChanges } from "../records/unstored-records.ts";
import { loadCut } from "./cuts/cut-rows.ts";
import { FindCutChanges } from "./cuts/find-cut-changes.ts";
import { type Found, planCut } from "./cuts/plan-cut.ts";
import { BACKFILL, requestBackfill } from "./looks/backfill.ts";
import { isLookBackDue, requestLookBack } from "./looks/look-back.ts";
import { planAhead } from "./looks/look-near.ts";
import { LookOther } from "./looks/look-other.ts";
import { ReadWide } from "./looks/read-wide.ts";
import { isToken, liesAhead, planWideRepoll } from "./pages/follow.ts";
import { beginPass, type FollowOptions, type Pass } from "./pages/follow-pass.ts";
import { JudgePages } from "./pages/judge-pages.ts";
import { TURN, type Turn } from "./pages/pass-turn.ts";
import { planPosition } from "./pages/plan-position.ts";
import { ReadPages } from "./pages/read-pages.ts";
import { type Backfilled, loadRest } from "./pages/rest-rows.ts";
import { isPositionRefused } from "./pages/since-limits.ts";
import { endEqualTimestamps, findEqualServed } from "./pages/step-over.ts";
import { type PassEnd, StorePass } from "./pages/store-pass.ts";
import type { ReadOrders } from "./reads/read-orders.ts";
import type { Learned } from "./times/learn-form.ts";
import { WIDE_FAILURE } from "./times/learned-rows.ts";

interface Followed {
  /** False where a limit ended the pass; the next one continues immediately. */
  isComplete: boolean;
  wide?: () => Promise<boolean>;
}

/** The pages of one pass, read and judged. */
interface Reading {
  isComplete: boolean;
  found: Found | undefined;
  /** The service asked to wait, which ended the pass like a limit. */
  wait?: unknown;
  /** A lower bound of the service's time when the pass began. */
  leastNow: string | undefined;
}

/** Failures that did not end the pass. */
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
  readonly #wide: ReadWide;
  readonly #isLogged = { future: false, ahead: false };
  /** A saved rest is valid only for requests of the same form. */
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
    const other = new LookOther(context, follow, { pages: this.#pages, stored: this.#stored });
    const readAndStore = (pass: Pass) => this.#readAndStore(pass);
    this.#wide = new ReadWide(context, options, { cuts: this.#cuts, other, readAndStore });
  }

  /** The next pass re-polls a wide window, for changes that were listed late. */
  async requestWide(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    await commit(this.#context, signal, () => saveMeta(store, "sweep_wanted", isoTime(clock.nowMs())));
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
    const followed = await this.#orTurn("reads", signal, () => this.#try(trouble, () => this.#follow(counts, signal)));
    const { isComplete = true, wide } = followed ?? {};
    const isSearching = await this.#cuts.requestReads(signal);
    const before = this.#readOrders.unannounced;
    // Before a wide read, and also after a failure of the change list: reads of orders use another path.
    const isListed = followed !== undefined;
    let left = await this.#readQueued(trouble, { counts, signal, isListed });
    let isWideComplete = true;
    if (wide !== undefined && !stopsAll(trouble.ofOrders)) {
      isWideComplete = (await this.#orTurn("wide", signal, () => this.#try(trouble, wide))) ?? true;
      if (trouble.ofOrders === undefined) left = await this.#readQueued(trouble, { counts, signal, isListed });
    }
    const { ofChanges, ofOrders } = trouble;
    if (ofOrders === undefined && isSearching && this.#readOrders.unannounced > before) await this.#cuts.show(signal);
    if (ofChanges !== undefined) throw ofOrders ?? ofChanges;
    // Changes were followed; failed reads of single orders do not make the pass fail.
    if (ofOrders !== undefined) {
      // A service that answers few reads a minute is asked for so many each minute.
      const hasProgressed = (counts["read"] ?? 0) > 0;
      return { outcome: "done", counts, failure: asError(ofOrders), hasProgressed };
    }
    const worked = Object.values(counts).some((count) => count > 0);
    const isCut = (!isComplete || !isWideComplete) && !this.#pages.isLeft;
    const isMore = isCut || (worked && (left > 0 || isSearching));
    return { outcome: isMore ? "more" : worked ? "done" : "idle", counts };
  }

  /** Where an error ends the pass, the next one begins with `turn`. */
  async #orTurn<T>(turn: Turn, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!signal.aborted) await commit(this.#context, signal, () => TURN.save(this.#context.store, turn));
      throw error;
    }
  }

  /**
   * Where the service answers so few requests that new changes take all of them, every other pass begins with what comes
   * after them: reads of orders, or the rest of a wide re-poll.
   */
  async #takeTurn(trouble: Trouble, { counts, signal }: Pick<Pass, "counts" | "signal">): Promise<void> {
    const { store } = this.#context;
    const turn = TURN.load(store);
    if (turn === undefined) return;
    await commit(this.#context, signal, () => TURN.delete(store));
    if (turn === "reads") {
      await this.#cuts.requestReads(signal);
      await this.#readQueued(trouble, { counts, signal });
    }
    if (stopsAll(trouble.ofOrders)) throw trouble.ofOrders;
    const rest = turn === "wide" ? loadRest(store, "sweep", this.#signature) : undefined;
    if (rest === undefined) return;
    await this.#try(trouble, async () => await this.#wide.readFurther(rest, { counts, signal }));
    await this.#readQueued(trouble, { counts, signal });
  }

  /** @throws what ends the pass */
  async #try<T>(trouble: Trouble, follow: () => Promise<T>): Promise<T | undefined> {
    try {
      return await follow();
    } catch (error) {
      if (stopsPass(error)) throw error;
      // The changes read so far are stored and no position has moved. A brief trouble may be over in the next pass.
      if (!(error instanceof UnusualEmptyError && error.isBrief)) trouble.ofChanges = error;
      return undefined;
    }
  }

  async #readQueued(
    trouble: Trouble,
    { counts, ...options }: Pick<Pass, "counts" | "signal"> & { isListed?: boolean },
  ): Promise<number> {
    try {
      return await this.#readOrders.readQueued(counts, options);
    } catch (error) {
      if (options.signal.aborted) throw error;
      trouble.ofOrders = error;
      return 0;
    }
  }

  /** Follows new changes. If that came to its end, `wide` reads further back. */
  async #follow(counts: Record<string, number>, signal: AbortSignal): Promise<Followed> {
    const { store, client } = this.#context;
    const { follow, wideOverlapMs } = this.#options;
    const watermark = loadWatermark(store, UPDATES_STREAM);
    // Changes are followed from the first pull on; requesting all changes ever made would be useless.
    if (watermark === undefined && !hasPulled(store)) return { isComplete: true };
    const repolledAt = loadWatermark(store, SWEEP_STREAM);
    const wideRest = loadRest(store, "sweep", this.#signature);
    const wanted = {
      wideOverlapMs,
      overlapMs: follow.overlapMs,
      isWanted: loadMeta(store, "sweep_wanted") !== undefined,
    };
    const due = wideRest === undefined ? planWideRepoll(repolledAt, client.serviceNow, wanted) : undefined;
    // One that failed comes after new changes.
    const lookBackMs = WIDE_FAILURE.load(store) === undefined ? due : undefined;
    const lastPassAgoMs = this.#sinceLastPassMs();
    const rules = { ...follow, overlapMs: lookBackMs ?? follow.overlapMs, lastPassAgoMs };
    const isWide = lookBackMs !== undefined;
    const rest = isWide ? undefined : loadRest(store, "updates", this.#signature);
    const isFirst = repolledAt === undefined;
    const pass = beginPass(this.#context, follow, { counts, signal, rules, watermark, rest, isWide, isFirst });
    const isComplete = await (isWide ? this.#wide.readRange(pass) : this.#wide.readInBoth(pass));
    // New changes first, then the rest of a wide re-poll that was too large for one pass.
    if (isComplete && wideRest === undefined) await this.#lookBack(signal);
    if (!isComplete) return { isComplete };
    const wide = await this.#wide.plan(pass, { due, wideRest });
    return wide === undefined ? { isComplete } : { isComplete, wide };
  }

  /** How long ago the last complete pass began. A clock that was set makes it unknown: then it is as long as a re-poll looks back. */
  #sinceLastPassMs(): number {
    const { store, clock } = this.#context;
    const agoMs = clock.nowMs() - Date.parse(loadCompleteAt(store, "updates") ?? "");
    const { wideOverlapMs } = this.#options;
    return agoMs >= 0 && agoMs < wideOverlapMs ? Math.ceil(agoMs) : wideOverlapMs;
  }

  /** Requests the changes again that named no order, and those that bear times from before the position. */
  async #lookBack(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const nowMs = clock.nowMs();
    if (isLookBackDue(store, nowMs)) await commit(this.#context, signal, () => requestLookBack(store, isoTime(nowMs)));
    const from = findBehind(this.#context, this.#options.follow.overlapMs);
    if (from === undefined || BACKFILL.load(store) !== undefined) return;
    await commit(this.#context, signal, () => {
      requestBackfill(store, from, { isOwn: true });
      moveBehind(this.#context);
    });
  }

  /**
   * One pass over pages, from the watermark or from where the last one stopped. Returns false where a limit ended it.
   */
  async #readAndStore(pass: Pass): Promise<boolean> {
    const reading = await this.#readPages(pass);
    this.#logFuture(pass.future);
    if (reading.found?.verdict === "cut" && !reading.found.isMixed)
      pass.learned = learnCut(pass.learned, reading.found.size);
    // The watermark moves only in the transaction that stores the last of the changes that it covers.
    await this.#stored.store(pass, this.#planEnd(pass, reading));
    this.#pages.first.noteCovered(this.#coveredBy(pass, reading));
    if (pass.isEqualServed) await endEqualTimestamps(this.#context, pass.signal);
    if (reading.wait !== undefined) throw reading.wait;
    if (!reading.isComplete) this.#logBound(pass);
    return reading.isComplete;
  }

  /**
   * Reads the pages and finds out whether they left changes out.
   * @throws what ended the pass, after storing what was read
   */
  async #readPages(pass: Pass): Promise<Reading> {
    const { rest, signal } = pass;
    const leastNow = this.#pages.first.leastNow;
    try {
      const isComplete = await this.#pages.readPages(pass, this.#context.client.serviceNow);
      const isAnswered = pass.otherQuestion === undefined;
      if (isComplete && isAnswered) await this.#completeness.judgeEnd(pass.metadata, signal);
      if (isComplete && isAnswered && pass.wholeMetadata !== undefined)
        await this.#completeness.learnWhole(pass.wholeMetadata, signal);
      return { isComplete, found: await this.#judge.judge(pass), leastNow };
    } catch (error) {
      // After a wait it is the same as after a limit.
      const end = await this.#judge.endAtWait(pass, error);
      if (end !== undefined) return { isComplete: false, found: end.found, wait: error, leastNow };
      // The changes read so far are stored; the watermark stays, and the rest is requested again. If the service
      // refuses to continue from the saved rest, the next pass starts at the watermark.
      const isRefused = rest !== undefined && isPositionRefused(error);
      const watermark = this.#reachedAtWait(pass, error);
      await this.#stored.store(pass, { isWhole: false, ...(isRefused && { rest: null }), watermark });
      throw error;
    }
  }

  /** What is saved with the changes: above all, where the watermark goes. */
  #planEnd(pass: Pass, reading: Reading): PassEnd {
    const { isComplete, found, wait } = reading;
    const { watermark, isWide, rest, serviceDate, high, skipped, token, serviceNow, at } = pass;
    const { follow } = this.#options;
    const { timezone } = follow;
    const { form } = pass.learned;
    const isAnswered = pass.otherQuestion === undefined;
    const covered = this.#coveredBy(pass, reading);
    // The service's own positions continue after any timestamp.
    const isByToken = token !== undefined || (watermark !== undefined && isToken(watermark, form, timezone));
    const tieNs = isByToken || pass.isEqualServed ? undefined : findEqualServed(this.#context, pass);
    const standing = loadCut(this.#context.store);
    const cut = planCut({ standing, isWide, at, watermark, timezone, high, found, skipped, covered, tieNs });
    const isCut = cut !== undefined;
    const position = planPosition({ watermark, token, high, serviceNow, serviceDate, form, isCut }, follow);
    // With tokens, the one that was not requested yet may lead to older changes.
    const isAsked = wait === undefined || this.#options.rules.next === null;
    const moved = isAsked ? position.watermark : this.#reachedAtWait(pass, wait);
    this.#logAhead(position.reached ?? watermark, pass);
    const begunAt = rest === undefined ? serviceDate : rest.begunAt;
    return {
      watermark: moved,
      cut,
      ahead: planAhead(this.#context, moved, pass, follow),
      isWhole: isWhole(pass, reading),
      isFilled: isComplete && pass.backfill !== undefined && !isCut,
      covered: pass.isNarrowed && !isCut && this.#pages.first.isCoverLater(covered) ? covered : undefined,
      swept: isComplete && isAnswered && (isWide || pass.isFirst) ? begunAt : undefined,
      rest: !isComplete && pass.asked !== undefined ? { asked: pass.asked, begunAt, backfill: filledBy(pass) } : null,
      // Whether changes after the watermark were left to the next pass; undefined where this pass cannot decide it.
      isBehind: isWide || wait !== undefined ? (isComplete && rest === undefined ? false : undefined) : !isComplete,
    };
  }

  /** The service's time up to which a whole pass has read all changes. */
  #coveredBy(pass: Pass, reading: Reading): string | undefined {
    if (!isWhole(pass, reading)) return undefined;
    return pass.serviceDate ?? reading.leastNow ?? pass.high?.text ?? pass.skipped?.to;
  }

  /** A token that was requested and answered covers what came before it; after a wait the next pass starts there. */
  #reachedAtWait(pass: Pass, error: unknown): string | undefined {
    const { watermark, token, high, serviceNow, serviceDate, isWide } = pass;
    const { form } = pass.learned;
    const { follow } = this.#options;
    if (!asksAllToWait(error) || isWide || token === undefined || !isToken(token, form, follow.timezone))
      return undefined;
    const isCut = loadCut(this.#context.store) !== undefined;
    return planPosition({ watermark, token, high, serviceNow, serviceDate, form, isCut }, follow).watermark;
  }

  #logBound({ changes, isWide }: Pass): void {
    const { log } = this.#context;
    const fields = { records: changes.records };
    if (isWide) log.info(fields, m.updates.wideUnfinished);
    else log.info(fields, m.updates.moreWait);
  }

  /** Logs once when it begins, because the same changes come with every poll. */
  #logFuture(future: number): void {
    if (future > 0 && !this.#isLogged.future) {
      this.#context.log.warn({ future }, m.updates.fromFuture);
    }
    this.#isLogged.future = future > 0;
  }

  /** A hint only, because it compares with this machine's clock: without `Date` the service's time is unknown. */
  #logAhead(position: string | undefined, { serviceNow, learned }: Pass): void {
    const { clock, log } = this.#context;
    const isAhead = serviceNow === undefined && liesAhead(position, clock.nowMs(), learned.form, this.#options.follow);
    if (isAhead && !this.#isLogged.ahead) {
      log.warn({ watermark: position }, m.updates.watermarkAhead);
    }
    this.#isLogged.ahead = isAhead;
  }
}

/** Whether the pass has read all changes from the watermark on. */
function isWhole({ otherQuestion, rest }: Pass, { isComplete }: Reading): boolean {
  return isComplete && otherQuestion === undefined && rest === undefined;
}

/** What the rest of a backfill saves for the next pass. */
function filledBy({ backfill, changes, rest }: Pass): Backfilled | undefined {
  if (backfill === undefined) return undefined;
  return { from: backfill, hasUnnamed: changes.hasUnnamed || rest?.backfill?.hasUnnamed === true };
}

/** Keeps the size of the smallest page that was cut. */
function learnCut(learned: Learned, size: number): Learned {
  return { ...learned, cutSize: Math.min(size, learned.cutSize ?? size) };
}
