/*
 * The guard's SQL. `feed_outbox.drop_round` of a row that goes to zero or away; null for all others:
 *
 *   -1                         not held, and no approval covers it
 *   0 … feeds.approved_round   approved by a person
 *   feeds.approved_round + 1   held: the next approval covers it
 *
 * SQL, because drizzle cannot name the index.
 */
import type { FeedName } from "../../config/feed-names.ts";
import { onlyRow, onlyValue } from "../../database/only-row.ts";
import type { Row } from "../../database/row.ts";
import type { feedDrops } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FeedRules } from "../feed.ts";
import type { Drop } from "./plan-guard.ts";

/** The round of a row that the guard does not hold. */
export const UNSHOWN = -1;
/** The round of the rows that the guard holds. */
const HELD_ROUND = "(SELECT approved_round + 1 FROM feeds WHERE feed_id = @feed)";
/** Rows that wait and are of one round. */
const WAITING = "feed_outbox INDEXED BY feed_outbox_drops WHERE feed_id = @feed AND state = 'waiting' AND drop_round";
/** Rows `x` that the guard holds, of the feed of a name. */
export const HELD = `feeds f CROSS JOIN feed_outbox x INDEXED BY feed_outbox_drops ON x.feed_id = f.feed_id
  WHERE f.name = ? AND f.guard_since IS NOT NULL AND x.state = 'waiting' AND x.drop_round = f.approved_round + 1`;

/** SQL: whether a person has approved that this row of the outbox goes. */
export const isApproved = (row: string) =>
  `${row}.drop_round BETWEEN 0 AND (SELECT f.approved_round FROM feeds f WHERE f.feed_id = ${row}.feed_id)`;

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
  { dropRound, awayBeforeMs }: Record<"dropRound" | "awayBeforeMs", number>,
): DropGroup[] {
  const load = store.prepare<{ at: string; n: number; early: number }>(
    `SELECT dropped_at AS at, count(*) AS n, count(*) FILTER (WHERE away_since_ms > @away) AS early
     FROM ${WAITING} = @round GROUP BY dropped_at`,
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
    .prepare<Pick<Row<typeof feedDrops>, "at" | "count">>("SELECT at, count FROM feed_drops WHERE feed_id = ?")
    .all(rules.feedId)
    .map(({ at, count }) => ({ atMs: Date.parse(at), count }));
}

/** Adds sent rows. Those that no row that waits or comes later can count with are deleted. */
export function saveSentDrops(store: Store, rules: FeedRules, drops: ReadonlyMap<string, number>, at: string): void {
  const { feedId, guard } = rules;
  const add = store.prepare("UPDATE feed_drops SET count = count + ? WHERE feed_id = ? AND at = ?");
  const insert = store.prepare("INSERT INTO feed_drops (count, feed_id, at) VALUES (?, ?, ?)");
  for (const [time, count] of drops) if (add.run(count, feedId, time).changes === 0) insert.run(count, feedId, time);
  const first = (round: string | number) => `coalesce((SELECT min(dropped_at) FROM ${WAITING} = ${round}), @at)`;
  const since = store
    .prepare<string>(`SELECT min(@at, ${first(UNSHOWN)}, ${first(HELD_ROUND)})`)
    .pluck()
    .get({ feed: feedId, at });
  const spentBefore = isoTime(Date.parse(onlyRow(since)) - guard.overMs);
  store.prepare("DELETE FROM feed_drops WHERE feed_id = ? AND at < ?").run(feedId, spentBefore);
}

/** Deletes sent rows that went at these times. */
export function deleteSentDrops(store: Store, { feedId }: FeedRules, times: readonly string[]): void {
  store
    .prepare("DELETE FROM feed_drops WHERE feed_id = ? AND at IN (SELECT value FROM json_each(?))")
    .run(feedId, JSON.stringify(times));
}

const LATER = `feed_outbox INDEXED BY feed_outbox_drops WHERE feed_id = @feed AND state IN ('waiting', 'refused')
  AND drop_round IN (${UNSHOWN}, ${HELD_ROUND}) AND dropped_at > @after AND dropped_at <> @at`;
const LATER_SENT = "feed_id = @feed AND at > @after AND at <> @at";

/** Whether there are times of drops after `after`, other than `at`: where that is the present, of a clock that was set back. */
export function hasLaterDrops(
  store: Store,
  { feedId: feed }: FeedRules,
  { after, at }: { after: string; at: string },
): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM ${LATER}) OR EXISTS (SELECT 1 FROM feed_drops WHERE ${LATER_SENT})`;
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
  const some = `SELECT id FROM ${LATER} LIMIT @limit`;
  const outbox = store.prepare(`UPDATE feed_outbox SET dropped_at = @at WHERE id IN (${some})`);
  const sent = store.prepare(`UPDATE feed_drops SET at = @at WHERE ${LATER_SENT}`);
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
  {
    held,
    free,
    awayBeforeMs,
    limit,
  }: Record<"held" | "free", readonly string[]> & { awayBeforeMs: number; limit: number },
): number {
  const mark = (from: string | number, to: string | number, which: string) =>
    store.prepare(
      `UPDATE feed_outbox SET drop_round = ${to} WHERE id IN
         (SELECT id FROM ${WAITING} = ${from} AND dropped_at = @at AND ${which} LIMIT @limit)`,
    );
  const show = mark(UNSHOWN, HELD_ROUND, "(away_since_ms IS NULL OR away_since_ms <= @away)");
  const hideEarly = mark(HELD_ROUND, UNSHOWN, "away_since_ms > @away");
  const hide = mark(HELD_ROUND, UNSHOWN, "TRUE");
  let changes = 0;
  const run = (statement: typeof show, at: string) => {
    changes += statement.run({ feed: rules.feedId, at, away: awayBeforeMs, limit: limit - changes }).changes;
  };
  for (const at of held) for (const statement of [show, hideEarly]) run(statement, at);
  for (const at of free) run(hide, at);
  return changes;
}

/** How many rows wait that the guard has counted: those that an approval lets go. */
export function countGuarded(store: Store, name: FeedName): number {
  return onlyValue(store, `SELECT count(*) FROM ${HELD}`, name);
}

/** A person lets the rows go that the guard has counted. Later ones are counted anew. Returns how many rows that are. */
export function approveGuarded(store: Store, name: FeedName): number {
  const n = countGuarded(store, name);
  if (n === 0) return 0;
  store.prepare("UPDATE feeds SET approved_round = approved_round + 1, guard_since = NULL WHERE name = ?").run(name);
  return n;
}
