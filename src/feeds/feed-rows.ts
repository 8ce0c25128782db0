/*
 * The bridge's side of a feed: what waits and what was acknowledged, one row a key each. A row in flight is committed
 * as such before its request leaves; after a crash it is therefore sent again with its newest value, never forgotten.
 */

import type { RecordPlace } from "../config/feed-level.ts";
import type { FeedName } from "../config/feed-names.ts";
import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { isoTime } from "../platform/ports.ts";
import type { FeedKeyState, OutboxState } from "./diff/plan-feed.ts";
import type { Drop } from "./diff/plan-guard.ts";
import { bytesOf, type FeedRules, RECORDS_BYTES_MAX } from "./feed.ts";
import { isOtherInSql } from "./record-identity.ts";

export interface FeedRow {
  template: string | null;
  address: string | null;
  epoch: number;
  compareBecause: string | null;
  acceptedAt: string | null;
  liveCount: number;
  guardSince: string | null;
  approvedRound: number;
  chunk: number | null;
  /** JSON, as the migration says. */
  keyColumns: string | null;
  rekeyFrom: string | null;
  sentHow: string | null;
  formerLevels: string | null;
  /** Acknowledgements since then do not count, and are marked so by the next pass. */
  invalidSince: string | null;
  /** Requests of a table that is sent whole, since the last one that was accepted, which may have replaced the site's. */
  openTables: number;
  /** 1 where rows of former keys or articles have not gone yet. */
  hasFormer: number;
}

/** The round of a row that goes to zero or away and that the guard does not hold: no approval covers it. */
export const UNSHOWN = -1;

/** The epoch of an acknowledgement that does not count, whatever the feed's. */
export const INVALID_EPOCH = -1;

const KEY_WHERE = "feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?";

export function paddedKey(key: readonly string[]): [string, string, string, string] {
  return [key[0] ?? "", key[1] ?? "", key[2] ?? "", key[3] ?? ""];
}

export function loadFeed(store: Store, name: FeedName): FeedRow {
  return onlyRow(
    store
      .prepare<FeedRow>(
        `SELECT template, address, epoch, compare_because AS compareBecause, accepted_at AS acceptedAt,
         live_count AS liveCount, guard_since AS guardSince, approved_round AS approvedRound, chunk,
         key_columns AS keyColumns, rekey_from AS rekeyFrom, sent_how AS sentHow, former_levels AS formerLevels,
         doubt_since AS invalidSince, open_tables AS openTables,
         EXISTS (SELECT 1 FROM feed_former WHERE feed_former.feed_id = feeds.feed_id) AS hasFormer
       FROM feeds WHERE name = ?`,
      )
      .get(name),
  );
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

/**
 * Other rules than those that the feed was filled with: what was accepted or refused under the old ones says nothing
 * of the new. Rows that went to another address go to this one as well.
 */
export function saveFeedRules(store: Store, rules: FeedRules, formerLevels: readonly RecordPlace[]): void {
  store
    .prepare(
      `UPDATE feeds SET epoch = epoch + (address IS NOT NULL AND address <> @address), template = @template,
         address = @address, accepted_at = NULL, chunk = NULL, key_columns = @keys, sent_how = @how,
         former_levels = @levels WHERE name = @name`,
    )
    .run({
      template: rules.signature,
      address: rules.address,
      keys: JSON.stringify(rules.keys),
      how: sentHow(rules),
      levels: formerLevels.length === 0 ? null : JSON.stringify(formerLevels),
      name: rules.name,
    });
}

/** What decides how a row goes, besides its record. */
export function sentHow(rules: Pick<FeedRules, "scope" | "parent">): string {
  return JSON.stringify([rules.scope, rules.parent]);
}

export function saveSentHow(store: Store, rules: FeedRules): void {
  store.prepare("UPDATE feeds SET sent_how = ? WHERE feed_id = ?").run(sentHow(rules), rules.feedId);
}

/** Rows of the outbox are planned once more: some of them, after the row `afterId`. Gives the last of these; undefined: there is none. */
export function markQueuedDirty(
  store: Store,
  rules: FeedRules,
  { afterId, limit }: { afterId: number; limit: number },
): number | undefined {
  const sql = "SELECT max(id) FROM (SELECT id FROM feed_outbox WHERE feed_id = ? AND id > ? ORDER BY id LIMIT ?)";
  const last = onlyRow(store.prepare<number | null>(sql).pluck().get(rules.feedId, afterId, limit));
  if (last === null) return undefined;
  store
    .prepare(
      `INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3)
       SELECT feed_id, k0, k1, k2, k3 FROM feed_outbox NOT INDEXED WHERE feed_id = ? AND id > ? AND id <= ?
       ON CONFLICT DO NOTHING`,
    )
    .run(rules.feedId, afterId, last);
  return last;
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

export function saveFeedChunk(store: Store, name: FeedName, chunk: number): void {
  store.prepare("UPDATE feeds SET chunk = ? WHERE name = ?").run(chunk, name);
}

// ------------------------------------------------------------------------------------------------ sets of keys

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

const KEY_PARTS = ["k0", "k1", "k2", "k3"] as const;

/** A key, and the record that its row comes to; null where there is none to compare. */
export interface FoundRecord {
  key: readonly string[];
  record: string | null;
  /** The key of the row that must go before it. */
  parent: string | null;
}

interface KeyStateRow {
  at: number;
  sentRecord: string | null;
  sentGone: number;
  live: number;
  current: number;
  record: string | null;
  gone: number;
  state: OutboxState["state"];
  flightRecord: string | null;
  lastError: string | null;
  parent: string | null;
  isOther: number | null;
  droppedAt: string | null;
}

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
         o.state, o.doubt_record AS flightRecord, o.last_error AS lastError, o.parent,
         iif(o.drop_round BETWEEN 0 AND f.approved_round, NULL, o.dropped_at) AS droppedAt,
         s.gone = 0 AND ${isOtherInSql(rules.identity, "s.record", "found.record")} AS isOther
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
  const { sentRecord, sentGone, live, current, record, gone, state, flightRecord, lastError, parent, droppedAt } = row;
  return {
    sent:
      sentRecord === null
        ? undefined
        : { record: sentRecord, gone: sentGone === 1, live: live === 1, current: current === 1 },
    outbox:
      record === null ? undefined : { record, gone: gone === 1, state, flightRecord, lastError, parent, droppedAt },
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
  const [record, gone, drop, priority, parent] = [0, 1, 2, 3, 4].map((at) => `value ->> ${rules.keys.length + at}`);
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
    .run({
      feed: rules.feedId,
      ...now,
      queued: JSON.stringify(
        queued.map(({ key, record, gone, isDrop, priority, parent }) => [
          ...key,
          record,
          Number(gone),
          Number(isDrop),
          priority,
          parent,
        ]),
      ),
    });
}

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

/** The row that must be on the site before one that waits. */
export function saveParent(store: Store, rules: FeedRules, key: readonly string[], parent: string | null): void {
  store.prepare(`UPDATE feed_outbox SET parent = ? WHERE ${KEY_WHERE}`).run(parent, rules.feedId, ...paddedKey(key));
}

/** Nothing is sent of these rows. After a request of unknown outcome what was acknowledged before it does not count any more. */
export function deleteQueued(store: Store, rules: FeedRules, keys: readonly (readonly string[])[]): void {
  if (keys.length === 0) return;
  const flights = store
    .prepare<{ k0: string; k1: string; k2: string; k3: string; flight: string | null }>(
      `DELETE FROM feed_outbox WHERE feed_id = @feed
         AND (k0, k1, k2, k3) IN (SELECT ${keyInJson(rules)} FROM jsonb_each(@keys)) RETURNING k0, k1, k2, k3, doubt_record AS flight`,
    )
    .all({ feed: rules.feedId, keys: JSON.stringify(keys) })
    .filter(({ flight }) => flight !== null);
  const doubt = store.prepare(`UPDATE feed_sent SET epoch = ${INVALID_EPOCH} WHERE ${KEY_WHERE}`);
  for (const { k0, k1, k2, k3 } of flights) doubt.run(rules.feedId, k0, k1, k2, k3);
}

/** Rows that no key can name and that are not there any more, by what they were: what was held or dropped of them is settled. */
export function releaseUnnamed(store: Store, rules: FeedRules, seen: readonly Buffer[]): number {
  const held = store
    .prepare<{ id: number; hash: Buffer }>(
      "SELECT id, payload_hash AS hash FROM quarantine WHERE kind = ? AND state <> 'released' AND reference IS NULL",
    )
    .all(rules.name);
  const release = store.prepare("UPDATE quarantine SET state = 'released' WHERE id = ?");
  const over = held.filter(({ hash }) => !seen.some((known) => known.equals(hash)));
  for (const { id } of over) release.run(id);
  return over.length;
}

// ------------------------------------------------------------------------------------------------------ the guard

/** Rows that wait, went to zero or away at one time, and are not approved. `isShown`: they were held; `due`: may go by `delete_after`. */
export interface DropGroup {
  at: string;
  isShown: boolean;
  due: number;
  early: number;
}

/** These rows by their times. */
export function loadDrops(
  store: Store,
  rules: FeedRules,
  { dropRound, awayBeforeMs }: { dropRound: number; awayBeforeMs: number },
): DropGroup[] {
  const load = store.prepare<{ at: string; n: number; early: number }>(
    `SELECT dropped_at AS at, count(*) AS n, count(*) FILTER (WHERE away_since_ms > @away) AS early
     FROM feed_outbox INDEXED BY feed_outbox_drops
     WHERE feed_id = @feed AND state = 'waiting' AND drop_round = @round GROUP BY dropped_at`,
  );
  return [UNSHOWN, dropRound + 1].flatMap((round) =>
    load
      .all({ feed: rules.feedId, round, away: awayBeforeMs })
      .map(({ at, n, early }) => ({ at, isShown: round !== UNSHOWN, due: n - early, early })),
  );
}

/** Rows sent without an approval, by the times when they went to zero or away. */
export function loadSentDrops(store: Store, rules: FeedRules): Drop[] {
  return store
    .prepare<{ at: string; count: number }>("SELECT at, count FROM feed_drops WHERE feed_id = ?")
    .all(rules.feedId)
    .map(({ at, count }) => ({ atMs: Date.parse(at), count }));
}

/** Adds sent rows. Those that no row that waits or comes later can count with are deleted. */
export function saveSentDrops(store: Store, rules: FeedRules, drops: ReadonlyMap<string, number>, at: string): void {
  const { feedId, guard } = rules;
  const add = store.prepare("UPDATE feed_drops SET count = count + ? WHERE feed_id = ? AND at = ?");
  const insert = store.prepare("INSERT INTO feed_drops (count, feed_id, at) VALUES (?, ?, ?)");
  for (const [time, count] of drops) if (add.run(count, feedId, time).changes === 0) insert.run(count, feedId, time);
  const round = (is: string) => `(SELECT min(dropped_at) FROM feed_outbox INDEXED BY feed_outbox_drops
    WHERE feed_id = @feed AND state = 'waiting' AND drop_round = ${is})`;
  const approved = "(SELECT approved_round + 1 FROM feeds WHERE feed_id = @feed)";
  const first = store
    .prepare<string>(`SELECT min(@at, coalesce(${round(String(UNSHOWN))}, @at), coalesce(${round(approved)}, @at))`)
    .pluck();
  const since = isoTime(Date.parse(onlyRow(first.get({ feed: feedId, at }))) - guard.overMs);
  store.prepare("DELETE FROM feed_drops WHERE feed_id = ? AND at < ?").run(feedId, since);
}

/** Deletes sent rows that went at these times. */
export function deleteSentDrops(store: Store, { feedId }: FeedRules, times: readonly string[]): void {
  store
    .prepare("DELETE FROM feed_drops WHERE feed_id = ? AND at IN (SELECT value FROM json_each(?))")
    .run(feedId, JSON.stringify(times));
}

const LATER_DROPS = `INDEXED BY feed_outbox_drops WHERE feed_id = @feed AND state IN ('waiting', 'refused')
  AND drop_round IN (${UNSHOWN}, (SELECT approved_round + 1 FROM feeds WHERE feed_id = @feed))
  AND dropped_at > @after AND dropped_at <> @at`;

/** Whether there are times of drops after `after`, other than `at`: where that is the present, of a clock that was set back. */
export function hasLaterDrops(
  store: Store,
  { feedId: feed }: FeedRules,
  { after, at }: { after: string; at: string },
): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM feed_outbox ${LATER_DROPS})
    OR EXISTS (SELECT 1 FROM feed_drops WHERE feed_id = @feed AND at > @after AND at <> @at)`;
  return store.prepare<number>(sql).pluck().get({ feed, after, at }) === 1;
}

/**
 * Makes such times the present: they count for `guard.over` from now on. Times of drops are of the wall clock, which outlives a
 * restart of the machine; where it was set this brings them only nearer together, so nothing held is let go. Returns how many
 * rows changed: call it until none does.
 */
export function endLaterDrops(
  store: Store,
  { feedId: feed }: FeedRules,
  { after, at, limit }: { after: string; at: string; limit: number },
): number {
  const some = `SELECT id FROM feed_outbox ${LATER_DROPS} LIMIT @limit`;
  const outbox = store.prepare(`UPDATE feed_outbox SET dropped_at = @at WHERE id IN (${some})`);
  const sent = store.prepare("UPDATE feed_drops SET at = @at WHERE feed_id = @feed AND at > @after AND at <> @at");
  return outbox.run({ feed, after, at, limit }).changes + sent.run({ feed, after, at }).changes;
}

export function saveGuard(store: Store, name: FeedName, since: string | null): void {
  store.prepare("UPDATE feeds SET guard_since = ? WHERE name = ?").run(since, name);
}

/**
 * Marks the rows that the guard holds, by the times when they went: those that an approval lets go. Others, such as rows that
 * are away for less than `delete_after`, wait for another one or may go. Returns how many rows changed: call it until none does.
 */
export function markShown(
  store: Store,
  rules: FeedRules,
  { held, free, awayBeforeMs, limit }: ShownTimes & { awayBeforeMs: number; limit: number },
): number {
  const mark = (from: string, to: string, which: string) =>
    store.prepare(
      `UPDATE feed_outbox SET drop_round = ${to} WHERE id IN
         (SELECT id FROM feed_outbox INDEXED BY feed_outbox_drops
          WHERE feed_id = @feed AND state = 'waiting' AND drop_round = ${from} AND dropped_at = @at AND ${which} LIMIT @limit)`,
    );
  const round = "(SELECT approved_round + 1 FROM feeds WHERE feed_id = @feed)";
  const show = mark(String(UNSHOWN), round, "(away_since_ms IS NULL OR away_since_ms <= @away)");
  const hideEarly = mark(round, String(UNSHOWN), "away_since_ms > @away");
  const hide = mark(round, String(UNSHOWN), "TRUE");
  let changes = 0;
  const run = (statement: typeof show, at: string) => {
    changes += statement.run({ feed: rules.feedId, at, away: awayBeforeMs, limit: limit - changes }).changes;
  };
  for (const at of held) for (const statement of [show, hideEarly]) run(statement, at);
  for (const at of free) run(hide, at);
  return changes;
}

/** Times of rows to be marked as held, and as not held. */
export interface ShownTimes {
  held: readonly string[];
  free: readonly string[];
}

/** How many rows wait that the guard has counted: those that an approval lets go. */
export function countGuarded(store: Store, name: FeedName): number {
  const sql = `SELECT count(*) FROM feeds f CROSS JOIN feed_outbox x INDEXED BY feed_outbox_drops ON x.feed_id = f.feed_id
    WHERE f.name = ? AND f.guard_since IS NOT NULL AND x.state = 'waiting' AND x.drop_round = f.approved_round + 1`;
  return onlyRow(store.prepare<number>(sql).pluck().get(name));
}

/** A person lets the rows go that the guard has counted. Later ones are counted anew. Returns how many rows that are. */
export function approveGuarded(store: Store, name: FeedName): number {
  const n = countGuarded(store, name);
  if (n === 0) return 0;
  store.prepare("UPDATE feeds SET approved_round = approved_round + 1, guard_since = NULL WHERE name = ?").run(name);
  return n;
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
