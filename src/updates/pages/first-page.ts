/*
 * The first page of a pass: from as far back as is wanted, where the service goes back so far. `since-limits.ts` decides; here is asked, and
 * what was learned is kept with the pass.
 */

import { m } from "../../messages/messages.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadNewestTimestamp, loadWatermark } from "../../pass/position-rows.ts";
import { areOrdersAnswered } from "../../pass/runs.ts";
import { isoTime } from "../../platform/ports.ts";
import { ServiceError } from "../../service/service-error.ts";
import { COVERED_STREAM, loadCut } from "../cuts/cut-rows.ts";
import { LeastTime } from "../times/least-time.ts";
import { type Asked, askAt, type FollowRules, instantOf, type Page, planFirstAsk } from "./follow.ts";
import type { Pass, ReadPage } from "./follow-pass.ts";
import {
  ageOf,
  isAnswered,
  isRefused,
  isYoung,
  NARROWED_MAX,
  noteAnswered,
  noteRefused,
  planSince,
} from "./since-limits.ts";

/** The time up to which changes are covered ({@link COVERED_STREAM}) is saved no more often than this. */
const COVERED_STEP_MS = 600_000;
/** Where such a search found nothing it is not the age of `since`. */
const SEARCH_AGAIN_MS = 3_600_000;
/** What a 4xx says of something else than `since`. */
const OTHER_REFUSALS: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 408, 429]);

interface FirstPage {
  asked: Asked;
  /** Another `since` was wanted. */
  isNarrowed: boolean;
  read: ReadPage;
}

export class FirstPages {
  readonly #context: JobContext;
  readonly #follow: FollowRules;
  readonly #read: (pass: Pass, since: string) => Promise<ReadPage>;
  readonly #least: LeastTime;
  /** The largest age of a `since` that this process was answered, and up to which time of the service it has seen all changes. */
  #answeredMs: number | undefined;
  /** This process has had an answer to a first question. */
  #hasAnswer = false;
  #coveredNs: bigint | undefined;
  /** Monotonic: when the last page was asked for. */
  #askedAtMs = 0;
  /** Monotonic: when the earliest `since` that is answered may be searched for again. */
  #searchAtMs = Number.NEGATIVE_INFINITY;

  constructor(context: JobContext, follow: FollowRules, read: (pass: Pass, since: string) => Promise<ReadPage>) {
    this.#context = context;
    this.#follow = follow;
    this.#read = (pass, since) => {
      this.#askedAtMs = context.clock.monotonicMs();
      return read(pass, since);
    };
    this.#least = new LeastTime(context, follow);
  }

  /** The service's time, or the least that it can be where it sends none. */
  get leastNow(): string | undefined {
    return this.#context.client.serviceNow ?? this.#least.now;
  }

  /** The same when the last page was asked for: with each repeat of a request its `since` becomes older. */
  get #askedAt(): string | undefined {
    const { leastNow } = this;
    const agoMs = this.#context.clock.monotonicMs() - this.#askedAtMs;
    return leastNow === undefined ? undefined : isoTime(Date.parse(leastNow) - agoMs);
  }

  /** A pass has come to its end: up to this time of the service no change is missing. */
  noteCovered(covered: string | undefined): void {
    this.#least.note([covered]);
    this.#coveredNs = instantOf(covered, this.#follow.timezone) ?? this.#coveredNs;
  }

  /** Whether it is worth saving: nothing is written for every poll. */
  isCoverLater(covered: string | undefined): boolean {
    const { timezone } = this.#follow;
    const ns = instantOf(covered, timezone);
    const before = instantOf(loadWatermark(this.#context.store, COVERED_STREAM), timezone);
    return ns !== undefined && (before === undefined || ns - before > BigInt(COVERED_STEP_MS) * 1_000_000n);
  }

  /**
   * The first page, from as far back as is wanted and as the service allows. What it refuses is learned: the next request asks from
   * a later time, in this pass where that time is known to be answered, otherwise at the next probe.
   */
  async readFirst(pass: Pass, position: string | undefined, serviceNow: string | undefined): Promise<FirstPage> {
    const { store, client, log } = this.#context;
    const plain = planFirstAsk({ watermark: position, serviceNow, form: pass.learned.form }, this.#follow);
    let planned = this.#plan(pass, position, serviceNow);
    for (let narrowed = 0; ; narrowed++) {
      const { asked, isNarrowed } = planned;
      let read: ReadPage;
      try {
        read = await this.#read(pass, asked.since);
      } catch (error) {
        if (!isSinceRefused(error) || !areOrdersAnswered(store)) throw error;
        if (client.serviceNow === undefined && isYoung(asked, this.leastNow)) await this.#searchLimit(pass, asked);
        else this.#learnRefused(pass, asked);
        planned = this.#plan(pass, position, client.serviceNow);
        const isKnown = () => asked.ns < plain.ns || isAnswered(planned.asked, pass.learned.limits, this.leastNow);
        // Where each pass is a process of its own, the time of the newest change is all that it knows: a limit is learned by a search alone.
        const isFirst = position !== undefined && client.serviceNow === undefined && !this.#hasAnswer && !isKnown();
        if (isFirst || (this.leastNow === undefined && planned.asked.ns <= asked.ns)) {
          await this.#searchLimit(pass, asked);
          planned = this.#plan(pass, position, client.serviceNow);
        }
        log.warn({ since: asked.since, next: planned.asked.since }, m.updates.timeRefused);
        if (narrowed >= NARROWED_MAX || !isKnown() || planned.asked.ns <= asked.ns) throw error;
        continue;
      }
      return await this.#proveLimit(pass, position, { asked, isNarrowed, read });
    }
  }

  #plan(pass: Pass, position: string | undefined, serviceNow: string | undefined) {
    const { store } = this.#context;
    const { overlapMs } = this.#follow;
    const newest = loadNewestTimestamp(store) ?? undefined;
    this.#least.note([newest, position, loadWatermark(store, COVERED_STREAM)]);
    const leastNow = serviceNow ?? this.#least.now;
    const gapTo = loadCut(store)?.skipped?.to;
    return planSince(
      { position, serviceNow, leastNow, newest, gapTo, coveredNs: this.#loadCovered(), learned: pass.learned },
      { ...pass.rules, plainOverlapMs: overlapMs },
    );
  }

  #learnRefused(pass: Pass, asked: Asked): void {
    const { limits } = pass.learned;
    pass.learned = { ...pass.learned, limits: noteRefused(limits, asked, this.#askedAt, this.#answeredMs) };
    this.#answeredMs = pass.learned.limits?.answeredMs;
  }

  /**
   * Nothing that the service has written is young enough, and its delay is not given: what is refused and answered
   * shows it. What was learned by an earlier time that was wrong is forgotten.
   * @param after was refused
   */
  async #searchLimit(pass: Pass, after: Asked): Promise<void> {
    const { clock } = this.#context;
    if (clock.monotonicMs() < this.#searchAtMs) return;
    this.#searchAtMs = clock.monotonicMs() + SEARCH_AGAIN_MS;
    const found = await this.#least.search(after.ns, async (ns) => {
      try {
        await this.#read(pass, askAt(ns, pass.learned.form, this.#follow).since);
        return true;
      } catch (error) {
        if (!isSinceRefused(error)) throw error;
        return false;
      }
    });
    if (found === undefined) return;
    const now = this.leastNow;
    const refused = noteRefused(undefined, { ns: found.refused }, now, ageOf({ ns: found.answered }, now));
    // A proof stands whatever the time is: an older `since` was refused, and a later one answered in the same pass.
    const { isProven = false, isCertain } = pass.learned.limits ?? {};
    pass.learned = { ...pass.learned, limits: refused && { ...refused, isProven, isCertain } };
  }

  /**
   * An answer to a later `since` than the position asks for proves a limit of its age only where the older one is refused beside it;
   * otherwise the service was out of order, and the older one is followed. Proved so in two passes, what lies between the two is a gap,
   * unless it was covered before.
   */
  async #proveLimit(pass: Pass, position: string | undefined, first: FirstPage): Promise<FirstPage> {
    const { client } = this.#context;
    const follow = this.#follow;
    const { asked, isNarrowed } = first;
    const age = ageOf(asked, this.#askedAt);
    this.#hasAnswer = true;
    if (age !== undefined && age > (this.#answeredMs ?? 0)) this.#answeredMs = age;
    const { limits, form } = pass.learned;
    pass.learned = { ...pass.learned, limits: noteAnswered(limits, asked, this.#askedAt) };
    if (!isNarrowed) return first;
    const plain = planFirstAsk({ watermark: position, serviceNow: client.serviceNow, form }, follow);
    pass.isNarrowed = asked.ns > plain.ns;
    const isGap = pass.isNarrowed && asked.ns > this.#loadCovered();
    const isCertain = isGap && limits?.isCertain === true;
    const { limits: known } = pass.learned;
    if (known?.isCertain === true && !isCertain) pass.learned = { ...pass.learned, limits: { ...known, isCertain } };
    if (pass.isNarrowed && !isCertain && (isGap || limits?.isProven !== true)) {
      try {
        const read = await this.#read(pass, plain.since);
        pass.learned = { ...pass.learned, limits: undefined };
        pass.isNarrowed = false;
        return { asked: plain, isNarrowed: false, read };
      } catch (error) {
        // A service that counts requests may break off the repeats of one that it refuses.
        const isBrokenOff = isRateLimit(error) && pass.refusedSince === plain.since;
        if (!isSinceRefused(error) && !isBrokenOff) throw error;
        this.#learnRefused(pass, plain);
        const learned = pass.learned.limits;
        const wasProven = limits?.isProven === true;
        const proof = { isProven: true, isCertain: isBrokenOff && wasProven };
        if (learned !== undefined) pass.learned = { ...pass.learned, limits: { ...learned, ...proof } };
        if (isBrokenOff || (isGap && !wasProven)) throw error;
      }
    }
    if (isGap) pass.skipped = { from: plain.since, to: asked.since };
    return first;
  }

  /** Up to where no change is missing, whatever the position says. */
  #loadCovered(): bigint {
    const { store } = this.#context;
    const texts = [loadWatermark(store, COVERED_STREAM), loadCut(store)?.covered];
    const known = texts.map((text) => instantOf(text, this.#follow.timezone) ?? 0n);
    return [...known, this.#coveredNs ?? 0n].reduce((max, ns) => (ns > max ? ns : max), 0n);
  }

  /** A page from a time on, or from as far back as the service goes: undefined where it refuses that; the next one is asked for from later. */
  async readFrom(pass: Pass, time: string): Promise<ReadPage | undefined> {
    const { asked } = this.#plan(pass, time, this.#context.client.serviceNow);
    try {
      return await this.#read(pass, asked.since);
    } catch (error) {
      if (!isSinceRefused(error) || !areOrdersAnswered(this.#context.store)) throw error;
      this.#learnRefused(pass, asked);
      return undefined;
    }
  }

  /** A page from before what was asked; undefined where the service does not go back so far. */
  async readBefore(pass: Pass, asked: Asked): Promise<Page | undefined> {
    if (isRefused(asked, pass.learned.limits, this.leastNow)) return undefined;
    try {
      return (await this.#read(pass, asked.since)).page;
    } catch (error) {
      if (!isSinceRefused(error)) throw error;
      this.#learnRefused(pass, asked);
      return undefined;
    }
  }
}

/** It may be too old for the service: nothing else of the request changes from poll to poll. */
export function isSinceRefused(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.target !== "collection") return false;
  const { status = 0, isOfQuestion } = error;
  if (isOfQuestion) return true;
  return status >= 400 && status < 500 && !OTHER_REFUSALS.has(status);
}

function isRateLimit(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "rate_limited";
}
