/*
 * What a feed's acknowledgements say as a whole: which keys are stored, and which acknowledgements count. An epoch
 * that has passed, or none, says what was on the site and not what is: such rows go again.
 */

import type { FeedName } from "../config/feed-names.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { FeedRules } from "./feed.ts";
import { INVALID_EPOCH, keyInJson, paddedKey, sameKey } from "./feed-rows.ts";

/** Whether there is any row of the feed, also of keys that are gone. */
export function hasAnyKeys(store: Store, rules: FeedRules): boolean {
  const isIn = (table: string) => store.prepare(`SELECT 1 FROM ${table} WHERE feed_id = ? LIMIT 1`).get(rules.feedId);
  return isIn("feed_sent") !== undefined || isIn("feed_outbox") !== undefined;
}

/** Whether any key is known as present, or as gone by an acknowledgement that does not count. */
export function hasKnownKeys(store: Store, rules: FeedRules): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_sent s CROSS JOIN feeds f ON f.feed_id = s.feed_id
      WHERE s.feed_id = @feed AND (s.gone = 0 OR s.epoch <> f.epoch))
    OR EXISTS (SELECT 1 FROM feed_outbox WHERE feed_id = @feed)`;
  return store.prepare<number>(sql).pluck().get({ feed: rules.feedId }) === 1;
}

/** Of these keys those that do not wait as gone. */
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
 * What the service acknowledged is not known any more. A new epoch takes every acknowledgement for what was on the site, not for
 * what is: each row goes again with its newest value, rows that are gone go as gone.
 * @param because for the log
 */
export function beginEpoch(store: Store, name: FeedName, because: Message): void {
  store
    .prepare("UPDATE feeds SET epoch = epoch + 1, compare_because = coalesce(compare_because, ?) WHERE name = ?")
    .run(store.textOf(because), name);
}

/** A request of the whole table was refused or not answered, and may have replaced the site's: all of it goes again. */
export function doubtTable(store: Store, rules: FeedRules): void {
  const isAnyCurrent = store
    .prepare(
      "SELECT 1 FROM feeds f JOIN feed_sent s ON s.feed_id = f.feed_id AND s.epoch = f.epoch WHERE f.feed_id = ? LIMIT 1",
    )
    .get(rules.feedId);
  // Otherwise whatever may go waits already.
  if (isAnyCurrent !== undefined) beginEpoch(store, rules.name, m.feeds.tableOpen);
  store.prepare("UPDATE feeds SET open_tables = 0 WHERE feed_id = ?").run(rules.feedId);
}

/**
 * Acknowledgements of these feeds since then do not count any more: their rows go once more, with their newest
 * values, rows that are gone as gone. The passes of the feeds mark them: see {@link markInvalidated}.
 * @param invalid.since by this machine's clock; `""`: all of them. After `at` it is of a clock that was set back, and all are meant.
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
  for (const name of names) invalidate.run({ name, since: since > at ? "" : since, because: store.textOf(because) });
}

/** The feeds whose rows go to one path. */
export function loadFeedsOfPath(store: Store, path: string): FeedName[] {
  return store.prepare<FeedName>("SELECT name FROM feeds WHERE address ->> 0 = ?").pluck().all(path);
}

/** Marks some of the acknowledgements that do not count, those after a key. Returns the last key that was looked at; undefined: all are marked. */
export function markInvalidated(
  store: Store,
  rules: FeedRules,
  step: { since: string; after: readonly string[] | undefined; limit: number },
): string[] | undefined {
  const after = paddedKey(step.after ?? []);
  const keys = store
    .prepare<string[]>(
      `SELECT k0, k1, k2, k3 FROM feed_sent WHERE feed_id = ? AND (k0, k1, k2, k3) ${step.after === undefined ? ">=" : ">"} (?, ?, ?, ?)
       ORDER BY k0, k1, k2, k3 LIMIT ?`,
    )
    .raw(true)
    .all(rules.feedId, ...after, step.limit);
  const last = keys.at(-1);
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
