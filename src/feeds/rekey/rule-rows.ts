/* The SQL of a feed whose rules have changed. */
import type { RecordPlace } from "../../config/feed-level.ts";
import { onlyRow } from "../../database/only-row.ts";
import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";

/**
 * Other rules than those that the feed was filled with: what was accepted or refused under the old ones says nothing
 * of the new. Rows that went to another address go to this one as well.
 */
export function saveFeedRules(store: Store, rules: FeedRules, formerLevels: readonly RecordPlace[]): void {
  store
    .prepare(
      `UPDATE feeds SET epoch = epoch + (address IS NOT NULL AND address <> @address), template = @template,
         address = @address, accepted_at = NULL, chunk = NULL, key_columns = @keys, sent_how = @how,
         former_levels = @levels WHERE name = @name`,
    )
    .run({
      template: rules.signature,
      address: rules.address,
      keys: JSON.stringify(rules.keys),
      how: sentHow(rules),
      levels: formerLevels.length === 0 ? null : JSON.stringify(formerLevels),
      name: rules.name,
    });
}

/** What decides how a row goes, besides its record. */
export function sentHow(rules: Pick<FeedRules, "scope" | "parent">): string {
  return JSON.stringify([rules.scope, rules.parent]);
}

export function saveSentHow(store: Store, rules: FeedRules): void {
  store.prepare("UPDATE feeds SET sent_how = ? WHERE feed_id = ?").run(sentHow(rules), rules.feedId);
}

/** Rows of the outbox are planned once more: some of them, after the row `afterId`. Gives the last of these; undefined: there is none. */
export function markQueuedDirty(
  store: Store,
  rules: FeedRules,
  { afterId, limit }: { afterId: number; limit: number },
): number | undefined {
  const sql = "SELECT max(id) FROM (SELECT id FROM feed_outbox WHERE feed_id = ? AND id > ? ORDER BY id LIMIT ?)";
  const last = onlyRow(store.prepare<number | null>(sql).pluck().get(rules.feedId, afterId, limit));
  if (last === null) return undefined;
  store
    .prepare(
      `INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3)
       SELECT feed_id, k0, k1, k2, k3 FROM feed_outbox NOT INDEXED WHERE feed_id = ? AND id > ? AND id <= ?
       ON CONFLICT DO NOTHING`,
    )
    .run(rules.feedId, afterId, last);
  return last;
}
