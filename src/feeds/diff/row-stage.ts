/*
 * Stages the changed rows of one reading of a feed's source in a temporary table of the bridge's own connection. They are
 * absorbed only after the reading is complete, so that an interrupted reading deletes nothing. Each feed has its own table,
 * because two feeds may be read at the same time.
 */

import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import { bytesOf, type ColumnValue, type SourceRow, STEP_BYTES_MAX, TOO_LARGE } from "../feed-record.ts";
import { paddedKey } from "../feed-rows.ts";
import { foundIn, rowOf } from "../source/feed-source.ts";
import type { FoundKey } from "./diff.ts";

const KEY = "k0, k1, k2, k3";

export class RowStage {
  readonly #store: Store;
  readonly #rules: FeedRules;
  readonly #rows: string;
  readonly #columns: readonly string[];

  constructor(store: Store, rules: FeedRules) {
    this.#store = store;
    this.#rules = rules;
    this.#rows = `temp.scanned_${rules.name}_rows`;
    // Last the size of a row that is too large.
    this.#columns = [...rules.columns, TOO_LARGE].map((_, index) => `c${index}`);
  }

  open(): void {
    this.close();
    // Columns without a type store values unchanged.
    this.#store.db.exec(
      `CREATE TABLE ${this.#rows} (${KEY}, n, ${this.#columns.join(", ")}, PRIMARY KEY (${KEY}, n)) WITHOUT ROWID`,
    );
  }

  close(): void {
    this.#store.db.exec(`DROP TABLE IF EXISTS ${this.#rows}`);
  }

  /** One transaction in the temporary database, without a lock on the main one. */
  stage(found: readonly FoundKey[]): void {
    if (found.length === 0) return;
    const marks = this.#columns.map(() => "?").join(", ");
    const keep = this.#store.prepare(
      `INSERT INTO ${this.#rows} VALUES (?, ?, ?, ?, ?, ${marks}) ON CONFLICT DO NOTHING`,
    );
    this.#store.db.transaction(() => {
      for (const { key, rows } of found) for (const row of rows) this.#stageRow(keep, key, row);
    })();
  }

  #stageRow(keep: ReturnType<Store["prepare"]>, key: readonly string[], row: SourceRow): void {
    const at = paddedKey(key);
    const values = [...this.#rules.columns, TOO_LARGE].map((column) => row[column] ?? null);
    // A second row with the key: neither may be sent, and both are shown.
    if (keep.run(...at, 0, ...values).changes === 0) keep.run(...at, 1, ...values);
  }

  /**
   * The next staged keys after `after`, as many as are in memory at a time, each with its rows: two where the key is not
   * unique in the source.
   */
  load(after: readonly string[] | undefined, limit: number): FoundKey[] {
    const beyond = after === undefined ? "" : `WHERE (${KEY}) > (?, ?, ?, ?)`;
    return this.#read(
      `SELECT ${KEY}, ${this.#columns.join(", ")} FROM ${this.#rows}
       WHERE (${KEY}) IN (SELECT ${KEY} FROM ${this.#rows} ${beyond} ORDER BY ${KEY} LIMIT ?) ORDER BY ${KEY}, n`,
      [...(after === undefined ? [] : paddedKey(after)), limit],
    );
  }

  *loadEach(keys: readonly (readonly string[])[]): Generator<FoundKey> {
    for (const key of keys) yield { key, rows: this.#loadRows(key) };
  }

  /** The staged rows of one key. */
  #loadRows(key: readonly string[]): readonly SourceRow[] {
    const [found] = this.#read(
      `SELECT ${KEY}, ${this.#columns.join(", ")} FROM ${this.#rows} WHERE (${KEY}) = (?, ?, ?, ?) ORDER BY n`,
      [...paddedKey(key)],
    );
    return found?.rows ?? [];
  }

  #read(sql: string, values: readonly (string | number)[]): FoundKey[] {
    const all = this.#store
      .prepare<[string, string, string, string, ...ColumnValue[]]>(sql)
      .safeIntegers(true)
      .raw(true)
      .iterate(...values);
    const { columns, keys } = this.#rules;
    const found: { key: string[]; rows: SourceRow[] }[] = [];
    let bytes = 0;
    for (const [k0, k1, k2, k3, ...staged] of all) {
      const key = [k0, k1, k2, k3];
      const last = found.at(-1);
      const isSame = last?.key.every((part, index) => part === key[index]) === true;
      if (!isSame && bytes > STEP_BYTES_MAX) break;
      bytes += bytesOf(staged);
      const row = rowOf(columns, foundIn(staged));
      if (isSame) last.rows.push(row);
      else found.push({ key: key.slice(0, keys.length), rows: [row] });
    }
    return found;
  }
}
