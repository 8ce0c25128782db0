/* The SQL of the guard: rows that went to zero or away, which of them it holds, and what a person approves. */
import type { FeedName } from "../../config/feed-names.ts";
import { onlyRow } from "../../database/only-row.ts";
import type { Store } from "../../database/store.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FeedRules } from "../feed.ts";
import type { Drop } from "./plan-guard.ts";

/** The round of a row that goes to zero or away and that the guard does not hold: no approval covers it. */
export const UNSHOWN = -1;

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
