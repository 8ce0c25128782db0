/*
 * Finds out whether the pages of a pass left changes out. `page-cover.ts` decides what pages prove; this sends the
 * requests for what they do not: rarely more than one page per question, and none where the position would not move.
 */

import type { Lack } from "../../completeness/lacks.ts";
import { commit } from "../../pass/commit.ts";
import { asksAllToWait } from "../../pass/holds.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadAnchors, loadCut } from "../cuts/cut-rows.ts";
import type { Found } from "../cuts/plan-cut.ts";
import { instantOf, planAskBefore, planAskBehind } from "./follow.ts";
import type { Pass } from "./follow-pass.ts";
import {
  ANCHOR_VALID_NS,
  CUT_MIN,
  judgePage,
  mayBeLimit,
  mayLackAny,
  NARROWER,
  planNarrower,
  showsHole,
  withoutEarlier,
} from "./page-cover.ts";
import { loadUnjudged, saveUnjudged } from "./pass-turn.ts";
import type { ReadPages } from "./read-pages.ts";

/** So many passes in a row that the service ended before its pages could be judged count as cut. */
const UNJUDGED_MAX = 3;

export class JudgePages {
  readonly #context: JobContext;
  readonly #timezone: string;
  readonly #pages: ReadPages;

  constructor(context: JobContext, timezone: string, pages: ReadPages) {
    this.#context = context;
    this.#timezone = timezone;
    this.#pages = pages;
  }

  /** What pages left out; undefined where nothing shows it, or the position would not move. */
  async judge(pass: Pass): Promise<Found | undefined> {
    const other = judgeOther(pass);
    const found = other ?? (await this.#judgeMixed(pass)) ?? (await this.#judgeGap(pass)) ?? judgeOther(pass);
    await this.#saveUnjudged(pass, 0);
    if (found?.verdict === "cut" || found?.isOther) return found;
    const lacks = this.#findLacks(pass);
    const trusted = lacks.some(({ isTrusted }) => isTrusted);
    if (lacks.length === 0) return found;
    const size = found?.size ?? pass.pageMax;
    const keys = { lacks: lacks.map(({ key }) => key) };
    return { verdict: trusted ? "cut" : "unsure", size, isMixed: true, ...(found === undefined && keys) };
  }

  /**
   * Returns how a pass ends if the service asks to wait between two pages, so that the next pass continues there; one
   * that started again each time would never finish. Undefined where the next pass must start again: behind a page that
   * may have been cut. If that repeats, the cut counts and its changes are searched for.
   */
  async endAtWait(pass: Pass, error: unknown): Promise<{ found?: Found } | undefined> {
    if (!asksAllToWait(error) || pass.asked === undefined) return undefined;
    if (!isUnclear(pass)) return {};
    const unjudged = loadUnjudged(this.#context.store, kindOf(pass)) + 1;
    await this.#saveUnjudged(pass, unjudged);
    if (pass.high === undefined || unjudged < UNJUDGED_MAX) return undefined;
    return { found: { verdict: "unsure", size: pass.pageMax, isMixed: pass.mixed !== undefined } };
  }

  async #saveUnjudged(pass: Pass, passes: number): Promise<void> {
    const { store } = this.#context;
    if (loadUnjudged(store, kindOf(pass)) === passes) return;
    await commit(this.#context, pass.signal, () => saveUnjudged(store, kindOf(pass), passes));
  }

  /**
   * Signs of more changes than all pages have brought. They mean nothing at the end of a reading over several passes.
   */
  #findLacks({ lacks, gap, changes, high, token, rest, watermark }: Pass): readonly Lack[] {
    const coveredNs = loadCut(this.#context.store)?.high.ns ?? instantOf(watermark, this.#timezone);
    const isNews = high !== undefined && coveredNs !== undefined && high.ns > coveredNs;
    if (rest !== undefined || token !== undefined || !isNews) return [];
    // Changes after a page that lacks its oldest ones are not the missing ones.
    return lacks.filter((lack) => lack.atLeast > changes.records || gap?.lacks.includes(lack) === true);
  }

  /** Requests a part of the page that is not sorted by timestamp: the answer then has room for what was left out. */
  async #judgeMixed(pass: Pass): Promise<Found | undefined> {
    const { mixed, high, learned, rules } = pass;
    if (mixed === undefined || high === undefined || high.ns <= mixed.coveredNs || pass.token !== undefined)
      return undefined;
    const { timestamps } = mixed.page;
    let lastNs: bigint | undefined;
    for (const share of NARROWER) {
      const behindNs = planNarrower(timestamps, share);
      if (behindNs === undefined || behindNs === lastNs) continue;
      lastNs = behindNs;
      const { page } = await this.#pages.readPage(pass, planAskBehind(behindNs, learned, rules).since);
      if (showsHole(timestamps, page.timestamps, behindNs))
        return { verdict: "cut", size: timestamps.length, isMixed: true };
      // The answer had room left, so the page lacked nothing.
      if (page.timestamps.length < timestamps.length) return undefined;
    }
    // Each answer was full of newer changes: the oldest come first, and only the order within a page differs.
    return undefined;
  }

  /**
   * Requests once from before known changes: if none of them is in the answer, the page was cut and its position must
   * not be saved.
   */
  async #judgeGap(pass: Pass): Promise<Found | undefined> {
    const { gap, high, learned, rules } = pass;
    if (gap === undefined || high === undefined || high.ns <= gap.coveredNs || pass.token !== undefined)
      return undefined;
    const anchors = loadAnchors(this.#context.store);
    const oldest = anchors.at(-1);
    const { timestamps } = gap.page;
    const isFew = timestamps.length < CUT_MIN;
    const isFull = () =>
      gap.mayBeChance !== true &&
      mayBeLimit(timestamps.length, { ...learned, pageMax: Math.max(pass.pageMax, learned.pageMax) });
    // Without known changes, an earlier start at least shows whether the service returns more than so few.
    const fromNs = oldest?.ns ?? (isFew && isFull() ? gap.askedNs - ANCHOR_VALID_NS : undefined);
    const wide = fromNs === undefined ? undefined : planAskBefore(fromNs, learned.form, rules);
    let isReached = false;
    let askedNs = gap.askedNs;
    if (wide !== undefined && wide.ns < gap.askedNs) {
      const page = await this.#pages.first.readBefore(pass, wide);
      const earlier = withoutEarlier(page?.timestamps ?? [], wide.ns);
      // An unsorted answer may reach down to any time.
      const isOrdered = !mayLackAny(earlier, Math.max(pass.pageMax, learned.pageMax));
      isReached =
        isOrdered && earlier.some((timestamp) => timestamp !== undefined && timestamp.instantNs <= gap.coveredNs);
      if (page !== undefined) askedNs = wide.ns;
    }
    const verdict = judgePage({
      size: timestamps.length,
      isLevel: timestamps.every((timestamp) => timestamp?.instantNs === timestamps[0]?.instantNs),
      isReached,
      anchors: anchors.filter(({ ns }) => ns > askedNs),
      isMet: (orderId) => pass.changes.hasMet(orderId),
      nowNs: instantOf(pass.serviceNow, "UTC"),
      cutSize: learned.cutSize,
      isFull: isFull(),
    });
    return verdict === "whole" ? undefined : { verdict, size: timestamps.length, isMixed: false, isFew };
  }
}

function kindOf({ isWide }: Pass): "news" | "sweep" {
  return isWide ? "sweep" : "news";
}

function judgeOther({ otherQuestion }: Pass): Found | undefined {
  return otherQuestion && { verdict: "unsure", size: otherQuestion.size, isMixed: false, isOther: true };
}

/**
 * Whether a page may have been cut, which is known only after the last one. Pages by the service's own positions count
 * as whole.
 */
function isUnclear({ gap, mixed, lacks, changes, high, token }: Pass): boolean {
  if (token !== undefined) return false;
  return (
    lacks.some(({ atLeast }) => atLeast > changes.records) ||
    [gap, mixed].some((each) => each !== undefined && (high?.ns ?? each.coveredNs + 1n) > each.coveredNs)
  );
}
