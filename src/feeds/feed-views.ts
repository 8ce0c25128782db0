/*
 * The views in which the ERP reads what is on the site (`stock_sent` and its like). Their first columns are the feed's
 * own key, so each is made again when the feed's key changes. Looking one key up costs one step in the primary key of
 * what was acknowledged and one in the outbox; they work with SQLite 3.38, which has no full join.
 */

import type { FeedName } from "../config/feed-names.ts";
import { tryToMake } from "../database/make-own.ts";
import { quoteName } from "../database/quote-name.ts";
import type { Store } from "../database/store.ts";
import { FEED_IDS, type FeedRules } from "./feed.ts";

export const SENT_VIEWS: Record<FeedName, string> = {
  stocks: "stock_sent",
  prices: "prices_sent",
  catalog: "products_sent",
  images: "images_sent",
};

/** One key as the feed's view shows it. */
export interface KeyShown {
  state: string;
  sent: string | null;
  sentAt: string | null;
  lastError: string | null;
}

/** Whether what was acknowledged stands under other columns: the key was changed in the configuration, and no pass has taken it over. */
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

/** Makes the feed's view where it is missing or names other columns. True where it did: a table of the ERP's may have its name. */
export function saveSentView(store: Store, rules: Pick<FeedRules, "name" | "keys">): boolean {
  if (isSentViewCurrent(store, rules)) return false;
  const name = SENT_VIEWS[rules.name];
  return tryToMake(store.db, { type: "view", name, table: name, sql: sentViewSql(rules.name, rules.keys) });
}

export function isSentViewCurrent(store: Store, rules: Pick<FeedRules, "name" | "keys">): boolean {
  const standing = store
    .prepare<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?")
    .get(SENT_VIEWS[rules.name]);
  return standing?.sql === sentViewSql(rules.name, rules.keys);
}

/** The text of the view, to the letter as it stands in the migration for the feeds' own tables. */
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

/** A key as a trigger noted it: as the table holds it, text or integer. The plus keeps the column's affinity out of it. */
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
