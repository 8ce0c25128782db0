/*
 * Finds changes in a feed's source. Maintains the triggers on a table of this database, the view of what is on the site,
 * and the hold that describes a problem with the source. A table that was dropped, renamed or recreated changes the schema
 * version; after a crash everything is checked again.
 */
import { MetaValue } from "../../database/meta.ts";
import { schemaVersion } from "../../database/objects/own-objects.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { commit, commitUntilDone } from "../../pass/commit.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../../pass/hold-rows.ts";
import { asError, BridgeError } from "../../platform/errors.ts";
import { isoTime } from "../../platform/ports.ts";
import { invalidateTable, markInvalidated } from "../acknowledged-rows.ts";
import { type FeedRules, sourceOf } from "../feed.ts";
import type { SendLimits } from "../feed-outbox.ts";
import { hasLeft, loadFeed, markCompared, requestCompare } from "../feed-rows.ts";
import { isSentViewCurrent, keepSentViewBehind, saveSentView } from "../feed-views.ts";
import { recheckRefused } from "../images/recheck-refused.ts";
import { applyRules } from "../rekey/apply-rules.ts";
import { handOverWaiting, spareNamed } from "../rekey/hand-over.ts";
import { rekeyFeed, settleFormer } from "../rekey/rekey-feed.ts";
import { areArticlesStored, storeArticles } from "../repeated-rows.ts";
import { ROWS_PER_COMMIT } from "../send/flights.ts";
import { noteFileWrites, noteNoWrites } from "../source/erp-writes.ts";
import { countSourceRows, loadSourceRows } from "../source/feed-source.ts";
import {
  areTriggersArmed,
  armTriggers,
  disarmTriggers,
  indexKey,
  isKeyFound,
  readSourceKind,
  readTablePlaces,
  type SourceKind,
} from "../source/feed-triggers.ts";
import { absorbDirty, absorbKeys, count, type FeedContext, type FeedPass, noteTableWrites } from "./absorb-feed.ts";
import { compareTable } from "./compare-table.ts";
import { ScanSource } from "./scan-source.ts";

/** How long a source without triggers is not read again while its backlog is sent. */
const SCANNED_FOR_MS = 60_000;
/** Deletions are checked this long before they are due. */
const SPARED_AHEAD_MS = 60_000;

/** By feed: where its table and triggers were last (`readTablePlaces`). */
const PLACES = new MetaValue<Partial<Record<string, string>>>("feed_tables", {});

export class FeedChanges {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;
  readonly #scan: ScanSource;
  /** The schema version at the last check; a later one may lack the table or the triggers. */
  #schemaVersion: number | undefined;
  #kind: SourceKind = "tracked";
  #isEmpty = false;
  /** The last pass could not process all dirty keys. */
  #isStuck = false;
  /** Monotonic time until which a pass with a backlog does not read the source again. */
  #scannedUntilMs = 0;
  /** Where the check of the files of refused rows continues. */
  #refusedAfter = 0;
  /** Waiting rows have received what other rows left of their articles, since the last change. */
  #isHandedOver = false;
  /** Rows deleted until this time were checked before the guard counted them. */
  #sparedUpToMs = Number.MIN_SAFE_INTEGER;

  constructor(context: FeedContext, rules: FeedRules) {
    this.#context = context;
    this.#rules = rules;
    this.#scan = new ScanSource(context, rules);
  }

  /**
   * Detects a source that was dropped, renamed or recreated, and changed rules.
   * @throws BridgeError `table_missing`
   */
  async arm(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const rules = this.#rules;
    // Read first, so that changes of the ERP from here on, even between the transactions, are checked again.
    const version = schemaVersion(this.#context.store);
    if (version === this.#schemaVersion) return;
    await applyRules(this.#context, rules, loadFeed(store, rules.name), signal);
    this.#kind = readSourceKind(store, rules);
    await rekeyFeed(this.#context, rules, signal);
    await this.#storeArticles(signal);
    if (this.#kind === "tracked") {
      const isTracked = areTriggersArmed(store, rules);
      if (!isTracked || !isSentViewCurrent(store, rules)) await this.#rearm(isTracked, signal);
      if (!isKeyFound(store, rules)) await commit(this.#context, signal, () => indexKey(store, rules));
      await this.#notePlaces(signal);
      await this.release(signal);
    } else {
      await commit(this.#context, signal, () => {
        saveSentView(store, rules);
        disarmTriggers(store, rules.name);
      });
    }
    this.#schemaVersion = version;
  }

  /** Brings the outbox up to date, after invalid acknowledgements were marked. @param only limits it to one key */
  async absorb(pass: FeedPass, only?: readonly string[]): Promise<void> {
    await this.#markInvalidated(pass.signal);
    const wasHandedOver = this.#isHandedOver;
    this.#isHandedOver = false;
    if (only === undefined) await this.#absorbAll(pass);
    else await this.#absorbOne(pass, only);
    // Deleted rows that send nothing are not counted as changed.
    const { leavesArticles, keepsShared } = this.#rules;
    const isDue = !wasHandedOver || keepsShared || (pass.counts["changed"] ?? 0) > 0;
    if (isDue && (leavesArticles || keepsShared) && hasLeft(this.#context.store, this.#rules))
      await handOverWaiting(this.#context, this.#rules, pass);
    this.#isHandedOver = true;
    if (this.#rules.sharesArticles && only === undefined) await this.#spareNamed(pass);
    if (this.#rules.scope !== "whole" || !this.#isEmpty) await this.release(pass.signal);
  }

  /**
   * Checks deletions that become due in this pass: another row that names the article may have been sent since the last
   * check. A row that is not sent yet is sent after them.
   */
  async spareGoing({ nowMs, awayBeforeMs, dropRound }: SendLimits, pass: FeedPass): Promise<void> {
    if (!this.#rules.sharesArticles) return;
    const limits = { byMs: nowMs + SPARED_AHEAD_MS, dropRound };
    const due = { afterMs: Number.MIN_SAFE_INTEGER, upToMs: awayBeforeMs, limits };
    await spareNamed(this.#context, this.#rules, due, pass);
  }

  /** Makes the next pass read a source without triggers again. */
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

  /** @throws BridgeError where the same keys stay dirty in every pass. Their rows have been read nevertheless. */
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

  async #markInvalidated(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const rules = this.#rules;
    const { doubtSince: since, openTables } = loadFeed(store, rules.name);
    if (openTables > 0) await commit(this.#context, signal, () => invalidateTable(store, rules));
    if (since === null) return;
    let after: string[] | undefined;
    await commitUntilDone(this.#context, signal, () => {
      after = markInvalidated(store, rules, { since, after, limit: ROWS_PER_COMMIT });
      return after === undefined ? 0 : 1;
    });
  }

  /** Of rows that were acknowledged by an earlier version, or under another key or template. */
  async #storeArticles(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    if (areArticlesStored(store, this.#rules)) return;
    let after: string[] | undefined;
    await commitUntilDone(this.#context, signal, () => {
      after = storeArticles(store, this.#rules, { after, limit: ROWS_PER_COMMIT });
      return after === undefined ? 0 : 1;
    });
  }

  async #absorbAll(pass: FeedPass): Promise<void> {
    const rules = this.#rules;
    if (loadFeed(this.#context.store, rules.name).hasFormer === 1) await settleFormer(this.#context, rules, pass);
    if (this.#kind === "tracked") await this.#absorbTable(pass);
    else await this.#readThrough(pass);
  }

  async #absorbOne(pass: FeedPass, key: readonly string[]): Promise<void> {
    if (this.#kind !== "tracked") return await this.#scan.runOne(pass, key);
    await this.#context.files?.lookAt(loadSourceRows(this.#context.store, this.#rules, key), pass.signal);
    await absorbKeys(this.#context, this.#rules, pass, { keys: [key], unnamed: [] });
  }

  /** Checks each deleted row once before the guard counts it, again after each full comparison, and in {@link spareGoing}. */
  async #spareNamed(pass: FeedPass): Promise<void> {
    const { deleteAfterMs } = this.#rules;
    const upToMs = this.#context.clock.monotonicMs() - deleteAfterMs + Math.min(deleteAfterMs, SPARED_AHEAD_MS);
    await spareNamed(this.#context, this.#rules, { afterMs: this.#sparedUpToMs, upToMs }, pass);
    this.#sparedUpToMs = upToMs;
  }

  /** Absorbs a table whose triggers record changed keys. */
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
    await noteTableWrites(this.#context, rules, pass.signal);
    this.#isEmpty = rules.scope === "whole" && countSourceRows(store, rules, 1) === 0;
  }

  /** Absorbs a source without triggers. While a backlog is sent it is read from time to time, not before every request. */
  async #readThrough(pass: FeedPass): Promise<void> {
    const { store, clock } = this.#context;
    if (this.#scannedUntilMs > clock.monotonicMs()) return;
    const isFull = loadFeed(store, this.#rules.name).compareBecause !== null;
    const { rows, fileState } = await this.#scan.run(pass, isFull);
    if (fileState === null) await noteNoWrites(this.#context, this.#rules, pass.signal);
    else await noteFileWrites(this.#context, this.#rules, fileState, pass.signal);
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

  /** Holds the feed until a person corrects its source. */
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

  /**
   * All rows are compared where the table or its triggers were made again: SQLite's own procedure for other changes of a
   * schema does both, and some loaders drop the triggers for a while. The view is kept behind them, so that their places show it.
   */
  async #notePlaces(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const rules = this.#rules;
    await commit(this.#context, signal, () => {
      const noted = PLACES.load(store);
      const before = noted[rules.name];
      const places = readTablePlaces(store, rules);
      if (before !== undefined && before !== places) requestCompare(store, rules.name, m.feeds.changesNotNoted);
      keepSentViewBehind(store, rules, places);
      PLACES.save(store, { ...noted, [rules.name]: places });
    });
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
