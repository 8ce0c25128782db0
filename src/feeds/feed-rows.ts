/*
 * The bridge's side of a feed: what waits and what was acknowledged, one row a key each. A row in flight is committed
 * as such before its request leaves; after a crash it is therefore sent again with its newest value, never forgotten.
 */

import type { RecordPlace } from "../config/feed-level.ts";
import type { FeedName } from "../config/feed-names.ts";
import { onlyRow } from "../database/only-row.ts";
import { columnList } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { type feedOutbox, type feedSent, feeds } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import type { FeedKeyState } from "./diff/plan-feed.ts";
import type { FeedRules } from "./feed.ts";
import { bytesOf, RECORDS_BYTES_MAX } from "./feed-record.ts";
import { isApproved, UNSHOWN } from "./guard/guard-rows.ts";
import { isOtherInSql, isSameKindInSql } from "./record-identity.ts";

const FEED = [
  ...([
    "template",
    "address",
    "epoch",
    "compareBecause",
    "acceptedAt",
    "liveCount",
    "guardSince",
    "approvedRound",
  ] as const),
  ...(["chunk", "keyColumns", "rekeyFrom", "sentHow", "formerLevels", "doubtSince", "openTables"] as const),
];
const LOAD_FEED = `SELECT ${columnList(feeds, FEED)},
  EXISTS (SELECT 1 FROM feed_former WHERE feed_former.feed_id = feeds.feed_id) AS hasFormer FROM feeds WHERE name = ?`;

/**
 * `doubtSince`: acknowledgements since then do not count, and are marked so by the next pass. `openTables`: requests of a table
 * that is sent whole, since the last one that was accepted, which may have replaced the site's. `hasFormer`: 1 where rows of
 * former keys or articles have not gone yet.
 */
export type FeedRow = NamedRow<typeof feeds, (typeof FEED)[number]> & { hasFormer: number };

/** A key as it is stored; parts that the feed does not have are empty. */
export type KeyParts = NamedRow<typeof feedSent, (typeof KEY_PARTS)[number]>;

const KEY_PARTS = ["k0", "k1", "k2", "k3"] as const;

/** The epoch of an acknowledgement that does not count, whatever the feed's. */
export const INVALID_EPOCH = -1;
/** The same of one that another row has left: the article is on the site. */
export const HANDED_EPOCH = -2;

const KEY_WHERE = "feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?";

export function paddedKey(key: readonly string[]): [string, string, string, string] {
  return [key[0] ?? "", key[1] ?? "", key[2] ?? "", key[3] ?? ""];
}

export function keyOf({ keys }: Pick<FeedRules, "keys">, { k0, k1, k2, k3 }: KeyParts): string[] {
  return [k0, k1, k2, k3].slice(0, keys.length);
}

export function loadFeed(store: Store, name: FeedName): FeedRow {
  return onlyRow(store.prepare<FeedRow>(LOAD_FEED).get(name));
}

/** A full comparison is due. A reason that stands already is kept: it came first. */
export function requestCompare(store: Store, name: FeedName, because: Message): void {
  store
    .prepare("UPDATE feeds SET compare_because = coalesce(compare_because, ?) WHERE name = ?")
    .run(store.textOf(because), name);
}

/** A comparison has ended. A chunk that was learned is tried twice as large: what was too much once need not stay so. */
export function markCompared(store: Store, rules: FeedRules, at: string): void {
  store
    .prepare(
      `UPDATE feeds SET compare_because = NULL, compared_at = ?, chunk = CASE WHEN chunk * 2 < ? THEN chunk * 2 END
       WHERE name = ?`,
    )
    .run(at, rules.chunk, rules.name);
}

/** The ERP was seen to write. Nothing is noted of a source whose writes are not seen (`erp-writes.ts`). */
export function saveErpWrite(store: Store, { feedId }: FeedRules, at: string): void {
  store.prepare("UPDATE feeds SET touched_at = ? WHERE feed_id = ? AND touched_at IS NOT NULL").run(at, feedId);
  store.prepare("DELETE FROM feed_writes WHERE feed_id = ?").run(feedId);
}

/** Where nothing was noted before: the source was one whose writes are not seen. */
export function beginErpWatch(store: Store, { feedId }: FeedRules, at: string): void {
  store.prepare("UPDATE feeds SET touched_at = ? WHERE feed_id = ? AND touched_at IS NULL").run(at, feedId);
}

/** A request of the whole table is about to leave (`+ 1`), had no effect (`- 1`), or was accepted (`* 0`). */
export function saveOpenTables(store: Store, rules: FeedRules, change: "+ 1" | "- 1" | "* 0"): void {
  store.prepare(`UPDATE feeds SET open_tables = open_tables ${change} WHERE feed_id = ?`).run(rules.feedId);
}

/** So many more rows are on sale on the site. */
export function countLive(store: Store, { feedId }: FeedRules, change: number): void {
  if (change === 0) return;
  store.prepare("UPDATE feeds SET live_count = max(0, live_count + ?) WHERE feed_id = ?").run(change, feedId);
}

export function saveFeedChunk(store: Store, name: FeedName, chunk: number): void {
  store.prepare("UPDATE feeds SET chunk = ? WHERE name = ?").run(chunk, name);
}

/*
 * A set of rows goes to SQLite as one JSON array, each row an array that begins with its key: one statement does for a
 * thousand rows what costs four times as much row by row.
 */

/** The key of each row of such an array as k0 to k3, from place `from` on; parts that the feed does not have are empty. */
export function keyInJson(rules: FeedRules, from = 0): string {
  const part = (at: number) => (at < rules.keys.length ? `value ->> ${from + at}` : "''");
  return KEY_PARTS.map((name, at) => [part(at), name].join(" AS ")).join(", ");
}

export function sameKey(a: string, b: string): string {
  return KEY_PARTS.map((part) => `${a}.${part} = ${b}.${part}`).join(" AND ");
}

/** A key, and the record that its row comes to; null where there is none to compare. */
export interface FoundRecord {
  key: readonly string[];
  record: string | null;
  /** The key of the row that must go before it. */
  parent: string | null;
}

/** Of the outbox all is null or nothing, as it is of what was sent. */
interface KeyStateRow
  extends NamedRow<typeof feedOutbox, "gone" | "state" | "lastError" | "parent" | "droppedAt" | "again">,
    NamedRow<typeof feedSent, "live"> {
  at: number;
  record: string | null;
  flightRecord: string | null;
  sentRecord: string | null;
  sentGone: number;
  current: number;
  isOther: number | null;
  isLastWord: number;
}

/** Null where a person has approved that the row goes. */
const DROPPED_AT = `iif(${isApproved("o")}, NULL, o.dropped_at)`;

/** SQL: whether another acknowledged row `t`, for which a condition holds, may name the article of row `s`. */
export function hasOtherRow(rules: FeedRules, where: string): string {
  if (rules.article.length === 0 || rules.scope === "whole") return "0";
  const some = (sent: string) => `EXISTS (SELECT 1 FROM ${sent}
    AND t.gone = 0 AND NOT (${sameKey("t", "s")}) AND ${where} AND ${isSameKindInSql(rules, "t.record", "s.record")})`;
  const article = "coalesce(s.article, s.k0)";
  return `(${some(`feed_sent t WHERE t.feed_id = s.feed_id AND t.k0 = ${article} AND t.article IS NULL`)}
    OR ${some(`feed_sent t INDEXED BY feed_sent_article WHERE t.feed_id = s.feed_id AND t.article = ${article}`)})`;
}

/**
 * SQL: whether a row on sale that may name the article of row `s` was sent before it: the service may have that of `s` in its place. A
 * time after the last acceptance is of a clock that was set back.
 */
const LAST_WORD = "t.live = 1 AND t.epoch = f.epoch AND (t.sent_at <= s.sent_at OR t.sent_at > f.last_accepted_at)";

/**
 * What is known of these keys. Those are left out whose record is acknowledged or waits exactly as it was found: of a
 * million rows that are as they were, none leaves SQLite. `isOther`: what is on the site seems to be another article.
 * `compared`: the number of keys that were compared, which are as many as are in memory at a time.
 */
export function loadDifferent(
  store: Store,
  rules: FeedRules,
  found: readonly FoundRecord[],
): { different: { at: number; known: FeedKeyState; isOther: boolean }[]; compared: number } {
  if (found.length === 0) return { different: [], compared: 0 };
  const parts = rules.keys.length;
  const all = store
    .prepare<KeyStateRow>(
      `WITH found AS MATERIALIZED (
         SELECT key AS at, ${keyInJson(rules)}, value ->> ${parts} AS record, value ->> ${parts + 1} AS parent
         FROM jsonb_each(@found))
       SELECT at, s.record AS sentRecord, s.gone AS sentGone, s.live, s.epoch = f.epoch AS current, o.record, o.gone,
         o.state, o.doubt_record AS flightRecord, o.last_error AS lastError, o.parent, o.again,
         ${DROPPED_AT} AS droppedAt,
         s.gone = 0 AND ${isOtherInSql(rules.identity, "s.record", "found.record")} AS isOther,
         iif(found.record IS NULL AND s.gone = 0 AND s.live = 0, ${hasOtherRow(rules, LAST_WORD)}, 0) AS isLastWord
       FROM found CROSS JOIN feeds f ON f.feed_id = @feed
         LEFT JOIN feed_sent s ON s.feed_id = @feed AND ${sameKey("s", "found")}
         LEFT JOIN feed_outbox o ON o.feed_id = @feed AND ${sameKey("o", "found")}
       WHERE CASE WHEN o.id IS NULL THEN s.record = found.record AND s.gone = 0 AND s.epoch = f.epoch
         ELSE o.record = found.record AND o.gone = 0 AND o.parent IS found.parent END IS NOT TRUE`,
    )
    .iterate({
      feed: rules.feedId,
      found: JSON.stringify(found.map(({ key, record, parent }) => [...key, record, parent])),
    });
  const rows: KeyStateRow[] = [];
  let [bytes, compared] = [0, found.length];
  for (const row of all) {
    rows.push(row);
    bytes += bytesOf([row.sentRecord, row.record, row.flightRecord]);
    if (bytes <= RECORDS_BYTES_MAX) continue;
    compared = row.at + 1;
    break;
  }
  if (rows.length === 0) return { different: [], compared };
  const formerLevels = loadFormerLevels(store, rules);
  const different = rows.map((row) => ({
    ...{ at: row.at, isOther: row.isOther === 1 },
    known: { formerLevels, ...keyState(row) },
  }));
  return { different, compared };
}

/** Where the level stood in records of earlier templates. */
export function loadFormerLevels(store: Store, rules: Pick<FeedRules, "feedId">): readonly RecordPlace[] {
  const load = store.prepare<string | null>("SELECT former_levels FROM feeds WHERE feed_id = ?").pluck();
  return JSON.parse(onlyRow(load.get(rules.feedId)) ?? "[]") as RecordPlace[];
}

function keyState(row: KeyStateRow): FeedKeyState {
  const { sentRecord, sentGone, live, current, isLastWord, record, gone, again, ...outbox } = row;
  const { state, flightRecord, lastError, parent, droppedAt } = outbox;
  return {
    sent:
      sentRecord === null
        ? undefined
        : {
            ...{ record: sentRecord, gone: sentGone === 1, live: live === 1, current: current === 1 },
            ...(isLastWord === 1 && { isLastWord: true }),
          },
    outbox:
      record === null
        ? undefined
        : { record, gone: gone === 1, state, flightRecord, lastError, parent, droppedAt, goesAgain: again > 0 },
  };
}

export function loadKeyState(store: Store, rules: FeedRules, key: readonly string[]): FeedKeyState {
  const [found] = loadDifferent(store, rules, [{ key, record: null, parent: null }]).different;
  return found?.known ?? { sent: undefined, outbox: undefined };
}

/** Whether a row waits that was deleted before this monotonic time. */
export function isAwaySince(store: Store, rules: FeedRules, key: readonly string[], awayBeforeMs: number): boolean {
  const sql = `SELECT 1 FROM feed_outbox WHERE ${KEY_WHERE} AND gone = 1 AND away_since_ms <= ?`;
  return store.prepare(sql).get(rules.feedId, ...paddedKey(key), awayBeforeMs) !== undefined;
}

/** What SQLite gives where the program has truth values. */
export type Numbers<T> = { [K in keyof T]: T[K] extends boolean ? number : T[K] };

export interface QueuedRow {
  key: readonly string[];
  /** The key of the row that must go before it. */
  parent: string | null;
  record: string;
  gone: boolean;
  isDrop: boolean;
  priority: number;
}

/**
 * Records to be sent. What is in flight stays in flight; a row that goes away begins to wait anew. One that has gone to zero
 * or away and changes again without coming back keeps the time when it went.
 */
export function saveQueued(
  store: Store,
  rules: FeedRules,
  queued: readonly QueuedRow[],
  now: { at: string; nowMs: number; droppedAt: string },
): void {
  if (queued.length === 0) return;
  const rows = queued.map((row) => [
    ...row.key,
    row.record,
    Number(row.gone),
    Number(row.isDrop),
    row.priority,
    row.parent,
  ]);
  const [record, gone, drop, priority, parent] = [0, 1, 2, 3, 4].map((at) => `value ->> ${rules.keys.length + at}`);
  if (rules.dependents.length > 0) doubtReturning(store, rules, queued);
  store
    .prepare(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, gone, away_since_ms, drop_round, dropped_at, priority, parent, waiting_since)
       SELECT @feed, ${keyInJson(rules)}, ${record}, ${gone}, iif(${gone}, @nowMs, NULL), iif(${drop}, ${UNSHOWN}, NULL),
         iif(${drop}, @droppedAt, NULL), ${priority}, ${parent}, @at FROM jsonb_each(@queued) WHERE true
       ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET record = excluded.record, priority = excluded.priority,
         parent = excluded.parent,
         drop_round = excluded.drop_round, last_error = NULL, refusal = NULL, retry_ms = NULL, tries = 0,
         dropped_at = iif(excluded.drop_round IS NULL, NULL, coalesce(dropped_at, excluded.dropped_at)),
         waiting_since = iif(excluded.gone AND NOT gone, excluded.waiting_since, waiting_since),
         away_since_ms = iif(excluded.gone AND gone, away_since_ms, excluded.away_since_ms),
         gone = excluded.gone, state = 'waiting'`,
    )
    .run({ feed: rules.feedId, ...now, queued: JSON.stringify(rows) });
}

/**
 * Rows that come back while their deletion has no known outcome: what was acknowledged before it does not count any more. The
 * service may have deleted the article with its stock and prices, which then go once more.
 */
function doubtReturning(store: Store, rules: FeedRules, queued: readonly QueuedRow[]): void {
  const keys = queued.flatMap(({ gone, key }) => (gone ? [] : [key]));
  store
    .prepare(
      `WITH back AS (SELECT ${keyInJson(rules)} FROM jsonb_each(@keys))
       UPDATE feed_sent SET epoch = ${INVALID_EPOCH} WHERE feed_id = @feed AND gone = 0 AND (k0, k1, k2, k3) IN (
         SELECT o.k0, o.k1, o.k2, o.k3 FROM back b CROSS JOIN feed_outbox o ON o.feed_id = @feed AND ${sameKey("o", "b")}
         WHERE o.gone = 1 AND o.doubt_record IS NOT NULL)`,
    )
    .run({ feed: rules.feedId, keys: JSON.stringify(keys) });
}

/** The row that must be on the site before one that waits. */
export function saveParent(store: Store, rules: FeedRules, key: readonly string[], parent: string | null): void {
  store.prepare(`UPDATE feed_outbox SET parent = ? WHERE ${KEY_WHERE}`).run(parent, rules.feedId, ...paddedKey(key));
}

/** Nothing is sent of these rows. After a request of unknown outcome what was acknowledged before it does not count any more. */
export function deleteQueued(store: Store, rules: FeedRules, keys: readonly (readonly string[])[]): void {
  if (keys.length === 0) return;
  const flights = store
    .prepare<KeyParts & { flight: string | null }>(
      `DELETE FROM feed_outbox WHERE feed_id = @feed
         AND (k0, k1, k2, k3) IN (SELECT ${keyInJson(rules)} FROM jsonb_each(@keys)) RETURNING k0, k1, k2, k3, doubt_record AS flight`,
    )
    .all({ feed: rules.feedId, keys: JSON.stringify(keys) })
    .filter(({ flight }) => flight !== null);
  const doubt = store.prepare(`UPDATE feed_sent SET epoch = ${INVALID_EPOCH} WHERE ${KEY_WHERE}`);
  for (const { k0, k1, k2, k3 } of flights) doubt.run(rules.feedId, k0, k1, k2, k3);
}

/** Whether the guard has anything to count, or a hold of its to end; cheap, for every pass. */
export function hasDrops(store: Store, { feedId, name }: FeedRules): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_outbox INDEXED BY feed_outbox_drops
      WHERE feed_id = @feedId AND state IN ('waiting', 'refused') AND drop_round IS NOT NULL)
    OR EXISTS (SELECT 1 FROM feed_drops WHERE feed_id = @feedId)
    OR EXISTS (SELECT 1 FROM feeds WHERE feed_id = @feedId AND guard_since IS NOT NULL)
    OR EXISTS (SELECT 1 FROM holds WHERE area = @name AND reason = 'guard')`;
  return store.prepare<number>(sql).pluck().get({ feedId, name }) === 1;
}

/** Whether anything on sale waits to go away whose article another row may name. */
export function hasGoneWaiting(store: Store, rules: FeedRules): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_outbox INDEXED BY feed_outbox_drops
    WHERE feed_id = ? AND state IN ('waiting', 'refused') AND drop_round IS NOT NULL AND gone = 1)`;
  return rules.sharesArticles && store.prepare<number>(sql).pluck().get(rules.feedId) === 1;
}

/** Whether rows are to be looked for that name an article which has left its row, or whose row waits to go away; cheap, for every pass. */
export function hasLeft(store: Store, rules: FeedRules): boolean {
  const sql = "SELECT EXISTS (SELECT 1 FROM feed_former WHERE feed_id = ?)";
  return store.prepare<number>(sql).pluck().get(rules.feedId) === 1 || hasGoneWaiting(store, rules);
}

/** Whether a row waits of which nothing was ever acknowledged. */
export function hasNewWaiting(store: Store, rules: FeedRules): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_outbox o WHERE o.feed_id = ? AND o.state = 'waiting' AND o.gone = 0
    AND NOT EXISTS (SELECT 1 FROM feed_sent s WHERE s.feed_id = o.feed_id AND ${sameKey("s", "o")}))`;
  return store.prepare<number>(sql).pluck().get(rules.feedId) === 1;
}
