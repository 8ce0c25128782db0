/* The SQL of rows in flight: marked before their request, and unmarked or given a time at its end. */
import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import { changeSome, idsOf, isAny, type OutboxRow, UNKNOWN_OUTCOME } from "../feed-outbox.ts";
import { sameKey } from "../feed-rows.ts";
import { RETRY_LONGEST_MS } from "./refusal-trial.ts";

const RETRY_SOON_MS = 3_600_000;

/** Marks rows as in flight before their request, with the records that are sent, even if the rows have changed since. */
export function markInFlight(store: Store, rows: readonly Pick<OutboxRow, "id" | "record">[]): void {
  store
    .prepare(
      `UPDATE feed_outbox SET doubt_record = sent.record, doubt_until_ms = NULL
       FROM (SELECT value ->> 0 AS id, value ->> 1 AS record FROM jsonb_each(?)) sent WHERE feed_outbox.id = sent.id`,
    )
    .run(JSON.stringify(rows.map(({ id, record }) => [id, record])));
}

/** Restores the rows' state before a request on which the service did not act. */
export function unmarkInFlight(
  store: Store,
  rows: readonly Pick<OutboxRow, "id" | "flightRecord" | "flightUntilMs">[],
): void {
  store
    .prepare(
      `UPDATE feed_outbox SET doubt_record = before.record, doubt_until_ms = before.until
       FROM (SELECT value ->> 0 AS id, value ->> 1 AS record, value ->> 2 AS until FROM jsonb_each(?)) before
       WHERE feed_outbox.id = before.id`,
    )
    .run(JSON.stringify(rows.map(({ id, flightRecord, flightUntilMs }) => [id, flightRecord, flightUntilMs])));
}

/** For a request after which the service may have acted: the newest values are sent again, not before `untilMs`. */
export function saveFlightEnd(store: Store, rows: readonly Pick<OutboxRow, "id">[], untilMs: number): void {
  store
    .prepare(
      `UPDATE feed_outbox SET doubt_until_ms = ?
       WHERE id IN (SELECT value FROM json_each(?)) AND doubt_record IS NOT NULL`,
    )
    .run(untilMs, idsOf(rows));
}

/**
 * Sets times relative to now: of rows in flight whose process has died, and of a monotonic clock before a restart of the
 * machine. Returns the number of changed rows; to be repeated until 0.
 */
export function resetClocks(
  store: Store,
  rules: FeedRules,
  options: { nowMs: number; flightUntilMs: number; limit: number },
): number {
  const { nowMs, flightUntilMs, limit } = options;
  const feed = rules.feedId;
  const flights = changeSome(
    store,
    "doubt_until_ms = @until",
    `INDEXED BY feed_outbox_doubt WHERE feed_id = @feed AND doubt_record IS NOT NULL
       AND (doubt_until_ms IS NULL OR doubt_until_ms > @until)`,
    { feed, until: flightUntilMs, limit },
  );
  // Later than the longest wait: a time of the clock before a restart.
  const retries = changeSome(
    store,
    "retry_ms = @soon",
    "INDEXED BY feed_outbox_retry WHERE feed_id = @feed AND retry_ms > @longest",
    { feed, soon: nowMs + RETRY_SOON_MS, longest: nowMs + RETRY_LONGEST_MS, limit },
  );
  const gone = "WHERE feed_id = @feed AND gone = 1 AND away_since_ms > @nowMs";
  return flights + retries + changeSome(store, "away_since_ms = @nowMs", gone, { feed, nowMs, limit });
}

/** Whether a waiting row was in a request with unknown outcome. */
export function hasUnknownOutcome(store: Store, rules: FeedRules): boolean {
  return isAny(store, `${UNKNOWN_OUTCOME} AND state <> 'refused'`, [rules.feedId]);
}

/** Waiting rows whose last request ended without a complete answer, or with one that says nothing of its outcome. */
export function loadUnknownOutcomes(store: Store, rules: FeedRules, limit: number): number[] {
  const sql = `SELECT id ${UNKNOWN_OUTCOME} AND state <> 'refused' AND doubt_until_ms > 0 LIMIT ?`;
  return store.prepare<number>(sql).pluck().all(rules.feedId, limit);
}

/**
 * The acknowledged records of these rows in flight that are not the ones sent, by id: only where the acknowledgement counts, and
 * is not of a deleted row.
 */
export function loadSentOtherwise(
  store: Store,
  rules: FeedRules,
  rows: readonly Pick<OutboxRow, "id">[],
): ReadonlyMap<number, string> {
  if (rows.length === 0) return new Map();
  const found = store
    .prepare<{ id: number; record: string }>(
      `SELECT o.id, s.record FROM json_each(@ids) r CROSS JOIN feed_outbox o ON o.id = r.value
         CROSS JOIN feeds f ON f.feed_id = @feed CROSS JOIN feed_sent s ON s.feed_id = @feed AND ${sameKey("s", "o")}
       WHERE s.epoch = f.epoch AND s.gone = 0 AND s.record <> o.doubt_record AND f.open_tables = 0
         AND (f.doubt_since IS NULL OR s.sent_at < f.doubt_since)`,
    )
    .all({ feed: rules.feedId, ids: idsOf(rows) });
  return new Map(found.map(({ id, record }) => [id, record]));
}
