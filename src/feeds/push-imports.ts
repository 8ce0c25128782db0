/*
 * Pushes changed rows of one feed, in passes. `prepare` needs no request, and also runs while a hold stands:
 *
 *   1. Triggers and views are made again where they are missing.
 *   2. Times that another process has left are set relative to now.
 *   3. Acknowledgements that do not count any more are marked, before any row is compared with them.
 *   4. Changed rows of the source are put into the outbox.
 *   5. Rows that go to zero or away are held where too many do.
 *
 * `runOnce` sends what may go then:
 *
 *   6. Deletions of rows whose article another row names are cancelled.
 *   7. Where the feed or its area is held for refused credentials or a refused payment, one row goes first, as the probe.
 *   8. Rows are committed as in flight, sent, and acknowledged after the answer, fenced by the value that was sent.
 *   9. Refusals are proven where the service has accepted something.
 *  10. Quarantined rows are retried, once nothing else is left.
 *  11. Acceptances are committed, and rows that were not sent are unmarked.
 *
 * The newest local value wins: after a crash in between rows are sent again with their newest values, not before the earlier
 * request can no longer arrive.
 */

import type { FeedName } from "../config/feed-names.ts";
import type { Message } from "../messages/message.ts";
import { commit, commitUntilDone } from "../pass/commit.ts";
import { factsOf } from "../pass/hold-reasons.ts";
import { loadHoldsOf } from "../pass/hold-rows.ts";
import { planHold } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { wasProbeRefused } from "../pass/refused-probes.ts";
import { asError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import type { FeedContext, FeedPass } from "./diff/absorb-feed.ts";
import { FeedChanges } from "./diff/feed-changes.ts";
import {
  hasInFlight,
  loadNextDueMs,
  loadRetryable,
  loadRetryableDrops,
  loadSendable,
  loadSendableRow,
  type OutboxRow,
  type SendLimits,
} from "./feed-outbox.ts";
import { bytesOf, RECORDS_BYTES_MAX } from "./feed-record.ts";
import { hasDrops, loadFeed, requestCompare } from "./feed-rows.ts";
import { correctDropTimes, holdDrops } from "./guard/hold-drops.ts";
import { ImageFiles } from "./images/find-images.ts";
import { isOfNew } from "./repeated-rows.ts";
import { keyOfReference } from "./row-reference.ts";
import { loadControl, loadLastSendable, loadProbe } from "./send/controls.ts";
import { resetClocks } from "./send/flight-rows.ts";
import { ROWS_PER_COMMIT } from "./send/flights.ts";
import { isHeldAsDenied } from "./send/refusal-trial.ts";
import { wake } from "./send/refused-rows.ts";
import { requeueDrops, retryRefused } from "./send/retry-refused.ts";
import type { SendOptions, SendPass } from "./send/send-pass.ts";
import { SendRows } from "./send/send-rows.ts";
import { sourceFault } from "./source/source-reader.ts";

/** Requests per pass, of which it keeps the rows; the next pass follows at once, and other feeds or a stop can run in between. */
const REQUESTS_PER_PASS = 20;
/** Quarantined rows that are retried at a time, and the pause until the next ones. */
const RETRY_ROWS_MAX = 100;
const RETRY_PAUSE_MS = 3_600_000;
/** A pass for rows that wait for a time comes this long after the one before, or later. */
const DUE_LEAST_MS = 60_000;
/** A clock is corrected by less without being set. */
const CLOCK_STEP_MS = 60_000;

export interface PushOptions extends SendOptions {
  /** Feeds whose backlog is sent first: stock before prices before catalog before images. */
  earlier: readonly PushImports[];
}

export class PushImports implements Job {
  readonly name: FeedName;
  readonly areas: readonly string[];
  readonly #context: FeedContext;
  readonly #options: PushOptions;
  readonly #sendRows: SendRows;
  readonly #changes: FeedChanges;
  /** Times left by another process or a failure have been set relative to now. */
  #areClocksSet = false;
  /** The one row to send, at a person's request. */
  #only: readonly string[] | undefined;
  /** What may be sent in this pass; fixed at its start, so that no row becomes due after the guard has counted. */
  #limits: SendLimits | undefined;
  /** The last pass failed in a way that concerns only this feed: others do not wait for it. */
  #hasFailed = false;
  /** In the last pass files changed between their check and their request, and their rows waited for another check. */
  #isStale = false;
  /** Monotonic time before which no quarantined row is retried. */
  #retryAtMs = 0;
  /** How often this feed has had nothing left to send. */
  #drains = 0;
  /** `#drains` of the earlier feeds when this one began to wait for them. */
  #yieldedAt: readonly number[] | undefined;
  /** Both clocks at the last pass. */
  #clocks: { wallMs: number; machineMs: number };

  constructor(context: JobContext, options: PushOptions) {
    this.#options = options;
    this.#clocks = { wallMs: context.clock.nowMs(), machineMs: context.clock.monotonicMs() };
    this.name = options.rules.name;
    this.areas = ["imports", options.rules.name];
    const files = ImageFiles.of(context, options.rules);
    this.#context = files === undefined ? context : { ...context, files };
    this.#sendRows = new SendRows(this.#context, options);
    this.#changes = new FeedChanges(this.#context, options.rules);
  }

  /** Makes the next pass compare all rows: the fallback for changes that left no trace. */
  async requestCompare(because: Message, signal: AbortSignal): Promise<void> {
    await commit(this.#context, signal, () => requestCompare(this.#context.store, this.name, because));
  }

  /**
   * Limits passes to one row until the returned function is called.
   * @param reference the row's key as in `quarantine`: its columns joined by `/`
   */
  limitTo(reference: string): () => void {
    this.#only = keyOfReference(this.#options.rules, reference);
    return () => {
      this.#only = undefined;
    };
  }

  /** Everything that needs no request to the service; also runs while a hold stands, so that the outbox is up to date. */
  async prepare(
    signal: AbortSignal,
  ): Promise<{ counts: Record<string, number>; hasWork: boolean; isAwaiting?: boolean }> {
    const pass: FeedPass = { counts: {}, startedAt: this.#now(), signal };
    const { counts } = pass;
    this.#limits = undefined;
    try {
      await this.#changes.arm(signal); // 1.
      await this.#setClocks(signal); // 2.
      await this.#changes.absorb(pass, this.#only); // 3. and 4.
      this.#limits = await this.#guard(signal); // 5.
    } catch (thrown) {
      this.#hasFailed = true;
      const error = sourceFault(this.#options.rules, thrown);
      await this.#changes.note(error, signal);
      throw error;
    }
    if (this.#nextRows(1).length > 0) {
      const hasWork = !this.#mustYield();
      if (!hasWork) this.#changes.forgetScan();
      return { counts, hasWork, ...(hasWork ? {} : { dueInMs: DUE_LEAST_MS }) };
    }
    this.#changes.forgetScan();
    this.#drains += 1;
    this.#hasFailed = false;
    await this.#sendRows.request.settleForms(signal);
    this.#changes.refuseStuck();
    const isAwaiting = hasInFlight(this.#context.store, this.#options.rules, this.#context.clock.monotonicMs());
    const { rows, drops } = this.#rowsToRetry();
    const hasWork = rows.length > 0 || drops.length > 0;
    return { counts, hasWork, isAwaiting, ...this.#nextDue() };
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const given = {
      control: () => loadControl(this.#context, this.#options.rules, { limits: this.#limitsBeside(), signal }),
      hasOthers: () => loadLastSendable(this.#context.store, this.#options.rules, this.#limitsBeside()) !== undefined,
      heldFor: this.#heldFor(),
    };
    const pass = this.#sendRows.begin({ counts: {}, startedAt: this.#now(), signal }, given);
    try {
      const isEmptied = await this.#push(pass);
      this.#hasFailed = false;
      return { outcome: isEmptied ? "done" : "more", counts: pass.counts, ...this.#nextDue() };
    } catch (error) {
      this.#changes.forgetScan();
      const hold = planHold(error, this.name);
      this.#hasFailed = hold === undefined || hold.area === this.name;
      // The end of a request may not have been stored: the next pass sets times relative to then.
      this.#areClocksSet = false;
      if (!pass.trial.hasAccepted || signal.aborted) throw error;
      return { outcome: "done", counts: pass.counts, failure: asError(error) };
    }
  }

  async #push(pass: SendPass): Promise<boolean> {
    try {
      await this.#spareGoing(pass); // 6.
      await this.#probe(pass); // 7.
      const isEmptied = await this.#send(pass); // 8.
      await this.#sendRows.end(pass); // 9.
      if (isEmptied) this.#changes.forgetScan();
      if (pass.heldFor.length > 0 && pass.trial.hasAccepted) await this.#wakeRefused(pass.signal);
      if (isEmptied && pass.heldFor.length === 0) await this.#retryRefused(pass); // 10.
      return isEmptied;
    } finally {
      await this.#sendRows.request.flights.finish(pass.signal); // 11.
    }
  }

  /** Once per process, and after each failure. */
  async #setClocks(signal: AbortSignal): Promise<void> {
    if (this.#areClocksSet) return;
    const { store, clock } = this.#context;
    const { rules, timeoutMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const options = { nowMs, flightUntilMs: nowMs + timeoutMs, limit: ROWS_PER_COMMIT };
    await commitUntilDone(this.#context, signal, () => resetClocks(store, rules, options));
    this.#areClocksSet = true;
  }

  /** Returns what may be sent in this pass. */
  async #guard(signal: AbortSignal): Promise<SendLimits> {
    const { rules } = this.#options;
    const at = this.#now();
    const after = this.#noteClocks(at);
    if (!hasDrops(this.#context.store, rules)) return this.#limitsNow();
    await correctDropTimes(this.#context, rules, { after, at }, signal);
    const limits = this.#limitsNow();
    await holdDrops(this.#context, rules, { limits, at, signal });
    return limits;
  }

  /** Notes both clocks. Returns from when on times of drops are wrong: in the future, or, where the clock was set forward, all that still count. */
  #noteClocks(now: string): string {
    const { clock } = this.#context;
    const { wallMs, machineMs } = this.#clocks;
    this.#clocks = { wallMs: clock.nowMs(), machineMs: clock.monotonicMs() };
    const aheadMs = this.#clocks.wallMs - wallMs - (this.#clocks.machineMs - machineMs);
    return aheadMs > CLOCK_STEP_MS ? isoTime(wallMs - this.#options.rules.guard.overMs) : now;
  }

  async #spareGoing(pass: FeedPass): Promise<void> {
    const limits = this.#limits ?? this.#limitsNow();
    try {
      await this.#changes.spareGoing(limits, pass);
    } catch (error) {
      throw sourceFault(this.#options.rules, error);
    }
  }

  /** Whether the service accepts anything at all: with the rows that were refused, one that it refuses would keep the hold for ever. */
  async #probe(pass: SendPass): Promise<void> {
    const { rules } = this.#options;
    // A table that is sent whole has all its rows in each request.
    if (!isHeldAsDenied(pass.heldFor) || this.#only !== undefined || rules.scope === "whole") return;
    const row = await loadProbe(this.#context, rules, { limits: this.#currentLimits(), signal: pass.signal });
    if (row !== undefined) await this.#sendRows.send(pass, [row]);
  }

  /** Returns whether no row is left that may be sent. */
  async #send(pass: SendPass): Promise<boolean> {
    const { rules } = this.#options;
    const { files } = this.#context;
    let waiting: OutboxRow[] = [];
    let bytes = 0;
    for (let requests = 0; requests < REQUESTS_PER_PASS && bytes <= RECORDS_BYTES_MAX; requests++) {
      const chunk = this.#chunk();
      if (waiting.length === 0) waiting = await this.#take(pass, chunk, REQUESTS_PER_PASS - requests);
      if (waiting.length === 0) {
        this.#drains += 1;
        return true;
      }
      if (this.#context.isStopping()) return false;
      if (rules.scope === "whole") await this.#changes.refuseEmpty(pass.signal);
      const next = chunk < 0 ? waiting : waiting.slice(0, chunk);
      waiting = files === undefined ? waiting.slice(next.length) : [];
      bytes += bytesOf(next.map(({ record }) => record));
      const { rows, stale } = (await files?.take(next, pass.signal)) ?? { rows: next, stale: 0 };
      const wasStale = this.#isStale;
      this.#isStale = stale > 0;
      if (stale > 0) this.#changes.forgetScan();
      if (rows.length > 0) await this.#sendRows.send(pass, rows);
      // Their rows are absorbed again at once; a file that changes all the time waits for the schedule.
      if (stale > 0) return wasStale;
    }
    return false;
  }

  /** Loads the rows of the next requests, and marks them as in flight, except for images and whole tables. */
  async #take({ signal }: SendPass, chunk: number, requests: number): Promise<OutboxRow[]> {
    const { flights } = this.#sendRows.request;
    if (chunk < 0 || this.#context.files !== undefined) {
      await flights.flush(signal);
      return this.#nextRows(chunk);
    }
    const limit = chunk * Math.min(requests, Math.max(1, Math.floor(ROWS_PER_COMMIT / chunk)));
    return await flights.take(() => this.#nextRows(limit), signal);
  }

  /** Of rows beside those of the pass; undefined where none is to be sent. */
  #limitsBeside(): SendLimits | undefined {
    // The files of the rows being sent are in memory, and another row's would replace them.
    const isOne = this.#context.files !== undefined && this.#options.rules.chunk > 1;
    return this.#only !== undefined || isOne ? undefined : this.#currentLimits();
  }

  /** Why the feed or the area is on hold, if it is because the service refuses requests. */
  #heldFor(): string[] {
    const { store } = this.#context;
    const reasons = this.areas.flatMap((area) => loadHoldsOf(store, area)).map(({ reason }) => reason);
    return reasons.filter((reason) => factsOf(reason).blocks?.by === "refusal");
  }

  /** Makes refused rows due at once: they may have been refused because of trouble that is now over. */
  async #wakeRefused(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const options = { nowMs: clock.monotonicMs(), limit: ROWS_PER_COMMIT };
    await commitUntilDone(this.#context, signal, () => wake(store, this.#options.rules, "refused", options));
    this.#retryAtMs = 0;
  }

  /** Quarantined rows that are due for an automatic retry, and those of them that the guard counts first. */
  #rowsToRetry(): { rows: OutboxRow[]; drops: OutboxRow[] } {
    const { store } = this.#context;
    const { rules } = this.#options;
    if (this.#only !== undefined || this.#heldFor().length > 0) return { rows: [], drops: [] };
    const limits = this.#currentLimits();
    const isTime = limits.nowMs >= this.#retryAtMs;
    return {
      rows: isTime ? loadRetryable(store, rules, limits, Math.min(rules.chunk, RETRY_ROWS_MAX)) : [],
      drops: loadRetryableDrops(store, rules, limits.nowMs, RETRY_ROWS_MAX),
    };
  }

  async #retryRefused(pass: SendPass): Promise<void> {
    const { clock, files } = this.#context;
    const { rules } = this.#options;
    const next = this.#rowsToRetry();
    if (this.#context.isStopping()) return;
    if (next.drops.length > 0) await requeueDrops(this.#context, rules, next.drops, pass.signal);
    if (next.rows.length === 0) return;
    const { rows } = (await files?.take(next.rows, pass.signal)) ?? next;
    this.#retryAtMs = clock.monotonicMs() + RETRY_PAUSE_MS;
    if (rows.length === 0) return;
    // Where the service accepts some of them, the others are sent soon.
    const { request } = this.#sendRows;
    if ((await retryRefused(this.#context, rules, { request, pass, rows })) > 0) await this.#wakeRefused(pass.signal);
  }

  #chunk(): number {
    const { rules } = this.#options;
    if (rules.scope === "whole") return -1;
    const learned = loadFeed(this.#context.store, rules.name).chunk ?? rules.chunk;
    return Math.min(rules.chunk, learned, this.#sendRows.chunkAfterFailure);
  }

  #nextRows(limit: number): OutboxRow[] {
    const { store } = this.#context;
    const { rules } = this.#options;
    const limits = this.#currentLimits();
    // A whole table contains all rows, so it is not sent while an earlier request may still arrive.
    if (rules.scope === "whole" && hasInFlight(store, rules, limits.nowMs)) return [];
    if (this.#only !== undefined) return loadSendableRow(store, rules, limits, this.#only);
    return loadSendable(store, rules, limits, limit);
  }

  /**
   * Backlogs are sent in the order of the damage that stale values do. This feed does not wait for an earlier one that
   * fails or waits for a person, or that was empty since: a busy stock feed has new rows in every pass.
   */
  #mustYield(): boolean {
    if (this.#only !== undefined) return false;
    const { earlier } = this.#options;
    const drains = earlier.map((feed) => feed.#drains);
    const before = this.#yieldedAt ?? drains;
    const isBehind = earlier.some((feed, index) => feed.#isBehind() && feed.#drains === before[index]);
    this.#yieldedAt = isBehind ? before : undefined;
    return isBehind;
  }

  #isBehind(): boolean {
    const isSending = this.#sendRows.request.flights.hasAhead;
    const [next] = isSending ? [] : this.#nextRows(1);
    const isIdle = !isSending && (next === undefined || isOfNew(this.#context.store, next));
    if (this.#hasFailed || isIdle) return false;
    // What holds all feeds ends for the first of them first; one that is refused again may be the only one.
    if (wasProbeRefused(this.#context.store, "imports", this.name)) return false;
    return loadHoldsOf(this.#context.store, this.name).every(({ reason }) => reason === "guard");
  }

  /** When a row may go that waits for a time, so that a feed with a schedule of once a day does not leave it until the next day. */
  #nextDue(): { dueInMs?: number } {
    const nowMs = this.#context.clock.monotonicMs();
    const options = { nowMs, quarantinedMs: this.#retryAtMs };
    const dueMs = loadNextDueMs(this.#context.store, this.#options.rules, options);
    return dueMs === undefined ? {} : { dueInMs: Math.max(dueMs - nowMs, DUE_LEAST_MS) };
  }

  #now(): string {
    return isoTime(this.#context.clock.nowMs());
  }

  #limitsNow(): SendLimits {
    const { deleteAfterMs, name } = this.#options.rules;
    const nowMs = this.#context.clock.monotonicMs();
    return { nowMs, awayBeforeMs: nowMs - deleteAfterMs, dropRound: loadFeed(this.#context.store, name).approvedRound };
  }

  /** As fixed at the start of the pass; requests end and retries become due meanwhile. */
  #currentLimits(): SendLimits {
    return { ...(this.#limits ?? this.#limitsNow()), nowMs: this.#context.clock.monotonicMs() };
  }
}
