/*
 * Gives refused rows of a feed another try. A row that the service refused waits again; one that could not be rendered
 * is noted as touched, so that the next pass reads it from the ERP's table once more. Inside the caller's transaction,
 * together with the mark in the quarantine: after a crash both are as they were.
 */

import type { Store } from "../database/store.ts";
import { type FeedRules, keyOfReference } from "./feed.ts";
import { markWaiting } from "./feed-outbox.ts";
import { paddedKey } from "./feed-rows.ts";

/** `waiting`: it goes again; `touched`: it is read again; `settled`: nothing is refused under this key any more. */
export function retryFeedRow(store: Store, rules: FeedRules, reference: string): "waiting" | "touched" | "settled" {
  const key = paddedKey(keyOfReference(rules, reference));
  const row = store
    .prepare<{ id: number; record: string }>(
      `SELECT id, record FROM feed_outbox
       WHERE feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ? AND state = 'refused'`,
    )
    .get(rules.feedId, ...key);
  if (row === undefined) return "settled";
  if (row.record === "null") {
    store
      .prepare("INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
      .run(rules.feedId, ...key);
    return "touched";
  }
  markWaiting(store, row.id, "proven");
  return "waiting";
}
