/*
 * Acknowledged rows that go once more with the same values, because the service may not have them any more, or may never have stored
 * them: it ignores rows of articles that it does not have, or takes several rows for one article. They are no changes: the guard does
 * not count them. Hot: a statement for each thousand accepted rows, however few of them matter.
 */
import type { Store } from "../database/store.ts";
import { loadSentKeys } from "./acknowledged-rows.ts";
import type { FeedRules } from "./feed.ts";
import type { OutboxRow } from "./feed-outbox.ts";
import { HANDED_EPOCH, paddedKey, sameKey } from "./feed-rows.ts";
import { foldedInSql, isOtherInSql, isSameKindInSql, storedInSql } from "./record-identity.ts";

/** After all others; and soon after the zeros, as decreases. */
const PRIORITY = { ofNew: 3, ofDropped: 1 } as const;

/** Whether the row waits only because its article is new: all others go before it, and no other feed waits for it. */
export function isOfNew(store: Store, { id }: Pick<OutboxRow, "id">): boolean {
  const sql = "SELECT priority FROM feed_outbox WHERE id = ?";
  return store.prepare<number>(sql).pluck().get(id) === PRIORITY.ofNew;
}

/** Rows that are about to be acknowledged: of the outbox, with the records that they are in flight with. */
interface Accepted {
  /** JSON. */
  ids: string;
  at: string;
}

/** A row of the outbox that is about to be acknowledged. `live`: its record is on sale. */
export interface AcceptedRow {
  id: number;
  gone: boolean;
  live: boolean;
}

/** SQL: puts acknowledged rows `s` that name the articles of `named` into the outbox, from the feeds `f` for which a condition holds. */
function repeat(where: string, priority: number): string {
  const some = (sent: string) => `SELECT s.feed_id, s.k0, s.k1, s.k2, s.k3, s.record, ${priority}, @at, 1
    FROM named n CROSS JOIN feeds f CROSS JOIN ${sent}
    WHERE s.gone = 0 AND s.epoch = f.epoch AND ${where}`;
  return `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, priority, waiting_since, again)
    ${some("feed_sent s ON s.feed_id = f.feed_id AND s.k0 = n.article AND s.article IS NULL")} UNION ALL
    ${some("feed_sent s INDEXED BY feed_sent_article ON s.feed_id = f.feed_id AND s.article = n.article")}
    ON CONFLICT (feed_id, k0, k1, k2, k3) DO UPDATE SET again = max(again, 1)`;
}

/**
 * Stock, prices and images of articles that the service accepts for the first time, or on sale again: it may have ignored them until
 * now. Those in flight may have left before: their acceptance does not count.
 */
export function repeatOfNew(store: Store, rules: FeedRules, accepted: readonly AcceptedRow[], at: string): void {
  const { article, dependents } = rules;
  const feeds = JSON.stringify(dependents.map(({ feedId }) => feedId));
  if (article.length === 0 || !hasSent(store, feeds)) return;
  const named = loadNewArticles(store, rules, accepted);
  if (named.length === 0) return;
  const articles = JSON.stringify(named.map(({ folded }) => folded));
  store
    .prepare(
      `WITH named AS MATERIALIZED (SELECT value AS article FROM json_each(@articles))
       ${repeat("f.feed_id IN (SELECT value FROM json_each(@feeds))", PRIORITY.ofNew)}`,
    )
    .run({ articles, feeds, at });
  for (const other of dependents)
    store
      .prepare(
        `UPDATE feed_outbox SET again = 2 WHERE id IN (SELECT id FROM feed_outbox INDEXED BY feed_outbox_doubt
           WHERE feed_id = ? AND doubt_record IS NOT NULL
             AND ${foldedInSql(other.article, "doubt_record")} IN (SELECT value FROM json_each(?)))`,
      )
      .run(other.feedId, articles);
}

/**
 * The articles of rows in flight that are not known to be on the site, or were off sale and are on sale by their records: as the catalog
 * names them, and as a service may compare them.
 */
export function loadNewArticles(
  store: Store,
  rules: FeedRules,
  accepted: readonly AcceptedRow[],
): { key: string; folded: string | null }[] {
  const { feedId: feed, article, identity, levels } = rules;
  // Where its record has a quantity, an article that is sold out is still one that the service has.
  const rows = accepted.flatMap(({ id, gone, live }) => (gone ? [] : [[id, Number(live && levels.length === 0)]]));
  const isOnSite = `EXISTS (SELECT 1 FROM feeds f CROSS JOIN feed_sent s ON s.feed_id = f.feed_id AND ${sameKey("s", "o")}
    WHERE f.feed_id = @feed AND s.gone = 0 AND s.live >= r.value ->> 1 AND s.epoch IN (f.epoch, ${HANDED_EPOCH})
      AND ${isOtherInSql(identity, "s.record", "o.doubt_record")} IS NOT TRUE)`;
  return store
    .prepare<{ key: string; folded: string | null }>(
      `SELECT o.k0 AS key, ${foldedInSql(article, "o.doubt_record")} AS folded
       FROM json_each(@rows) r CROSS JOIN feed_outbox o ON o.id = r.value ->> 0
       WHERE o.doubt_record IS NOT NULL AND NOT ${isOnSite}`,
    )
    .all({ feed, rows: JSON.stringify(rows) });
}

/** Whether any rows of these feeds were or are being sent. */
function hasSent(store: Store, feeds: string): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM json_each(@feeds) d CROSS JOIN feed_sent s ON s.feed_id = d.value) OR EXISTS (
    SELECT 1 FROM json_each(@feeds) d CROSS JOIN feed_outbox o INDEXED BY feed_outbox_doubt ON o.feed_id = d.value AND o.doubt_record IS NOT NULL)`;
  return store.prepare<number>(sql).pluck().get({ feeds }) === 1;
}

/**
 * Rows on sale whose article a row may name that the source has no more: the service may compare articles without case, or have one
 * stock for all warehouses. What is sent last of the article is then what the source has. A row that is only sold out repeats none: the
 * service may have sold of the others since they were sent.
 */
export function repeatOfDropped(store: Store, rules: FeedRules, { ids, at }: Accepted): void {
  const { feedId: feed, article, scope } = rules;
  if (article.length === 0 || scope === "whole") return;
  const isSame = isSameKindInSql(rules, "s.record", "n.record");
  store
    .prepare(
      `WITH named AS MATERIALIZED (
         SELECT o.k0, o.k1, o.k2, o.k3, o.doubt_record AS record, ${foldedInSql(article, "o.doubt_record")} AS article
         FROM json_each(@ids) r CROSS JOIN feed_outbox o ON o.id = r.value WHERE o.doubt_record IS NOT NULL)
       ${repeat(`f.feed_id = @feed AND s.live = 1 AND NOT (${sameKey("s", "n")}) AND ${isSame}`, PRIORITY.ofDropped)}`,
    )
    .run({ feed, ids, at });
}

/** Whether the articles of all acknowledged rows are stored as these rules read them. */
export function areArticlesStored(store: Store, rules: FeedRules): boolean {
  const load = store.prepare<string | null>("SELECT articles_of FROM feeds WHERE feed_id = ?").pluck();
  return load.get(rules.feedId) === articlesOf(rules);
}

function articlesOf({ article, keys }: FeedRules): string {
  return JSON.stringify([article, keys]);
}

/** Stores the articles of the next rows after a key. Returns the last key; undefined once all are stored. */
export function storeArticles(
  store: Store,
  rules: FeedRules,
  step: { after: readonly string[] | undefined; limit: number },
): string[] | undefined {
  const last = loadSentKeys(store, rules, step).at(-1);
  if (last === undefined) {
    store.prepare("UPDATE feeds SET articles_of = ? WHERE feed_id = ?").run(articlesOf(rules), rules.feedId);
    return undefined;
  }
  const stored = storedInSql(rules.article, "record", "k0");
  store
    .prepare(
      `UPDATE feed_sent SET article = ${stored} WHERE feed_id = ? AND (k0, k1, k2, k3) >= (?, ?, ?, ?)
         AND (k0, k1, k2, k3) <= (?, ?, ?, ?) AND article IS NOT ${stored}`,
    )
    .run(rules.feedId, ...paddedKey(step.after ?? []), ...last);
  return last;
}
