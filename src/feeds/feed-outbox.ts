/*
 * The outbox: rows that wait to be sent, or whose request has no known outcome. A row is committed as in flight before its
 * request is sent, so after a crash it is sent again with its newest value. Acknowledgements are fenced by the value that
 * was sent.
 */

import { onlyValue } from "../database/only-row.ts";
import type { NamedRow } from "../database/row.ts";
import type { feedOutbox, feedSent } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { FeedRules } from "./feed.ts";
import { bytesOf, firstOf, RECORDS_BYTES_MAX } from "./feed-record.ts";
import { INVALID_EPOCH, type KeyParts, keyOf, type Numbers, paddedKey, sameKey } from "./feed-rows.ts";
import { isApproved, saveSentDrops } from "./guard/guard-rows.ts";
import { isOtherInSql, storedInSql } from "./record-identity.ts";
import { leaveReplaced } from "./rekey/former-rows.ts";
import { type AcceptedRow, repeatOfDropped, repeatOfNew } from "./repeated-rows.ts";

/**
 * `droppedAt`: when it went to zero or away; null where the site did not sell it then. `parent`: key of the row that must be on the
 * site before this one. `tries`: how often it was refused since it last changed or was quarantined.
 */
export interface OutboxRow
  extends Pick<typeof feedOutbox.$inferSelect, "id" | "record" | "gone" | "droppedAt" | "parent" | "tries"> {
  key: string[];
  /** A person has approved that it goes to zero or is deleted. */
  approved: boolean;
  flightRecord: string | null;
  flightUntilMs: number | null;
  /** Its parent is not known to be on the site: a refusal of this one says nothing about the service. */
  isOrphan: boolean;
  /** It was quarantined, and a person has requested another try. */
  wasProven: boolean;
  /** It is in quarantine. */
  isRefused: boolean;
  /** The service refused it alone with 401, 402 or 403 while it accepted others, and has not accepted it since. */
  isDenied: boolean;
}

/** Which rows may be sent now. */
export interface SendLimits {
  /** Monotonic time: rows in flight stay until their `flightUntilMs`. */
  nowMs: number;
  /** Monotonic time before which a row must have been deleted. */
  awayBeforeMs: number;
  /** The last round of approval: rows of the next one are held by the guard, all others may be sent. */
  dropRound: number;
}

/** SQL: whether the parent of `x` is not known to be on the site. */
const IS_ORPHAN = `(x.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM feed_sent s CROSS JOIN feeds f ON f.feed_id = s.feed_id
  WHERE s.feed_id = x.feed_id AND s.k0 = x.parent AND s.k1 = '' AND s.k2 = '' AND s.k3 = '' AND s.gone = 0 AND s.epoch = f.epoch))`;

const OUTBOX = `id, k0, k1, k2, k3, record, gone, tries, refusal = 'proven' AS wasProven,
  state = 'refused' AS isRefused, denied AS isDenied,
  doubt_record AS flightRecord, doubt_until_ms AS flightUntilMs, parent, ${IS_ORPHAN} AS isOrphan,
  dropped_at AS droppedAt,
  ${isApproved("x")} AS approved`;

type RawOutboxRow = KeyParts & Omit<Numbers<OutboxRow>, "key">;

function outboxRow(rules: FeedRules, { k0, k1, k2, k3, ...row }: RawOutboxRow): OutboxRow {
  return {
    ...row,
    key: keyOf(rules, { k0, k1, k2, k3 }),
    gone: row.gone === 1,
    approved: row.approved === 1,
    wasProven: row.wasProven === 1,
    isRefused: row.isRefused === 1,
    isOrphan: row.isOrphan === 1,
    isDenied: row.isDenied === 1,
  };
}

/**
 * Returns a function that loads rows for the rest of a statement, in which a row is `x` and the feed `@feed`. With a limit
 * they are at most as many as are in memory at a time.
 */
export function loadRows(
  store: Store,
  rules: FeedRules,
  values: { [name: string]: string | number; limit?: number },
): (rest: string) => OutboxRow[] {
  return (rest) => {
    const all = store
      .prepare<RawOutboxRow>(`SELECT ${OUTBOX} FROM feed_outbox x ${rest}`)
      .iterate({ ...values, feed: rules.feedId });
    const rows = (values.limit ?? -1) < 0 ? [...all] : firstOf(all, sizeOf, RECORDS_BYTES_MAX);
    return rows.map((row) => outboxRow(rules, row));
  };
}

function sizeOf({ record, flightRecord }: Pick<OutboxRow, "record" | "flightRecord">): number {
  return bytesOf([record, flightRecord]);
}

/** Updates at most `@limit` rows that satisfy a condition. Returns how many; to be repeated until 0. */
export function changeSome(
  store: Store,
  set: string,
  where: string,
  values: { feed: number; limit: number; [name: string]: number },
): number {
  const some = `SELECT id FROM feed_outbox ${where} LIMIT @limit`;
  return store.prepare(`UPDATE feed_outbox SET ${set} WHERE id IN (${some})`).run(values).changes;
}

/** Rows that go to zero or away, and that the guard does not hold. */
export const DROPS = `INDEXED BY feed_outbox_drops WHERE feed_id = @feed AND state = 'waiting' AND drop_round IS NOT NULL
  AND drop_round <= @dropRound`;
/** All other waiting rows. */
export const OTHERS = "INDEXED BY feed_outbox_next WHERE feed_id = @feed AND state = 'waiting' AND drop_round IS NULL";
export const MAY_GO = `(doubt_record IS NULL OR doubt_until_ms <= @nowMs) AND (gone = 0 OR away_since_ms <= @awayBeforeMs)
  AND (retry_ms IS NULL OR retry_ms <= @nowMs)`;

/** SQL: whether that row is known to be on the site. */
export const isPresent = (row: string) => `EXISTS (SELECT 1 FROM feed_sent s CROSS JOIN feeds f ON f.feed_id = s.feed_id
  WHERE s.feed_id = ${row}.feed_id AND ${sameKey("s", row)} AND s.gone = 0 AND s.epoch = f.epoch)`;

/**
 * SQL: whether the parent row is on the site, or is not waiting itself. A row that takes an article off sale needs no
 * parent if the article may be on the site.
 */
export const PARENT_IS_THERE = `(x.parent IS NULL OR x.drop_round IS NOT NULL
  OR (x.priority = 0 AND (x.doubt_record IS NOT NULL OR ${isPresent("x")}))
  OR NOT EXISTS (SELECT 1 FROM feed_outbox p WHERE p.feed_id = x.feed_id
    AND p.k0 = x.parent AND p.k1 = '' AND p.k2 = '' AND p.k3 = '' AND p.state = 'waiting' AND p.gone = 0
    AND coalesce(p.refusal, 'proven') = 'proven' AND p.id <> x.id AND NOT ${isPresent("p")}))`;

/** Rows that may be sent now: drops to zero and deletions first, then other zeros, decreases and the rest; parents first. */
export function loadSendable(store: Store, rules: FeedRules, limits: SendLimits, limit: number): OutboxRow[] {
  // A table that is sent whole contains all rows, parents and children.
  if (rules.parent === null || rules.scope === "whole")
    return loadWaiting(store, rules, limits, { limit, mayGo: MAY_GO });
  const ready = loadWaiting(store, rules, limits, { limit, mayGo: `${MAY_GO} AND ${PARENT_IS_THERE}` });
  if (ready.length > 0 || hasInFlight(store, rules, limits.nowMs)) return ready;
  // Only rows in a cycle of parents, or below one, are left: they are sent, and the service decides.
  return loadWaiting(store, rules, limits, { limit, mayGo: MAY_GO });
}

function loadWaiting(
  store: Store,
  rules: FeedRules,
  limits: SendLimits,
  { limit, mayGo }: { limit: number; mayGo: string },
): OutboxRow[] {
  const drops = loadRows(store, rules, { ...limits, limit })(
    `${DROPS} AND ${mayGo} ORDER BY drop_round, dropped_at, away_since_ms, id LIMIT @limit`,
  );
  const bytes = drops.reduce((sum, row) => sum + sizeOf(row), 0);
  if (drops.length === limit || (limit >= 0 && bytes > RECORDS_BYTES_MAX)) return drops;
  const others = loadRows(store, rules, { ...limits, limit: limit < 0 ? limit : limit - drops.length })(
    `${OTHERS} AND ${mayGo} ORDER BY priority, id LIMIT @limit`,
  );
  return [...drops, ...others];
}

/** The row of one key, if it may be sent now. */
export function loadSendableRow(
  store: Store,
  rules: FeedRules,
  limits: SendLimits,
  key: readonly string[],
): OutboxRow[] {
  const [k0, k1, k2, k3] = paddedKey(key);
  return loadRows(store, rules, { ...limits, k0, k1, k2, k3 })(
    `WHERE feed_id = @feed AND k0 = @k0 AND k1 = @k1 AND k2 = @k2 AND k3 = @k3 AND state = 'waiting'
       AND (drop_round IS NULL OR drop_round <= @dropRound) AND ${MAY_GO} AND ${PARENT_IS_THERE}`,
  );
}

/** Quarantined rows that go to zero or are deleted and are due for a retry: the guard counts them before they are sent. */
export function loadRetryableDrops(store: Store, rules: FeedRules, nowMs: number, limit: number): OutboxRow[] {
  return loadRows(store, rules, { nowMs, limit })(
    `INDEXED BY feed_outbox_retry WHERE feed_id = @feed AND state = 'refused' AND retry_ms <= @nowMs
       AND record <> 'null' AND drop_round IS NOT NULL ORDER BY retry_ms, id LIMIT @limit`,
  );
}

/** Quarantined rows that are due for an automatic retry, the longest waiting first. */
export function loadRetryable(store: Store, rules: FeedRules, limits: SendLimits, limit: number): OutboxRow[] {
  return loadRows(store, rules, { ...limits, limit })(
    `INDEXED BY feed_outbox_retry WHERE feed_id = @feed AND state = 'refused' AND retry_ms <= @nowMs
       AND record <> 'null' AND ${MAY_GO} AND drop_round IS NULL AND ${PARENT_IS_THERE} ORDER BY retry_ms, id LIMIT @limit`,
  );
}

/** Number of rows that are set aside with nothing accepted since, up to `limit`; `about`: the service, or any. */
export function countUnproven(store: Store, rules: FeedRules, limit: number, about: "service" | "any" = "any"): number {
  const sql = `SELECT count(*) FROM (SELECT 1 FROM feed_outbox x INDEXED BY feed_outbox_retry
    WHERE feed_id = ? AND state = 'waiting' AND retry_ms IS NOT NULL AND refusal = 'unproven'
      ${about === "service" ? `AND NOT ${IS_ORPHAN}` : ""} LIMIT ?)`;
  return onlyValue(store, sql, rules.feedId, limit);
}

/**
 * Monotonic time at which the first row may go that may not go now: its request can no longer arrive, its retry is due, or it was deleted
 * long enough ago. Undefined where none waits for a time.
 * @param limits.quarantinedMs no quarantined row is retried before
 */
export function loadNextDueMs(
  store: Store,
  rules: FeedRules,
  { nowMs, quarantinedMs }: { nowMs: number; quarantinedMs: number },
): number | undefined {
  const sql = `SELECT min(at) FROM (
      SELECT doubt_until_ms AS at FROM feed_outbox INDEXED BY feed_outbox_doubt
        WHERE feed_id = @feed AND doubt_record IS NOT NULL
      UNION ALL SELECT retry_ms FROM feed_outbox INDEXED BY feed_outbox_retry
        WHERE feed_id = @feed AND state = 'waiting' AND retry_ms > @nowMs
      UNION ALL SELECT max(retry_ms, @quarantinedMs) FROM feed_outbox INDEXED BY feed_outbox_retry
        WHERE feed_id = @feed AND state = 'refused' AND retry_ms IS NOT NULL AND record <> 'null'
      UNION ALL SELECT away_since_ms + @deleteAfterMs FROM feed_outbox INDEXED BY feed_outbox_gone
        WHERE feed_id = @feed AND gone = 1 AND state = 'waiting')
    WHERE at > @nowMs`;
  const values = { feed: rules.feedId, nowMs, quarantinedMs, deleteAfterMs: rules.deleteAfterMs };
  return onlyValue<number | null>(store, sql, values) ?? undefined;
}

/** Marks rows as in flight inside the transaction that has loaded them, at half the cost of `markInFlight`. */
export function markLoaded(store: Store, rows: readonly Pick<OutboxRow, "id">[]): void {
  store
    .prepare(
      "UPDATE feed_outbox SET doubt_record = record, doubt_until_ms = NULL WHERE id IN (SELECT value FROM json_each(?))",
    )
    .run(idsOf(rows));
}

export function idsOf(rows: readonly Pick<OutboxRow, "id">[]): string {
  return JSON.stringify(rows.map(({ id }) => id));
}

/** Whether a request with unknown outcome may still be in progress. */
export function hasInFlight(store: Store, rules: FeedRules, nowMs: number): boolean {
  return isAny(store, `${UNKNOWN_OUTCOME} AND (doubt_until_ms IS NULL OR doubt_until_ms > ?)`, [rules.feedId, nowMs]);
}

export const UNKNOWN_OUTCOME =
  "FROM feed_outbox INDEXED BY feed_outbox_doubt WHERE feed_id = ? AND doubt_record IS NOT NULL";

export function isAny(store: Store, from: string, values: readonly number[]): boolean {
  return store.prepare(`SELECT 1 ${from} LIMIT 1`).get(...values) !== undefined;
}

/**
 * Stores the records that these rows were in flight with as acknowledged. Returns the ids of rows that were live on the
 * site before. One statement for all rows, so that records are not copied out of SQLite.
 */
export function saveAcknowledged(
  store: Store,
  rules: FeedRules,
  rows: readonly AcceptedRow[],
  at: string,
): ReadonlySet<number> {
  const sent = JSON.stringify(rows.map(({ id, gone, live }) => [id, Number(gone), Number(live)]));
  const isOther = `s.gone = 0 AND ${isOtherInSql(rules.identity, "s.record", "o.doubt_record")}`;
  const before = store
    .prepare<
      NamedRow<typeof feedSent, "live" | "sentAt"> & { id: number; before: string | null; record: string | null }
    >(
      `SELECT o.id, s.live, s.sent_at AS sentAt, iif(${isOther}, s.record, NULL) AS before,
         iif(${isOther}, o.doubt_record, NULL) AS record
       FROM jsonb_each(@sent) r CROSS JOIN feed_outbox o ON o.id = r.value ->> 0
         CROSS JOIN feed_sent s ON s.feed_id = @feed AND ${sameKey("s", "o")} WHERE s.live = 1 OR ${isOther}`,
    )
    .all({ feed: rules.feedId, sent });
  const replaced = before.flatMap(({ before, record, sentAt, live }) =>
    before === null || record === null ? [] : [{ before, record, sentAt, live }],
  );
  if (replaced.length > 0) leaveReplaced(store, rules, replaced, at);
  const gone = rows.filter((row) => row.gone);
  if (rules.dependents.length > 0) repeatOfNew(store, rules, rows, at);
  if (gone.length > 0) repeatOfDropped(store, rules, { ids: idsOf(gone), at });
  store
    .prepare(
      `INSERT INTO feed_sent (feed_id, k0, k1, k2, k3, record, sent_at, gone, live, epoch, article)
       SELECT @feed, o.k0, o.k1, o.k2, o.k3, o.doubt_record, @at, r.value ->> 1, r.value ->> 2, f.epoch,
         ${storedInSql(rules.article, "o.doubt_record", "o.k0")}
       FROM jsonb_each(@sent) r CROSS JOIN feed_outbox o ON o.id = r.value ->> 0 CROSS JOIN feeds f ON f.feed_id = @feed
       WHERE o.doubt_record IS NOT NULL
       ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET record = excluded.record, sent_at = excluded.sent_at,
         gone = excluded.gone, live = excluded.live, epoch = excluded.epoch, article = excluded.article`,
    )
    .run({ feed: rules.feedId, sent, at });
  // Fenced by the value that was sent: a row with a newer value keeps waiting.
  const { changes } = store
    .prepare(
      "DELETE FROM feed_outbox WHERE id IN (SELECT value ->> 0 FROM jsonb_each(?)) AND record = doubt_record AND again < 2",
    )
    .run(sent);
  if (changes < rows.length)
    // With the value that was sent it goes once more, and has gone to zero already.
    store
      .prepare(
        `UPDATE feed_outbox SET drop_round = iif(record = doubt_record AND gone = 0, NULL, drop_round),
           dropped_at = iif(record = doubt_record AND gone = 0, NULL, dropped_at), doubt_record = NULL, doubt_until_ms = NULL,
           again = again > 1 WHERE id IN (SELECT value ->> 0 FROM jsonb_each(?))`,
      )
      .run(sent);
  return new Set(before.filter(({ live }) => live === 1).map(({ id }) => id));
}

/** `drops`: accepted rows that went to zero or away without an approval, by the time when they went. */
export function saveAcceptance(
  store: Store,
  rules: FeedRules,
  accepted: {
    at: string;
    reportedBy: "status" | "records";
    liveChange: number;
    drops: ReadonlyMap<string, number>;
  },
): void {
  const { at, reportedBy, liveChange, drops } = accepted;
  store
    .prepare(
      `UPDATE feeds SET accepted_at = coalesce(accepted_at, ?), accepted_by = ?, last_accepted_at = ?,
         live_count = max(0, live_count + ?) WHERE feed_id = ?`,
    )
    .run(at, reportedBy, at, liveChange, rules.feedId);
  if (drops.size > 0) saveSentDrops(store, rules, drops, at);
}

/** The next keys after `after` in one of the tables that are stored as present, or as deleted with an invalid acknowledgement. */
export function loadKnownKeys(
  store: Store,
  rules: FeedRules,
  options: { table: "feed_sent" | "feed_outbox"; after: readonly string[] | undefined; limit: number },
): string[][] {
  const beyond = options.after === undefined ? "" : "AND (k0, k1, k2, k3) > (?, ?, ?, ?)";
  // Waiting deletions are planned again as well: they may have been rendered under other rules.
  const goneMax = options.table === "feed_sent" ? 0 : 1;
  // Deletions acknowledged at another address are sent again; a table that is sent whole expresses them by absence.
  const isLost =
    options.table === "feed_outbox"
      ? "0"
      : rules.scope === "whole"
        ? `epoch = ${INVALID_EPOCH}`
        : `epoch <> (SELECT f.epoch FROM feeds f WHERE f.feed_id = ${rules.feedId})`;
  return store
    .prepare<string[]>(
      `SELECT k0, k1, k2, k3 FROM ${options.table} WHERE feed_id = ? ${beyond} AND (gone <= ${goneMax} OR ${isLost}) ORDER BY k0, k1, k2, k3 LIMIT ?`,
    )
    .raw(true)
    .all(rules.feedId, ...(options.after === undefined ? [] : paddedKey(options.after)), options.limit);
}
