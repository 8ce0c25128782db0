/* The SQL of rows that cannot be sent: without a key, or not rendered. */
import { select } from "../../database/queries.ts";
import { quarantine } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import { paddedKey } from "../feed-rows.ts";

/** Marks a row that cannot be rendered; an earlier value whose outcome is unknown stays with it. */
export function saveUnsendable(
  store: Store,
  rules: FeedRules,
  bad: { key: readonly string[]; reason: string; at: string },
): void {
  store
    .prepare(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, state, waiting_since, last_error)
       VALUES (?, ?, ?, ?, ?, 'null', 'refused', ?, ?)
       ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET record = 'null', state = 'refused', last_error = excluded.last_error,
         drop_round = NULL, dropped_at = NULL, gone = 0, away_since_ms = NULL, refusal = NULL, retry_ms = NULL, tries = 0`,
    )
    .run(rules.feedId, ...paddedKey(bad.key), bad.at, bad.reason);
}

/** Rows that no key can name and that are not there any more, by what they were: what was held or dropped of them is settled. */
export function releaseUnnamed(store: Store, rules: FeedRules, seen: readonly Buffer[]): number {
  const held = select(
    store,
    quarantine,
    ["id", "payloadHash"],
    "WHERE kind = ? AND state <> 'released' AND reference IS NULL",
  ).all(rules.name);
  const release = store.prepare("UPDATE quarantine SET state = 'released' WHERE id = ?");
  const over = held.filter(({ payloadHash }) => !seen.some((known) => known.equals(payloadHash)));
  for (const { id } of over) release.run(id);
  return over.length;
}
