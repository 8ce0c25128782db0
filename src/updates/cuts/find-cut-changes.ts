/*
 * Searches for changes that a page left out, because the service lists the newest first up to a limit, or has more
 * changes of one timestamp than fit on a page: reads open orders one by one, then the newest closed ones. Keeps the
 * second guarantee: the watermark moves over such a page only when each of these orders was read or is queued. After a
 * crash the search continues where it was.
 */

import { acceptLacks } from "../../completeness/check-completeness.ts";
import { saveMeta } from "../../database/meta.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import { saveHold } from "../../pass/hold-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import { expediteRead, loadWatermark, requestRead, saveWatermark, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { isoTime } from "../../platform/ports.ts";
import { LOOK_BACK } from "../looks/look-back.ts";
import { type FollowRules, instantOf, mayMove } from "../pages/follow.ts";
import { noteFewWhole } from "../pages/page-cover.ts";
import { loadToCompare } from "../reads/control-rows.ts";
import { loadLearned, saveLearned } from "../times/learned-rows.ts";
import {
  COVERED_STREAM,
  type Cut,
  countRequestedReads,
  deleteCut,
  loadClosedBegin,
  loadCut,
  saveCut,
} from "./cut-rows.ts";
import { settleEqualTimestamps } from "./equal-timestamps-rows.ts";

/** Limit of its queued reads, so that those of new changes are not delayed. */
const READS_AHEAD = 100;
/** Some services send changes without an order again and again. */
const READ_ALL_EVERY_MS = 12 * 3_600_000;
/** Minimum interval between two searches while the service answers another question. */
const OTHER_EVERY_MS = 10 * 60_000;
/** Closed orders seldom change; `reconcile` reads some of the others each night. */
const CLOSED_MAX = 2_000;

export class FindCutChanges {
  readonly #context: JobContext;
  readonly #follow: FollowRules;
  /** Monotonic. */
  #readAllAtMs = Number.NEGATIVE_INFINITY;

  constructor(context: JobContext, follow: FollowRules) {
    this.#context = context;
    this.#follow = follow;
  }

  /** Reads orders because of held changes that name no order and cannot be requested again. */
  async readAll(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    if (clock.monotonicMs() < this.#readAllAtMs) return;
    this.#readAllAtMs = clock.monotonicMs() + READ_ALL_EVERY_MS;
    await commit(this.#context, signal, () => {
      const text = loadWatermark(store, UPDATES_STREAM) ?? "";
      const high = { text, ns: instantOf(text, this.#follow.timezone) ?? 0n };
      const begun = { size: 0, stage: "open", after: 0, again: false, isShown: false, high } as const;
      const standing = loadCut(store);
      const cut = standing === undefined ? begun : { ...standing, again: true };
      saveCut(store, { ...cut, since: isoTime(clock.nowMs()) });
      LOOK_BACK.delete(store);
    });
  }

  /** To be called inside the transaction that stores the page's changes. */
  save(cut: Cut, at: string): void {
    const { store } = this.#context;
    const before = loadCut(store);
    if (cut.isShown && (before?.isShown !== true || cut.skipped?.to !== before.skipped?.to)) this.#saveHold(cut, at);
    saveCut(store, cut);
  }

  /** Queues the next reads, and ends the search when none is left. Returns whether it goes on. */
  async requestReads(signal: AbortSignal): Promise<boolean> {
    const { store, log } = this.#context;
    for (;;) {
      const cut = loadCut(store);
      if (cut === undefined) return false;
      const waiting = countRequestedReads(store);
      if (waiting >= READS_AHEAD) return true;
      if ((await this.#requestSome(cut, signal)) || waiting > 0) return true;
      if (this.#isTooSoon(cut)) return true;
      await commit(this.#context, signal, () => this.#beginNext(cut));
      const isReported = cut.isShown || cut.tieNs !== undefined;
      if (isReported && loadCut(store) === undefined) log.info({}, m.updates.cutSettled);
    }
  }

  /** Reads have found a change that no page had. */
  async show(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const cut = loadCut(store);
    // Pages of one timestamp have a hold of their own (`equal-timestamps-rows.ts`).
    if (cut === undefined || cut.size === 0 || (cut.isShown && cut.isFound)) return;
    await commit(this.#context, signal, () =>
      this.save({ ...cut, isShown: true, isFound: true }, isoTime(clock.nowMs())),
    );
  }

  async #requestSome({ stage, after }: Cut, signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#context;
    const range = { after, upTo: Number.MAX_SAFE_INTEGER, limit: READS_AHEAD, isOpen: stage === "open" };
    const orders = loadToCompare(store, range);
    const last = orders.at(-1);
    if (last === undefined) return false;
    await commit(this.#context, signal, () => {
      for (const order of orders) {
        requestRead(store, order, isoTime(clock.nowMs()));
        // A read that waits after a failure is due now, because its order may be one of those left out.
        expediteRead(store, order.orderId);
      }
      const cut = loadCut(store);
      if (cut !== undefined) saveCut(store, { ...cut, after: last.orderKey });
    });
    return true;
  }

  #isTooSoon({ isOther, again, since }: Cut): boolean {
    const passedMs = this.#context.clock.nowMs() - Date.parse(since);
    return isOther === true && again && passedMs >= 0 && passedMs < OTHER_EVERY_MS;
  }

  /** Starts the next stage: closed orders, the search again, or the end. */
  #beginNext(cut: Cut): void {
    const { store, clock, client } = this.#context;
    const { since, again, high, covered, lacks, isFound, tieNs } = cut;
    const at = isoTime(clock.nowMs());
    const hasClosed = cut.stage === "open" && cut.isOther !== true;
    const isFew = isOfFew(cut);
    const closedMax = isFew ? READS_AHEAD : CLOSED_MAX;
    if (hasClosed) saveCut(store, { ...cut, stage: "closed", after: loadClosedBegin(store, closedMax) });
    else if (again)
      saveCut(store, { ...cut, stage: "open", after: 0, again: false, ...(cut.isOther && { since: at }) });
    if (hasClosed || again) return;
    deleteCut(store);
    const nowNs = instantOf(client.serviceNow ?? at, "UTC");
    if (tieNs !== undefined) settleEqualTimestamps(store, tieNs, { nowNs, overlapMs: this.#follow.overlapMs });
    if (lacks !== undefined && isFound !== true) acceptLacks(store, lacks);
    if (!isFew && !cut.isOther) saveMeta(store, "orders_read", since);
    if (isFew) {
      const learned = loadLearned(store);
      saveLearned(store, { ...learned, fewWhole: noteFewWhole(learned.fewWhole, cut.size) });
    }
    if (covered !== undefined) saveWatermark(store, COVERED_STREAM, covered, at);
    if (high.text !== "" && mayMove(high.text, loadWatermark(store, UPDATES_STREAM), client.serviceNow, this.#follow))
      saveWatermark(store, UPDATES_STREAM, high.text, at);
  }

  #saveHold(cut: Cut, at: string): void {
    const { store, log } = this.#context;
    const detail = describeCut(cut);
    if (saveHold(store, { area: "updates", reason: "cut", since: at, nextProbeAt: null, detail }))
      log.warn({ size: cut.size }, detail);
  }
}

/** The search began with a page of few changes without another sign of a cut, and found nothing. */
function isOfFew({ isFew, isShown, isFound, tieNs }: Cut): boolean {
  return isFew === true && !isShown && isFound !== true && tieNs === undefined;
}

function describeCut({ size, skipped, isMixed, isOther }: Cut): Message {
  if (isOther) return m.updates.otherQuestion({ size });
  if (skipped !== undefined) return m.updates.sinceRefused({ from: skipped.from, to: skipped.to });
  if (isMixed) return m.updates.cutUnordered({ size });
  return m.updates.cutNewestFirst({ size });
}
