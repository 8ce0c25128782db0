/*
 * What the service acknowledged under a former key and nothing names under the present one. It is on the site, so no such
 * row is ever deleted here but in the transaction that gives it a name, or puts what takes it off sale in the outbox.
 */
import type { FeedName } from "../config/feed-names.ts";
import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import { FEED_IDS, type FeedRules } from "./feed.ts";
import { INVALID_EPOCH, paddedKey, UNSHOWN } from "./feed-rows.ts";
import { type FormerKey, formerName, recordKeyOf } from "./former-key.ts";
import { isOtherArticle } from "./record-identity.ts";

/** `waiting`: a person decides. `away`: its article is not in the source, and it goes after `delete_after`. `gone`, `kept`: a person has decided. */
export type FormerState = "waiting" | "away" | "gone" | "kept";

export interface FormerRow {
  key: readonly string[];
  /** As it is kept. */
  keyText: string;
  record: string;
  sentAt: string;
  live: number;
  since: string;
  state: FormerState;
  /** JSON: the key of the row that is gone and has kept what it sent; null where the row is there, or has kept nothing. */
  rowKey: string | null;
}

/** What the site has of a row that goes. */
export type LeftRow = Pick<FormerRow, "record" | "sentAt" | "live">;

/** Of several rows that have left one article the one counts that was sent last. */
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
       WHERE state = 'away' AND excluded.state = 'away' AND excluded.sent_at > sent_at`,
    )
    .run({ rowKey: null, ...row, feedId, from: JSON.stringify(row.from), key: JSON.stringify(row.key) });
}

/**
 * What a request may have put on the site without an acceptance: it counts as on sale whatever it says, so that what takes it off sale
 * is sent and never taken for acknowledged. What was acknowledged beside it stays as the record.
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

/** Records of articles that their row names no longer: it has gone from them. What was acknowledged is the row's no more. */
export function leaveArticles(
  store: Store,
  rules: FeedRules,
  key: readonly string[],
  { records, at }: { records: readonly string[]; at: string },
): void {
  for (const record of records) {
    const taken = store
      .prepare<{ sentAt: string; live: number }>(
        `DELETE FROM feed_sent WHERE feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ? AND record = ? AND gone = 0
         RETURNING sent_at AS sentAt, live`,
      )
      .get(rules.feedId, ...paddedKey(key), record);
    if (taken?.live === 1)
      store.prepare("UPDATE feeds SET live_count = max(0, live_count - 1) WHERE feed_id = ?").run(rules.feedId);
    if (taken === undefined) leaveFlight(store, rules, { record, at });
    else saveLeft(store, rules, { record, ...taken, at });
  }
}

/** Of rows that are to be acknowledged: the records in place of which they come, where these name another article. */
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

/** What a request of unknown outcome may have put on the site, for another row that names the article: it counts as sent when the request is over. */
export function leaveFlight(store: Store, rules: FeedRules, { record, at }: { record: string; at: string }): void {
  saveTried(store, rules, { record, sentAt: at, at, ...recordKeyOf(rules, record), state: "away" });
}

/** What the site keeps of a row that is gone and sends nothing, for another row that names the article. */
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
    // Of several rows that are gone one has the article.
    if (other !== undefined && other.rowKey !== own.rowKey)
      forgetKept(store, rules, [other.sentAt < sent.sentAt ? other : own]);
    saveLeft(store, rules, { ...sent, ...own, at });
  }
  if (flightRecord !== null) leaveFlight(store, rules, { record: flightRecord, at });
}

/** What rows that are gone have left of the article of a record. */
function loadLeft(
  store: Store,
  rules: FeedRules,
  record: string,
): Pick<FormerRow, "record" | "sentAt" | "rowKey"> | undefined {
  const { from, key } = recordKeyOf(rules, record);
  return store
    .prepare<Pick<FormerRow, "record" | "sentAt" | "rowKey">>(
      "SELECT record, sent_at AS sentAt, row_key AS rowKey FROM feed_former WHERE feed_id = ? AND former = ? AND key = ?",
    )
    .get(rules.feedId, JSON.stringify(from), JSON.stringify(key));
}

/**
 * Rows that are gone and whose articles are another row's now, which has what was sent of them: nothing is kept of these, or what is kept
 * would grow by the whole table with each time that the ERP fills it with other ids.
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

/** What the site has of a row that goes, for another row that names the article. */
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
  { key, state }: Pick<FormerRow, "key" | "state">,
): void {
  store
    .prepare("UPDATE feed_former SET state = ? WHERE feed_id = ? AND former = ? AND key = ?")
    .run(state, rules.feedId, JSON.stringify(from), JSON.stringify(key));
}

export function deleteFormer(store: Store, rules: FeedRules, from: FormerKey, key: readonly string[]): void {
  store
    .prepare("DELETE FROM feed_former WHERE feed_id = ? AND former = ? AND key = ?")
    .run(rules.feedId, JSON.stringify(from), JSON.stringify(key));
}

/** The rules under which rows of the feed were sent that have no name. */
export function listFormerKeys(store: Store, feedId: number): FormerKey[] {
  return store
    .prepare<string>("SELECT DISTINCT former FROM feed_former WHERE feed_id = ? ORDER BY former")
    .pluck()
    .all(feedId)
    .map((text) => JSON.parse(text) as FormerKey);
}

/** The next rows of one former key, after the one that is kept as `after`. */
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

/** Whether a row of a former key is to go: a person said so, or it has been away for long enough. */
export function isDue({ state, since }: Pick<FormerRow, "state" | "since">, awayBefore: string): boolean {
  return state === "gone" || (state === "away" && since <= awayBefore);
}

export function hasDueFormer(store: Store, rules: FeedRules, awayBefore: string): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_former WHERE feed_id = @feed AND state = 'gone')
    OR EXISTS (SELECT 1 FROM feed_former WHERE feed_id = @feed AND state = 'away' AND since <= @awayBefore) AS due`;
  return onlyRow(store.prepare<{ due: number }>(sql).get({ feed: rules.feedId, awayBefore })).due === 1;
}

/** A row that nothing names goes away: under its former name, which no row of the source has. What may be on sale goes by a request. */
export function queueFormer(
  store: Store,
  rules: FeedRules,
  from: FormerKey,
  row: FormerRow & { deletion: string; at: string; nowMs: number },
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
  // What a person has decided is covered by no other approval; it is counted as gone to zero all the same.
  const round = row.live === 0 ? "NULL" : row.state === "gone" ? "f.approved_round" : String(UNSHOWN);
  store
    .prepare(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, gone, away_since_ms, drop_round, priority, waiting_since)
       SELECT feed_id, ?, ?, ?, ?, ?, 1, ?, ${round}, 0, ? FROM feeds f WHERE feed_id = ? ON CONFLICT DO NOTHING`,
    )
    .run(...key, row.deletion, row.nowMs - rules.deleteAfterMs, row.at, rules.feedId);
}

/** A person decides about the rows that wait. Returns how many. */
export function decideFormer(store: Store, name: FeedName, state: "gone" | "kept"): number {
  return store
    .prepare("UPDATE feed_former SET state = ? WHERE feed_id = ? AND state = 'waiting'")
    .run(state, FEED_IDS[name]).changes;
}

/** Every row of a feed's former keys, by its former name. */
export function listFormer(store: Store, name: FeedName): { name: string; record: string; state: FormerState }[] {
  return listFormerKeys(store, FEED_IDS[name]).flatMap((from) =>
    listFormerRows(store, { feedId: FEED_IDS[name] }, { from, limit: -1 }).map(({ key, record, state }) => ({
      ...{ name: formerName(from, key), record, state },
    })),
  );
}

export function countFormerWaiting(store: Store, rules: Pick<FeedRules, "feedId">): number {
  const sql = "SELECT count(*) AS n FROM feed_former WHERE feed_id = ? AND state = 'waiting'";
  return onlyRow(store.prepare<{ n: number }>(sql).get(rules.feedId)).n;
}
