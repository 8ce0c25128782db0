/*
 * Finds what changed in a feed's source: keeps the triggers on a table of this database, the view that shows what is on
 * the site, and the hold that says what is wrong with the source. A table that was dropped, renamed or made again shows
 * in the state of the schema; after a crash everything is looked at anew.
 */
import { schemaVersion } from "../database/own-objects.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../pass/hold-rows.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { absorbDirty, absorbKeys, count, type FeedContext, type FeedPass } from "./absorb-feed.ts";
import { applyRules } from "./apply-rules.ts";
import { compareTable } from "./compare-table.ts";
import { type FeedRules, sourceOf } from "./feed.ts";
import type { SendLimits } from "./feed-outbox.ts";
import { hasLeft, loadFeed, markCompared, requestCompare } from "./feed-rows.ts";
import { countSourceRows, loadSourceRows } from "./feed-source.ts";
import {
  areTriggersArmed,
  armTriggers,
  disarmTriggers,
  indexKey,
  isKeyFound,
  readSourceKind,
  type SourceKind,
} from "./feed-triggers.ts";
import { isSentViewCurrent, saveSentView } from "./feed-views.ts";
import { handOverWaiting, spareNamed } from "./hand-over.ts";
import { recheckRefused } from "./images/recheck-refused.ts";
import { rekeyFeed, settleFormer } from "./rekey-feed.ts";
import { ScanSource } from "./scan-source.ts";

/** How long what was read through counts as seen while its backlog drains. */
const SCANNED_FOR_MS = 60_000;
/** Rows are looked at before they go, however long that look takes. */
const SPARED_AHEAD_MS = 60_000;

export class FeedChanges {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;
  readonly #scan: ScanSource;
  /** The state of the schema that was last looked at; another one may lack the table or the triggers. */
  #schemaVersion: number | undefined;
  #kind: SourceKind = "tracked";
  #isEmpty = false;
  /** The last pass could not settle what the triggers had noted. */
  #isStuck = false;
  /** Monotonic time until which a pass that goes on with a backlog need not read everything through again. */
  #scannedUntilMs = 0;
  /** Where the look at the files of refused rows goes on. */
  #refusedAfter = 0;
  /** Rows that wait have been given what the site has of their articles since the last change. */
  #isHandedOver = false;
  /** Rows that were away by then have been looked at before the guard counted them. */
  #sparedUpToMs = Number.MIN_SAFE_INTEGER;

  constructor(context: FeedContext, rules: FeedRules) {
    this.#context = context;
    this.#rules = rules;
    this.#scan = new ScanSource(context, rules);
  }

  /**
   * Notices a source that was dropped, renamed or made again, and rules that were changed.
   * @throws BridgeError `table_missing`
   */
  async arm(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const rules = this.#rules;
    // Read before anything else is: what the ERP changes from here on, between the transactions too, is looked at again.
    const version = schemaVersion(this.#context.store);
    if (version === this.#schemaVersion) return;
    await applyRules(this.#context, rules, loadFeed(store, rules.name), signal);
    this.#kind = readSourceKind(store, rules);
    await rekeyFeed(this.#context, rules, signal);
    if (this.#kind === "tracked") {
      const isTracked = areTriggersArmed(store, rules);
      if (!isTracked || !isSentViewCurrent(store, rules)) await this.#rearm(isTracked, signal);
      if (!isKeyFound(store, rules)) await commit(this.#context, signal, () => indexKey(store, rules));
      await this.release(signal);
    } else {
      await commit(this.#context, signal, () => {
        saveSentView(store, rules);
        disarmTriggers(store, rules.name);
      });
    }
    this.#schemaVersion = version;
  }

  /** Brings the outbox up to date. @param only the one key that is looked at */
  async absorb(pass: FeedPass, only?: readonly string[]): Promise<void> {
    const wasHandedOver = this.#isHandedOver;
    this.#isHandedOver = false;
    if (only === undefined) await this.#absorbAll(pass);
    else await this.#absorbOne(pass, only);
    // Rows that are gone are not counted as changed where they send nothing.
    const { leavesArticles, keepsShared } = this.#rules;
    const isDue = !wasHandedOver || keepsShared || (pass.counts["changed"] ?? 0) > 0;
    if (isDue && (leavesArticles || keepsShared) && hasLeft(this.#context.store, this.#rules))
      await handOverWaiting(this.#context, this.#rules, pass.signal);
    this.#isHandedOver = true;
    if (this.#rules.sharesArticles && only === undefined) await this.#spareNamed(pass);
    if (this.#rules.scope !== "whole" || !this.#isEmpty) await this.release(pass.signal);
  }

  /**
   * Rows that go away in this pass, after whatever wait: another row that names the article may have been sent since they were looked at.
   * One that is not sent yet goes after them.
   */
  async spareGoing({ nowMs, awayBeforeMs, dropRound }: SendLimits, signal: AbortSignal): Promise<void> {
    if (!this.#rules.sharesArticles) return;
    const limits = { byMs: nowMs + SPARED_AHEAD_MS, dropRound };
    const due = { afterMs: Number.MIN_SAFE_INTEGER, upToMs: awayBeforeMs, limits };
    await spareNamed(this.#context, this.#rules, due, signal);
  }

  /** Sources without triggers are read again by the next pass, whatever it was that ended this one. */
  forgetScan(): void {
    this.#scannedUntilMs = 0;
  }

  /** @throws BridgeError where sending the table whole would empty the site */
  async refuseEmpty(signal: AbortSignal): Promise<void> {
    const rules = this.#rules;
    if (this.#kind === "tracked") this.#isEmpty = countSourceRows(this.#context.store, rules, 1) === 0;
    if (!this.#isEmpty) return;
    const text = m.feeds.sourceEmpty({ source: sourceOf(rules) });
    await this.#hold(text, signal);
    throw new BridgeError("table_missing", m.common.about({ subject: rules.name, text }));
  }

  /** Holds the feed where the error is about its source. */
  async note(error: unknown, signal: AbortSignal): Promise<void> {
    const { code, text, hint } = asError(error);
    if (code !== "table_missing") return;
    await this.#hold(m.common.sentences({ parts: hint === undefined ? [text] : [text, hint] }), signal);
  }

  /** @throws BridgeError where the same keys would be read in every pass. What they stand for has been read all the same. */
  refuseStuck(): void {
    if (this.#isStuck) throw new BridgeError("internal", m.feeds.keysStayDirty({ name: this.#rules.name }));
  }

  async release(signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    if (!loadHoldsOf(store, rules.name).some(({ reason }) => reason === "table")) return;
    await commit(this.#context, signal, () => deleteHold(store, rules.name, "table"));
    log.info({ feed: rules.name }, m.feeds.sourceWell({ name: rules.name, source: sourceOf(rules) }));
  }

  async #absorbAll(pass: FeedPass): Promise<void> {
    const rules = this.#rules;
    if (loadFeed(this.#context.store, rules.name).hasFormer === 1)
      await settleFormer(this.#context, rules, pass.signal);
    if (this.#kind === "tracked") await this.#absorbTable(pass);
    else await this.#readThrough(pass);
  }

  async #absorbOne(pass: FeedPass, key: readonly string[]): Promise<void> {
    if (this.#kind !== "tracked") return await this.#scan.runOne(pass, key);
    await this.#context.files?.lookAt(loadSourceRows(this.#context.store, this.#rules, key), pass.signal);
    await absorbKeys(this.#context, this.#rules, pass, { keys: [key], unnamed: [] });
  }

  /** Each row is looked at once before the guard counts it, while it waits after each full comparison, and by {@link spareGoing} when it goes. */
  async #spareNamed({ signal }: FeedPass): Promise<void> {
    const { deleteAfterMs } = this.#rules;
    const upToMs = this.#context.clock.monotonicMs() - deleteAfterMs + Math.min(deleteAfterMs, SPARED_AHEAD_MS);
    await spareNamed(this.#context, this.#rules, { afterMs: this.#sparedUpToMs, upToMs }, signal);
    this.#sparedUpToMs = upToMs;
  }

  /** A table whose triggers note changed keys. */
  async #absorbTable(pass: FeedPass): Promise<void> {
    const { store, files } = this.#context;
    const rules = this.#rules;
    if (loadFeed(store, rules.name).compareBecause !== null) {
      await compareTable(this.#context, rules, pass);
      await this.#endCompare(pass);
    }
    if (files !== undefined)
      this.#refusedAfter = await recheckRefused(this.#context, rules, this.#refusedAfter, pass.signal);
    this.#isStuck = !(await absorbDirty(this.#context, rules, pass));
    this.#isEmpty = rules.scope === "whole" && countSourceRows(store, rules, 1) === 0;
  }

  /** Rows whose changes are not noted by triggers. While a backlog drains they are read once in a while, not before every request. */
  async #readThrough(pass: FeedPass): Promise<void> {
    const { store, clock } = this.#context;
    if (this.#scannedUntilMs > clock.monotonicMs()) return;
    const isFull = loadFeed(store, this.#rules.name).compareBecause !== null;
    const rows = await this.#scan.run(pass, isFull);
    this.#scannedUntilMs = clock.monotonicMs() + SCANNED_FOR_MS;
    this.#isEmpty = rows === 0;
    if (!isFull) return;
    await this.#endCompare(pass);
    count(pass, "compared", rows);
  }

  async #endCompare({ signal }: FeedPass): Promise<void> {
    const { store, clock } = this.#context;
    await commit(this.#context, signal, () => markCompared(store, this.#rules, isoTime(clock.nowMs())));
    this.#sparedUpToMs = Number.MIN_SAFE_INTEGER;
  }

  /** The feed waits for a person; the hold has the reason. */
  async #hold(detail: Message, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const { name } = this.#rules;
    const standing = loadHoldsOf(store, name).find(({ reason }) => reason === "table");
    if (String(standing?.detail) === String(detail)) return;
    const since = standing?.since ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () =>
      saveHold(store, { area: name, reason: "table", since, nextProbeAt: null, detail }),
    );
  }

  async #rearm(isTracked: boolean, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    await commit(this.#context, signal, () => {
      saveSentView(store, rules);
      if (isTracked) return;
      armTriggers(store, rules);
      requestCompare(store, rules.name, m.feeds.changesNotNoted);
    });
    if (isTracked) return;
    log.info({ feed: rules.name, table: rules.table }, m.feeds.changesNoted({ name: rules.name, table: rules.table }));
  }
}
