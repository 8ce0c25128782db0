/*
 * Names what a feed has sent and has waiting by other key columns. Rows are moved aside under their new names, some at a time,
 * and then back: no new name meets an old one, and after a crash the same steps go on from where they were.
 */

import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { FeedRules } from "./feed.ts";
import { paddedKey, UNSHOWN } from "./feed-rows.ts";
import type { FormerKey } from "./former-key.ts";

/** `isMoved`: every row has its new name, and goes back to its place. */
export interface Rekey {
  from: FormerKey;
  isMoved: boolean;
}

export function loadRekey(store: Store, rules: FeedRules): Rekey | undefined {
  const sql = "SELECT rekey_from FROM feeds WHERE feed_id = ?";
  const text = onlyRow(store.prepare<string | null>(sql).pluck().get(rules.feedId));
  return text === null ? undefined : (JSON.parse(text) as Rekey);
}

export function saveRekey(store: Store, rules: FeedRules, rekey: Rekey | null): void {
  store
    .prepare("UPDATE feeds SET rekey_from = ? WHERE feed_id = ?")
    .run(rekey === null ? null : JSON.stringify(rekey), rules.feedId);
}

interface SentRow {
  k0: string;
  k1: string;
  k2: string;
  k3: string;
  record: string;
  sentAt: string;
  gone: number;
  live: number;
  epoch: number;
}

/** Of one key, before: the record that was acknowledged. Undefined where it is not known what the row is called now. */
export type Rename = (key: readonly string[], record: string) => readonly string[] | undefined;

/** Moves some acknowledged rows aside. Returns how many, and how many of them could not be named. */
export function moveSent(
  store: Store,
  rules: FeedRules,
  step: { rename: Rename; formerKeys: number; limit: number },
): { moved: number; lost: number } {
  const rows = store
    .prepare<SentRow>(
      `SELECT k0, k1, k2, k3, record, sent_at AS sentAt, gone, live, epoch FROM feed_sent WHERE feed_id = ? LIMIT ?`,
    )
    .all(rules.feedId, step.limit);
  // Of two rows that are one now neither says what the site shows: it is sent anew.
  const put = store.prepare(
    `INSERT INTO feed_sent (feed_id, k0, k1, k2, k3, record, sent_at, gone, live, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET record = iif(gone > excluded.gone, excluded.record, record), gone = min(gone, excluded.gone),
       live = max(live, excluded.live), epoch = -1`,
  );
  const count = store.prepare(
    "SELECT count(*) AS n FROM feed_sent WHERE feed_id = ? AND live = 1 AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?",
  );
  const liveAt = (key: readonly string[]) => (count.get(-rules.feedId, ...paddedKey(key)) as { n: number }).n;
  const take = store.prepare("DELETE FROM feed_sent WHERE feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?");
  let lost = 0;
  let liveChange = 0;
  for (const row of rows) {
    const key = step.rename([row.k0, row.k1, row.k2, row.k3].slice(0, step.formerKeys), row.record);
    take.run(rules.feedId, row.k0, row.k1, row.k2, row.k3);
    liveChange -= row.live;
    if (key === undefined) {
      if (row.gone === 0) lost += 1;
      continue;
    }
    liveChange -= liveAt(key);
    put.run(-rules.feedId, ...paddedKey(key), row.record, row.sentAt, row.gone, row.live, row.epoch);
    liveChange += liveAt(key);
  }
  store.prepare("UPDATE feeds SET live_count = max(0, live_count + ?) WHERE feed_id = ?").run(liveChange, rules.feedId);
  return { moved: rows.length, lost };
}

/** The same for the outbox: only what may be on the site without an acknowledgement is kept, the rest is found anew. */
export function moveQueued(
  store: Store,
  rules: FeedRules,
  step: { rename: Rename; formerKeys: number; limit: number },
): number {
  const rows = store
    .prepare<{
      id: number;
      k0: string;
      k1: string;
      k2: string;
      k3: string;
      flight: string | null;
    }>(`SELECT id, k0, k1, k2, k3, doubt_record AS flight FROM feed_outbox WHERE feed_id = ? LIMIT ?`)
    .all(rules.feedId, step.limit);
  const drop = store.prepare("DELETE FROM feed_outbox WHERE id = ?");
  const keep = store.prepare(
    `UPDATE OR REPLACE feed_outbox SET feed_id = ?, k0 = ?, k1 = ?, k2 = ?, k3 = ?, state = 'waiting', last_error = NULL,
       record = doubt_record, gone = 0, away_since_ms = NULL, drop_round = iif(drop_round IS NULL, NULL, ${UNSHOWN})
     WHERE id = ?`,
  );
  for (const row of rows) {
    const key =
      row.flight === null
        ? undefined
        : step.rename([row.k0, row.k1, row.k2, row.k3].slice(0, step.formerKeys), row.flight);
    if (key === undefined) drop.run(row.id);
    else keep.run(-rules.feedId, ...paddedKey(key), row.id);
  }
  return rows.length;
}

/** Moves some rows back to their place. Returns how many. */
export function moveBack(store: Store, rules: FeedRules, limit: number): number {
  const move = (table: string) =>
    store
      .prepare(
        `UPDATE ${table} SET feed_id = ? WHERE feed_id = ? AND (k0, k1, k2, k3) IN
           (SELECT k0, k1, k2, k3 FROM ${table} WHERE feed_id = ? LIMIT ?)`,
      )
      .run(rules.feedId, -rules.feedId, -rules.feedId, limit).changes;
  return move("feed_sent") + move("feed_outbox");
}

/** Nothing that stands under the former names is looked at again. */
export function forgetFormerNames(store: Store, rules: FeedRules): void {
  store.prepare("DELETE FROM feed_dirty WHERE feed_id = ?").run(rules.feedId);
  store.prepare("UPDATE quarantine SET state = 'released' WHERE kind = ? AND state = 'held'").run(rules.name);
}

/** A second change before the first was done: what is aside has names that nobody can assign any more. */
export function forgetMoved(store: Store, rules: FeedRules, limit: number): number {
  return store
    .prepare(
      `DELETE FROM feed_sent WHERE feed_id = ? AND (k0, k1, k2, k3) IN (SELECT k0, k1, k2, k3 FROM feed_sent WHERE feed_id = ? LIMIT ?)`,
    )
    .run(-rules.feedId, -rules.feedId, limit).changes;
}

/** Former names and present ones, side by side, as the source has them; in a temporary table. */
export class NameList {
  readonly #store: Store;
  readonly #table: string;

  constructor(store: Store, rules: FeedRules) {
    this.#store = store;
    this.#table = `temp.rekeyed_${rules.name}`;
  }

  open(): void {
    this.close();
    this.#store.db.exec(
      `CREATE TABLE ${this.#table} (k0, k1, k2, k3, n0, n1, n2, n3, isTwice DEFAULT 0, PRIMARY KEY (k0, k1, k2, k3)) WITHOUT ROWID`,
    );
  }

  close(): void {
    this.#store.db.exec(`DROP TABLE IF EXISTS ${this.#table}`);
  }

  add(pairs: readonly { former: readonly string[]; present: readonly string[] }[]): void {
    const put = this.#store.prepare(
      `INSERT INTO ${this.#table} (k0, k1, k2, k3, n0, n1, n2, n3) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET isTwice = 1 WHERE (n0, n1, n2, n3) <> (excluded.n0, excluded.n1, excluded.n2, excluded.n3)`,
    );
    this.#store.db.transaction(() => {
      for (const { former, present } of pairs) put.run(...paddedKey(former), ...paddedKey(present));
    })();
  }

  /** What the row of a former name is called now, where the source has exactly one. */
  find(former: readonly string[]): string[] | undefined {
    return this.#store
      .prepare<string[]>(
        `SELECT n0, n1, n2, n3 FROM ${this.#table} WHERE k0 = ? AND k1 = ? AND k2 = ? AND k3 = ? AND isTwice = 0`,
      )
      .raw(true)
      .get(...paddedKey(former));
  }
}
