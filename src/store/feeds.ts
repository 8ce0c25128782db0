/*
 * The bridge's side of a feed: touched keys, what is owed, what was acknowledged. A row in doubt is committed as such
 * before its request leaves; after a crash it is therefore sent again with its newest value, never forgotten.
 */
import type { FeedName, FeedRules } from "../domain/feed.ts";
import type { FeedKeyState, OutboxState } from "../domain/plan-feed.ts";
import type { KeyValues } from "./feed-source.ts";
import type { Store } from "./store.ts";

export interface FeedRow {
  template: string | null;
  compareBecause: string | null;
  comparedAt: string | null;
  acceptedAt: string | null;
  liveCount: number;
  chunk: number | null;
  acceptedBy: "status" | "records" | null;
  lastAcceptedAt: string | null;
}

export interface OutboxRow {
  id: number;
  key: string[];
  record: string;
  gone: boolean;
  isDrop: boolean;
  approved: boolean;
  state: OutboxState["state"];
  doubtRecord: string | null;
}

const KEY_WHERE = "feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?";

function padded(key: readonly string[]): [string, string, string, string] {
  return [key[0] ?? "", key[1] ?? "", key[2] ?? "", key[3] ?? ""];
}

export function loadFeed(store: Store, name: FeedName): FeedRow {
  return store
    .prepare(
      `SELECT template, compare_because AS compareBecause, compared_at AS comparedAt, accepted_at AS acceptedAt,
         live_count AS liveCount, chunk, accepted_by AS acceptedBy, last_accepted_at AS lastAcceptedAt
       FROM feeds WHERE name = ?`,
    )
    .get(name) as FeedRow;
}

/** A full comparison is owed. A reason that stands already is kept: it came first. */
export function markCompareOwed(store: Store, name: FeedName, because: string): void {
  store.prepare("UPDATE feeds SET compare_because = coalesce(compare_because, ?) WHERE name = ?").run(because, name);
}

export function markCompared(store: Store, name: FeedName, at: string): void {
  store.prepare("UPDATE feeds SET compare_because = NULL, compared_at = ? WHERE name = ?").run(at, name);
}

/** Another template: what was accepted under the old one says nothing about the new. */
export function saveFeedTemplate(store: Store, name: FeedName, signature: string): void {
  store.prepare("UPDATE feeds SET template = ?, accepted_at = NULL WHERE name = ?").run(signature, name);
}

export function saveFeedChunk(store: Store, name: FeedName, chunk: number): void {
  store.prepare("UPDATE feeds SET chunk = ? WHERE name = ?").run(chunk, name);
}

// -------------------------------------------------------------------------------------------------- touched keys

export function loadDirtyKeys(store: Store, rules: FeedRules, limit: number): KeyValues[] {
  const rows = store
    .prepare("SELECT k0, k1, k2, k3 FROM feed_dirty WHERE feed_id = ? LIMIT ?")
    .safeIntegers(true)
    .raw(true)
    .all(rules.feedId, limit) as KeyValues[];
  return rows.map((row) => row.slice(0, rules.keys.length));
}

export function deleteDirtyKey(store: Store, rules: FeedRules, key: KeyValues): void {
  const [k0 = "", k1 = "", k2 = "", k3 = ""] = key;
  store.prepare(`DELETE FROM feed_dirty WHERE ${KEY_WHERE}`).run(rules.feedId, k0, k1, k2, k3);
}

/** How many keys were touched, counted no further than `limit`. */
export function countDirty(store: Store, feedId: number, limit: number): number {
  return (
    store.prepare("SELECT count(*) AS n FROM (SELECT 1 FROM feed_dirty WHERE feed_id = ? LIMIT ?)").get(feedId, limit) as { n: number }
  ).n;
}

// ------------------------------------------------------------------------------------------------------ one key

export function loadKeyState(store: Store, rules: FeedRules, key: readonly string[]): FeedKeyState {
  const at = padded(key);
  const sent = store.prepare(`SELECT record, gone FROM feed_sent WHERE ${KEY_WHERE}`).get(rules.feedId, ...at) as
    | { record: string; gone: number }
    | undefined;
  const outbox = store
    .prepare(`SELECT record, gone, state, doubt_record AS doubtRecord FROM feed_outbox WHERE ${KEY_WHERE}`)
    .get(rules.feedId, ...at) as (Omit<OutboxState, "gone"> & { gone: number }) | undefined;
  return {
    sent: sent === undefined ? undefined : { record: sent.record, gone: sent.gone === 1 },
    outbox: outbox === undefined ? undefined : { ...outbox, gone: outbox.gone === 1 },
  };
}

/** Owes a record. What is in doubt stays in doubt; a row that goes away begins to wait anew. */
export function saveOwed(
  store: Store,
  rules: FeedRules,
  owed: { key: readonly string[]; record: string; gone: boolean; isDrop: boolean; priority: number; at: string },
): void {
  store
    .prepare(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, gone, is_drop, priority, waiting_since)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET record = excluded.record, is_drop = excluded.is_drop,
         priority = excluded.priority, approved = 0, last_error = NULL,
         waiting_since = CASE WHEN excluded.gone AND NOT gone THEN excluded.waiting_since ELSE waiting_since END,
         gone = excluded.gone,
         state = CASE WHEN doubt_record IS NULL THEN 'waiting' ELSE 'doubt' END`,
    )
    .run(rules.feedId, ...padded(owed.key), owed.record, Number(owed.gone), Number(owed.isDrop), owed.priority, owed.at);
}

/** Marks a row that cannot be rendered; a doubt about an earlier value stays with it. */
export function saveUnsendable(store: Store, rules: FeedRules, bad: { key: readonly string[]; reason: string; at: string }): void {
  store
    .prepare(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, state, waiting_since, last_error)
       VALUES (?, ?, ?, ?, ?, 'null', 'refused', ?, ?)
       ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET record = 'null', state = 'refused', last_error = excluded.last_error,
         is_drop = 0, gone = 0`,
    )
    .run(rules.feedId, ...padded(bad.key), bad.at, bad.reason);
}

export function deleteOwed(store: Store, rules: FeedRules, key: readonly string[]): void {
  store.prepare(`DELETE FROM feed_outbox WHERE ${KEY_WHERE}`).run(rules.feedId, ...padded(key));
}

// ------------------------------------------------------------------------------------------------------ sending

const OUTBOX = `id, k0, k1, k2, k3, record, gone, is_drop AS isDrop, approved, state, doubt_record AS doubtRecord`;

type RawOutboxRow = { k0: string; k1: string; k2: string; k3: string; gone: number; isDrop: number; approved: number } & Omit<
  OutboxRow,
  "key" | "gone" | "isDrop" | "approved"
>;

function outboxRow(rules: FeedRules, raw: RawOutboxRow): OutboxRow {
  const { k0, k1, k2, k3, ...rest } = raw;
  return {
    ...rest,
    key: [k0, k1, k2, k3].slice(0, rules.keys.length),
    gone: raw.gone === 1,
    isDrop: raw.isDrop === 1,
    approved: raw.approved === 1,
  };
}

/** Rows that may go now: zeros first, then decreases, then the rest; rows that are away once they were away long enough. */
export function loadSendable(
  store: Store,
  rules: FeedRules,
  options: { state: "waiting" | "doubt"; awayBefore: string; limit: number },
): OutboxRow[] {
  const rows = store
    .prepare(
      `SELECT ${OUTBOX} FROM feed_outbox INDEXED BY feed_outbox_next
       WHERE feed_id = ? AND state = ? AND (gone = 0 OR waiting_since <= ?) ORDER BY priority, id LIMIT ?`,
    )
    .all(rules.feedId, options.state, options.awayBefore, options.limit) as RawOutboxRow[];
  return rows.map((row) => outboxRow(rules, row));
}

export function loadOldestDoubt(store: Store, feedId: number): string | undefined {
  const row = store
    .prepare("SELECT max(doubt_at) AS at FROM feed_outbox INDEXED BY feed_outbox_next WHERE feed_id = ? AND state = 'doubt'")
    .get(feedId) as { at: string | null };
  return row.at ?? undefined;
}

/** Before the request leaves. */
export function markInDoubt(store: Store, rows: readonly OutboxRow[], at: string): void {
  const mark = store.prepare("UPDATE feed_outbox SET state = 'doubt', doubt_record = record, doubt_at = ? WHERE id = ?");
  for (const row of rows) mark.run(at, row.id);
}

/** The service said no before acting: rows that were not in doubt before are as they were. */
export function unmarkInDoubt(store: Store, rows: readonly OutboxRow[]): void {
  const unmark = store.prepare("UPDATE feed_outbox SET state = 'waiting', doubt_record = NULL, doubt_at = NULL WHERE id = ?");
  for (const row of rows) if (row.doubtRecord === null) unmark.run(row.id);
}

/** The service has these rows now. */
export function saveAcknowledged(store: Store, rules: FeedRules, rows: readonly OutboxRow[], at: string): void {
  const sent = store.prepare(
    `INSERT INTO feed_sent (feed_id, k0, k1, k2, k3, record, sent_at, gone) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET record = excluded.record, sent_at = excluded.sent_at, gone = excluded.gone`,
  );
  const done = store.prepare("DELETE FROM feed_outbox WHERE id = ? AND record = ?");
  const newer = store.prepare("UPDATE feed_outbox SET state = 'waiting', doubt_record = NULL, doubt_at = NULL WHERE id = ?");
  for (const row of rows) {
    sent.run(rules.feedId, ...padded(row.key), row.record, at, Number(row.gone));
    // Fenced by the value that was sent: a newer one stays owed.
    if (done.run(row.id, row.record).changes === 0) newer.run(row.id);
  }
}

export function saveAcceptance(
  store: Store,
  rules: FeedRules,
  accepted: { at: string; told: "status" | "records"; liveChange: number; drops: number },
): void {
  store
    .prepare(
      `UPDATE feeds SET accepted_at = coalesce(accepted_at, ?), accepted_by = ?, last_accepted_at = ?,
         live_count = max(0, live_count + ?) WHERE feed_id = ?`,
    )
    .run(accepted.at, accepted.told, accepted.at, accepted.liveChange, rules.feedId);
  if (accepted.drops > 0) {
    store.prepare("INSERT INTO feed_drops (feed_id, at, count) VALUES (?, ?, ?)").run(rules.feedId, accepted.at, accepted.drops);
  }
}

export function markRefused(store: Store, id: number, error: string): void {
  store.prepare("UPDATE feed_outbox SET state = 'refused', last_error = ? WHERE id = ?").run(error, id);
}

/** Rows that were refused alone under a template that was never accepted: the template is to blame, not they. */
export function loadRefused(store: Store, rules: FeedRules, limit: number): OutboxRow[] {
  const rows = store
    .prepare(`SELECT ${OUTBOX} FROM feed_outbox WHERE feed_id = ? AND state = 'refused' AND record <> 'null' ORDER BY id LIMIT ?`)
    .all(rules.feedId, limit) as RawOutboxRow[];
  return rows.map((row) => outboxRow(rules, row));
}

export function markRefusedWaiting(store: Store, rules: FeedRules): void {
  store
    .prepare(
      `UPDATE feed_outbox SET state = CASE WHEN doubt_record IS NULL THEN 'waiting' ELSE 'doubt' END, last_error = NULL
       WHERE feed_id = ? AND state = 'refused' AND record <> 'null'`,
    )
    .run(rules.feedId);
}

// ------------------------------------------------------------------------------------------------------ the guard

export function countDrops(store: Store, rules: FeedRules, since: string): { pending: number; recent: number } {
  const { pending } = store
    .prepare(
      `SELECT count(*) AS pending FROM feed_outbox
       WHERE feed_id = ? AND state IN ('waiting', 'guarded') AND is_drop = 1 AND approved = 0`,
    )
    .get(rules.feedId) as { pending: number };
  const { recent } = store
    .prepare("SELECT coalesce(sum(count), 0) AS recent FROM feed_drops WHERE feed_id = ? AND at >= ?")
    .get(rules.feedId, since) as { recent: number };
  return { pending, recent };
}

export function deleteOldDrops(store: Store, rules: FeedRules, before: string): void {
  store.prepare("DELETE FROM feed_drops WHERE feed_id = ? AND at < ?").run(rules.feedId, before);
}

/** Moves the rows that go to zero or away behind the guard, or lets them go on. Returns how many moved. */
export function markGuarded(store: Store, rules: FeedRules, guarded: boolean): number {
  const [from, to] = guarded ? ["waiting", "guarded"] : ["guarded", "waiting"];
  return store
    .prepare("UPDATE feed_outbox SET state = ? WHERE feed_id = ? AND state = ? AND is_drop = 1 AND approved = 0")
    .run(to, rules.feedId, from).changes;
}

/** A person let them through. */
export function approveGuarded(store: Store, name: FeedName): number {
  return store
    .prepare(
      `UPDATE feed_outbox SET state = 'waiting', approved = 1
       WHERE state = 'guarded' AND feed_id = (SELECT feed_id FROM feeds WHERE name = ?)`,
    )
    .run(name).changes;
}

/** Rows of a feed that wait for nothing but their turn. */
export function hasWaiting(store: Store, feedId: number): boolean {
  return store.prepare("SELECT 1 FROM feed_outbox WHERE feed_id = ? AND state = 'waiting' AND gone = 0 LIMIT 1").get(feedId) !== undefined;
}

/** The records of the complete table, for a service that wants it whole: what is acknowledged, overlaid by what is owed. */
export function loadWholeRecords(store: Store, rules: FeedRules, owed: readonly OutboxRow[]): string[] {
  const replaced = new Set(owed.map((row) => JSON.stringify(row.key)));
  const rows = store
    .prepare("SELECT k0, k1, k2, k3, record FROM feed_sent WHERE feed_id = ? AND gone = 0 ORDER BY k0, k1, k2, k3")
    .all(rules.feedId) as { k0: string; k1: string; k2: string; k3: string; record: string }[];
  const kept = rows.filter(
    ({ k0, k1, k2, k3 }) => !replaced.has(JSON.stringify([k0, k1, k2, k3].slice(0, rules.keys.length))),
  );
  return [...kept.map(({ record }) => record), ...owed.filter((row) => !row.gone).map(({ record }) => record)];
}
