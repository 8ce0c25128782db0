/*
 * Applies changed rules to a feed: holds, refusals and set-aside rows of the former rules are removed, and all rows are
 * compared. Each step may be repeated, because the rules are saved last.
 */
import { levelsOfSignature, type RecordPlace } from "../../config/feed-level.ts";
import { m } from "../../messages/messages.ts";
import { commit, commitUntilDone } from "../../pass/commit.ts";
import { deleteHold } from "../../pass/hold-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import type { FeedRules } from "../feed.ts";
import { type FeedRow, requestCompare } from "../feed-rows.ts";
import { clearSetAside, loadRefused, markRefusedWaiting } from "../send/refused-rows.ts";
import { saveRekey } from "./feed-rekey.ts";
import { formerKeyOf } from "./former-key.ts";
import { endRekey } from "./rekey-feed.ts";
import { markQueuedDirty, saveFeedRules, saveSentHow, sentHow } from "./rule-rows.ts";

/** Rows marked in one transaction. */
const ROWS_PER_COMMIT = 1_000;
/** Templates are rarely changed, so older places do not matter. */
const FORMER_LEVELS_MAX = 20;

export async function applyRules(
  context: JobContext,
  rules: FeedRules,
  feed: FeedRow,
  signal: AbortSignal,
): Promise<void> {
  const { store, log } = context;
  if (isFilledUnder(feed, rules)) {
    // A database of an earlier version, which did not store how rows are sent.
    if (feed.sentHow === null) await commit(context, signal, () => saveSentHow(store, rules));
    return;
  }
  const because = feed.template === null ? m.feeds.firstUse : m.feeds.rulesChanged;
  const former = formerKeyOf(feed.template, feed.keyColumns);
  const isRenamed = former !== undefined && feed.keyColumns !== JSON.stringify(rules.keys);
  const from = isRenamed ? await endRekey(context, rules, former, signal) : undefined;
  // Waiting rows are planned again, because another row may have to be sent before them.
  if (feed.sentHow !== null && feed.sentHow !== sentHow(rules)) {
    let afterId = 0;
    await commitUntilDone(context, signal, () => {
      const last = markQueuedDirty(store, rules, { afterId, limit: ROWS_PER_COMMIT });
      afterId = last ?? afterId;
      return last ?? 0;
    });
  }
  await commitUntilDone(context, signal, () => clearSetAside(store, rules.feedId, ROWS_PER_COMMIT));
  await commitUntilDone(context, signal, () => {
    const refused = loadRefused(store, rules, ROWS_PER_COMMIT);
    for (const row of refused) markRefusedWaiting(store, rules, row);
    return refused.length;
  });
  await commit(context, signal, () => {
    saveFeedRules(store, rules, formerLevels(feed, rules));
    if (from !== undefined) saveRekey(store, rules, { from, isMoved: false });
    deleteHold(store, rules.name, "refused");
    requestCompare(store, rules.name, because);
  });
  log.info({ feed: rules.name, because }, m.feeds.comparesAll({ name: rules.name }));
}

/** Whether the feed's acknowledgements and outbox are of these rules. */
function isFilledUnder(feed: FeedRow, rules: FeedRules): boolean {
  return (
    feed.template === rules.signature &&
    feed.address === rules.address &&
    feed.keyColumns === JSON.stringify(rules.keys) &&
    (feed.sentHow === null || feed.sentHow === sentHow(rules))
  );
}

/** Places of the level in records of former templates: a deleted row may have been sent with any of them. */
function formerLevels(feed: FeedRow, rules: FeedRules): RecordPlace[] {
  const before = feed.formerLevels === null ? [] : (JSON.parse(feed.formerLevels) as RecordPlace[]);
  const last = feed.template === null ? [] : levelsOfSignature(rules.name, feed.template);
  const texts = new Set([...last, ...before].map((place) => JSON.stringify(place)));
  for (const place of rules.levels) texts.delete(JSON.stringify(place));
  return [...texts].slice(0, FORMER_LEVELS_MAX).map((text) => JSON.parse(text) as RecordPlace);
}
