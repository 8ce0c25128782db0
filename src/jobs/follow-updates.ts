/*
 * Follows later changes of orders. Keeps the second guarantee: the watermark moves only in the transaction that
 * stores the last of the changes it covers, or owes a read for them. After a crash the older watermark asks again,
 * and what is stored already is recognised without a write.
 */
import type { ServiceAnswer } from "../api/client.ts";
import { fetchUpdates } from "../api/orders.ts";
import {
  type FollowRules,
  type High,
  isFromFuture,
  isLater,
  isSetBack,
  isToken,
  type Learned,
  learnForm,
  liesAhead,
  mayMove,
  type Page,
  planFirstAsk,
  planNextPage,
  planSweep,
  raiseHigh,
} from "../domain/follow.ts";
import { stopsPass } from "../domain/holds.ts";
import { resolvePath } from "../domain/json-path.ts";
import type { Span } from "../domain/json-text.ts";
import { type OrderField, readScalar } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import { reportedError } from "../domain/read-answer.ts";
import { readStamp } from "../domain/stamp.ts";
import { saveHold } from "../store/holds.ts";
import { loadLearned, saveLearned } from "../store/meta.ts";
import { hasPulled, loadNewestStamp, loadWatermark, saveWatermark } from "../store/positions.ts";
import { KnownPages } from "./change-page.ts";
import { findMatchedPaths, saveMatchedPaths } from "./check-paths.ts";
import { ChangeCollector } from "./collect-changes.ts";
import { commit } from "./commit.ts";
import type { Job, JobContext, JobReport } from "./job.ts";
import type { ReadOrders } from "./read-orders.ts";
import { takeNews } from "./take-news.ts";

const STREAM = "updates";
/** The service's time at the last sweep: a machine that is off at night sweeps in the morning. */
const SWEEP_STREAM = "sweep";
/** Bounds a pass in requests and in memory. The next one goes on from there at once. */
const PAGES_MAX = 1_000;
const RECORDS_MAX = 200_000;
const RECORDS_PER_COMMIT = 100;
/** Changes wait in memory until the pass ends, because only the newest of an order counts; beyond this they are stored early. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;

export interface FollowOptions {
  rules: OrderRules;
  follow: FollowRules;
  sweepOverlapMs: number;
}

interface Pass {
  at: string;
  counts: Record<string, number>;
  signal: AbortSignal;
  rules: FollowRules;
  watermark: string | undefined;
  learned: Learned;
  /** The service's clock at the pass's first answer that told it. */
  serviceNow: string | undefined;
  /** The same where this pass's own answers told it: a position is only what the service itself sent. */
  serviceDate: string | undefined;
  high: High | undefined;
  /** The position that the service named itself. */
  token: string | undefined;
  pageMax: number;
  future: number;
  changes: ChangeCollector;
  matched: Set<OrderField>;
}

/** A page that was stepped over, until the next one tells whether something was left behind it. */
interface Tie {
  /** None: the changes carry no stamps at all. */
  stamp: string | undefined;
  count: number;
}

export class FollowUpdates implements Job {
  readonly name = "updates";
  readonly areas = ["orders", "updates"];
  readonly #context: JobContext;
  readonly #pages: KnownPages;
  readonly #options: FollowOptions;
  readonly #readOrders: ReadOrders;
  #sweepWanted = false;
  readonly #told = { future: false, ahead: false };

  constructor(context: JobContext, options: FollowOptions, readOrders: ReadOrders) {
    this.#context = context;
    this.#options = options;
    this.#readOrders = readOrders;
    const { rules, follow } = options;
    const pageRules = { mapping: rules.update, changes: rules.changes, timezone: follow.timezone };
    this.#pages = new KnownPages(pageRules, context.clock);
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
    const left = await this.#readOrders.readOwed(counts, signal);
    if (failure !== undefined) throw failure;
    const worked = Object.values(counts).some((count) => count > 0);
    return { outcome: !isComplete || (worked && left > 0) ? "more" : worked ? "done" : "idle", counts };
  }

  /** Returns false where the pass was ended by its own bounds and the next one goes on at once. */
  async #follow(counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const { store, client, clock } = this.#context;
    const { follow, sweepOverlapMs } = this.#options;
    this.#pages.beginPass();
    const watermark = loadWatermark(store, STREAM);
    // The first pull tells from when on there are changes to follow. All changes ever made are not asked for instead.
    if (watermark === undefined && !hasPulled(store)) return true;
    const learned = loadLearned(store);
    const sweptAt = loadWatermark(store, SWEEP_STREAM);
    const lookBackMs = planSweep(sweptAt, client.serviceNow, {
      sweepOverlapMs,
      overlapMs: follow.overlapMs,
      isWanted: this.#sweepWanted,
    });
    const isSweep = lookBackMs !== undefined;
    const pass: Pass = {
      at: isoTime(clock.nowMs()),
      counts,
      signal,
      rules: isSweep ? { ...follow, overlapMs: lookBackMs } : follow,
      watermark,
      learned: {
        ...learned,
        form: learned.form ?? learnForm(undefined, [readStamp(loadNewestStamp(store), follow.timezone)]),
      },
      serviceNow: undefined,
      serviceDate: undefined,
      high: undefined,
      token: undefined,
      pageMax: 0,
      future: 0,
      changes: new ChangeCollector(store, clock),
      matched: new Set(),
    };
    let isComplete: boolean;
    try {
      isComplete = await this.#readPages(pass, client.serviceNow);
    } catch (error) {
      // What was read is stored; the watermark stays where it is, and the rest is asked for again.
      await this.#store(pass, { isWhole: false });
      throw error;
    }
    this.#tellFuture(pass.future);
    const position = this.#positionOf(pass);
    this.#tellAhead(position ?? watermark, pass);
    const isMove = position !== undefined && mayMove(position, watermark, pass.serviceNow, follow);
    // One try a sweep: where a day holds more than a pass may read, following what is new goes first.
    if (isSweep && !isComplete)
      this.#context.log.warn(
        { records: pass.changes.records },
        "The sweep was too wide for one pass and was cut short.",
      );
    const swept = isSweep || sweptAt === undefined ? pass.serviceDate : undefined;
    await this.#store(pass, { watermark: isMove ? position : undefined, isWhole: isComplete, swept });
    if (isSweep) this.#sweepWanted = false;
    return isComplete || !(isMove || isSweep);
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
    const firstAsk = (now: string | undefined) =>
      planFirstAsk({ watermark, serviceNow: now, form: pass.learned.form }, rules);
    if (hasTokens && watermark !== undefined && isToken(watermark, pass.learned.form, rules.timezone)) {
      return await this.#readByToken(pass, watermark);
    }
    let asked = firstAsk(serviceNow);
    let tie: Tie | undefined;
    for (let pages = 0; pages < PAGES_MAX && pass.changes.records < RECORDS_MAX; pages++) {
      const { page, token } = await this.#readPage(pass, asked.since);
      // What a page that was not cut would have held as well tells for certain that it was.
      const isCut =
        tie !== undefined && page.stamps.some((stamp) => stamp !== undefined && isLater(stamp.text, tie?.stamp, rules));
      if (tie !== undefined && isCut) await this.#raiseTie(tie, pass);
      tie = undefined;
      const corrected = pages === 0 ? firstAsk(pass.serviceNow) : asked;
      if (corrected.ns < asked.ns) {
        // The service's clock stands before the watermark: what it stamps now is asked for as well.
        asked = corrected;
        continue;
      }
      if (hasTokens && token !== undefined) {
        pass.token = token;
        return page.fresh === 0 ? true : await this.#readByToken(pass, token);
      }
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
      if (verdict.next === "step over" && isLater(verdict.stamp, watermark, rules)) {
        tie = { stamp: verdict.stamp, count: page.stamps.length };
        if (verdict.isFull) await this.#raiseTie(tie, pass);
      }
      asked = verdict.asked;
    }
    return false;
  }

  /** Where the answer itself names the next `since`. */
  async #readByToken(pass: Pass, first: string): Promise<boolean> {
    pass.token = first;
    for (let pages = 0; pages < PAGES_MAX && pass.changes.records < RECORDS_MAX; pages++) {
      const { page, token } = await this.#readPage(pass, pass.token);
      const isSame = token === undefined || token === pass.token;
      pass.token = token ?? pass.token;
      if (isSame || page.fresh === 0) return true;
    }
    return false;
  }

  async #readPage(pass: Pass, since: string): Promise<{ page: Page; token: string | undefined }> {
    const { store, client } = this.#context;
    const { rules } = this.#options;
    const answer = await fetchUpdates(client, since, pass.signal);
    const serviceNow = answer.date ?? client.serviceNow;
    pass.serviceNow ??= serviceNow;
    pass.serviceDate ??= answer.date;
    const changes = await this.#pages.open(answer, pass.signal);
    const { list, elements } = changes;
    const token = answer.status === 204 ? undefined : readToken(answer, list.root, rules);
    if (list.elements === undefined) return { page: { stamps: [], fresh: 0 }, token };
    const { body } = answer;
    for (const field of findMatchedPaths(store, { bytes: body, records: elements, mapping: rules.update }))
      pass.matched.add(field);
    const isBeyond = token !== undefined && token !== since && isToken(since, pass.learned.form, pass.rules.timezone);
    const fresh = await pass.changes.addPage({ body, changes, isBeyond }, pass.signal);
    const { stamps } = changes;
    const { high, future } = raiseHigh(pass.high, stamps, serviceNow);
    pass.high = high;
    pass.future = Math.max(pass.future, future);
    pass.pageMax = Math.max(pass.pageMax, elements.length);
    if (pass.changes.waitingBytes > WAITING_BYTES_MAX) await this.#store(pass, { isWhole: false });
    // What came beside an error is stored; the position stays, because the service may have shown a part of the page only.
    if (list.error !== undefined) throw reportedError(list.error);
    return { page: { stamps, fresh }, token };
  }

  /** Stores what is news, at most so many records a transaction; the watermark moves with the last of them. */
  async #store(
    pass: Pass,
    end: { watermark?: string | undefined; swept?: string | undefined; isWhole: boolean },
  ): Promise<void> {
    const { watermark, swept, isWhole } = end;
    const { store } = this.#context;
    const { rules } = this.#options;
    const news = pass.changes.takeNews(isWhole);
    const learns = JSON.stringify(loadLearned(store)) !== JSON.stringify(pass.learned);
    if (news.length === 0 && watermark === undefined && swept === undefined && !learns) return;
    for (let from = 0; from === 0 || from < news.length; from += RECORDS_PER_COMMIT) {
      if (from > 0) await this.#context.clock.sleep(0, pass.signal);
      const part = news.slice(from, from + RECORDS_PER_COMMIT);
      const isLast = from + RECORDS_PER_COMMIT >= news.length;
      const taken = await commit(this.#context, pass.signal, () => {
        saveMatchedPaths(store, { mapping: rules.update, matched: [...pass.matched], at: pass.at });
        const done = part.map((each) => takeNews({ store, rules, at: pass.at }, each));
        if (isLast) saveLearned(store, pass.learned);
        if (isLast && watermark !== undefined) saveWatermark(store, STREAM, watermark, pass.at);
        if (isLast && swept !== undefined) saveWatermark(store, SWEEP_STREAM, swept, pass.at);
        return done;
      });
      for (const what of taken) if (what !== "same") pass.counts[what] = (pass.counts[what] ?? 0) + 1;
    }
  }

  /** Changes that cannot be reached must be looked for by a person. Once told, the same stamp is not told again. */
  async #raiseTie({ stamp, count }: Tie, pass: Pass): Promise<void> {
    const { store, log } = this.#context;
    const detail =
      stamp === undefined
        ? `${count} changes carry no time at ${this.#options.rules.update.paths.updated_at.text}, so that those after them cannot be ` +
          "asked for: put updates.fields.updated_at right, then: erp-bridge resume updates"
        : `A full page of ${count} changes carries the stamp ${stamp}. If the service had more with it, they were not ` +
          "served: compare those orders with the site, then: erp-bridge resume updates";
    const isNew = await commit(this.#context, pass.signal, () =>
      saveHold(store, { area: "updates", reason: "tie", since: pass.at, nextProbeAt: null, detail }),
    );
    if (isNew) log.error({ stamp, count }, detail);
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

function readToken({ body }: ServiceAnswer, root: Span, rules: OrderRules): string | undefined {
  if (rules.next === null) return undefined;
  const found = resolvePath(body, root, rules.next);
  return found.state === "value" ? readScalar(body, found.span) : undefined;
}
