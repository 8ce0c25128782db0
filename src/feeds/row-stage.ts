/*
 * What one reading of a feed's rows found changed, in a temporary table of the bridge's own connection. Nothing is taken
 * up before the reading is complete, so that a reading that breaks off deletes nothing. Each feed has a table of its own,
 * because two feeds may be read at once.
 */

import type { Store } from "../database/store.ts";
import type { ColumnValue, FeedRules, SourceRow } from "./feed.ts";
import { paddedKey } from "./feed-rows.ts";

export interface StagedRow {
  key: readonly string[];
  row: SourceRow;
  hash: Buffer;
}

const KEY = "k0, k1, k2, k3";
const KEY_WHERE = "k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?";

export class RowStage {
  readonly #store: Store;
  readonly #rules: FeedRules;
  readonly #rows: string;
  readonly #columns: readonly string[];

  constructor(store: Store, rules: FeedRules) {
    this.#store = store;
    this.#rules = rules;
    this.#rows = `temp.scanned_${rules.name}_rows`;
    this.#columns = rules.columns.map((_, index) => `c${index}`);
  }

  open(): void {
    this.close();
    // Columns without a type keep every value as it is.
    this.#store.db.exec(
      `CREATE TABLE ${this.#rows} (${KEY}, n, hash, ${this.#columns.join(", ")}, PRIMARY KEY (${KEY}, n)) WITHOUT ROWID`,
    );
  }

  close(): void {
    this.#store.db.exec(`DROP TABLE IF EXISTS ${this.#rows}`);
  }

  /** One transaction of the temporary database; nobody else's lock is touched. */
  stage(rows: readonly StagedRow[]): void {
    this.#store.db.transaction(() => {
      for (const row of rows) this.#stageRow(row);
    })();
  }

  #stageRow({ key, row, hash }: StagedRow): void {
    const at = paddedKey(key);
    const values = this.#rules.columns.map((column) => row[column] ?? null);
    const marks = values.map(() => "?").join(", ");
    const keep = this.#store.prepare(
      `INSERT INTO ${this.#rows} VALUES (?, ?, ?, ?, ?, ?, ${marks}) ON CONFLICT DO NOTHING`,
    );
    // A second row of the key: neither may be sent, and both are to be shown.
    if (keep.run(...at, 0, hash, ...values).changes === 0) keep.run(...at, 1, hash, ...values);
  }

  /** The next keys after `after` whose rows are not as they were. */
  loadFresh(after: readonly string[] | undefined, limit: number): string[][] {
    const beyond = after === undefined ? "" : `AND (${KEY}) > (?, ?, ?, ?)`;
    const rows = this.#store
      .prepare(`SELECT ${KEY} FROM ${this.#rows} WHERE n = 0 ${beyond} ORDER BY ${KEY} LIMIT ?`)
      .raw(true)
      .all(...(after === undefined ? [] : paddedKey(after)), limit) as string[][];
    return rows.map((key) => key.slice(0, this.#rules.keys.length));
  }

  /** The rows of a key that are not as they were; more than one where the source does not keep it unique. */
  loadRows(key: readonly string[]): SourceRow[] {
    const rows = this.#store
      .prepare(`SELECT ${this.#columns.join(", ")} FROM ${this.#rows} WHERE ${KEY_WHERE} ORDER BY n`)
      .safeIntegers(true)
      .raw(true)
      .all(...paddedKey(key)) as ColumnValue[][];
    return rows.map((values) =>
      Object.fromEntries(this.#rules.columns.map((column, index) => [column, values[index] ?? null])),
    );
  }

  /** Keeps what a key's row was when it was taken up; nothing of a key that is gone or stands twice. Inside a write transaction. */
  saveTaken(key: readonly string[]): void {
    const at = paddedKey(key);
    const hashes = this.#store.prepare(`SELECT hash FROM ${this.#rows} WHERE ${KEY_WHERE}`).all(...at) as {
      hash: Buffer;
    }[];
    const [only] = hashes;
    if (only === undefined || hashes.length > 1) {
      forgetRowHash(this.#store, this.#rules, key);
      return;
    }
    this.#store
      .prepare(
        `INSERT INTO feed_rows (feed_id, ${KEY}, hash) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET hash = excluded.hash WHERE hash <> excluded.hash`,
      )
      .run(this.#rules.feedId, ...at, only.hash);
  }
}

export function loadRowHash(store: Store, rules: FeedRules, key: readonly string[]): Buffer | undefined {
  const row = store
    .prepare(`SELECT hash FROM feed_rows WHERE feed_id = ? AND ${KEY_WHERE}`)
    .get(rules.feedId, ...paddedKey(key)) as { hash: Buffer } | undefined;
  return row?.hash;
}

export function forgetRowHash(store: Store, rules: FeedRules, key: readonly string[]): void {
  store.prepare(`DELETE FROM feed_rows WHERE feed_id = ? AND ${KEY_WHERE}`).run(rules.feedId, ...paddedKey(key));
}

/** The next keys after `after` that were there when they were last looked at. */
export function loadHashedKeys(
  store: Store,
  rules: FeedRules,
  after: readonly string[] | undefined,
  limit: number,
): string[][] {
  const beyond = after === undefined ? "" : `AND (${KEY}) > (?, ?, ?, ?)`;
  return store
    .prepare(`SELECT ${KEY} FROM feed_rows WHERE feed_id = ? ${beyond} ORDER BY ${KEY} LIMIT ?`)
    .raw(true)
    .all(rules.feedId, ...(after === undefined ? [] : paddedKey(after)), limit) as string[][];
}

/** Forgets some of the hashes of a feed whose changes are noted by triggers now. Returns how many. */
export function forgetRowHashes(store: Store, rules: Pick<FeedRules, "feedId">, limit: number): number {
  return store
    .prepare(
      `DELETE FROM feed_rows WHERE feed_id = ? AND (k0, k1, k2, k3) IN
         (SELECT k0, k1, k2, k3 FROM feed_rows WHERE feed_id = ? LIMIT ?)`,
    )
    .run(rules.feedId, rules.feedId, limit).changes;
}
