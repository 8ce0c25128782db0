/*
 * Rows of the outbox that the service has refused: set aside until something proves that it was about them, or in
 * quarantine; each is tried again at its own time. Inside the caller's transaction, together with the quarantine.
 */

import type { Store } from "../database/store.ts";
import { type FeedRules, keyOfReference } from "./feed.ts";
import { changeSome, loadRows, type OutboxRow } from "./feed-outbox.ts";
import { paddedKey, UNSHOWN } from "./feed-rows.ts";
import { markKeyDirty } from "./feed-source.ts";

/** What a refusal leaves of a row's former request. */
type Refusable = Pick<OutboxRow, "id" | "flightRecord" | "flightUntilMs">;

/** The service refused it alone, and nothing shows yet that the record is the cause: it waits. */
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

/** Others are accepted, and this one is refused in a way that is not for good: it waits for its own time. */
export function savePassingRefusal(store: Store, id: number): void {
  store.prepare("UPDATE feed_outbox SET refusal = 'passing' WHERE id = ?").run(id);
}

/** The service refuses it; `row` shows whether the outcome of an earlier value is unknown. */
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

/** The service refuses what it had accepted before, because it is sent the whole table each time. */
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

/** The service accepts something: rows that were set aside, or are in quarantine, find out now whether it takes them too. */
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

/** Rows that wait were refused under other rules, or a person has them tried: they go now. */
export function clearSetAside(store: Store, feedId: number, limit: number): number {
  return changeSome(
    store,
    "refusal = NULL, retry_ms = NULL, tries = 0, last_error = NULL",
    "INDEXED BY feed_outbox_retry WHERE feed_id = @feed AND state = 'waiting' AND retry_ms IS NOT NULL",
    { feed: feedId, limit },
  );
}

/** Quarantined rows are tried again no sooner than then. */
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

/** Some of the rows that the service refused, each by itself; those that cannot be rendered are not among them. */
export function loadRefused(store: Store, rules: FeedRules, limit: number): OutboxRow[] {
  return loadRows(store, rules, { limit })(`${REFUSED} ORDER BY id LIMIT @limit`);
}

/** Rows below this one that were refused, perhaps because it was not there. */
export function loadRefusedChildren(store: Store, rules: FeedRules, key: readonly string[]): OutboxRow[] {
  return loadRows(store, rules, { parent: key[0] ?? "" })(`${REFUSED} AND parent = @parent ORDER BY id`);
}

const REFUSED = "INDEXED BY feed_outbox_refused WHERE feed_id = @feed AND state = 'refused' AND record <> 'null'";

/** It was not the row's fault: it waits again, and nothing is held against it. */
export function markRefusedWaiting(store: Store, rules: FeedRules, row: { id: number; reference: string }): void {
  markWaiting(store, row.id);
  store
    .prepare("DELETE FROM quarantine WHERE kind = ? AND coalesce(reference, '') = ? AND state <> 'released'")
    .run(rules.name, row.reference);
}

/** A refused row goes again, past no former decision of the guard. `proven`: it was blamed by right, and is held again where refused again. */
export function markWaiting(store: Store, id: number, refusal: "proven" | null = null): void {
  store
    .prepare(
      `UPDATE feed_outbox SET state = 'waiting', last_error = NULL, refusal = @refusal, retry_ms = NULL,
         tries = iif(@refusal IS NULL, 0, tries), drop_round = iif(drop_round IS NULL, NULL, @unshown) WHERE id = @id`,
    )
    .run({ refusal, unshown: UNSHOWN, id });
}

/**
 * Gives the refused row of a reference another try: `waiting`, it goes again; `dirty`, it could not be rendered and is read
 * again; `settled`, nothing is refused under this key any more.
 */
export function retryFeedRow(store: Store, rules: FeedRules, reference: string): "waiting" | "dirty" | "settled" {
  const key = paddedKey(keyOfReference(rules, reference));
  const row = store
    .prepare<{ id: number; record: string }>(
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
