/* Finds rows to be deleted whose article another row of the source may name: due ones, and ones whose article a waiting row names. */

import type { Store } from "../../database/store.ts";
import type { Clock } from "../../platform/ports.ts";
import type { FeedRules } from "../feed.ts";
import { bytesOf, firstOf } from "../feed-record.ts";
import { keyInJson, sameKey } from "../feed-rows.ts";
import { articleInSql } from "../record-identity.ts";
import { recordKeyOf } from "./former-key.ts";
import type { Handed, Left } from "./handed-rows.ts";

/** As a limit: none. */
const ANY = Number.MAX_SAFE_INTEGER;
/** Rows that are listed in one step. */
const ROWS_PER_LIST = 5_000;

/** A row whose deletion waits, and the record that it sends; null where its acknowledgement is invalid or its outcome unknown. */
type GoneRow = Left & { id: number; deletion: string | null };

/** Rows deleted within a time span; with `limits` only those that the guard allows and that can be sent before `byMs`. */
export interface DueSpan {
  afterMs: number;
  upToMs: number;
  limits?: { byMs: number; dropRound: number };
}

const GONE = `o.id, coalesce(s.record, o.doubt_record) AS record, s.sent_at AS sentAt, coalesce(s.live, 0) AS live,
  o.doubt_record AS flightRecord, o.doubt_until_ms AS flightUntilMs`;

/** Rows whose deletion waits and has become due. */
export function loadDueGone(
  store: Store,
  rules: FeedRules,
  { afterMs, upToMs, limits }: DueSpan,
  afterId: number,
  limit: number,
): GoneRow[] {
  const all = store
    .prepare<GoneRow>(
      `SELECT ${GONE}, iif(s.epoch = f.epoch AND o.doubt_record IS NULL, o.record, NULL) AS deletion
       FROM feed_outbox o INDEXED BY feed_outbox_gone CROSS JOIN feeds f ON f.feed_id = o.feed_id
         LEFT JOIN feed_sent s ON s.feed_id = o.feed_id AND s.gone = 0 AND ${sameKey("s", "o")}
       WHERE o.feed_id = ? AND o.id > ? AND o.gone = 1 AND coalesce(s.record, o.doubt_record) IS NOT NULL
         AND o.away_since_ms > ? AND o.away_since_ms <= ? AND coalesce(o.drop_round, 0) <= ?
         AND max(coalesce(o.doubt_until_ms, 0), coalesce(o.retry_ms, 0)) <= ? ORDER BY o.id LIMIT ?`,
    )
    .iterate(rules.feedId, afterId, afterMs, upToMs, limits?.dropRound ?? ANY, limits?.byMs ?? ANY, limit);
  return firstOf(all, ({ record, deletion }) => bytesOf([record, deletion]));
}

/** Whether any article is stored that its row no longer names. */
export function hasFormer(store: Store, rules: FeedRules): boolean {
  const sql = "SELECT EXISTS (SELECT 1 FROM feed_former WHERE feed_id = ? AND former = ?)";
  return store.prepare<number>(sql).pluck().get(rules.feedId, formerOf(rules)) === 1;
}

/** A temporary table of the articles of waiting rows, each with the key of one row. */
export class WaitingArticles {
  readonly #store: Store;
  readonly #rules: FeedRules;
  readonly #table: string;

  constructor(store: Store, rules: FeedRules) {
    this.#store = store;
    this.#rules = rules;
    this.#table = `temp.waiting_${rules.name}`;
  }

  /** Lists all articles, in steps. */
  async listAll(clock: Pick<Clock, "sleep">, signal: AbortSignal): Promise<void> {
    this.close();
    this.#store.db.exec(`CREATE TABLE ${this.#table} (article PRIMARY KEY, k0, k1, k2, k3) WITHOUT ROWID`);
    for (let last: number | undefined = 0; last !== undefined; last = this.#list(last)) await clock.sleep(0, signal);
  }

  close(): void {
    this.#store.db.exec(`DROP TABLE IF EXISTS ${this.#table}`);
  }

  /** Lists the next rows after `afterId`. Returns the last id; undefined where there is none. */
  #list(afterId: number): number | undefined {
    const { feedId, identity } = this.#rules;
    const last = this.#store
      .prepare<number | null>("SELECT max(id) FROM (SELECT id FROM feed_outbox WHERE id > ? ORDER BY id LIMIT ?)")
      .pluck()
      .get(afterId, ROWS_PER_LIST);
    if (last === null || last === undefined) return undefined;
    const article = articleInSql(identity, "record");
    this.#store
      .prepare(
        `INSERT OR IGNORE INTO ${this.#table} SELECT ${article}, k0, k1, k2, k3 FROM feed_outbox NOT INDEXED
         WHERE id > ? AND id <= ? AND feed_id = ? AND gone = 0 AND record <> 'null' AND ${article} IS NOT NULL`,
      )
      .run(afterId, last, feedId);
    return last;
  }

  /** Those of these keys that have or may have been sent, and whose articles are listed. */
  namedOf<F extends { key: readonly string[] }>(found: readonly F[]): F[] {
    const named = this.#store
      .prepare<number>(
        `SELECT r.at FROM (SELECT key AS at, ${keyInJson(this.#rules)} FROM jsonb_each(@keys)) r
           LEFT JOIN feed_sent s ON s.feed_id = @feed AND s.gone = 0 AND ${sameKey("s", "r")}
           LEFT JOIN feed_outbox o ON o.feed_id = @feed AND ${sameKey("o", "r")}
         WHERE ${articleInSql(this.#rules.identity, "s.record")} IN (SELECT article FROM ${this.#table})
           OR ${articleInSql(this.#rules.identity, "o.doubt_record")} IN (SELECT article FROM ${this.#table})`,
      )
      .pluck()
      .all({ feed: this.#rules.feedId, keys: JSON.stringify(found.map(({ key }) => key)) });
    const places = new Set(named);
    return found.filter((_, at) => places.has(at));
  }

  /** Rows on sale whose deletion waits and whose articles are listed. */
  loadGone(afterId: number, limit: number): (Handed & { id: number })[] {
    const all = this.#store
      .prepare<KeyedLeft & { id: number }>(
        `SELECT n.k0, n.k1, n.k2, n.k3, ${GONE}
         FROM feed_outbox o INDEXED BY feed_outbox_gone LEFT JOIN feed_sent s ON s.feed_id = o.feed_id AND s.gone = 0 AND ${sameKey("s", "o")}
           CROSS JOIN ${this.#table} n ON n.article = ${articleInSql(this.#rules.identity, "coalesce(o.doubt_record, s.record)")}
         WHERE o.feed_id = ? AND o.id > ? AND o.gone = 1 AND o.drop_round IS NOT NULL ORDER BY o.id LIMIT ?`,
      )
      .iterate(this.#rules.feedId, afterId, limit);
    return firstOf(all, ({ record }) => record.length).map((row) => this.#handed(row));
  }

  /** Listed articles that their rows no longer named by then. */
  loadFormer(after: string, at: string, limit: number): (Handed & { keyText: string })[] {
    const all = this.#store
      .prepare<KeyedLeft & { keyText: string }>(
        `SELECT n.k0, n.k1, n.k2, n.k3, f.key AS keyText, f.record, f.sent_at AS sentAt, f.live, f.row_key AS rowKey,
           NULL AS flightRecord, NULL AS flightUntilMs
         FROM feed_former f CROSS JOIN ${this.#table} n ON n.article = ${articleInSql(this.#rules.identity, "f.record")}
         WHERE f.feed_id = ? AND f.former = ? AND f.key > ? AND f.state = 'away' AND f.sent_at <= ? ORDER BY f.key LIMIT ?`,
      )
      .iterate(this.#rules.feedId, formerOf(this.#rules), after, at, limit);
    return firstOf(all, ({ record }) => record.length).map((row) => this.#handed(row));
  }

  #handed<R extends KeyedLeft>({ k0, k1, k2, k3, ...row }: R) {
    return { ...row, key: [k0, k1, k2, k3].slice(0, this.#rules.keys.length) };
  }
}

type KeyedLeft = Left & { k0: string; k1: string; k2: string; k3: string };

function formerOf(rules: FeedRules): string {
  return JSON.stringify(recordKeyOf(rules, "{}").from);
}
