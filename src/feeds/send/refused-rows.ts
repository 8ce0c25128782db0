/*
 * Refused rows of the outbox: set aside until it is proven that they are the cause, or in quarantine. Each has its own time
 * for a retry. Functions run inside the caller's transaction, together with writes to the quarantine.
 */

import type { Row } from "../../database/row.ts";
import type { feedOutbox } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import { changeSome, idsOf, loadRows, type OutboxRow } from "../feed-outbox.ts";
import { type KeyParts, keyOf, paddedKey } from "../feed-rows.ts";
import { UNSHOWN } from "../guard/guard-rows.ts";
import { storedInSql } from "../record-identity.ts";
import { type AcceptedRow, loadNewArticles } from "../repeated-rows.ts";
import { keyOfReference, referenceOf } from "../row-reference.ts";
import { markKeyDirty } from "../source/feed-source.ts";

/** The row and its former request, which a refusal leaves in flight. */
type Refusable = Pick<OutboxRow, "id" | "flightRecord" | "flightUntilMs">;

/** Sets aside a row that was refused alone and is not yet proven to be the cause. */
export function saveSetAside(
  store: Store,
  { id, flightRecord, flightUntilMs }: Refusable,
  { error, retryMs, isForGood }: { error: string; retryMs: number; isForGood: boolean },
): void {
  store
    .prepare(
      `UPDATE feed_outbox SET refusal = iif(refusal = 'passing' AND NOT ?, 'passing', 'unproven'), retry_ms = ?,
         tries = tries + 1, doubt_record = ?, doubt_until_ms = ?, last_error = ? WHERE id = ?`,
    )
    .run(Number(isForGood), retryMs, flightRecord, flightUntilMs, error, id);
}

/** For a row with a temporary refusal while others are accepted: it waits for its retry; a denied one goes alone from then on. */
export function savePassingRefusal(store: Store, id: number, isDenied: boolean): void {
  store
    .prepare("UPDATE feed_outbox SET refusal = 'passing', denied = max(denied, ?) WHERE id = ?")
    .run(Number(isDenied), id);
}

/** For a row that was sent alone as the probe of a hold, and with which that was refused. */
export function saveProbed(store: Store, id: number): void {
  store.prepare("UPDATE feed_outbox SET probed = probed + 1 WHERE id = ?").run(id);
}

/** Makes set-aside rows wait until this time, or longer where they do. */
export function postpone(store: Store, rows: readonly Pick<OutboxRow, "id">[], atMs: number): void {
  store
    .prepare(
      "UPDATE feed_outbox SET retry_ms = max(coalesce(retry_ms, 0), ?) WHERE id IN (SELECT value FROM json_each(?))",
    )
    .run(atMs, idsOf(rows));
}

/** Marks a row as refused; the second parameter has its earlier request with unknown outcome, if any. */
export function markRefused(
  store: Store,
  { id, flightRecord, flightUntilMs }: Refusable,
  { error, retryMs, tries }: { error: string; retryMs: number; tries: number },
): void {
  store
    .prepare(
      `UPDATE feed_outbox SET state = 'refused', refusal = NULL, retry_ms = ?, tries = ?, doubt_record = ?,
         doubt_until_ms = ?, last_error = ? WHERE id = ?`,
    )
    .run(retryMs, tries, flightRecord, flightUntilMs, error, id);
}

/** For a row of a whole table that the service had accepted before and now refuses. */
export function saveRefused(
  store: Store,
  rules: FeedRules,
  refused: { key: readonly string[]; record: string; error: string; at: string; retryMs: number },
): void {
  store
    .prepare(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, state, waiting_since, last_error, retry_ms)
       VALUES (?, ?, ?, ?, ?, ?, 'refused', ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    .run(rules.feedId, ...paddedKey(refused.key), refused.record, refused.at, refused.error, refused.retryMs);
}

/** Makes set-aside or quarantined rows due at once, because the service accepts something. */
export function wake(
  store: Store,
  rules: FeedRules,
  which: "waiting" | "refused",
  { nowMs, limit }: { nowMs: number; limit: number },
): number {
  const state = which === "waiting" ? "state = 'waiting' AND refusal = 'unproven'" : "state = 'refused'";
  const where = `INDEXED BY feed_outbox_retry WHERE feed_id = @feed AND ${state} AND retry_ms > @nowMs`;
  return changeSome(store, "retry_ms = @nowMs", where, { feed: rules.feedId, nowMs, limit });
}

/** Makes set-aside rows due, because the rules have changed or a person has requested it. */
export function clearSetAside(store: Store, feedId: number, limit: number): number {
  return changeSome(
    store,
    "refusal = NULL, retry_ms = NULL, tries = 0, denied = 0, last_error = NULL",
    "INDEXED BY feed_outbox_retry WHERE feed_id = @feed AND state = 'waiting' AND retry_ms IS NOT NULL",
    { feed: feedId, limit },
  );
}

/** Sets the earliest time of the next retry of quarantined rows. */
export function saveRetryTime(
  store: Store,
  rows: readonly Pick<OutboxRow, "id">[],
  retry: { atMs: number; isTried: boolean },
): void {
  const save = store.prepare(
    "UPDATE feed_outbox SET retry_ms = ?, tries = tries + ? WHERE id = ? AND state = 'refused'",
  );
  for (const { id } of rows) save.run(retry.atMs, Number(retry.isTried), id);
}

/** Rows that the service has refused, up to `limit`, without those that cannot be rendered. */
export function loadRefused(store: Store, rules: FeedRules, limit: number): OutboxRow[] {
  return loadRows(store, rules, { limit })(`${REFUSED} ORDER BY id LIMIT @limit`);
}

/** Retries refused and set-aside children of a row that is now on the site: they may have been refused because it was missing. */
export function retryChildren(store: Store, rules: FeedRules, key: readonly string[]): void {
  const parent = key[0] ?? "";
  store
    .prepare(
      `UPDATE feed_outbox INDEXED BY feed_outbox_retry SET refusal = NULL, retry_ms = NULL, tries = 0
       WHERE feed_id = ? AND state = 'waiting' AND retry_ms IS NOT NULL AND refusal = 'unproven' AND parent = ?`,
    )
    .run(rules.feedId, parent);
  for (const child of loadRows(store, rules, { parent })(`${REFUSED} AND parent = @parent ORDER BY id`))
    markRefusedWaiting(store, rules, child);
}

/**
 * The same for stock, prices and images of articles that the service accepts for the first time, as their records name them: whatever the
 * key of a row is. To be called before the acceptance is stored.
 */
export function retryOfNew(store: Store, rules: FeedRules, accepted: readonly AcceptedRow[]): void {
  const hasRefused = store.prepare<number>(HAS_REFUSED).pluck();
  const waiting = rules.dependents.filter(({ feedId }) => hasRefused.get({ feed: feedId }) === 1);
  if (waiting.length === 0) return;
  const named = loadNewArticles(store, rules, accepted);
  if (named.length === 0) return;
  const articles = JSON.stringify([...new Set(named.flatMap(({ key, folded }) => [key, folded ?? key]))]);
  for (const feed of waiting) {
    const rows = store
      .prepare<KeyParts & { id: number; state: string }>(ofArticles(feed))
      .all({ feed: feed.feedId, articles });
    for (const { id, state, ...parts } of rows) {
      if (state === "refused") markRefusedWaiting(store, feed, { id, key: keyOf(feed, parts) });
      else markWaiting(store, id);
    }
  }
}

const HAS_REFUSED = `SELECT EXISTS (SELECT 1 FROM feed_outbox INDEXED BY feed_outbox_refused WHERE feed_id = @feed AND state = 'refused')
  OR EXISTS (SELECT 1 FROM feed_outbox INDEXED BY feed_outbox_retry
    WHERE feed_id = @feed AND state = 'waiting' AND retry_ms IS NOT NULL)`;

/** SQL: the refused and set-aside rows of a feed that name one of the articles. */
function ofArticles({ article }: Pick<FeedRules, "article">): string {
  const named = `coalesce(${storedInSql(article, "record", "k0")}, k0) IN (SELECT value FROM json_each(@articles))`;
  return `SELECT id, state, k0, k1, k2, k3 FROM feed_outbox ${REFUSED} AND ${named}
    UNION ALL SELECT id, state, k0, k1, k2, k3 FROM feed_outbox INDEXED BY feed_outbox_retry
      WHERE feed_id = @feed AND state = 'waiting' AND retry_ms IS NOT NULL AND ${named}`;
}

const REFUSED = "INDEXED BY feed_outbox_refused WHERE feed_id = @feed AND state = 'refused' AND record <> 'null'";

/** For a row that was not the cause: it waits again, and its record leaves the quarantine. */
export function markRefusedWaiting(
  store: Store,
  rules: Pick<FeedRules, "name">,
  { id, key }: Pick<OutboxRow, "id" | "key">,
): void {
  markWaiting(store, id);
  store
    .prepare("DELETE FROM quarantine WHERE kind = ? AND coalesce(reference, '') = ? AND state <> 'released'")
    .run(rules.name, referenceOf(key));
}

/** Makes a refused row wait again; the guard decides anew. `proven`: its refusal was proven, so another one quarantines it again. */
export function markWaiting(store: Store, id: number, refusal: "proven" | null = null): void {
  store
    .prepare(
      `UPDATE feed_outbox SET state = 'waiting', last_error = NULL, refusal = @refusal, retry_ms = NULL,
         tries = iif(@refusal IS NULL, 0, tries), drop_round = iif(drop_round IS NULL, NULL, @unshown) WHERE id = @id`,
    )
    .run({ refusal, unshown: UNSHOWN, id });
}

/**
 * Retries the refused row of a reference. Returns `waiting`: it is sent again; `dirty`: it could not be rendered and is read
 * again; `settled`: no row with this key is refused.
 */
export function retryFeedRow(store: Store, rules: FeedRules, reference: string): "waiting" | "dirty" | "settled" {
  const key = paddedKey(keyOfReference(rules, reference));
  const row = store
    .prepare<Pick<Row<typeof feedOutbox>, "id" | "record">>(
      `SELECT id, record FROM feed_outbox
       WHERE feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ? AND state = 'refused'`,
    )
    .get(rules.feedId, ...key);
  if (row === undefined) return "settled";
  if (row.record === "null") {
    markKeyDirty(store, rules, key);
    return "dirty";
  }
  markWaiting(store, row.id, "proven");
  return "waiting";
}
