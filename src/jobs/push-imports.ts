/*
 * Pushes changed rows of one feed. Keeps the guarantee that the newest local value wins: rows are committed as in
 * doubt before their request leaves, and acknowledged only after the answer, fenced by the value that was sent. After
 * a crash in between they are sent again with their newest values, no sooner than the request could still arrive.
 */
import { sendImport } from "../api/imports.ts";
import { asError, BridgeError } from "../domain/errors.ts";
import { FEED_IDS, FEED_NAMES, type FeedName, type FeedRules } from "../domain/feed.ts";
import { isoTime } from "../domain/ports.ts";
import { isGuarded } from "../domain/plan-feed.ts";
import { areTriggersArmed, armTriggers, checkTable, countSourceRows } from "../store/feed-source.ts";
import {
  countDrops,
  deleteOldDrops,
  type FeedRow,
  hasWaiting,
  loadFeed,
  loadOldestDoubt,
  loadSendable,
  markCompared,
  markCompareOwed,
  markGuarded,
  type OutboxRow,
  saveFeedTemplate,
} from "../store/feeds.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../store/holds.ts";
import { absorbTouched, compareTable } from "./absorb-feed.ts";
import { commit } from "./commit.ts";
import type { Job, JobContext, JobReport } from "./job.ts";
import { SendRows } from "./send-rows.ts";

/** Requests in one pass; the next follows at once, and other feeds and a stop get their turn in between. */
const REQUESTS_PER_PASS = 20;

export interface PushOptions {
  rules: FeedRules;
  /** Deadline of one request: until then an answer that did not come may still have been an effect. */
  timeoutMs: number;
}

export class PushImports implements Job {
  readonly name: FeedName;
  readonly areas: readonly string[];
  readonly #context: JobContext;
  readonly #options: PushOptions;
  readonly #sendRows: SendRows;
  /** Monotonic time before which no row in doubt goes again; unknown until the first pass has looked. */
  #doubtUntilMs: number | undefined;
  #schemaVersion: number | undefined;

  constructor(context: JobContext, options: PushOptions) {
    this.#context = context;
    this.#options = options;
    this.name = options.rules.name;
    this.areas = ["imports", options.rules.name];
    this.#sendRows = new SendRows(context, { ...options, sendImport });
  }

  /** All rows are compared in the next pass: the backstop for changes that left no trace. */
  async requestCompare(because: string, signal: AbortSignal): Promise<void> {
    await commit(this.#context, signal, () => markCompareOwed(this.#context.store, this.name, because));
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const { rules } = this.#options;
    const counts: Record<string, number> = {};
    await this.#arm(signal);
    const compared = await this.#compareIfOwed(counts, signal);
    const touched = await absorbTouched(this.#context, rules, signal);
    add(counts, "changed", touched.owed + compared.owed);
    add(counts, "unsendable", touched.bad + compared.bad);
    await this.#guard(signal);
    const isEmptied = await this.#send(counts, signal);
    const worked = Object.values(counts).some((count) => count > 0);
    return { outcome: worked ? (isEmptied ? "done" : "more") : "idle", counts };
  }

  // ---------------------------------------------------------------------------------------------------- tracking

  /** Notices a table that was dropped, renamed or made again, and a template that was changed. */
  async #arm(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#context;
    const { rules } = this.#options;
    const feed = loadFeed(store, rules.name);
    const version = store.db.pragma("schema_version", { simple: true }) as number;
    if (version === this.#schemaVersion && feed.template === rules.signature) return;
    try {
      checkTable(store, rules);
      if (!areTriggersArmed(store, rules) || feed.template !== rules.signature) await this.#rearm(feed, signal);
    } catch (error) {
      const failure = asError(error);
      if (failure.code !== "table_missing") throw error;
      const since = isoTime(clock.nowMs());
      const detail = `${failure.message} ${failure.hint ?? ""}`.trim();
      await commit(this.#context, signal, () => saveHold(store, { area: rules.name, reason: "table", since, nextProbeAt: null, detail }));
      throw failure;
    }
    if (loadHoldsOf(store, rules.name).some(({ reason }) => reason === "table")) {
      await commit(this.#context, signal, () => deleteHold(store, rules.name, "table"));
      log.info({ feed: rules.name }, `${rules.name}: the table ${rules.table} is there again.`);
    }
    this.#schemaVersion = store.db.pragma("schema_version", { simple: true }) as number;
  }

  async #rearm(feed: FeedRow, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const { rules } = this.#options;
    const because =
      feed.template === null ? "first use" : feed.template === rules.signature ? "the table was made again" : "the template was changed";
    await commit(this.#context, signal, () => {
      armTriggers(store, rules);
      if (feed.template !== rules.signature) {
        saveFeedTemplate(store, rules.name, rules.signature);
        // What held the feed was said of the old template.
        deleteHold(store, rules.name, "shape");
      }
      markCompareOwed(store, rules.name, because);
    });
    log.info({ feed: rules.name, table: rules.table, because }, `${rules.name}: changes are noted; the whole table is compared.`);
  }

  async #compareIfOwed(counts: Record<string, number>, signal: AbortSignal): Promise<{ owed: number; bad: number }> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    if (loadFeed(store, rules.name).compareBecause === null) return { owed: 0, bad: 0 };
    const done = await compareTable(this.#context, rules, signal);
    await commit(this.#context, signal, () => markCompared(store, rules.name, isoTime(clock.nowMs())));
    add(counts, "compared", done.compared);
    return done;
  }

  /** Rows that go to zero or away wait for a person where they are too many at once; the others go on. */
  async #guard(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#context;
    const { rules } = this.#options;
    const windowStart = isoTime(clock.nowMs() - rules.guard.overMs);
    const drops = countDrops(store, rules, windowStart);
    const live = loadFeed(store, rules.name).liveCount;
    const guarded = isGuarded(rules.guard, { ...drops, live });
    const isHeld = loadHoldsOf(store, rules.name).some(({ reason }) => reason === "guard");
    if (!guarded && !isHeld) return;
    const moved = await commit(this.#context, signal, () => {
      const count = markGuarded(store, rules, guarded);
      deleteOldDrops(store, rules, windowStart);
      if (!guarded) deleteHold(store, rules.name, "guard");
      else {
        saveHold(store, {
          area: rules.name,
          reason: "guard",
          since: isoTime(clock.nowMs()),
          nextProbeAt: null,
          detail:
            `${drops.pending} of ${live} rows would go to zero or away. They wait; other rows go on. If that is right: ` +
            `erp-bridge approve ${rules.name}`,
        });
      }
      return count;
    });
    if (guarded && moved > 0) log.warn({ feed: rules.name, rows: drops.pending, live }, `${rules.name}: rows going to zero wait for approval.`);
  }

  // ----------------------------------------------------------------------------------------------------- sending

  /** True where nothing that may go is left. */
  async #send(counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    for (let requests = 0; requests < REQUESTS_PER_PASS; requests++) {
      if (this.#mustYield()) return true;
      const rows = this.#nextRows();
      if (rows.length === 0) return true;
      if (rules.scope === "whole") await this.#refuseEmptyTable(signal);
      try {
        await this.#sendRows.send(rows, counts, signal);
      } catch (error) {
        // Rows may be in doubt now; they go again no sooner than the request could still have an effect.
        this.#doubtUntilMs = clock.monotonicMs() + this.#options.timeoutMs;
        throw error;
      }
      if (rules.scope === "whole") return true;
      if (this.#context.isStopping()) return false;
      if (loadHoldsOf(store, rules.name).some(({ reason }) => reason === "shape")) return true;
    }
    return false;
  }

  #nextRows(): OutboxRow[] {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const learned = loadFeed(store, rules.name).chunk;
    const limit = rules.scope === "whole" ? Number.MAX_SAFE_INTEGER : Math.min(rules.chunk, learned ?? rules.chunk);
    const awayBefore = isoTime(clock.nowMs() - rules.deleteAfterMs);
    const doubt = this.#isDoubtOver() ? loadSendable(store, rules, { state: "doubt", awayBefore, limit }) : [];
    // A whole table carries every row, so none of them may go while an earlier request may still arrive.
    if (rules.scope === "whole" && !this.#isDoubtOver()) return [];
    const waiting = loadSendable(store, rules, { state: "waiting", awayBefore, limit: limit - doubt.length });
    return [...doubt, ...waiting];
  }

  #isDoubtOver(): boolean {
    const { store, clock } = this.#context;
    const { timeoutMs, rules } = this.#options;
    if (this.#doubtUntilMs === undefined) {
      // In doubt since before this process: its request may have left up to the moment the other one died.
      const at = loadOldestDoubt(store, rules.feedId);
      const leftMs = at === undefined ? 0 : Math.min(Math.max(Date.parse(at) + timeoutMs - clock.nowMs(), 0), timeoutMs);
      this.#doubtUntilMs = clock.monotonicMs() + leftMs;
    }
    return clock.monotonicMs() >= this.#doubtUntilMs;
  }

  /** A backlog drains in the order of what costs most to have wrong: stock before prices before catalog before images. */
  #mustYield(): boolean {
    const { store } = this.#context;
    return FEED_NAMES.slice(0, FEED_NAMES.indexOf(this.name)).some(
      (earlier) => hasWaiting(store, FEED_IDS[earlier]) && loadHoldsOf(store, earlier).length === 0,
    );
  }

  async #refuseEmptyTable(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    if (countSourceRows(store, rules, 1) > 0) return;
    const detail = `The table ${rules.table} is empty, and sending it whole would empty the site. Nothing is sent.`;
    await commit(this.#context, signal, () =>
      saveHold(store, { area: rules.name, reason: "table", since: isoTime(clock.nowMs()), nextProbeAt: null, detail }),
    );
    this.#schemaVersion = undefined;
    throw new BridgeError("table_missing", `${rules.name}: ${detail}`);
  }
}

function add(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}
