/*
 * The site identifies records by article. What a deleted row has or may have sent is removed only in the transaction that
 * transfers it to the row that now names the article, whether that row was ever accepted or not: from then on that row's
 * deletion includes it, and the guard counts what that row takes off sale.
 */

import type { Store } from "../../database/store.ts";
import { releaseRow } from "../../pass/quarantine-rows.ts";
import { prioritize } from "../diff/plan-feed.ts";
import type { FeedRules } from "../feed.ts";
import { countLive, HANDED_EPOCH, keyInJson, sameKey } from "../feed-rows.ts";
import { UNSHOWN } from "../guard/guard-rows.ts";
import { isOtherArticle, storedInSql } from "../record-identity.ts";
import { referenceOf } from "../row-reference.ts";
import { forgetKept, isSentLater, leaveFlight, saveLeft } from "./former-rows.ts";

/** What a deleted row leaves of an article on the site. */
export interface Left {
  record: string;
  /** Null where no request with the record was accepted. */
  sentAt: string | null;
  live: number;
  /** Record of a request with unknown outcome, which may arrive until `flightUntilMs`. */
  flightRecord: string | null;
  flightUntilMs: number | null;
}

/** `key`: of the row that now names the article; `rowKey`: JSON, of the deleted row whose acknowledgement is still stored. */
export type Handed = Left & { key: readonly string[]; rowKey?: string | null };

/** The current time, when waiting rows that become drops count as gone, and a function that converts a monotonic time. */
export interface HandedAt {
  at: string;
  droppedAt: string;
  atOf: (monotonicMs: number) => string;
}

/** Releases these rows from quarantine. */
function releaseGone(store: Store, rules: FeedRules, ids: readonly number[]): void {
  const refused = store
    .prepare<string[]>(
      "SELECT k0, k1, k2, k3 FROM feed_outbox WHERE id IN (SELECT value FROM json_each(?)) AND state = 'refused'",
    )
    .raw(true)
    .all(JSON.stringify(ids));
  for (const key of refused) releaseRow(store, rules.name, referenceOf(key.slice(0, rules.keys.length)));
}

/** Drops deleted rows without sending anything. */
export function dropGone(store: Store, rules: FeedRules, ids: readonly number[]): void {
  if (ids.length === 0) return;
  releaseGone(store, rules, ids);
  const values = { feed: rules.feedId, ids: JSON.stringify(ids) };
  const sent = store
    .prepare<number>(
      `DELETE FROM feed_sent WHERE feed_id = @feed AND (k0, k1, k2, k3) IN
         (SELECT k0, k1, k2, k3 FROM feed_outbox WHERE id IN (SELECT value FROM json_each(@ids))) RETURNING live`,
    )
    .pluck()
    .all(values);
  store.prepare("DELETE FROM feed_outbox WHERE id IN (SELECT value FROM json_each(@ids))").run(values);
  countLive(store, rules, -sent.filter((live) => live === 1).length);
}

/** Marks a deleted row as acknowledged, because the site already has the record that it would send. */
export function settleGone(store: Store, rules: FeedRules, id: number): void {
  releaseGone(store, rules, [id]);
  store
    .prepare(
      `UPDATE feed_sent SET gone = 1 WHERE feed_id = @feed AND (k0, k1, k2, k3) IN
         (SELECT k0, k1, k2, k3 FROM feed_outbox WHERE id = @id)`,
    )
    .run({ feed: rules.feedId, id });
  store.prepare("DELETE FROM feed_outbox WHERE id = ?").run(id);
}

/** The row that names an article, as acknowledged (`record` null: never) and as waiting (`id` null: not waiting). */
interface Target {
  at: number;
  record: string | null;
  sentAt: string;
  gone: number;
  live: number;
  id: number | null;
  queued: string;
  isQueuedGone: number;
  flightRecord: string | null;
}

/**
 * Transfers what the site has to the rows that name the articles, with an invalid epoch, so that these rows are sent again.
 * The record of an article that was sent last is on the site; one that the row itself has sent since is kept. Equal times
 * may be of one request. A time after `at` is of a clock that was set back, and is ignored.
 */
export function handOver(store: Store, rules: FeedRules, all: readonly Handed[], when: HandedAt): void {
  if (all.length === 0) return;
  const isElsewhere = ({ key, rowKey = null }: Handed) => rowKey !== null && rowKey !== JSON.stringify(key);
  forgetKept(
    store,
    rules,
    all.filter(isElsewhere).map(({ record, rowKey = null }) => ({ record, rowKey })),
  );
  const handed = oneOfEach(all);
  const given: { key: readonly string[]; left: Left; own: Target }[] = [];
  const queued: unknown[] = [];
  for (const own of loadTargets(store, rules, handed)) {
    const left = handed[own.at];
    if (left === undefined) continue;
    const { key, flightRecord, flightUntilMs } = left;
    const isTaken = isLast(rules, own, left, when.at);
    if (isTaken && own.record !== null && own.gone === 0 && isOtherArticle(rules.identity, own.record, left.record))
      saveLeft(store, rules, { record: own.record, sentAt: own.sentAt, live: own.live, at: when.at });
    if (isTaken) given.push({ key, left, own });
    if (own.id === null) {
      // A request that may still arrive counts as sent at its end.
      if (flightRecord !== null) leaveFlight(store, rules, { record: flightRecord, at: when.atOf(flightUntilMs ?? 0) });
    } else queued.push([own.id, ...planOf(rules, own, { left, isTaken }), flightRecord, flightUntilMs ?? 0]);
  }
  saveGiven(store, rules, given);
  saveChanged(store, queued, when.droppedAt);
}

/** Where several rows leave records to one, keeps the record sent last, and the request that may arrive last. */
function oneOfEach(all: readonly Handed[]): Handed[] {
  const byKey = new Map<string, Handed>();
  for (const one of all) {
    const name = JSON.stringify(one.key);
    const other = byKey.get(name);
    if (other === undefined) {
      byKey.set(name, one);
      continue;
    }
    const last = isSentLater(one, other) ? one : other;
    const { flightRecord, flightUntilMs } =
      other.flightRecord === null || (one.flightUntilMs ?? -1) > (other.flightUntilMs ?? 0) ? one : other;
    byKey.set(name, { ...last, flightRecord, flightUntilMs });
  }
  return [...byKey.values()];
}

function loadTargets(store: Store, rules: FeedRules, handed: readonly Handed[]): Target[] {
  return store
    .prepare<Target>(
      `SELECT r.at, s.record, s.sent_at AS sentAt, s.gone, s.live, o.id, o.record AS queued, o.gone AS isQueuedGone,
         o.doubt_record AS flightRecord
       FROM (SELECT key AS at, ${keyInJson(rules)} FROM jsonb_each(@keys)) r
         LEFT JOIN feed_sent s ON s.feed_id = @feed AND ${sameKey("s", "r")}
         LEFT JOIN feed_outbox o ON o.feed_id = @feed AND ${sameKey("o", "r")}`,
    )
    .all({ feed: rules.feedId, keys: JSON.stringify(handed.map(({ key }) => key)) });
}

function isLast(rules: FeedRules, own: Target, { record, sentAt }: Left, at: string): boolean {
  if (sentAt === null) return false;
  if (own.record === null || isOtherArticle(rules.identity, own.record, record)) return true;
  if (own.gone === 0 && own.record === record) return false;
  return own.sentAt <= sentAt || own.sentAt > at;
}

/** Whether the waiting record takes the article off sale, and its priority. */
function planOf(
  rules: FeedRules,
  { record, gone, live, queued, isQueuedGone, flightRecord }: Target,
  { left, isTaken }: { left: Left; isTaken: boolean },
): [isDrop: number, priority: number | null] {
  if (queued === "null" || isQueuedGone === 1) return [0, null];
  const own = record === null ? undefined : { record, gone: gone === 1, live: live === 1, current: false };
  const sent = isTaken ? { ...left, gone: false, live: left.live === 1, current: false } : own;
  const flight = left.flightRecord ?? flightRecord;
  const outbox = { record: queued, gone: false, state: "waiting", flightRecord: flight, lastError: null } as const;
  const { isDrop, priority } = prioritize(rules, queued, { sent, outbox });
  return [Number(isDrop), priority];
}

/** Stores transferred acknowledgements. A row that does not wait becomes dirty. */
function saveGiven(
  store: Store,
  rules: FeedRules,
  given: readonly { key: readonly string[]; left: Left; own: Target }[],
): void {
  if (given.length === 0) return;
  const rows = given.map(({ key, left: { record, sentAt, live }, own }) => [
    ...[...key, record, sentAt, live],
    Number(own.id === null),
  ]);
  const values = { feed: rules.feedId, rows: JSON.stringify(rows) };
  const [record, sentAt, live, isDirty] = [0, 1, 2, 3].map((at) => `value ->> ${rules.keys.length + at}`);
  store
    .prepare(
      `INSERT INTO feed_sent (feed_id, k0, k1, k2, k3, record, sent_at, gone, live, epoch, article)
       SELECT @feed, ${keyInJson(rules)}, ${record}, ${sentAt}, 0, ${live}, ${HANDED_EPOCH}, ${storedInSql(rules.article, `(${record})`, "value ->> 0")}
       FROM jsonb_each(@rows) WHERE true
       ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET record = excluded.record, sent_at = excluded.sent_at,
         gone = 0, live = excluded.live, epoch = excluded.epoch, article = excluded.article`,
    )
    .run(values);
  store
    .prepare(
      `INSERT INTO feed_dirty (feed_id, k0, k1, k2, k3)
       SELECT @feed, ${keyInJson(rules)} FROM jsonb_each(@rows) WHERE ${isDirty} = 1 ON CONFLICT DO NOTHING`,
    )
    .run(values);
  countLive(
    store,
    rules,
    given.reduce((sum, { left, own }) => sum + left.live - (own.live ?? 0), 0),
  );
}

/** Updates waiting rows: the guard counts drops, and a row waits until no request for its article may be in progress. */
function saveChanged(store: Store, queued: readonly unknown[], droppedAt: string): void {
  if (queued.length === 0) return;
  store
    .prepare(
      `UPDATE feed_outbox SET drop_round = iif(r.isDrop, coalesce(drop_round, ${UNSHOWN}), drop_round),
         dropped_at = iif(r.isDrop, coalesce(dropped_at, @droppedAt), dropped_at), priority = coalesce(r.priority, feed_outbox.priority), doubt_record = coalesce(doubt_record, r.flight),
         doubt_until_ms = CASE WHEN r.flight IS NULL THEN doubt_until_ms WHEN doubt_record IS NULL THEN r.until
           ELSE max(doubt_until_ms, r.until) END
       FROM (SELECT value ->> 0 AS id, value ->> 1 AS isDrop, value ->> 2 AS priority, value ->> 3 AS flight, value ->> 4 AS until
             FROM jsonb_each(@queued)) r WHERE feed_outbox.id = r.id`,
    )
    .run({ queued: JSON.stringify(queued), droppedAt });
}
