/*
 * Reads changes page by page until none could bring anything new, by timestamps or by the service's own tokens. Moves
 * no position.
 */

import { resolvePath } from "../../answers/json-path.ts";
import type { Span } from "../../answers/json-text.ts";
import { parseTimestamp } from "../../answers/timestamp.ts";
import { isSameWay } from "../../answers/timestamp-form.ts";
import type { CompletenessCheck } from "../../completeness/check-completeness.ts";
import { countEmptyRecords } from "../../completeness/list-metadata.ts";
import { withoutMore } from "../../completeness/metadata-fields.ts";
import { MetaValue } from "../../database/meta.ts";
import { m } from "../../messages/messages.ts";
import { loadOrderMark } from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { endOfStepNs } from "../../orders/second-reads.ts";
import { commit } from "../../pass/commit.ts";
import { stopsPass } from "../../pass/holds.ts";
import { Interval } from "../../pass/interval.ts";
import type { JobContext } from "../../pass/job.ts";
import { leastAgoMs } from "../../pass/machine-clock.ts";
import { loadWatermark, TIME_STREAM } from "../../pass/position-rows.ts";
import { asError, BridgeError } from "../../platform/errors.ts";
import { isoTime } from "../../platform/ports.ts";
import { findMatchedPaths } from "../../records/check-paths.ts";
import { refuseRepeated, reportedError } from "../../records/read-list.ts";
import { findOld } from "../../service/cached-answer.ts";
import { fetchUpdates } from "../../service/orders.ts";
import { loadAnchors } from "../cuts/cut-rows.ts";
import { loadEqualTimestamps } from "../cuts/equal-timestamps-rows.ts";
import { LookPast } from "../looks/look-past.ts";
import { saysCancelled } from "../reads/take-cancellation.ts";
import { addDaysAhead } from "../times/latest-time.ts";
import { learnUnread, noteFormer } from "../times/learn-form.ts";
import { KnownPages } from "./change-page.ts";
import type { IsCancelled } from "./collect-changes.ts";
import { FirstPages, isSinceRefused } from "./first-page.ts";
import { type Asked, instantOf, isLater, isToken, type Page, planFirstAsk, planNextPage, raiseHigh } from "./follow.ts";
import { type FollowOptions, notePage, PAGES_MAX, type Pass, RECORDS_MAX, type ReadPage } from "./follow-pass.ts";
import { inFormOf, isBefore, isOtherForm, readToken } from "./next-token.ts";
import { noteOtherForm, OTHER_FORM } from "./other-form.ts";
import { hasAnchors, liesBefore, mergeAnchors, showsOtherQuestion } from "./page-cover.ts";
import type { Rest } from "./rest-rows.ts";
import { isLastingFault, isPositionRefused, NARROWED_MAX } from "./since-limits.ts";
import { type EqualTimestamps, holdEqualTimestamps, provesCut, showsWhole } from "./step-over.ts";
import type { StorePass } from "./store-pass.ts";

/** A token before the requested one is followed only if the service repeats it for so long. */
const BACK_MS = 10 * 60_000;
/** How often a refused `since` is repeated immediately, and the limit of repeats per pass. */
const REPEATS_MAX = 3;
const REPEATS_OF_PASS_MAX = 9;
const REPEAT_AFTER_MS = 5_000;
/**
 * How often changes are requested by time in addition to tokens; less than the overlap, so that nothing between is
 * missed.
 */
const LOOK_EVERY_MS = 5 * 60_000;
/** The interval after that failed. */
const LOOK_AGAIN_MS = 24 * 3_600_000;

/** A token that is before the one that named it. `machineMs`: since when the service names it, from the machine's start. */
const POSITION_BEFORE = new MetaValue<{ token: string; since: string; machineMs: number } | undefined>(
  "position_before",
);

/** Pages in a row without anything new that are read because more is announced. */
const QUIET_PAGES_MAX = 20;

export class ReadPages {
  readonly #context: JobContext;
  readonly #options: FollowOptions;
  readonly #completeness: CompletenessCheck;
  readonly #stored: StorePass;
  readonly #pages: KnownPages;
  readonly #first: FirstPages;
  readonly #past: LookPast;
  #isTokenRefused = false;
  #repeats = 0;
  readonly #looks: Interval;
  /** No look by time before then. Monotonic. */
  #lookAtMs = 0;

  constructor(
    context: JobContext,
    options: FollowOptions,
    { completeness, stored }: { completeness: CompletenessCheck; stored: StorePass },
  ) {
    this.#context = context;
    this.#options = options;
    this.#completeness = completeness;
    this.#stored = stored;
    const { rules, follow } = options;
    const pageRules = { mapping: rules.update, changes: rules.changes, next: rules.next, timezone: follow.timezone };
    this.#pages = new KnownPages(pageRules, context);
    this.#looks = new Interval(context, "looked_by_time", LOOK_EVERY_MS, { isDueFirst: false });
    this.#first = new FirstPages(context, follow, (pass, since) => this.readPage(pass, since));
    this.#past = new LookPast(follow, (pass, since) => this.readPage(pass, since));
  }

  get first(): FirstPages {
    return this.#first;
  }

  beginPass(): void {
    this.#repeats = 0;
    this.#pages.beginPass();
    this.#past.beginPass();
  }

  /** Whether the rest is left to the next poll, where a limit ended reading. */
  get isLeft(): boolean {
    return this.#past.isLeft;
  }

  /** Reads pages until none could bring anything new. Returns false where a limit ended it earlier. */
  async readPages(pass: Pass, serviceNow: string | undefined): Promise<boolean> {
    const { watermark, rules } = pass;
    const hasTokens = this.#options.rules.next !== null;
    if (!hasTokens || watermark === undefined || !isToken(watermark, pass.learned.form, rules.timezone)) {
      return await this.#readByTime(pass, watermark, serviceNow);
    }
    const time = loadWatermark(this.#context.store, TIME_STREAM);
    // A wide re-poll starts at a time, because a wrong token may be answered too, and continues from the token named
    // there.
    if (pass.isWide && time !== undefined) return await this.#readByTime(pass, time, serviceNow);
    try {
      const isComplete = await this.#readByToken(pass, watermark);
      this.#isTokenRefused = false;
      if (!isComplete || time === undefined || !(await this.#isLeftBehind(pass, watermark, time))) return isComplete;
      pass.token = undefined;
      return await this.#readByTime(pass, time, serviceNow);
    } catch (error) {
      // A token may expire, or a broken service may have named an invalid one: the time saved with it is still valid.
      if (pass.token !== undefined || time === undefined || !isPositionRefused(error)) throw error;
      if (!this.#isTokenRefused) this.#context.log.warn({ watermark, since: time }, m.updates.positionRefused);
      this.#isTokenRefused = true;
      return await this.#readByTime(pass, time, serviceNow);
    }
  }

  /**
   * Whether requests by time bring later changes than the service's own positions. A service that was restored to an
   * earlier copy counts on from a lower position, and answers the former one with nothing.
   */
  async #isLeftBehind(pass: Pass, watermark: string, time: string): Promise<boolean> {
    const { store, clock, log } = this.#context;
    if (clock.monotonicMs() < this.#lookAtMs || !(await this.#looks.begin(pass.signal))) return false;
    const { rules, metadata } = pass;
    const known = pass.high !== undefined && isLater(pass.high.text, time, rules) ? pass.high.text : time;
    try {
      const read = await this.#first.readFrom(pass, time);
      if (read === undefined) {
        // The service refuses every time, not only old ones.
        const refusedLooks = OTHER_FORM.load(store).refusedLooks + 1;
        await noteOtherForm(this.#context, { refusedLooks }, pass.signal);
        if (refusedLooks >= NARROWED_MAX) this.#lookAtMs = clock.monotonicMs() + LOOK_AGAIN_MS;
        return false;
      }
      await noteOtherForm(this.#context, { refusedLooks: 0 }, pass.signal);
      const { token } = read;
      if (pass.high === undefined || !isLater(pass.high.text, known, rules)) return false;
      if (token !== undefined && isBefore(token, watermark, rules.timezone))
        log.warn({ watermark, token }, m.updates.positionsWentBack);
      return true;
    } catch (error) {
      if (stopsPass(error)) throw error;
      // Requests by position work, so this failure does not count.
      this.#lookAtMs = clock.monotonicMs() + LOOK_AGAIN_MS;
      log.debug({ time }, asError(error).message);
      return false;
    } finally {
      pass.metadata = metadata;
    }
  }

  /** Starts at a time less the overlap; each next page starts at the largest timestamp of the one before. */
  async #readByTime(pass: Pass, from: string | undefined, serviceNow: string | undefined): Promise<boolean> {
    const { rules, rest } = pass;
    const hasTokens = this.#options.rules.next !== null;
    const { pagesMax = PAGES_MAX } = this.#options;
    const first = rest === undefined ? await this.#first.readFirst(pass, from, serviceNow) : undefined;
    let asked = first?.asked ?? (rest as Rest).asked;
    let equal: EqualTimestamps | undefined;
    const path = this.#options.rules.update.paths.updated_at.text;
    for (let pages = 0; pages < pagesMax && pass.changes.records < RECORDS_MAX; pages++) {
      const { page, keys, token, servedAt } =
        pages === 0 && first !== undefined ? first.read : await this.readPage(pass, asked.since);
      if (showsWhole(page, asked, loadEqualTimestamps(this.#context.store))) pass.isEqualServed = true;
      const lacks = this.#completeness.findLacks(pass.metadata);
      notePage(pass, { page, askedNs: asked.ns, servedAt, lacks });
      if (equal !== undefined && provesCut(page, equal, rules))
        await holdEqualTimestamps(this.#context, equal, { pass, path });
      equal = undefined;
      const corrected = planFirstAsk({ watermark: from, serviceNow: pass.serviceNow, form: pass.learned.form }, rules);
      if (pages === 0 && first?.isNarrowed === false && corrected.ns < asked.ns) {
        // The service's clock is behind the watermark: the changes that it timestamps now are requested as well.
        asked = corrected;
        continue;
      }
      // A token counts once it was requested and answered; until then the position is a time.
      const isNamed = hasTokens && token !== undefined && token !== asked.since;
      if (isNamed && !isLargest(token, page, pass) && (await this.#mayFollow(pass, token, asked.since)))
        return page.fresh === 0 && pass.otherQuestion === undefined && !this.#completeness.saysMore(pass.metadata)
          ? true
          : await this.#readByToken(pass, token, asked);
      const { learned, verdict } = planNextPage(
        { asked, high: pass.high, learned: pass.learned, pageMax: pass.pageMax },
        page,
        rules,
      );
      pass.learned = noteFormer(pass.learned, learned, pass);
      if (verdict.next === "done") {
        const past = await this.#past.find(pass, asked, { page, keys });
        if (past === undefined) return true;
        pages += past.requests;
        asked = past.asked;
        if (this.isLeft) break;
        // The changes after the page are an answer to what was asked.
        delete pass.otherQuestion;
        continue;
      }
      if (verdict.next === "no timestamps") {
        await holdEqualTimestamps(
          this.#context,
          { timestamp: undefined, count: page.timestamps.length },
          { pass, path },
        );
        return true;
      }
      // Pages of one change each do not distinguish equal timestamps from the page limit.
      if (verdict.next === "step over" && page.timestamps.length > 1 && this.#hasNewChanges(pass, verdict.timestamp)) {
        const { timestamp } = verdict;
        const range = { fromNs: asked.ns, toNs: verdict.asked.ns };
        equal = {
          timestamp,
          count: page.timestamps.length,
          range: { ...range, overNs: this.#overNs(timestamp, range) },
          servedAt,
        };
        if (verdict.isFull) await holdEqualTimestamps(this.#context, equal, { pass, path });
      }
      asked = verdict.asked;
      // If the service asks to wait in the middle of a pass, the next one continues here.
      pass.asked = asked;
    }
    pass.asked = asked;
    return false;
  }

  /** Later changes within a minute may have a timestamp that the position has passed. */
  #hasNewChanges({ changes, watermark, rules }: Pass, timestamp: string): boolean {
    const ns = instantOf(timestamp, rules.timezone);
    return isLater(timestamp, watermark, rules) || (ns !== undefined && changes.hasNewsOf(ns));
  }

  #overNs(timestamp: string, { toNs }: { toNs: bigint }): bigint {
    const { timezone } = this.#options.follow;
    const parsed = parseTimestamp(timestamp, timezone);
    const endNs = parsed && endOfStepNs(this.#context.store, parsed, timezone);
    return endNs !== undefined && endNs > toNs ? endNs : toNs;
  }

  /**
   * Reads by tokens: each answer names the next `since`. The position is the last token that was requested and
   * answered.
   * @param from the time requested before, where the first token was named; after a limit or a wait the next pass
   * continues at the token, unless it is the position
   */
  async #readByToken(pass: Pass, first: string, from?: Asked): Promise<boolean> {
    const { pagesMax = PAGES_MAX, follow } = this.#options;
    const seen = new Set<string>();
    let since = first;
    let quiet = 0;
    let isRewritten = false;
    for (let pages = 0; pages < pagesMax && pass.changes.records < RECORDS_MAX; pages++) {
      if (from !== undefined && (pass.isWide || !isToken(since, pass.learned.form, follow.timezone)))
        pass.asked = { since, ns: instantOf(since, follow.timezone) ?? from.ns, isKnownTimestamp: false };
      const { page, token } = await this.readPage(pass, since);
      // Only a token that the service has named is a position.
      if (!isRewritten) pass.token = since;
      seen.add(since);
      quiet = page.fresh === 0 ? quiet + 1 : 0;
      if (token === undefined || token === since) return true;
      if (pass.otherQuestion !== undefined && !this.#lacksKnown(pass, pass.otherQuestion)) delete pass.otherQuestion;
      // More may follow an empty page, if the service filters, and a page of records from before its own position.
      const isMore = pass.otherQuestion !== undefined || this.#completeness.saysMore(pass.metadata);
      if (quiet > 0 && (quiet > QUIET_PAGES_MAX || !isMore)) {
        const rewritten = isRewritten ? undefined : await this.#findRewritten(pass, token, since);
        if (rewritten === undefined) return true;
        since = rewritten;
        isRewritten = true;
        continue;
      }
      if (seen.has(token) || !(await this.#mayFollow(pass, token, since))) return true;
      since = token;
      isRewritten = false;
    }
    return false;
  }

  /**
   * A token named by an empty answer has another form than the requested one, which the service may therefore misread.
   * If both are digits of a time, the requested time is returned in the new form.
   * @throws BridgeError `answer_unreadable` where that is impossible, for minutes, and no request by time is answered
   */
  async #findRewritten({ signal }: Pass, token: string, since: string): Promise<string | undefined> {
    const { store, clock } = this.#context;
    const nowMs = clock.monotonicMs();
    if (!isOtherForm(token, since)) {
      await noteOtherForm(this.#context, { sinceMs: undefined }, signal);
      return undefined;
    }
    const rewritten = inFormOf(since, token);
    const known = OTHER_FORM.load(store).sinceMs;
    const { sinceMs = nowMs, refusedLooks } = await noteOtherForm(this.#context, { sinceMs: known ?? nowMs }, signal);
    if (rewritten !== undefined || leastAgoMs(sinceMs, nowMs) < BACK_MS || refusedLooks < NARROWED_MAX)
      return rewritten;
    throw new BridgeError("answer_unreadable", m.updates.positionsOfOtherForm({ since, token }), {
      hint: m.updates.askOfPositions,
    });
  }

  /**
   * Whether a token may be requested next. One that is before the one that named it leads nowhere. If the service keeps
   * naming it, it is followed: going back repeats changes but loses none.
   */
  async #mayFollow({ signal }: Pass, token: string, since: string): Promise<boolean> {
    const { store, clock, log } = this.#context;
    if (!isBefore(token, since, this.#options.follow.timezone)) return true;
    const nowMs = clock.monotonicMs();
    const named = POSITION_BEFORE.load(store);
    if (named?.token === token && named.since === since) return leastAgoMs(named.machineMs, nowMs) >= BACK_MS;
    await commit(this.#context, signal, () => POSITION_BEFORE.save(store, { token, since, machineMs: nowMs }));
    log.warn({ since, token }, m.updates.positionBefore);
    return false;
  }

  /** Repeats a refused request a few times, because another machine of the service may accept it. */
  async #fetch(pass: Pass, since: string): ReturnType<typeof fetchUpdates> {
    const { client, clock } = this.#context;
    const { signal } = pass;
    for (let repeats = 0; ; repeats++) {
      try {
        return await fetchUpdates(client, since, signal);
      } catch (error) {
        if (isLastingFault(error, this.#context)) {
          error.isOfQuestion = true;
          throw error;
        }
        if (isSinceRefused(error)) pass.refusedSince = since;
        if (!isSinceRefused(error) || repeats >= REPEATS_MAX || this.#repeats >= REPEATS_OF_PASS_MAX) throw error;
        this.#repeats += 1;
        await clock.sleep(REPEAT_AFTER_MS, signal);
      }
    }
  }

  async readPage(pass: Pass, since: string): Promise<ReadPage> {
    const { store, client } = this.#context;
    const { rules } = this.#options;
    const answer = await this.#fetch(pass, since);
    const serviceNow = answer.date ?? client.serviceNow;
    pass.serviceNow ??= serviceNow;
    pass.serviceDate ??= answer.date;
    pass.askedAt ??= answer.askedAt;
    const changes = await this.#pages.open(answer, pass.signal);
    const { list, elements } = changes;
    const body = changes.mended ?? answer.body;
    const token = answer.status === 204 ? undefined : tokenOf(body, list.root, rules);
    const answered = { bytes: body, records: elements, mapping: rules.update, known: pass.matched };
    if (elements.length > 0) for (const field of findMatchedPaths(store, answered)) pass.matched.add(field);
    const isBeyond = token !== undefined && token !== since && isToken(since, pass.learned.form, pass.rules.timezone);
    const isCancelled: IsCancelled = (bytes, record) => saysCancelled(rules, { bytes, record });
    const add = async (waitsForEmpty: boolean) =>
      await pass.changes.addPage({ body, changes, isBeyond, waitsForEmpty, isCancelled }, pass.signal, () =>
        this.#stored.store(pass, { isWhole: false }),
      );
    const empty = countEmptyRecords(body, elements);
    // Before learning from the answer, which waits for the write lock: from here on decisions include these records.
    const added = empty === 0 ? await add(false) : undefined;
    // A named next page is requested before signs of more changes are judged.
    const isFollowed = token !== undefined && token !== since;
    const judged = isFollowed ? withoutMore(changes.metadata) : changes.metadata;
    const unusual = await this.#completeness.judge(judged, pass.signal, {
      mustList: (isStanding) => this.#mustList(pass, since, isStanding),
    });
    pass.metadata = changes.metadata;
    // Records beside an error, beside empty ones, or from a cache are stored; the position stays, because others may be
    // missing.
    const reported = list.error === undefined ? findOld(answer, "/orders/updates") : reportedError(list.error);
    const doubt = reported ?? (await this.#completeness.judgePage(since, empty, pass));
    const readNamed = () =>
      this.#completeness.readNamed(changes.metadata, () => ({ has: (id) => pass.changes.hasMet(id) }), pass.signal);
    if (list.elements === undefined) await readNamed();
    const error = doubt ?? unusual;
    if (list.elements === undefined && error !== undefined) throw error;
    if (list.elements === undefined)
      return { page: { timestamps: [], fresh: 0 }, keys: [], token, servedAt: serviceNow };
    const fresh = added ?? (await add(doubt !== undefined));
    await readNamed();
    const { timestamps, keys } = changes;
    pass.learned = learnUnread(pass.learned, changes.seen);
    if (this.#liesBefore(pass, { since, timestamps })) {
      // The page does not show how far changes go.
      if (doubt !== undefined) throw doubt;
      return { page: { timestamps, fresh }, keys, token, servedAt: serviceNow };
    }
    const { high, future } = raiseHigh(pass.high, timestamps, serviceNow ?? pass.ceiling);
    pass.high = high;
    const nowMs = this.#context.clock.nowMs();
    pass.near = raiseHigh(pass.near, timestamps, isoTime(nowMs)).high;
    if (serviceNow === undefined && pass.ceiling !== undefined) addDaysAhead(pass.wrongDays, timestamps, nowMs);
    pass.future = Math.max(pass.future, future);
    pass.pageMax = Math.max(pass.pageMax, elements.length);
    if (high !== undefined) pass.anchors = mergeAnchors(pass.anchors, changes.newest, high.ns);
    if (doubt !== undefined) throw doubt;
    return { page: { timestamps, fresh }, keys, token, servedAt: serviceNow };
  }

  /** Whether a page lies before the requested time. Records whether it answers another question. */
  #liesBefore(pass: Pass, { since, timestamps }: { since: string; timestamps: Page["timestamps"] }): boolean {
    const asked = parseTimestamp(since, pass.rules.timezone);
    const isByToken = this.#options.rules.next !== null && isToken(since, pass.learned.form, pass.rules.timezone);
    if (asked === undefined || isByToken) return false;
    const { instantNs: ns, form } = asked;
    if (!liesBefore(timestamps, { ns, form })) return false;
    if (this.#lacksKnown(pass, { ns })) pass.otherQuestion ??= { ns, size: timestamps.length };
    return true;
  }

  /** Whether a change that was listed before should be in the answer. A removed order may have left the list. */
  #mustList({ learned, rules, anchors, serviceNow }: Pass, since: string, isStanding: boolean): boolean {
    const asked = parseTimestamp(since, rules.timezone);
    const isSame = asked !== undefined && learned.form !== undefined && isSameWay(asked.form, learned.form);
    if (!isSame || learned.boundary !== "inclusive" || this.#options.rules.next !== null) return false;
    const { store } = this.#context;
    const listed = [...loadAnchors(store), ...anchors].filter(
      ({ orderId }) => loadOrderMark(store, orderId)?.removedAt === null,
    );
    return hasAnchors(listed, asked.instantNs, isStanding ? undefined : instantOf(serviceNow, "UTC"));
  }

  #lacksKnown(pass: Pass, { ns }: { ns: bigint }): boolean {
    const nowNs = instantOf(pass.serviceNow, "UTC");
    const anchors = loadAnchors(this.#context.store);
    return showsOtherQuestion(anchors, { ns, nowNs }, (orderId) => pass.changes.hasNewest(orderId));
  }
}

/**
 * Whether a named position is the page's largest timestamp. Then it is followed as a timestamp: a full page of that
 * timestamp would lead nowhere, and an exclusive service would leave out the rest of its changes.
 */
function isLargest(token: string, { timestamps }: Page, { learned, rules }: Pass): boolean {
  const ns = isToken(token, learned.form, rules.timezone) ? undefined : instantOf(token, rules.timezone);
  return ns !== undefined && raiseHigh(undefined, timestamps, undefined).high?.ns === ns;
}

function tokenOf(body: Buffer, root: Span, rules: OrderRules): string | undefined {
  if (rules.next === null) return undefined;
  refuseRepeated(body, root, rules.next);
  const found = resolvePath(body, root, rules.next);
  return found.state === "value" ? readToken(body, found.span) : undefined;
}
