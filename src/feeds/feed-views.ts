/*
 * The views of what is on the site, for the ERP (`stock_sent` and similar). Their first columns are the feed's key, so a
 * view is recreated when the key changes. Looking up a key takes one search in the primary key of `feed_sent` and one in
 * the outbox; the views work with SQLite 3.38, which has no full join.
 */

import type { FeedName } from "../config/feed-names.ts";
import { tryToMake } from "../database/objects/make-own.ts";
import { quoteName } from "../database/quote-name.ts";
import type { Store } from "../database/store.ts";
import { FEED_IDS, type FeedRules } from "./feed.ts";

const SENT_VIEWS: Record<FeedName, string> = {
  stocks: "stock_sent",
  prices: "prices_sent",
  catalog: "products_sent",
  images: "images_sent",
};

/** A row of the feed's view. */
export interface KeyShown {
  state: string;
  sent: string | null;
  sentAt: string | null;
  lastError: string | null;
}

/** Whether the view has other key columns: the key was changed in the configuration, and no pass has applied that yet. */
export function hasOtherKey(store: Store, { name, keys }: Pick<FeedRules, "name" | "keys">): boolean {
  const columns = store.prepare<string>("SELECT name FROM pragma_table_info(?)").pluck().all(SENT_VIEWS[name]);
  return columns.length > 0 && !keys.every((key) => columns.includes(key));
}

export function loadSentRow(store: Store, rules: FeedRules, key: readonly string[]): KeyShown | undefined {
  if (hasOtherKey(store, rules)) return undefined;
  const where = rules.keys.map((column) => `${quoteName(column)} = ?`).join(" AND ");
  return store
    .prepare<KeyShown>(
      `SELECT state, sent, sent_at AS sentAt, last_error AS lastError FROM ${SENT_VIEWS[rules.name]} WHERE ${where}`,
    )
    .get(...key);
}

/** Creates the feed's view where it is missing or differs. Returns whether it did; it fails where a table of the ERP's has its name. */
export function saveSentView(store: Store, rules: Pick<FeedRules, "name" | "keys">): boolean {
  if (isSentViewCurrent(store, rules)) return false;
  const name = SENT_VIEWS[rules.name];
  return tryToMake(store.db, { type: "view", name, table: name, sql: sentViewSql(rules.name, rules.keys) });
}

/** Makes the feed's view again unless it stands in the schema behind these places. Inside a transaction. */
export function keepSentViewBehind(store: Store, rules: Pick<FeedRules, "name" | "keys">, places: string): void {
  const name = SENT_VIEWS[rules.name];
  const sql = "SELECT rowid AS place FROM sqlite_schema WHERE type = 'view' AND name = ?";
  const standing = store.prepare<{ place: number }>(sql).get(name);
  if (standing !== undefined && places.split(",").every((place) => Number(place) < standing.place)) return;
  if (standing !== undefined) store.db.exec(`DROP VIEW ${quoteName(name)}`);
  saveSentView(store, rules);
}

export function isSentViewCurrent(store: Store, rules: Pick<FeedRules, "name" | "keys">): boolean {
  const standing = store
    .prepare<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?")
    .get(SENT_VIEWS[rules.name]);
  return standing?.sql === sentViewSql(rules.name, rules.keys);
}

/** The SQL of the view, identical to the migration's for the default keys. */
export function sentViewSql(name: FeedName, keys: readonly string[]): string {
  const id = FEED_IDS[name];
  const names = (alias: string) => keys.map((column, index) => `${alias}.k${index} AS ${quoteName(column)}`).join(", ");
  const sameKey = (a: string, b: string) =>
    [0, 1, 2, 3].map((index) => `${a}.k${index} = ${b}.k${index}`).join(" AND ");
  return `CREATE VIEW ${SENT_VIEWS[name]} AS
SELECT ${names("s")}, s.record AS sent, s.sent_at, o.waiting_since,
  CASE WHEN o.id IS NULL AND NOT EXISTS (SELECT 1 FROM feed_dirty d WHERE d.feed_id = ${id} AND ${dirtyKey(keys)}) THEN 'sent'
    ELSE ${stateOf(name)} END AS state,
  o.last_error
FROM feed_sent s LEFT JOIN feed_outbox o ON o.feed_id = ${id} AND ${sameKey("o", "s")}
WHERE s.feed_id = ${id}
UNION ALL
SELECT ${names("o")}, NULL, NULL, o.waiting_since, ${stateOf(name)}, o.last_error
FROM feed_outbox o
WHERE o.feed_id = ${id} AND NOT EXISTS (SELECT 1 FROM feed_sent s WHERE s.feed_id = ${id} AND ${sameKey("s", "o")})`;
}

/** Matches a key as recorded by a trigger, text or integer. The plus removes the column's affinity. */
function dirtyKey(keys: readonly string[]): string {
  return [0, 1, 2, 3]
    .map((index) =>
      index < keys.length ? `d.k${index} IN (+s.k${index}, CAST(s.k${index} AS INTEGER))` : `d.k${index} = ''`,
    )
    .join(" AND ");
}

function stateOf(name: FeedName): string {
  const id = FEED_IDS[name];
  return `CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = ${id} AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', '${name}') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END`;
}
