/*
 * A feed's acknowledgements as a whole: which keys are stored, and which acknowledgements are valid. One of a past or
 * invalid epoch shows what was on the site, not what is there now: its row is sent again.
 */

import type { FeedName } from "../config/feed-names.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { loadEarliestSince } from "../pass/runs.ts";
import type { FeedRules } from "./feed.ts";
import { INVALID_EPOCH, keyInJson, paddedKey, sameKey } from "./feed-rows.ts";

/** Whether any row of the feed is stored, including deleted ones. */
export function hasAnyKeys(store: Store, rules: FeedRules): boolean {
  const isIn = (table: string) => store.prepare(`SELECT 1 FROM ${table} WHERE feed_id = ? LIMIT 1`).get(rules.feedId);
  return isIn("feed_sent") !== undefined || isIn("feed_outbox") !== undefined;
}

/** Whether any key is stored as present, or as deleted with an invalid acknowledgement. */
export function hasKnownKeys(store: Store, rules: FeedRules): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_sent s CROSS JOIN feeds f ON f.feed_id = s.feed_id
      WHERE s.feed_id = @feed AND (s.gone = 0 OR s.epoch <> f.epoch))
    OR EXISTS (SELECT 1 FROM feed_outbox WHERE feed_id = @feed)`;
  return store.prepare<number>(sql).pluck().get({ feed: rules.feedId }) === 1;
}

/** These keys without those whose deletion waits in the outbox. */
export function withoutGone(store: Store, rules: FeedRules, keys: readonly string[][]): string[][] {
  if (keys.length === 0) return [];
  const gone = store
    .prepare<number>(
      `SELECT r.at FROM (SELECT key AS at, ${keyInJson(rules)} FROM jsonb_each(@keys)) r
         CROSS JOIN feed_outbox o ON o.feed_id = @feed AND ${sameKey("o", "r")} WHERE o.gone = 1`,
    )
    .pluck()
    .all({ feed: rules.feedId, keys: JSON.stringify(keys) });
  const places = new Set(gone);
  return keys.filter((_, at) => !places.has(at));
}

/**
 * Begins a new epoch, which invalidates all acknowledgements: each row is sent again with its newest value, deleted rows
 * as deleted.
 * @param because for the log
 */
export function beginEpoch(store: Store, name: FeedName, because: Message): void {
  store
    .prepare("UPDATE feeds SET epoch = epoch + 1, compare_because = coalesce(compare_because, ?) WHERE name = ?")
    .run(store.textOf(because), name);
}

/** A request with the whole table was refused or not answered, and may have replaced the site's table: all rows are sent again. */
export function invalidateTable(store: Store, rules: FeedRules): void {
  const isAnyCurrent = store
    .prepare(
      "SELECT 1 FROM feeds f JOIN feed_sent s ON s.feed_id = f.feed_id AND s.epoch = f.epoch WHERE f.feed_id = ? LIMIT 1",
    )
    .get(rules.feedId);
  // Otherwise all rows that may be sent are waiting already.
  if (isAnyCurrent !== undefined) beginEpoch(store, rules.name, m.feeds.tableOpen);
  store.prepare("UPDATE feeds SET open_tables = 0 WHERE feed_id = ?").run(rules.feedId);
}

/**
 * Invalidates acknowledgements of these feeds since a time: their rows are sent again with their newest values, deleted
 * rows as deleted. The passes of the feeds mark them: see {@link markInvalidated}.
 * @param invalid.since by this machine's clock; `""`: all. A time after `at` means that the clock was set back: all as well. Where the
 * clock was set back and has passed that time again, acknowledgements count from the earliest time that it has shown.
 * @param invalid.because for the log
 */
export function invalidateAcknowledged(
  store: Store,
  names: readonly FeedName[],
  { since, at, because }: { since: string; at: string; because: Message },
): void {
  const invalidate = store.prepare(
    `UPDATE feeds SET doubt_since = min(coalesce(doubt_since, @since), @since),
       compare_because = coalesce(compare_because, @because) WHERE name = @name`,
  );
  const from = since > at ? "" : loadEarliestSince(store, since);
  for (const name of names) invalidate.run({ name, since: from, because: store.textOf(because) });
}

/** The feeds whose rows are sent to this path. */
export function loadFeedsOfPath(store: Store, path: string): FeedName[] {
  return store.prepare<FeedName>("SELECT name FROM feeds WHERE address ->> 0 = ?").pluck().all(path);
}

/** The next acknowledged keys after a key, including deleted ones. */
export function loadSentKeys(
  store: Store,
  rules: FeedRules,
  { after, limit }: { after: readonly string[] | undefined; limit: number },
): string[][] {
  return store
    .prepare<string[]>(
      `SELECT k0, k1, k2, k3 FROM feed_sent WHERE feed_id = ? AND (k0, k1, k2, k3) ${after === undefined ? ">=" : ">"} (?, ?, ?, ?)
       ORDER BY k0, k1, k2, k3 LIMIT ?`,
    )
    .raw(true)
    .all(rules.feedId, ...paddedKey(after ?? []), limit);
}

/** Marks the next invalid acknowledgements after a key. Returns the last key examined; undefined once all are marked. */
export function markInvalidated(
  store: Store,
  rules: FeedRules,
  step: { since: string; after: readonly string[] | undefined; limit: number },
): string[] | undefined {
  const after = paddedKey(step.after ?? []);
  const last = loadSentKeys(store, rules, step).at(-1);
  if (last === undefined) {
    store
      .prepare("UPDATE feeds SET doubt_since = NULL WHERE feed_id = ? AND doubt_since = ?")
      .run(rules.feedId, step.since);
    return undefined;
  }
  store
    .prepare(
      `UPDATE feed_sent SET epoch = ${INVALID_EPOCH} WHERE feed_id = ? AND (k0, k1, k2, k3) >= (?, ?, ?, ?)
         AND (k0, k1, k2, k3) <= (?, ?, ?, ?) AND sent_at >= ?`,
    )
    .run(rules.feedId, ...after, ...last, step.since);
  return last;
}
