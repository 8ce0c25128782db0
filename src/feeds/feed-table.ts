import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
/*
 * Keeps a feed's hand on where its rows come from: the triggers on a table of this database, the view that shows what
 * is on the site, and the hold that says what is wrong with the source. A table that was dropped, renamed or made again
 * shows in the state of the schema; after a crash everything is looked at anew.
 */

import { levelsOfSignature, type RecordPlace } from "../config/feed-level.ts";
import { onlyRow } from "../database/only-row.ts";
import { commit, commitUntilDone } from "../pass/commit.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../pass/hold-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { asError, type BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type FeedRules, referenceOf, sourceOf } from "./feed.ts";
import { clearSetAside, loadRefused, markRefusedWaiting } from "./feed-outbox.ts";
import { saveRekey } from "./feed-rekey.ts";
import {
  type FeedRow,
  loadFeed,
  markCompareOwed,
  saveFeedRules,
  saveSentHow,
  sentHow,
  touchOwed,
} from "./feed-rows.ts";
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
import { formerKeyOf } from "./former-key.ts";
import { dropMoved, rekeyFeed } from "./rekey-feed.ts";

/** Rows marked in one transaction. */
const ROWS_PER_COMMIT = 1_000;
/** Nobody changes a template so often that older places matter. */
const FORMER_LEVELS_MAX = 20;

/** Whether what the feed has sent and owes was decided under these rules. */
function isFilledUnder(feed: FeedRow, rules: FeedRules): boolean {
  return (
    feed.template === rules.signature &&
    feed.address === rules.address &&
    feed.keyColumns === JSON.stringify(rules.keys) &&
    (feed.sentHow === null || feed.sentHow === sentHow(rules))
  );
}

/** Where the level stood under the templates until now: a deleted row may have been sent with any of them. */
function formerLevels(feed: FeedRow, rules: FeedRules): RecordPlace[] {
  const before = feed.formerLevels === null ? [] : (JSON.parse(feed.formerLevels) as RecordPlace[]);
  const last = feed.template === null ? [] : levelsOfSignature(rules.name, feed.template);
  const texts = new Set([...last, ...before].map((place) => JSON.stringify(place)));
  for (const place of rules.levels) texts.delete(JSON.stringify(place));
  return [...texts].slice(0, FORMER_LEVELS_MAX).map((text) => JSON.parse(text) as RecordPlace);
}

export class FeedTable {
  readonly #context: JobContext;
  readonly #rules: FeedRules;
  /** The state of the schema that was last looked at; another one may lack the table or the triggers. */
  #schemaVersion: number | undefined;
  #kind: SourceKind = "tracked";

  constructor(context: JobContext, rules: FeedRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /**
   * Notices a source that was dropped, renamed or made again, and rules that were changed.
   * @throws BridgeError `table_missing`
   */
  async arm(signal: AbortSignal): Promise<SourceKind> {
    const { store } = this.#context;
    // Read before anything else is: what the ERP changes from here on, between the transactions too, is looked at again.
    const version = this.#readSchemaVersion();
    if (version === this.#schemaVersion) return this.#kind;
    const rules = this.#rules;
    const feed = loadFeed(store, rules.name);
    if (!isFilledUnder(feed, rules)) await this.#takeUpRules(feed, signal);
    // A database of an earlier version: how rows went until now is how they go.
    else if (feed.sentHow === null) await commit(this.#context, signal, () => saveSentHow(store, rules));
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
    return this.#kind;
  }

  /** The feed waits for a person, and says why. */
  async hold(detail: Message, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const { name } = this.#rules;
    const standing = loadHoldsOf(store, name).find(({ reason }) => reason === "table");
    if (String(standing?.detail) === String(detail)) return;
    const since = standing?.since ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () =>
      saveHold(store, { area: name, reason: "table", since, nextProbeAt: null, detail }),
    );
  }

  /** Holds the feed where the error is about its source. */
  async note(error: unknown, signal: AbortSignal): Promise<void> {
    const failure: BridgeError = asError(error);
    if (failure.code === "table_missing") {
      const parts = [failure.text, ...(failure.hint === undefined ? [] : [failure.hint])];
      await this.hold(m.common.sentences({ parts }), signal);
    }
  }

  async release(signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    if (!loadHoldsOf(store, rules.name).some(({ reason }) => reason === "table")) return;
    await commit(this.#context, signal, () => deleteHold(store, rules.name, "table"));
    log.info({ feed: rules.name }, m.feeds.sourceWell({ name: rules.name, source: sourceOf(rules) }));
  }

  #readSchemaVersion(): number {
    return onlyRow(this.#context.store.prepare<{ schema_version: number }>("PRAGMA schema_version").get())
      .schema_version;
  }

  /** What held the feed, and what was held against its rows, was said of the old rules. */
  async #takeUpRules(feed: FeedRow, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    const because = String(feed.template === null ? m.feeds.firstUse : m.feeds.rulesChanged);
    const former = formerKeyOf(feed.template, feed.keyColumns);
    const isRenamed = former !== undefined && feed.keyColumns !== JSON.stringify(rules.keys);
    if (isRenamed && feed.rekeyFrom !== null) await dropMoved(this.#context, rules, signal);
    // A row that waits is planned anew where another row must go before it.
    if (feed.sentHow !== null && feed.sentHow !== sentHow(rules)) await this.#touchOwed(signal);
    await commitUntilDone(this.#context, signal, () => clearSetAside(store, rules.feedId, ROWS_PER_COMMIT));
    await commitUntilDone(this.#context, signal, () => {
      const refused = loadRefused(store, rules, ROWS_PER_COMMIT);
      for (const row of refused) markRefusedWaiting(store, rules, { id: row.id, reference: referenceOf(row.key) });
      return refused.length;
    });
    // Last: where the program dies before, all of that is done once more.
    await commit(this.#context, signal, () => {
      saveFeedRules(store, rules, formerLevels(feed, rules));
      if (isRenamed) saveRekey(store, rules, { from: former, isMoved: false });
      deleteHold(store, rules.name, "refused");
      markCompareOwed(store, rules.name, because);
    });
    log.info({ feed: rules.name, because }, m.feeds.comparesAll({ name: rules.name }));
  }

  async #touchOwed(signal: AbortSignal): Promise<void> {
    let afterId = 0;
    await commitUntilDone(this.#context, signal, () => {
      const last = touchOwed(this.#context.store, this.#rules, { afterId, limit: ROWS_PER_COMMIT });
      afterId = last ?? afterId;
      return last ?? 0;
    });
  }

  async #rearm(isTracked: boolean, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    await commit(this.#context, signal, () => {
      saveSentView(store, rules);
      if (isTracked) return;
      armTriggers(store, rules);
      markCompareOwed(store, rules.name, String(m.feeds.changesNotNoted));
    });
    if (isTracked) return;
    log.info({ feed: rules.name, table: rules.table }, m.feeds.changesNoted({ name: rules.name, table: rules.table }));
  }
}
