/* The SQL of a table that is sent whole: what is on the site or may be, and what it forgets. */
import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import { UNKNOWN_OUTCOME } from "../feed-outbox.ts";
import { type KeyParts, keyOf } from "../feed-rows.ts";

/**
 * For a table that was accepted whole: the site has nothing of the rows that it lacked, so they are forgotten. The newest
 * acknowledgement left gets the time, so that a later doubt of this acceptance sends the table again.
 */
export function forgetAbsent(store: Store, { feedId }: FeedRules, at: string): void {
  const newest =
    "SELECT k0, k1, k2, k3 FROM feed_sent WHERE feed_id = @feedId AND gone = 0 ORDER BY sent_at DESC LIMIT 1";
  const isLeft = store
    .prepare(
      `UPDATE feed_sent SET sent_at = max(sent_at, @at) WHERE feed_id = @feedId AND (k0, k1, k2, k3) = (${newest})
         AND EXISTS (SELECT 1 FROM feed_sent WHERE feed_id = @feedId AND gone = 1)`,
    )
    .run({ feedId, at });
  if (isLeft.changes > 0) store.prepare("DELETE FROM feed_sent WHERE feed_id = ? AND gone = 1").run(feedId);
}

/** All acknowledged records, for a service that is sent the whole table. */
export function loadPresent(store: Store, rules: FeedRules): KeyedRecord[] {
  return loadRecords(store, rules, "record FROM feed_sent WHERE feed_id = ? AND gone = 0");
}

/** Records in flight of requests without an answer, or with an answer that is no acceptance (`isAnswered`). */
export function loadUnknown(store: Store, rules: FeedRules, { isAnswered }: { isAnswered: boolean }): KeyedRecord[] {
  const until = `doubt_until_ms IS ${isAnswered ? "" : "NOT "}0`;
  return loadRecords(store, rules, `doubt_record AS record ${UNKNOWN_OUTCOME} AND ${until}`);
}

interface KeyedRecord {
  key: string[];
  record: string;
}

function loadRecords(store: Store, rules: FeedRules, from: string): KeyedRecord[] {
  return store
    .prepare<KeyParts & { record: string }>(`SELECT k0, k1, k2, k3, ${from} ORDER BY k0, k1, k2, k3`)
    .all(rules.feedId)
    .map((row) => ({ key: keyOf(rules, row), record: row.record }));
}
