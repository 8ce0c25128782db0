/*
 * Rows that were acknowledged under a former key and have no present key. They are on the site, so each is deleted only in
 * the transaction that assigns it a key, or adds the record that takes it off sale to the outbox.
 */
import type { FeedName } from "../../config/feed-names.ts";
import { onlyRow } from "../../database/only-row.ts";
import type { NamedRow } from "../../database/row.ts";
import type { feedFormer, feedSent } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import type { Covered } from "../../pass/shown.ts";
import { FEED_IDS, type FeedRules } from "../feed.ts";
import { countLive, INVALID_EPOCH, paddedKey } from "../feed-rows.ts";
import { UNSHOWN } from "../guard/guard-rows.ts";
import { isOtherArticle } from "../record-identity.ts";
import { type FormerKey, formerName, recordKeyOf } from "./former-key.ts";

/**
 * `keyText`: `key` as stored, JSON. `state`: `waiting`: a person decides; `away`: its article is not in the source, and is deleted
 * after `delete_after`; `gone`, `kept`: decided by a person. `rowKey`: JSON, the key of a deleted row whose acknowledgement is
 * still stored; null where the row exists, or has none.
 */
export type FormerRow = NamedRow<typeof feedFormer, "record" | "sentAt" | "live" | "since" | "state" | "rowKey"> & {
  key: readonly string[];
  keyText: string;
};

/** What a row leaves on the site. */
export type LeftRow = Pick<FormerRow, "record" | "sentAt" | "live">;

/**
 * Whether of two records of one article this one was sent later. The order within a request is not stored: zeros come first,
 * so the one on sale was the later one.
 */
export function isSentLater<R extends { sentAt: string | null; live: number }>(one: R, other: R): boolean {
  const [at, otherAt] = [one.sentAt ?? "", other.sentAt ?? ""];
  return at > otherAt || (at === otherAt && one.live > other.live);
}

/** Where several rows have left one article, the record sent last is kept, as {@link isSentLater} decides. */
export function saveFormer(
  store: Store,
  rules: FeedRules,
  row: Pick<FormerRow, "key" | "record" | "sentAt" | "live" | "state"> & {
    from: FormerKey;
    at: string;
    rowKey?: string | null;
  },
): void {
  const { feedId } = rules;
  store
    .prepare(
      `INSERT INTO feed_former (feed_id, former, key, record, sent_at, live, since, state, row_key)
       VALUES (@feedId, @from, @key, @record, @sentAt, @live, @at, @state, @rowKey) ON CONFLICT DO UPDATE SET
         record = excluded.record, sent_at = excluded.sent_at, live = excluded.live, since = excluded.since, row_key = excluded.row_key
       WHERE state = 'away' AND excluded.state = 'away' AND (excluded.sent_at, excluded.live) > (sent_at, live)`,
    )
    .run({ rowKey: null, ...row, feedId, from: JSON.stringify(row.from), key: JSON.stringify(row.key) });
}

/**
 * Stores what an unanswered request may have put on the site. It counts as on sale whatever its content, so that the record
 * that takes it off sale is really sent. An acknowledged record of the same article is kept.
 */
export function saveTried(
  store: Store,
  rules: FeedRules,
  row: Pick<FormerRow, "key" | "record" | "sentAt" | "state"> & { from: FormerKey; at: string },
): void {
  saveFormer(store, rules, { ...row, live: 1 });
  store
    .prepare(
      "UPDATE feed_former SET live = 1, sent_at = max(sent_at, ?) WHERE feed_id = ? AND former = ? AND key = ? AND live = 0",
    )
    .run(row.sentAt, rules.feedId, JSON.stringify(row.from), JSON.stringify(row.key));
}

/** For records of articles that their row no longer names: moves the acknowledgement from the row to the article. */
export function leaveArticles(
  store: Store,
  rules: FeedRules,
  key: readonly string[],
  { records, at }: { records: readonly string[]; at: string },
): void {
  for (const record of records) {
    const taken = store
      .prepare<NamedRow<typeof feedSent, "sentAt" | "live">>(
        `DELETE FROM feed_sent WHERE feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ? AND record = ? AND gone = 0
         RETURNING sent_at AS sentAt, live`,
      )
      .get(rules.feedId, ...paddedKey(key), record);
    if (taken?.live === 1) countLive(store, rules, -1);
    if (taken === undefined) leaveFlight(store, rules, { record, at });
    else saveLeft(store, rules, { record, ...taken, at });
  }
}

/** For rows about to be acknowledged: stores the records that they replace, where these name another article. */
export function leaveReplaced(
  store: Store,
  rules: FeedRules,
  replaced: readonly { before: string; record: string; sentAt: string; live: number }[],
  at: string,
): void {
  if (!rules.leavesArticles) return;
  for (const { before, record, ...row } of replaced)
    if (isOtherArticle(rules.identity, before, record)) saveLeft(store, rules, { ...row, record: before, at });
}

/** Stores a record of a request with unknown outcome, for another row that names the article. Counts as sent at the request's end. */
export function leaveFlight(store: Store, rules: FeedRules, { record, at }: { record: string; at: string }): void {
  saveTried(store, rules, { record, sentAt: at, at, ...recordKeyOf(rules, record), state: "away" });
}

/** Stores what the site keeps of a deleted row that sends nothing, for another row that names the article. */
export function leaveKept(
  store: Store,
  rules: FeedRules,
  key: readonly string[],
  { flightRecord, at }: { flightRecord: string | null; at: string },
): void {
  const sent = store
    .prepare<LeftRow>(
      `SELECT record, sent_at AS sentAt, live FROM feed_sent
       WHERE feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ? AND gone = 0`,
    )
    .get(rules.feedId, ...paddedKey(key));
  if (sent !== undefined) {
    const own = { record: sent.record, rowKey: JSON.stringify(key) };
    const other = loadLeft(store, rules, sent.record);
    // Only one of several deleted rows keeps the article.
    if (other !== undefined && other.rowKey !== own.rowKey)
      forgetKept(store, rules, [isSentLater(sent, other) ? other : own]);
    saveLeft(store, rules, { ...sent, ...own, at });
  }
  if (flightRecord !== null) leaveFlight(store, rules, { record: flightRecord, at });
}

/** What deleted rows have left of a record's article. */
function loadLeft(
  store: Store,
  rules: FeedRules,
  record: string,
): Pick<FormerRow, "record" | "sentAt" | "live" | "rowKey"> | undefined {
  const { from, key } = recordKeyOf(rules, record);
  return store
    .prepare<Pick<FormerRow, "record" | "sentAt" | "live" | "rowKey">>(
      "SELECT record, sent_at AS sentAt, live, row_key AS rowKey FROM feed_former WHERE feed_id = ? AND former = ? AND key = ?",
    )
    .get(rules.feedId, JSON.stringify(from), JSON.stringify(key));
}

/**
 * Deletes the acknowledgements of deleted rows whose articles now belong to another row. Otherwise `feed_sent` would grow
 * by the whole table each time that the ERP refills it with other ids.
 */
export function forgetKept(
  store: Store,
  rules: FeedRules,
  rows: readonly Pick<FormerRow, "record" | "rowKey">[],
): void {
  const kept = rows.flatMap(({ record, rowKey }) =>
    rowKey === null ? [] : [[...paddedKey(JSON.parse(rowKey) as string[]), record]],
  );
  if (kept.length === 0) return;
  const changes = store
    .prepare(
      `DELETE FROM feed_sent WHERE feed_id = ? AND (k0, k1, k2, k3, record) IN
         (SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM jsonb_each(?)) RETURNING live`,
    )
    .pluck()
    .all(rules.feedId, JSON.stringify(kept))
    .reduce((sum: number, live) => sum + Number(live), 0);
  if (changes > 0)
    store.prepare("UPDATE feeds SET live_count = max(0, live_count - ?) WHERE feed_id = ?").run(changes, rules.feedId);
}

/** Stores what a row leaves on the site, for another row that names the article. */
export function saveLeft(
  store: Store,
  rules: FeedRules,
  row: { record: string; sentAt: string; live: number; at: string; rowKey?: string },
): void {
  saveFormer(store, rules, { ...row, ...recordKeyOf(rules, row.record), state: "away" });
}

export function saveFormerState(
  store: Store,
  rules: FeedRules,
  from: FormerKey,
  { key, state, at }: Pick<FormerRow, "key" | "state"> & { at: string },
): void {
  store
    .prepare(
      `UPDATE feed_former SET since = iif(@state = 'waiting' AND state <> 'waiting', @at, since), state = @state
       WHERE feed_id = @feed AND former = @from AND key = @key`,
    )
    .run({ state, at, feed: rules.feedId, from: JSON.stringify(from), key: JSON.stringify(key) });
}

export function deleteFormer(store: Store, rules: FeedRules, from: FormerKey, key: readonly string[]): void {
  store
    .prepare("DELETE FROM feed_former WHERE feed_id = ? AND former = ? AND key = ?")
    .run(rules.feedId, JSON.stringify(from), JSON.stringify(key));
}

/** The former keys of the feed's rows that have no present key. */
export function listFormerKeys(store: Store, feedId: number): FormerKey[] {
  return store
    .prepare<string>("SELECT DISTINCT former FROM feed_former WHERE feed_id = ? ORDER BY former")
    .pluck()
    .all(feedId)
    .map((text) => JSON.parse(text) as FormerKey);
}

/** The next rows of one former key, after the stored key text `after`. */
export function listFormerRows(
  store: Store,
  rules: Pick<FeedRules, "feedId">,
  { from, after = "", limit }: { from: FormerKey; after?: string | undefined; limit: number },
): FormerRow[] {
  return store
    .prepare<Omit<FormerRow, "key">>(
      `SELECT key AS keyText, record, sent_at AS sentAt, live, since, state, row_key AS rowKey FROM feed_former
       WHERE feed_id = ? AND former = ? AND key > ? ORDER BY key LIMIT ?`,
    )
    .all(rules.feedId, JSON.stringify(from), after, limit)
    .map((row) => ({ ...row, key: JSON.parse(row.keyText) as string[] }));
}

/** Whether a row of a former key is to be deleted: by a decision of a person, or after it was away for long enough. */
export function isDue({ state, since }: Pick<FormerRow, "state" | "since">, awayBefore: string): boolean {
  return state === "gone" || (state === "away" && since <= awayBefore);
}

export function hasDueFormer(store: Store, rules: FeedRules, awayBefore: string): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_former WHERE feed_id = @feed AND state = 'gone')
    OR EXISTS (SELECT 1 FROM feed_former WHERE feed_id = @feed AND state = 'away' AND since <= @awayBefore) AS due`;
  return onlyRow(store.prepare<{ due: number }>(sql).get({ feed: rules.feedId, awayBefore })).due === 1;
}

/** Queues the deletion of a row without a present key, under {@link formerName}. A request is sent only if it may be on sale. */
export function queueFormer(
  store: Store,
  rules: FeedRules,
  from: FormerKey,
  row: FormerRow & { deletion: string; at: string; nowMs: number; droppedAt: string },
): void {
  const key = paddedKey([formerName(from, row.key)]);
  deleteFormer(store, rules, from, row.key);
  const { changes } = store
    .prepare(
      `INSERT INTO feed_sent (feed_id, k0, k1, k2, k3, record, sent_at, gone, live, epoch)
       SELECT feed_id, ?, ?, ?, ?, ?, ?, 0, ?, ${row.live === 1 ? INVALID_EPOCH : "epoch"} FROM feeds WHERE feed_id = ?
       ON CONFLICT DO UPDATE SET record = excluded.record, sent_at = excluded.sent_at, gone = 0, live = excluded.live,
         epoch = excluded.epoch WHERE gone = 1`,
    )
    .run(...key, row.record, row.sentAt, row.live, rules.feedId);
  if (changes > 0)
    store.prepare("UPDATE feeds SET live_count = live_count + ? WHERE feed_id = ?").run(row.live, rules.feedId);
  // A person's decision needs no further approval, but counts for the guard.
  const round = row.live === 0 ? "NULL" : row.state === "gone" ? "f.approved_round" : String(UNSHOWN);
  store
    .prepare(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, gone, away_since_ms, drop_round, dropped_at, priority, waiting_since)
       SELECT feed_id, ?, ?, ?, ?, ?, 1, ?, ${round}, ?, 0, ? FROM feeds f WHERE feed_id = ? ON CONFLICT DO NOTHING`,
    )
    .run(
      ...key,
      row.deletion,
      row.nowMs - rules.deleteAfterMs,
      row.live === 0 ? null : row.droppedAt,
      row.at,
      rules.feedId,
    );
}

/** Stores a person's decision about the waiting rows. Returns how many. */
export function decideFormer(store: Store, name: FeedName, state: "gone" | "kept"): number {
  return store
    .prepare("UPDATE feed_former SET state = ? WHERE feed_id = ? AND state = 'waiting'")
    .run(state, FEED_IDS[name]).changes;
}

/** The waiting rows, about which a decision covers all: those are not shown that began to wait after others. */
export function coveredFormer(store: Store, feedId: number): Covered {
  const sql = "SELECT former, key, since FROM feed_former WHERE feed_id = ? AND state = 'waiting' ORDER BY former, key";
  const rows = store.prepare<Record<"former" | "key" | "since", string>>(sql).all(feedId);
  return { what: JSON.stringify(rows), isShown: new Set(rows.map(({ since }) => since)).size <= 1 };
}

/** All rows of a feed's former keys, by {@link formerName}. */
export function listFormer(store: Store, name: FeedName): (FormerRow & { name: string })[] {
  return listFormerKeys(store, FEED_IDS[name]).flatMap((from) =>
    listFormerRows(store, { feedId: FEED_IDS[name] }, { from, limit: -1 }).map((row) => ({
      ...row,
      name: formerName(from, row.key),
    })),
  );
}

export function countFormerWaiting(store: Store, rules: Pick<FeedRules, "feedId">): number {
  const sql = "SELECT count(*) AS n FROM feed_former WHERE feed_id = ? AND state = 'waiting'";
  return onlyRow(store.prepare<{ n: number }>(sql).get(rules.feedId)).n;
}
