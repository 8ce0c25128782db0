/*
 * Follows later changes of orders. Keeps the second guarantee: the watermark moves only in the transaction that
 * stores the last of the changes it covers, or owes a read for them. After a crash the older watermark asks again,
 * and what is stored already is recognised without a write.
 */

import { resolvePath } from "../answers/json-path.ts";
import type { Span } from "../answers/json-text.ts";
import { readStamp } from "../answers/stamp.ts";
import { loadMeta, type RestKey } from "../database/meta.ts";
import { counted } from "../messages/counted.ts";
import { findMatchedPaths, saveMatchedPaths } from "../orders/check-paths.ts";
import { withLargeKept } from "../orders/keep-body.ts";
import { type Lack, type ListSigns, NO_SIGNS, withoutMore } from "../orders/list-signs.ts";
import type { OrderField } from "../orders/order-mapping.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { refuseRepeated, reportedError } from "../orders/read-answer.ts";
import { WatchList } from "../orders/watch-list.ts";
import { commit } from "../pass/commit.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../pass/hold-rows.ts";
import { stopsPass } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { hasPulled, loadNewestStamp, loadWatermark, saveWatermark } from "../pass/position-rows.ts";
import { readInTurns } from "../pass/read-in-turns.ts";
import { areOrdersAnswered } from "../pass/runs.ts";
import { isoTime } from "../platform/ports.ts";
import { fetchUpdates } from "../service/orders.ts";
import { ServiceError } from "../service/service-error.ts";
import { KnownPages } from "./change-page.ts";
import { ChangeCollector } from "./collect-changes.ts";
import { COVERED_STREAM, type Cut, loadAnchors, loadCut, saveAnchors } from "./cut-rows.ts";
import { FindCutChanges } from "./find-cut-changes.ts";
import {
  type Asked,
  askAt,
  type FollowRules,
  type High,
  instantOf,
  isFromFuture,
  isLater,
  isSetBack,
  isToken,
  type Learned,
  learnForm,
  liesAhead,
  mayMove,
  type Page,
  planAskBefore,
  planFirstAsk,
  planNextPage,
  planSweep,
  raiseHigh,
} from "./follow.ts";
import { loadLearned, saveLearned } from "./learned-rows.ts";
import { isBefore, readToken } from "./next-token.ts";
import {
  type Anchor,
  isRising,
  judgePage,
  mayLackAny,
  mayLackOldest,
  mergeAnchors,
  planNarrower,
  showsHole,
} from "./page-cover.ts";
import type { ReadOrders } from "./read-orders.ts";
import { deleteRest, loadRest, type Rest, saveRest } from "./rest-rows.ts";
import { ageOf, isAnswered, isRefused, NARROWED_MAX, noteAnswered, noteRefused, planSince } from "./since-limits.ts";
import { takeNews } from "./take-news.ts";
import { deleteTie, loadTie, saveTie, type TieRange } from "./tie-rows.ts";

const STREAM = "updates";
/** The service's time at the last sweep: a machine that is off at night sweeps in the morning. */
const SWEEP_STREAM = "sweep";
/** Beside a position that is a token of the service's own: the largest stamp stored with it. */
const TIME_STREAM = "updates_time";
/** The time up to which changes are covered ({@link COVERED_STREAM}) is saved no more often than this. */
const COVERED_STEP_MS = 600_000;
const REFUSED_POSITION: ReadonlySet<number> = new Set([400, 404, 410, 422]);
/** What a 4xx says of something else than `since`. */
const OTHER_REFUSALS: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 408, 429]);
/** How long a service must keep naming a position that lies before the one asked until it is followed. */
const BACK_MS = 10 * 60_000;
/** Bounds a pass in requests and in memory. The next one goes on from there at once. */
const PAGES_MAX = 1_000;
const RECORDS_MAX = 200_000;
const RECORDS_PER_COMMIT = 100;
/** Pages in a row without anything new that are read past because they say that there is more. */
const QUIET_PAGES_MAX = 20;

export interface FollowOptions {
  rules: OrderRules;
  follow: FollowRules;
  sweepOverlapMs: number;
  /** Pages in one pass; {@link PAGES_MAX} unless said. */
  pagesMax?: number;
}

interface Pass {
  at: string;
  counts: Record<string, number>;
  signal: AbortSignal;
  rules: FollowRules;
  watermark: string | undefined;
  /** Where the last pass of this kind reached its bound; undefined: this one begins at the watermark. */
  rest: Rest | undefined;
  isSweep: boolean;
  /** No sweep has been noted yet: the next one is counted from here. */
  isFirst: boolean;
  learned: Learned;
  /** The service's clock at the pass's first answer that told it. */
  serviceNow: string | undefined;
  /** The same where this pass's own answers told it: a position is only what the service itself sent. */
  serviceDate: string | undefined;
  high: High | undefined;
  /** The position that the service named itself, once it was asked and answered. */
  token: string | undefined;
  /** What would have been asked next where a bound ended the pass. */
  asked: Asked | undefined;
  pageMax: number;
  future: number;
  /** Up to where the service's changes are stored without a gap; undefined where that is no time. */
  coveredNs: bigint | undefined;
  /** The first page that may lack its oldest changes. */
  gap: Gap | undefined;
  /** The first page whose order is not that of its stamps, so that any changes may be missing in it. */
  mixed: Gap | undefined;
  /** What says of pages that do not rise that more is due. */
  lacks: readonly Lack[];
  /** Beside the last page that held anything, where its stamps rise: where no other follows, it was whole. */
  wholeSigns: ListSigns | undefined;
  /** The service does not go back to the position: from where it was asked instead. */
  skipped: { from: string; to: string } | undefined;
  /** The first `since` of the pass is later than was wanted. */
  isNarrowed: boolean;
  /** The newest changes of the pass. */
  anchors: readonly Anchor[];
  /** A page has shown whole what an earlier one may have left behind. */
  isTieOver: boolean;
  changes: ChangeCollector;
  matched: Set<OrderField>;
  /** Beside the last page. */
  signs: ListSigns;
}

interface ReadPage {
  page: Page;
  token: string | undefined;
  /** The service's time, where it is known. */
  servedAt: string | undefined;
}

/** A page that may lack its oldest changes, or any. */
interface Gap {
  page: Page;
  askedNs: bigint;
  /** What was covered before it. */
  coveredNs: bigint;
  servedAt: string | undefined;
}

/** What is known of changes that pages have left out. */
interface Found {
  verdict: "unsure" | "cut";
  /** How many changes the page held. */
  size: number;
  isMixed: boolean;
  lacks?: readonly string[];
}

interface FirstPage {
  asked: Asked;
  /** Another `since` was wanted. */
  isNarrowed: boolean;
  read: ReadPage;
}

/** A page that was stepped over, until the next one tells whether something was left behind it. */
interface Tie {
  /** None: the changes carry no stamps at all. */
  stamp: string | undefined;
  count: number;
  /** What was stepped over, and the service's time then. */
  range?: TieRange;
  servedAt?: string | undefined;
}

export class FollowUpdates implements Job {
  readonly name = "updates";
  readonly areas = ["orders", "updates"];
  readonly #context: JobContext;
  readonly #pages: KnownPages;
  readonly #options: FollowOptions;
  readonly #readOrders: ReadOrders;
  readonly #cuts: FindCutChanges;
  readonly #watch: WatchList;
  #sweepWanted = false;
  readonly #told = { future: false, ahead: false, refused: false };
  /** The largest age of a `since` that this process was answered, and up to which time of the service it has seen all changes. */
  #answeredMs: number | undefined;
  #coveredNs: bigint | undefined;
  /** A token that lies before the one that named it, and until when it is not followed. */
  #back: { token: string; since: string; untilMs: number } | undefined;
  /** A rest is of use only where the same is asked in the same form. */
  readonly #signature: string;

  constructor(context: JobContext, options: FollowOptions, readOrders: ReadOrders) {
    this.#context = context;
    this.#options = options;
    this.#readOrders = readOrders;
    this.#cuts = new FindCutChanges(context, options.follow);
    const { rules, follow } = options;
    this.#watch = new WatchList(context, "updates", rules.changes.text);
    const pageRules = { mapping: rules.update, changes: rules.changes, next: rules.next, timezone: follow.timezone };
    this.#pages = new KnownPages(pageRules, context.clock);
    this.#signature = JSON.stringify([rules.signature, rules.next?.text ?? null, follow.since, follow.timezone]);
  }

  /** The next pass looks back further, for changes that appeared late. */
  requestSweep(): void {
    this.#sweepWanted = true;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const counts: Record<string, number> = {};
    let isComplete = true;
    let failure: unknown;
    try {
      isComplete = await this.#follow(counts, signal);
    } catch (error) {
      if (stopsPass(error)) throw error;
      // Orders that are owed a read do not wait for the next good answer of another path.
      failure = error;
    }
    const isSearching = await this.#cuts.requestReads(signal);
    const before = this.#readOrders.unannounced;
    const left = await this.#readOrders.readOwed(counts, signal);
    if (isSearching && this.#readOrders.unannounced > before) await this.#cuts.show(signal);
    if (failure !== undefined) throw failure;
    const worked = Object.values(counts).some((count) => count > 0);
    return {
      outcome: !isComplete || (worked && (left > 0 || isSearching)) ? "more" : worked ? "done" : "idle",
      counts,
    };
  }

  /** Returns false where a bound of the pass ended it and the next one goes on at once. */
  async #follow(counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const { store, client } = this.#context;
    const { follow, sweepOverlapMs } = this.#options;
    this.#pages.beginPass();
    const watermark = loadWatermark(store, STREAM);
    // The first pull tells from when on there are changes to follow. All changes ever made are not asked for instead.
    if (watermark === undefined && !hasPulled(store)) return true;
    const sweptAt = loadWatermark(store, SWEEP_STREAM);
    const sweepRest = loadRest(store, "sweep_rest", this.#signature);
    const wanted = { sweepOverlapMs, overlapMs: follow.overlapMs, isWanted: this.#sweepWanted };
    const lookBackMs = sweepRest === undefined ? planSweep(sweptAt, client.serviceNow, wanted) : undefined;
    const rules = { ...follow, overlapMs: lookBackMs ?? follow.overlapMs };
    const isSweep = lookBackMs !== undefined;
    const rest = isSweep ? undefined : loadRest(store, "updates_rest", this.#signature);
    const isFirst = sweptAt === undefined;
    const pass = this.#begin(counts, signal, { rules, watermark, rest, isSweep, isFirst });
    const isComplete = await this.#readAndStore(pass);
    if (isSweep) this.#sweepWanted = false;
    // Following what is new goes before the rest of a sweep that was too wide for one pass.
    if (!isComplete || sweepRest === undefined) return isComplete;
    const now = loadWatermark(store, STREAM);
    return await this.#readAndStore(
      this.#begin(counts, signal, { rules: follow, watermark: now, rest: sweepRest, isSweep: true, isFirst: false }),
    );
  }

  #begin(
    counts: Record<string, number>,
    signal: AbortSignal,
    from: Pick<Pass, "rules" | "watermark" | "rest" | "isSweep" | "isFirst">,
  ): Pass {
    const { store, clock } = this.#context;
    const learned = loadLearned(store);
    const { timezone } = this.#options.follow;
    return {
      ...from,
      at: isoTime(clock.nowMs()),
      counts,
      signal,
      learned: {
        ...learned,
        form: learned.form ?? learnForm(undefined, [readStamp(loadNewestStamp(store), timezone)]),
      },
      serviceNow: undefined,
      serviceDate: undefined,
      high: undefined,
      token: undefined,
      asked: undefined,
      coveredNs: loadCut(store)?.high.ns ?? instantOf(from.watermark, timezone),
      gap: undefined,
      mixed: undefined,
      lacks: [],
      wholeSigns: undefined,
      skipped: undefined,
      isNarrowed: false,
      anchors: [],
      pageMax: 0,
      future: 0,
      isTieOver: false,
      changes: new ChangeCollector(store, clock),
      matched: new Set(),
      signs: NO_SIGNS,
    };
  }

  /** One pass over pages, from the watermark or from where the last one stopped. False where a bound ended it. */
  async #readAndStore(pass: Pass): Promise<boolean> {
    const { watermark, isSweep, rest } = pass;
    const { follow } = this.#options;
    let isComplete: boolean;
    try {
      isComplete = await this.#readPages(pass, this.#context.client.serviceNow);
      if (isComplete) await this.#watch.judgeEnd(pass.signs, pass.signal);
      if (isComplete && pass.wholeSigns !== undefined) await this.#watch.learnWhole(pass.wholeSigns, pass.signal);
    } catch (error) {
      // What was read is stored; the watermark stays where it is, and the rest is asked for again. A service that refuses to
      // go on from there is asked from the watermark.
      const isRefused = rest !== undefined && isPositionRefused(error);
      await this.#store(pass, { isWhole: false, ...(isRefused && { rest: null }) });
      throw error;
    }
    this.#tellFuture(pass.future);
    const found = await this.#judgePages(pass);
    const position = this.#positionOf(pass);
    this.#tellAhead(position ?? watermark, pass);
    const covered =
      isComplete && rest === undefined ? (pass.serviceDate ?? pass.high?.text ?? pass.skipped?.to) : undefined;
    const planned = this.#planCut(pass, found);
    const cut = planned !== undefined && pass.skipped !== undefined ? { ...planned, covered } : planned;
    const isMove = cut === undefined && position !== undefined && this.#mayMove(position, pass);
    const begunAt = rest === undefined ? pass.serviceDate : rest.begunAt;
    await this.#store(pass, {
      watermark: isMove ? position : undefined,
      cut,
      isWhole: isComplete && rest === undefined,
      covered: pass.isNarrowed && cut === undefined && this.#isCoverLater(covered) ? covered : undefined,
      swept: isComplete && (isSweep || pass.isFirst) ? begunAt : undefined,
      rest: !isComplete && pass.asked !== undefined ? { asked: pass.asked, begunAt } : null,
      // Whether more than a pass may read is left behind the watermark, where this pass can tell.
      isBehind: isSweep ? (isComplete && rest === undefined ? false : undefined) : !isComplete,
    });
    this.#coveredNs = instantOf(covered, follow.timezone) ?? this.#coveredNs;
    if (pass.isTieOver) await this.#endTie(pass);
    if (!isComplete) this.#tellBound(pass);
    return isComplete;
  }

  /** Nothing is written for every poll. */
  #isCoverLater(covered: string | undefined): boolean {
    const { timezone } = this.#options.follow;
    const ns = instantOf(covered, timezone);
    const before = instantOf(loadWatermark(this.#context.store, COVERED_STREAM), timezone);
    return ns !== undefined && (before === undefined || ns - before > BigInt(COVERED_STEP_MS) * 1_000_000n);
  }

  /** A token was asked and answered; only of times is it known which is the later one. */
  #mayMove(position: string, { token, watermark, serviceNow, learned }: Pass): boolean {
    const { follow } = this.#options;
    if (position === token && isToken(position, learned.form, follow.timezone)) return position !== watermark;
    return mayMove(position, watermark, serviceNow, follow);
  }

  #positionOf({ token, serviceNow, serviceDate, high, watermark, learned }: Pass): string | undefined {
    const { follow } = this.#options;
    if (token !== undefined) {
      const isTime = !isToken(token, learned.form, follow.timezone);
      if (!isTime || !isFromFuture(token, serviceNow, follow.timezone)) return token;
    }
    return high?.text ?? (isSetBack(watermark, serviceNow, follow) ? serviceDate : undefined);
  }

  /** Reads pages until none is left that could bring anything new. Returns false where a bound ended it before. */
  async #readPages(pass: Pass, serviceNow: string | undefined): Promise<boolean> {
    const { watermark, rules } = pass;
    const hasTokens = this.#options.rules.next !== null;
    if (!hasTokens || watermark === undefined || !isToken(watermark, pass.learned.form, rules.timezone)) {
      return await this.#readByTime(pass, watermark, serviceNow);
    }
    const time = loadWatermark(this.#context.store, TIME_STREAM);
    // A token may also be wrong and be answered all the same: a sweep looks back in time, and takes up what is named there.
    if (pass.isSweep && time !== undefined) return await this.#readByTime(pass, time, serviceNow);
    try {
      const isComplete = await this.#readByToken(pass, watermark);
      this.#told.refused = false;
      return isComplete;
    } catch (error) {
      // Tokens expire, or a broken service has named one that it does not know: the time that it was named at still holds.
      if (pass.token !== undefined || time === undefined || !isPositionRefused(error)) throw error;
      if (!this.#told.refused)
        this.#context.log.warn(
          { watermark, since: time },
          "The service refuses its own position for changes; they are asked for by the last time known instead.",
        );
      this.#told.refused = true;
      return await this.#readByTime(pass, time, serviceNow);
    }
  }

  /** From a time less the overlap, then from the largest stamp of each page. */
  async #readByTime(pass: Pass, from: string | undefined, serviceNow: string | undefined): Promise<boolean> {
    const { watermark, rules, rest } = pass;
    const hasTokens = this.#options.rules.next !== null;
    const { pagesMax = PAGES_MAX } = this.#options;
    const first = rest === undefined ? await this.#readFirst(pass, from, serviceNow) : undefined;
    let asked = first?.asked ?? (rest as Rest).asked;
    let tie: Tie | undefined;
    for (let pages = 0; pages < pagesMax && pass.changes.records < RECORDS_MAX; pages++) {
      const { page, token, servedAt } =
        pages === 0 && first !== undefined ? first.read : await this.#readPage(pass, asked.since);
      if (showsWhole(page, asked, loadTie(this.#context.store))) pass.isTieOver = true;
      this.#noteGap(pass, { page, askedNs: asked.ns, servedAt });
      if (tie !== undefined && provesCut(page, tie, rules)) await this.#raiseTie(tie, pass);
      tie = undefined;
      const corrected = planFirstAsk({ watermark: from, serviceNow: pass.serviceNow, form: pass.learned.form }, rules);
      if (pages === 0 && first?.isNarrowed === false && corrected.ns < asked.ns) {
        // The service's clock stands before the watermark: what it stamps now is asked for as well.
        asked = corrected;
        continue;
      }
      // A token that was named counts once it was asked and answered: until then the position is a time.
      if (hasTokens && token !== undefined && this.#mayFollow(token, asked.since, new Set()))
        return page.fresh === 0 && !this.#watch.saysMore(pass.signs) ? true : await this.#readByToken(pass, token);
      const { learned, verdict } = planNextPage(
        { asked, high: pass.high, learned: pass.learned, pageMax: pass.pageMax },
        page,
        rules,
      );
      pass.learned = learned;
      if (verdict.next === "done") return true;
      if (verdict.next === "no stamps") {
        await this.#raiseTie({ stamp: undefined, count: page.stamps.length }, pass);
        return true;
      }
      // Of pages that hold one change each nothing tells a tie from the limit.
      if (verdict.next === "step over" && page.stamps.length > 1 && isLater(verdict.stamp, watermark, rules)) {
        const range = { fromNs: asked.ns, toNs: verdict.asked.ns };
        tie = { stamp: verdict.stamp, count: page.stamps.length, range, servedAt };
        if (verdict.isFull) await this.#raiseTie(tie, pass);
      }
      asked = verdict.asked;
    }
    pass.asked = asked;
    return false;
  }

  /**
   * The first page, from as far back as is wanted and as the service allows. What it refuses is learned: the next request asks from
   * a later time, in this pass where that time is known to be answered, otherwise at the next probe.
   */
  async #readFirst(pass: Pass, position: string | undefined, serviceNow: string | undefined): Promise<FirstPage> {
    const { store, client, log } = this.#context;
    const { overlapMs } = this.#options.follow;
    const newest = loadNewestStamp(store) ?? undefined;
    const plan = (now: string | undefined, rules: FollowRules) =>
      planSince({ position, serviceNow: now, newest, learned: pass.learned }, { ...rules, plainOverlapMs: overlapMs });
    const plain = planFirstAsk({ watermark: position, serviceNow, form: pass.learned.form }, this.#options.follow);
    let planned = plan(serviceNow, pass.rules);
    for (let narrowed = 0; ; narrowed++) {
      const { asked, isNarrowed } = planned;
      try {
        const read = await this.#readPage(pass, asked.since);
        return await this.#proveLimit(pass, position, { asked, isNarrowed, read });
      } catch (error) {
        if (!isSinceRefused(error) || !areOrdersAnswered(store)) throw error;
        this.#learnRefused(pass, asked);
        planned = plan(client.serviceNow, pass.rules);
        log.warn(
          { since: asked.since, next: planned.asked.since },
          "The service refuses the time from which changes are asked for; the next request asks from a later one.",
        );
        const isKnown = asked.ns < plain.ns || isAnswered(planned.asked, pass.learned.limits, client.serviceNow);
        if (narrowed >= NARROWED_MAX || !isKnown || planned.asked.ns <= asked.ns) throw error;
      }
    }
  }

  #learnRefused(pass: Pass, asked: Asked): void {
    const { limits } = pass.learned;
    const answeredMs = limits?.answeredMs ?? this.#answeredMs;
    pass.learned = { ...pass.learned, limits: noteRefused(limits, asked, this.#context.client.serviceNow, answeredMs) };
    this.#answeredMs = pass.learned.limits?.answeredMs;
  }

  /**
   * An answer to a later `since` than the position asks for proves a limit of its age only where the older one is refused beside it;
   * otherwise the service was out of order, and the older one is followed. Then what lies between the two is a gap, unless it was
   * covered before.
   */
  async #proveLimit(pass: Pass, position: string | undefined, first: FirstPage): Promise<FirstPage> {
    const { client } = this.#context;
    const { follow } = this.#options;
    const { asked, isNarrowed } = first;
    const age = ageOf(asked, client.serviceNow);
    if (age !== undefined && age > (this.#answeredMs ?? 0)) this.#answeredMs = age;
    const { limits, form } = pass.learned;
    pass.learned = { ...pass.learned, limits: noteAnswered(limits, asked, client.serviceNow) };
    if (!isNarrowed) return first;
    const plain = planFirstAsk({ watermark: position, serviceNow: client.serviceNow, form }, follow);
    pass.isNarrowed = asked.ns > plain.ns;
    const isGap = pass.isNarrowed && asked.ns > this.#loadCovered();
    if (pass.isNarrowed && (isGap || limits?.isProven !== true)) {
      try {
        const read = await this.#readPage(pass, plain.since);
        pass.learned = { ...pass.learned, limits: undefined };
        pass.isNarrowed = false;
        return { asked: plain, isNarrowed: false, read };
      } catch (error) {
        if (!isSinceRefused(error)) throw error;
        this.#learnRefused(pass, plain);
        const learned = pass.learned.limits;
        if (learned !== undefined) pass.learned = { ...pass.learned, limits: { ...learned, isProven: true } };
      }
    }
    if (isGap) pass.skipped = { from: plain.since, to: asked.since };
    return first;
  }

  /** Up to where no change is missing, whatever the position says. */
  #loadCovered(): bigint {
    const { store } = this.#context;
    const texts = [loadWatermark(store, COVERED_STREAM), loadCut(store)?.covered];
    const known = texts.map((text) => instantOf(text, this.#options.follow.timezone) ?? 0n);
    return [...known, this.#coveredNs ?? 0n].reduce((max, ns) => (ns > max ? ns : max), 0n);
  }

  /**
   * Notes a page that may lack its oldest changes, unless the next one shows that it lacked the newest: of those that were made
   * before it was served, it would have left out none.
   */
  #noteGap(pass: Pass, { page, askedNs, servedAt }: Omit<Gap, "coveredNs">): void {
    const { coveredNs, high, gap } = pass;
    if (coveredNs !== undefined && mayLackAny(page.stamps, Math.max(pass.pageMax, pass.learned.pageMax)))
      pass.mixed ??= { page, askedNs, coveredNs, servedAt };
    const isInOrder = isRising(page.stamps);
    if (!isInOrder) pass.lacks = [...pass.lacks, ...this.#watch.findLacks(pass.signs)];
    if (page.stamps.length > 0) pass.wholeSigns = isInOrder ? pass.signs : undefined;
    if (gap !== undefined && lacksNewest(gap, page)) pass.gap = undefined;
    if (coveredNs === undefined) return;
    if (mayLackOldest(page.stamps, coveredNs)) pass.gap ??= { page, askedNs, coveredNs, servedAt };
    if (high !== undefined && high.ns > coveredNs) pass.coveredNs = high.ns;
  }

  /** Whether pages have left out changes; undefined where nothing speaks for it, or the position would not move. */
  async #judgePages(pass: Pass): Promise<Found | undefined> {
    const found = (await this.#judgeMixed(pass)) ?? (await this.#judgeGap(pass));
    if (found?.verdict === "cut") return found;
    const lacks = this.#findLacks(pass);
    const trusted = lacks.some(({ isTrusted }) => isTrusted);
    if (lacks.length === 0) return found;
    const size = found?.size ?? pass.pageMax;
    const keys = { lacks: lacks.map(({ key }) => key) };
    return { verdict: trusted ? "cut" : "unsure", size, isMixed: true, ...(found === undefined && keys) };
  }

  /** What the pages say of more changes than all of them have brought. Of the end of a longer reading that says nothing. */
  #findLacks({ lacks, changes, high, token, rest, watermark }: Pass): readonly Lack[] {
    const { timezone } = this.#options.follow;
    const coveredNs = loadCut(this.#context.store)?.high.ns ?? instantOf(watermark, timezone);
    const isNews = high !== undefined && coveredNs !== undefined && high.ns > coveredNs;
    if (rest !== undefined || token !== undefined || !isNews) return [];
    return lacks.filter(({ atLeast }) => atLeast > changes.records);
  }

  /** Asks once for a part of the page whose order is not that of its stamps: what it lacked has room there. */
  async #judgeMixed(pass: Pass): Promise<Found | undefined> {
    const { mixed, high, learned, rules } = pass;
    if (mixed === undefined || high === undefined || high.ns <= mixed.coveredNs || pass.token !== undefined)
      return undefined;
    const { stamps } = mixed.page;
    const fromNs = planNarrower(stamps);
    if (fromNs === undefined) return undefined;
    const { page } = await this.#readPage(pass, askAt(fromNs, learned.form, rules).since);
    return showsHole(stamps, page.stamps, fromNs) ? { verdict: "cut", size: stamps.length, isMixed: true } : undefined;
  }

  /**
   * Asks once from before changes that are known: where none of what was covered is in that answer either, the page was cut.
   * Its position must not be passed then.
   */
  async #judgeGap(pass: Pass): Promise<Found | undefined> {
    const { gap, high, learned, rules } = pass;
    if (gap === undefined || high === undefined || high.ns <= gap.coveredNs || pass.token !== undefined)
      return undefined;
    const anchors = loadAnchors(this.#context.store);
    const oldest = anchors.at(-1);
    const wide = oldest === undefined ? undefined : planAskBefore(oldest.ns, learned.form, rules);
    let isReached = false;
    let askedNs = gap.askedNs;
    if (wide !== undefined && wide.ns < gap.askedNs) {
      const page = await this.#readBefore(pass, wide);
      isReached = page?.stamps.some((stamp) => stamp !== undefined && stamp.instantNs <= gap.coveredNs) === true;
      if (page !== undefined) askedNs = wide.ns;
    }
    const { stamps } = gap.page;
    const verdict = judgePage({
      size: stamps.length,
      isLevel: stamps.every((stamp) => stamp?.instantNs === stamps[0]?.instantNs),
      isReached,
      anchors: anchors.filter(({ ns }) => ns > askedNs),
      isMet: (orderId) => pass.changes.hasMet(orderId),
      nowNs: instantOf(pass.serviceNow, "UTC"),
      cutSize: learned.cutSize,
    });
    return verdict === "whole" ? undefined : { verdict, size: stamps.length, isMixed: false };
  }

  /** A page from before what was asked; undefined where the service does not go back so far. */
  async #readBefore(pass: Pass, asked: Asked): Promise<Page | undefined> {
    const { client } = this.#context;
    if (isRefused(asked, pass.learned.limits, client.serviceNow)) return undefined;
    try {
      return (await this.#readPage(pass, asked.since)).page;
    } catch (error) {
      if (!isSinceRefused(error)) throw error;
      this.#learnRefused(pass, asked);
      return undefined;
    }
  }

  /** The search for changes that were left out, as it stands after this pass; undefined where there is none. */
  #planCut(pass: Pass, found: Found | undefined): Cut | undefined {
    const standing = loadCut(this.#context.store);
    const { high, learned, skipped } = pass;
    if (skipped !== undefined) return this.#planSkipped(pass, standing, skipped);
    if (found === undefined || high === undefined) {
      const isLater = standing !== undefined && high !== undefined && high.ns > standing.high.ns;
      return isLater ? { ...standing, high } : standing;
    }
    const { verdict, size, isMixed, lacks } = found;
    const isShown = verdict === "cut";
    if (isShown && !isMixed) pass.learned = { ...learned, cutSize: Math.min(size, learned.cutSize ?? size) };
    if (standing === undefined)
      return { since: pass.at, size, stage: "open", after: 0, again: false, isShown, isMixed, lacks, high };
    return {
      ...standing,
      again: true,
      isShown: standing.isShown || isShown,
      high: high.ns > standing.high.ns ? high : standing.high,
    };
  }

  /** The changes between the position and the `since` that was answered are looked for as those that a page left out. */
  #planSkipped({ at, high, watermark }: Pass, standing: Cut | undefined, skipped: { from: string; to: string }): Cut {
    const { timezone } = this.#options.follow;
    const reached = high ?? standing?.high ?? { text: watermark ?? "", ns: instantOf(watermark, timezone) ?? 0n };
    const begun = { since: at, size: 0, stage: "open", after: 0, again: false } as const;
    return {
      ...(standing === undefined ? begun : { ...standing, again: true }),
      isShown: true,
      high: reached,
      skipped,
    };
  }

  /** Where the answer itself names the next `since`. The position is the last one that was asked and answered. */
  async #readByToken(pass: Pass, first: string): Promise<boolean> {
    const { pagesMax = PAGES_MAX } = this.#options;
    const seen = new Set<string>();
    let since = first;
    let quiet = 0;
    for (let pages = 0; pages < pagesMax && pass.changes.records < RECORDS_MAX; pages++) {
      const { page, token } = await this.#readPage(pass, since);
      pass.token = since;
      seen.add(since);
      quiet = page.fresh === 0 ? quiet + 1 : 0;
      if (token === undefined || token === since) return true;
      // A page may be empty because the service leaves out what it would not show.
      if (quiet > 0 && (quiet > QUIET_PAGES_MAX || !this.#watch.saysMore(pass.signs))) return true;
      if (!this.#mayFollow(token, since, seen)) return true;
      since = token;
    }
    return false;
  }

  /**
   * Whether a token may be asked next. One that was asked in this pass, or lies before the one that named it, leads nowhere;
   * a service that keeps naming it counts that way, and going back repeats much and loses nothing.
   */
  #mayFollow(token: string, since: string, seen: ReadonlySet<string>): boolean {
    const { clock, log } = this.#context;
    if (seen.has(token)) return false;
    if (!isBefore(token, since, this.#options.follow.timezone)) return true;
    const nowMs = clock.monotonicMs();
    if (this.#back?.token === token && this.#back.since === since) return nowMs >= this.#back.untilMs;
    this.#back = { token, since, untilMs: nowMs + BACK_MS };
    log.warn(
      { since, token },
      "The service names a position for changes that lies before the one asked; it is not followed.",
    );
    return false;
  }

  async #readPage(pass: Pass, since: string): Promise<ReadPage> {
    const { store, client } = this.#context;
    const { rules } = this.#options;
    const answer = await fetchUpdates(client, since, pass.signal);
    const serviceNow = answer.date ?? client.serviceNow;
    pass.serviceNow ??= serviceNow;
    pass.serviceDate ??= answer.date;
    const changes = await this.#pages.open(answer, pass.signal);
    const { list, elements } = changes;
    const body = changes.mended ?? answer.body;
    const token = answer.status === 204 ? undefined : tokenOf(body, list.root, rules);
    // Where the answer names the way on, it is followed first.
    const isFollowed = token !== undefined && token !== since;
    await this.#watch.judge(isFollowed ? withoutMore(changes.signs) : changes.signs, pass.signal);
    pass.signs = changes.signs;
    if (list.elements === undefined) return { page: { stamps: [], fresh: 0 }, token, servedAt: serviceNow };
    const answered = { bytes: body, records: elements, mapping: rules.update, known: pass.matched };
    for (const field of findMatchedPaths(store, answered)) pass.matched.add(field);
    const isBeyond = token !== undefined && token !== since && isToken(since, pass.learned.form, pass.rules.timezone);
    const fresh = await pass.changes.addPage({ body, changes, isBeyond }, pass.signal, () =>
      this.#store(pass, { isWhole: false }),
    );
    const { stamps } = changes;
    const { high, future } = raiseHigh(pass.high, stamps, serviceNow);
    pass.high = high;
    pass.future = Math.max(pass.future, future);
    pass.pageMax = Math.max(pass.pageMax, elements.length);
    if (high !== undefined) pass.anchors = mergeAnchors(pass.anchors, changes.newest, high.ns);
    // What came beside an error is stored; the position stays, because the service may have shown a part of the page only.
    if (list.error !== undefined) throw reportedError(list.error);
    return { page: { stamps, fresh }, token, servedAt: serviceNow };
  }

  /** Stores what is news, at most so many records a transaction; the watermark moves with the last of them. */
  async #store(
    pass: Pass,
    end: {
      watermark?: string | undefined;
      cut?: Cut | undefined;
      covered?: string | undefined;
      swept?: string | undefined;
      /** Null: there is none any more; undefined: as it was. */
      rest?: Rest | null;
      isBehind?: boolean | undefined;
      isWhole: boolean;
    },
  ): Promise<void> {
    const { watermark, cut, covered, swept, isWhole } = end;
    const { store } = this.#context;
    const { rules } = this.#options;
    const news = await readInTurns(this.#context.clock, {}, pass.changes.takeNews(isWhole), pass.signal);
    const learns = JSON.stringify(loadLearned(store)) !== JSON.stringify(pass.learned);
    const settles = end.rest !== undefined && this.#isUnsettled(pass, end);
    const isQuiet = [watermark, cut, covered, swept].every((each) => each === undefined);
    if (news.length === 0 && isQuiet && !learns && !settles) return;
    await withLargeKept(this.#context, { source: "update", served: news, signal: pass.signal }, async () => {
      for (let from = 0; from === 0 || from < news.length; from += RECORDS_PER_COMMIT) {
        if (from > 0) await this.#context.clock.sleep(0, pass.signal);
        const part = news.slice(from, from + RECORDS_PER_COMMIT);
        const isLast = from + RECORDS_PER_COMMIT >= news.length;
        const taken = await commit(this.#context, pass.signal, () => {
          saveMatchedPaths(store, { mapping: rules.update, matched: [...pass.matched], at: pass.at });
          const done = part.map((each) => takeNews({ store, rules, at: pass.at }, each));
          if (isLast) saveLearned(store, pass.learned);
          if (isLast && watermark !== undefined) this.#saveTime(pass, watermark);
          if (isLast && watermark !== undefined) saveWatermark(store, STREAM, watermark, pass.at);
          if (isLast && cut !== undefined) this.#cuts.save(cut, pass.at);
          if (isLast && (watermark !== undefined || cut !== undefined)) this.#saveAnchors(pass);
          if (isLast && covered !== undefined) saveWatermark(store, COVERED_STREAM, covered, pass.at);
          if (isLast && swept !== undefined) saveWatermark(store, SWEEP_STREAM, swept, pass.at);
          if (isLast && settles) this.#settle(pass, end);
          return done;
        });
        for (const what of taken) if (what !== "same") pass.counts[what] = (pass.counts[what] ?? 0) + 1;
      }
    });
  }

  #saveAnchors({ anchors, high }: Pass): void {
    const { store } = this.#context;
    if (high !== undefined) saveAnchors(store, mergeAnchors(loadAnchors(store), anchors, high.ns));
  }

  /** Whether anything stands in the database that this end of a pass changes. */
  #isUnsettled(pass: Pass, end: { rest?: Rest | null; isBehind?: boolean | undefined }): boolean {
    const { store } = this.#context;
    const isThere = loadMeta(store, restKeyOf(pass)) !== undefined;
    const isTold = loadHoldsOf(store, "updates").some(({ reason }) => reason === "behind");
    return end.rest !== null || isThere || (end.isBehind !== undefined && isTold !== end.isBehind);
  }

  #settle(pass: Pass, { rest = null, isBehind }: { rest?: Rest | null; isBehind?: boolean | undefined }): void {
    const { store } = this.#context;
    const key = restKeyOf(pass);
    if (rest === null) deleteRest(store, key);
    else saveRest(store, key, rest, this.#signature);
    if (isBehind === false) deleteHold(store, "updates", "behind");
    // A sweep that was read from its beginning to its end covers what following had left.
    if (isBehind === false && pass.isSweep) deleteRest(store, "updates_rest");
    if (isBehind !== true) return;
    const detail = `A pass ended after ${counted(pass.changes.records, "change")}; more wait. The next one goes on from there by itself.`;
    saveHold(store, { area: "updates", reason: "behind", since: pass.at, nextProbeAt: null, detail });
  }

  /** Beside a token stands the time up to which changes are stored: the way on where the service forgets the token. */
  #saveTime({ high, watermark, learned, at }: Pass, position: string): void {
    const { store } = this.#context;
    const { follow } = this.#options;
    if (!isToken(position, learned.form, follow.timezone)) return;
    const isTime = watermark !== undefined && !isToken(watermark, learned.form, follow.timezone);
    const time = high?.text ?? (isTime ? watermark : undefined);
    if (time !== undefined && isLater(time, loadWatermark(store, TIME_STREAM), follow))
      saveWatermark(store, TIME_STREAM, time, at);
  }

  #tellBound({ changes, isSweep }: Pass): void {
    const { log } = this.#context;
    const fields = { records: changes.records };
    if (isSweep) log.info(fields, "The sweep was too wide for one pass; it goes on after the next one.");
    else log.info(fields, "More changes wait than one pass may read; the next one goes on from there.");
  }

  /** Changes that cannot be reached must be looked for by a person. Once told, the same stamp is not told again. */
  async #raiseTie({ stamp, count, range }: Tie, pass: Pass): Promise<void> {
    const { store, log } = this.#context;
    const detail =
      stamp === undefined
        ? `A full page of ${counted(count, "change")} has no time at ${this.#options.rules.update.paths.updated_at.text}, so that those after them cannot be ` +
          "asked for: put updates.fields.updated_at right, then: erp-bridge resume updates --hold tie"
        : `A full page of ${counted(count, "change")} carries the stamp ${stamp}. If the service had more with it, they were not ` +
          "served: compare those orders with the site, then: erp-bridge resume updates --hold tie";
    const isNew = await commit(this.#context, pass.signal, () => saveTie(store, { at: pass.at, detail, range }));
    pass.isTieOver = false;
    if (isNew) log.error({ stamp, count }, detail);
  }

  async #endTie(pass: Pass): Promise<void> {
    const { store, log } = this.#context;
    if (await commit(this.#context, pass.signal, () => deleteTie(store)))
      log.info({}, "The changes of the stamp at which a page may have been cut have all been served since.");
  }

  /** One line when it begins: the same changes come with every poll. */
  #tellFuture(future: number): void {
    if (future > 0 && !this.#told.future) {
      this.#context.log.warn(
        { future },
        "Changes carry stamps from the service's future; the watermark leaves them out.",
      );
    }
    this.#told.future = future > 0;
  }

  /** Without a Date nobody knows the service's time. This machine's own decides nothing, and is good enough for a hint. */
  #tellAhead(position: string | undefined, { serviceNow, learned }: Pass): void {
    const { clock, log } = this.#context;
    const isAhead = serviceNow === undefined && liesAhead(position, clock.nowMs(), learned.form, this.#options.follow);
    if (isAhead && !this.#told.ahead) {
      log.warn(
        { watermark: position },
        "The watermark lies ahead of this machine's clock, and the service sends no Date to compare with; if it is wrong, changes are found at night only.",
      );
    }
    this.#told.ahead = isAhead;
  }
}

/** What a page that was not cut would have held as well tells for certain that it was. A change made since tells nothing. */
function provesCut({ stamps }: Page, { stamp, servedAt }: Tie, rules: FollowRules): boolean {
  return stamps.some(
    (served) =>
      served !== undefined &&
      isLater(served.text, stamp, rules) &&
      (servedAt === undefined || !isLater(served.text, servedAt, rules)),
  );
}

/** Whether a page holds what was made after the former one's changes and before that one was served: that one lacked its newest. */
function lacksNewest({ page, servedAt }: Gap, next: Page): boolean {
  const servedNs = instantOf(servedAt, "UTC");
  const newest = page.stamps.reduce((max, stamp) => (stamp && stamp.instantNs > max ? stamp.instantNs : max), 0n);
  return next.stamps.some(
    (stamp) => stamp !== undefined && servedNs !== undefined && stamp.instantNs > newest && stamp.instantNs < servedNs,
  );
}

/** Whether a page that begins before a tie goes on behind it: then nothing was left out in between. */
function showsWhole({ stamps }: Page, asked: Asked, tie: TieRange | undefined): boolean {
  if (tie === undefined || asked.ns >= tie.fromNs) return false;
  return stamps.some((stamp) => stamp !== undefined && stamp.instantNs > tie.toNs);
}

function restKeyOf({ isSweep }: Pass): RestKey {
  return isSweep ? "sweep_rest" : "updates_rest";
}

/** The service does not take this `since`, whatever it answers to others. */
function isPositionRefused(error: unknown): boolean {
  return error instanceof ServiceError && REFUSED_POSITION.has(error.status ?? 0);
}

/** It may be too old for the service: nothing else of the request changes from poll to poll. */
function isSinceRefused(error: unknown): boolean {
  const status = error instanceof ServiceError && error.target === "collection" ? (error.status ?? 0) : 0;
  return status >= 400 && status < 500 && !OTHER_REFUSALS.has(status);
}

function tokenOf(body: Buffer, root: Span, rules: OrderRules): string | undefined {
  if (rules.next === null) return undefined;
  refuseRepeated(body, root, rules.next);
  const found = resolvePath(body, root, rules.next);
  return found.state === "value" ? readToken(body, found.span) : undefined;
}
