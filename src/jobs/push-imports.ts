/*
 * Pushes changed rows of one feed. Keeps the guarantee that the newest local value wins: rows are committed as in
 * doubt before their request leaves, and acknowledged only after the answer, fenced by the value that was sent. After
 * a crash in between they are sent again with their newest values, no sooner than the request could still arrive.
 */
import { asError, BridgeError } from "../domain/errors.ts";
import { type FeedName, type FeedRules, referenceOf } from "../domain/feed.ts";
import { planHold } from "../domain/holds.ts";
import { isGuarded } from "../domain/plan-feed.ts";
import { isoTime } from "../domain/ports.ts";
import {
  hasOpenDoubt,
  loadRefused,
  loadSendable,
  markRefusedWaiting,
  type OutboxRow,
  resetClocks,
  type SendLimits,
} from "../store/feed-outbox.ts";
import { areTriggersArmed, armTriggers, checkTable, countSourceRows } from "../store/feed-source.ts";
import { isSentViewCurrent, saveSentView } from "../store/feed-views.ts";
import {
  countDrops,
  type FeedRow,
  loadFeed,
  markCompared,
  markCompareOwed,
  saveFeedRules,
  saveGuard,
} from "../store/feeds.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../store/holds.ts";
import { absorbTouched, compareTable } from "./absorb-feed.ts";
import { commit } from "./commit.ts";
import type { Job, JobContext, JobReport } from "./job.ts";
import { SendRows } from "./send-rows.ts";

/** Requests in one pass; the next follows at once, and other feeds and a stop get their turn in between. */
const REQUESTS_PER_PASS = 20;
/** No row that goes to zero or away is held back. */
const EVERY_ROUND = Number.MAX_SAFE_INTEGER;

export interface PushOptions {
  rules: FeedRules;
  /** Deadline of one request: until then an answer that did not come may still have been an effect. */
  timeoutMs: number;
  /** Feeds whose backlog goes first: stock before prices before catalog before images. */
  earlier: readonly PushImports[];
}

export class PushImports implements Job {
  readonly name: FeedName;
  readonly areas: readonly string[];
  readonly #context: JobContext;
  readonly #options: PushOptions;
  readonly #sendRows: SendRows;
  /** The state of the schema that was last looked at; another one may lack the table or the triggers. */
  #schemaVersion: number | undefined;
  /** What another process or a failure left open has been counted from now. */
  #areClocksSet = false;
  /** What may go in this pass; fixed at its start, so that nothing becomes due behind the guard's back. */
  #limits: SendLimits | undefined;
  /** The last pass failed in a way that concerns this feed alone: others do not wait for it. */
  #isIll = false;
  /** How often this feed has had nothing left to send. */
  #drains = 0;
  /** The drains of the earlier feeds when this one began to let them go first. */
  #yieldedAt: readonly number[] | undefined;

  constructor(context: JobContext, options: PushOptions) {
    this.#context = context;
    this.#options = options;
    this.name = options.rules.name;
    this.areas = ["imports", options.rules.name];
    this.#sendRows = new SendRows(context, options);
  }

  /** All rows are compared in the next pass: the backstop for changes that left no trace. */
  async requestCompare(because: string, signal: AbortSignal): Promise<void> {
    await commit(this.#context, signal, () => markCompareOwed(this.#context.store, this.name, because));
  }

  /** Everything that needs no service, also while a hold stands: one row a key says what waits. */
  async prepare(signal: AbortSignal): Promise<{ counts: Record<string, number>; hasWork: boolean }> {
    const { rules } = this.#options;
    const counts: Record<string, number> = {};
    this.#limits = undefined;
    try {
      await this.#arm(signal);
      if (rules.scope === "whole" && countSourceRows(this.#context.store, rules, 1) > 0)
        await this.#releaseTable(signal);
      await this.#setClocks(signal);
      const compared = await this.#compareIfOwed(counts, signal);
      const touched = await absorbTouched(this.#context, rules, signal);
      add(counts, "changed", touched.owed + compared.owed);
      add(counts, "unsendable", touched.bad + compared.bad);
      this.#limits = await this.#guard(signal);
    } catch (error) {
      this.#isIll = true;
      throw error;
    }
    if (this.#nextRows(1).length > 0) return { counts, hasWork: !this.#mustYield() };
    this.#drains += 1;
    this.#isIll = false;
    return { counts, hasWork: false };
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const counts: Record<string, number> = {};
    try {
      const isEmptied = await this.#send(counts, signal);
      this.#isIll = false;
      return { outcome: isEmptied ? "done" : "more", counts };
    } catch (error) {
      const hold = planHold(error, this.name);
      this.#isIll = hold === undefined || hold.area === this.name;
      throw error;
    }
  }

  // ---------------------------------------------------------------------------------------------------- tracking

  /** Notices a table that was dropped, renamed or made again, and rules that were changed. */
  async #arm(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const { rules } = this.#options;
    const version = this.#readSchemaVersion();
    if (version === this.#schemaVersion) return;
    const feed = loadFeed(store, rules.name);
    if (feed.template !== rules.signature || feed.address !== rules.address) await this.#takeUpRules(feed, signal);
    try {
      checkTable(store, rules);
      const isTracked = areTriggersArmed(store, rules);
      if (!isTracked || !isSentViewCurrent(store, rules)) await this.#rearm(isTracked, signal);
    } catch (error) {
      const failure = asError(error);
      if (failure.code === "table_missing")
        await this.#holdTable(`${failure.message} ${failure.hint ?? ""}`.trim(), signal);
      throw failure;
    }
    await this.#releaseTable(signal);
    this.#schemaVersion = this.#readSchemaVersion();
  }

  #readSchemaVersion(): number {
    return (this.#context.store.prepare("PRAGMA schema_version").get() as { schema_version: number }).schema_version;
  }

  /** What held the feed, and what was held against its rows, was said of the old rules. */
  async #takeUpRules(feed: FeedRow, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const { rules } = this.#options;
    const because = feed.template === null ? "first use" : "the configuration was changed";
    await commit(this.#context, signal, () => {
      saveFeedRules(store, rules);
      for (const row of loadRefused(store, rules))
        markRefusedWaiting(store, rules, { id: row.id, reference: referenceOf(row.key) });
      deleteHold(store, rules.name, "shape");
      deleteHold(store, rules.name, "refused");
      markCompareOwed(store, rules.name, because);
    });
    log.info({ feed: rules.name, because }, `${rules.name}: the whole table is compared.`);
  }

  async #rearm(isTracked: boolean, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const { rules } = this.#options;
    await commit(this.#context, signal, () => {
      saveSentView(store, rules);
      if (isTracked) return;
      armTriggers(store, rules);
      markCompareOwed(store, rules.name, "changes were not noted before");
    });
    if (!isTracked)
      log.info(
        { feed: rules.name, table: rules.table },
        `${rules.name}: changes of ${rules.table} are noted from now on.`,
      );
  }

  async #holdTable(detail: string, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const { name } = this.#options.rules;
    const standing = loadHoldsOf(store, name).find(({ reason }) => reason === "table");
    if (standing?.detail === detail) return;
    const since = standing?.since ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () =>
      saveHold(store, { area: name, reason: "table", since, nextProbeAt: null, detail }),
    );
  }

  async #releaseTable(signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const { rules } = this.#options;
    if (!loadHoldsOf(store, rules.name).some(({ reason }) => reason === "table")) return;
    await commit(this.#context, signal, () => deleteHold(store, rules.name, "table"));
    log.info({ feed: rules.name }, `${rules.name}: the table ${rules.table} is as it should be again.`);
  }

  /** Once in a process, and after a failure whose end could not be written. */
  async #setClocks(signal: AbortSignal): Promise<void> {
    if (this.#areClocksSet) return;
    const { store, clock } = this.#context;
    const { rules, timeoutMs } = this.#options;
    await commit(this.#context, signal, () => {
      const nowMs = clock.monotonicMs();
      resetClocks(store, rules, { nowMs, doubtUntilMs: nowMs + timeoutMs });
    });
    this.#areClocksSet = true;
  }

  async #compareIfOwed(counts: Record<string, number>, signal: AbortSignal): Promise<{ owed: number; bad: number }> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    if (loadFeed(store, rules.name).compareBecause === null) return { owed: 0, bad: 0 };
    const done = await compareTable(this.#context, rules, signal);
    await commit(this.#context, signal, () => markCompared(store, rules, isoTime(clock.nowMs())));
    add(counts, "compared", done.compared);
    return done;
  }

  /** Rows that go to zero or away wait for a person where they are too many at once; the others go on. */
  async #guard(signal: AbortSignal): Promise<SendLimits> {
    const { store, clock, log } = this.#context;
    const { rules } = this.#options;
    const feed = loadFeed(store, rules.name);
    const limits = this.#limitsNow(feed);
    // While rows wait, the window does not move on: time alone must not let them through.
    const windowStartMs = (feed.guardSince === null ? clock.nowMs() : Date.parse(feed.guardSince)) - rules.guard.overMs;
    const drops = countDrops(store, rules, { since: isoTime(windowStartMs), awayBeforeMs: limits.awayBeforeMs });
    const guarded = isGuarded(rules.guard, { ...drops, live: feed.liveCount });
    const standing = loadHoldsOf(store, rules.name).find(({ reason }) => reason === "guard");
    const since = feed.guardSince ?? isoTime(clock.nowMs());
    const detail =
      `${drops.pending} of ${feed.liveCount} rows would go to zero or away. They wait; other rows go on. If that is right: ` +
      `erp-bridge approve ${rules.name}`;
    const isNews = guarded
      ? feed.guardSince === null || standing?.detail !== detail
      : feed.guardSince !== null || standing !== undefined;
    if (isNews) {
      await commit(this.#context, signal, () => {
        saveGuard(store, rules.name, guarded ? since : null);
        if (guarded) saveHold(store, { area: rules.name, reason: "guard", since, nextProbeAt: null, detail });
        else deleteHold(store, rules.name, "guard");
      });
      if (guarded && feed.guardSince === null) {
        log.warn(
          { feed: rules.name, rows: drops.pending, live: feed.liveCount },
          `${rules.name}: rows that go to zero wait for approval.`,
        );
      }
    }
    return { ...limits, dropRound: guarded ? feed.approvedRound : EVERY_ROUND };
  }

  // ----------------------------------------------------------------------------------------------------- sending

  /** True where nothing that may go is left. */
  async #send(counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const { rules } = this.#options;
    for (let requests = 0; requests < REQUESTS_PER_PASS; requests++) {
      const rows = this.#nextRows(this.#chunk());
      if (rows.length === 0) {
        this.#drains += 1;
        return true;
      }
      if (this.#context.isStopping()) return false;
      if (rules.scope === "whole") await this.#refuseEmptyTable(signal);
      try {
        if (await this.#sendRows.send(rows, counts, signal)) return true;
      } catch (error) {
        // Its end may not have been written: the next pass counts whatever is open from then.
        this.#areClocksSet = false;
        throw error;
      }
    }
    return false;
  }

  #chunk(): number {
    const { rules } = this.#options;
    if (rules.scope === "whole") return -1;
    return Math.min(rules.chunk, loadFeed(this.#context.store, rules.name).chunk ?? rules.chunk);
  }

  #nextRows(limit: number): OutboxRow[] {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const limits = { ...(this.#limits ?? this.#limitsNow(loadFeed(store, rules.name))), nowMs: clock.monotonicMs() };
    // A whole table carries every row, so none of them may go while an earlier request may still arrive.
    if (rules.scope === "whole" && hasOpenDoubt(store, rules, limits.nowMs)) return [];
    return loadSendable(store, rules, limits, limit);
  }

  /**
   * A backlog drains in the order of what costs most to have wrong. An earlier feed that fails or waits for a person is
   * not waited for, nor is one that has drained since: a busy stock feed has something new at every pass.
   */
  #mustYield(): boolean {
    const { earlier } = this.#options;
    const drains = earlier.map((feed) => feed.#drains);
    const before = this.#yieldedAt ?? drains;
    const isBehind = earlier.some((feed, index) => feed.#isBehind() && feed.#drains === before[index]);
    this.#yieldedAt = isBehind ? before : undefined;
    return isBehind;
  }

  #isBehind(): boolean {
    if (this.#isIll || this.#nextRows(1).length === 0) return false;
    return loadHoldsOf(this.#context.store, this.name).every(({ reason }) => reason === "guard");
  }

  #limitsNow(feed: FeedRow): SendLimits {
    const nowMs = this.#context.clock.monotonicMs();
    const dropRound = feed.guardSince === null ? EVERY_ROUND : feed.approvedRound;
    return { nowMs, awayBeforeMs: nowMs - this.#options.rules.deleteAfterMs, dropRound };
  }

  async #refuseEmptyTable(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const { rules } = this.#options;
    if (countSourceRows(store, rules, 1) > 0) return;
    const detail = `The table ${rules.table} is empty, and sending it whole would empty the site. Nothing is sent.`;
    await this.#holdTable(detail, signal);
    throw new BridgeError("table_missing", `${rules.name}: ${detail}`);
  }
}

function add(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}
