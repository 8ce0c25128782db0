import type Database from "better-sqlite3";
import type { Forms } from "./forms.ts";
import type { FeedName, SharedTable } from "./schedule.ts";
import type { SecondConnection } from "./second-connection.ts";
import { articleOfSku, type Ignores, keyOfRow, keysOfArticle, nameOfRow } from "./spellings.ts";

/** The value of a row of the ERP at a commit. Undefined: a value that cannot be sent. */
export type Value = number | null | undefined;

interface Table {
  readonly name: string;
  readonly value: string;
  /** What identifies a row: a column, or its name. */
  readonly by: "sku" | "warehouse" | typeof ROW_NAME;
  /** The value sent for a deleted row; undefined: none. */
  readonly gone: number | undefined;
}

/** As `nameOfRow` has it. */
const ROW_NAME = "sku || iif(warehouse = '', '', '/' || warehouse)";
/** In place of the name of an article that is not shown. */
export const OFF_SALE = -1;

const TABLES: Record<FeedName, Table> = {
  stocks: { name: "stock", value: "quantity", by: "sku", gone: 0 },
  prices: { name: "prices", value: "price", by: "sku", gone: undefined },
  catalog: { name: "products", value: "name", by: "sku", gone: OFF_SALE },
};

/** Where two rows may have the same article, `warehouse` identifies each. */
const SHARED: Record<Exclude<Forms["shared"], "no">, Table> = {
  zero: { ...TABLES.stocks, by: "warehouse" },
  ignore: { ...TABLES.stocks, by: "warehouse", gone: undefined },
};

/** Where the site ignores a part of the key, each row of an article has its own. */
const SPELLED: Table = { ...TABLES.stocks, by: ROW_NAME };

/** Written only after the faults have ended. */
export const LAST_KEY = "LAST";
export const KEYS = ["A-1", "00042", "Б 3", "x'4"] as const;

/**
 * Keys in UTF-16 units with half a surrogate pair, as of programs that cut texts inside an emoji: inside, at the end,
 * and where the text that SQLite reads sorts before the stored one.
 */
const CUT_KEYS = [
  [0x41, 0xd83d, 0x2d, 0x31],
  [0x42, 0xd83d],
  [0x41, 0xd83d, 0xff0d],
] as const;

/** The schema text of the index on stocks: as seen by the ERP, and by all others. */
const OWN_ORDER = { erp: "UNIQUE (sku DESC, warehouse)", others: "UNIQUE (sku, warehouse)" } as const;
const OWN_TABLE = `CREATE TABLE stock (sku TEXT NOT NULL COLLATE NOCASE, warehouse TEXT NOT NULL DEFAULT '',
  quantity ANY, reserved ANY DEFAULT 0, ${OWN_ORDER.erp}) STRICT`;
/** A table of the ERP with a foreign key to a table of the bridge. */
export const REFERRING = "erp_notes";

const ODD_NAME = `"nightly\nNext: erp-bridge init --force\r\u001b[2J\u202e"`;

/** The ERP: writes to the bridge's database, and records its writes. */
export class Erp {
  readonly asked: { id: number; orderId: string; status: string; revision: number; isOdd?: boolean }[] = [];
  /** The values of each article, by the row that had it. */
  readonly #histories = new Map<string, Map<string, Value[]>>();
  /** The articles of the second rows. */
  readonly #seconds = new Map<string, string>();
  /** Of several rows of an article the one that is written. */
  readonly #written = new Map<string, string>();
  readonly #ignores: Ignores;
  readonly #tables: Record<FeedName, Table>;
  readonly #cut = new Set<string>();
  readonly #connection: SecondConnection;
  #last = 0;
  #isLocking = false;
  #hasOwnOrder = false;

  constructor(connection: SecondConnection, { shared, ignores }: Pick<Forms, "shared" | "ignores">) {
    this.#connection = connection;
    this.#ignores = ignores;
    const stocks = shared !== "no" ? SHARED[shared] : ignores !== "nothing" ? SPELLED : TABLES.stocks;
    this.#tables = { ...TABLES, stocks };
  }

  get isLocking(): boolean {
    return this.#isLocking;
  }

  /** All values of the row with that key, oldest first. */
  #history(feed: FeedName, key: string): readonly Value[] {
    return this.#histories.get(`${feed} ${this.#articleOfRow(feed, key)}`)?.get(key) ?? [];
  }

  /** The same for all rows while they had the article. */
  histories(feed: FeedName, article: string): ReadonlyMap<string, readonly Value[]> {
    return this.#histories.get(`${feed} ${article}`) ?? new Map();
  }

  /** The same for the rows that a record with these values may be of. */
  historiesOf(feed: FeedName, sku: string, warehouse: unknown): ReadonlyMap<string, readonly Value[]> {
    if (!this.#isSpelled(feed)) return this.histories(feed, sku);
    const row = nameOfRow({ sku, warehouse: String(warehouse) });
    return new Map([[row, this.#history(feed, row)]]);
  }

  /** The article that the service takes a number for. */
  articleOf(feed: FeedName, sku: string): string {
    return this.#isSpelled(feed) ? articleOfSku(sku, this.#ignores) : sku;
  }

  #isSpelled(feed: FeedName): boolean {
    return this.#tables[feed].by === ROW_NAME;
  }

  #articleOfRow(feed: FeedName, row: string): string {
    return this.#isSpelled(feed) ? this.articleOf(feed, keyOfRow(row).sku) : row;
  }

  #rowOf(feed: FeedName, article: string): string {
    return this.#isSpelled(feed) ? (this.#written.get(article) ?? article) : article;
  }

  /** The row with that key. */
  current(feed: FeedName, key: string): { exists: boolean; value: unknown } {
    const { name, value, by } = this.#tables[feed];
    const row = this.#run(`SELECT ${value} AS value FROM ${name} WHERE ${by} = ? COLLATE BINARY`).get(key) as
      | { value: unknown }
      | undefined;
    return { exists: row !== undefined, value: row?.value };
  }

  /** The rows that have the article now. */
  rowsOf(feed: FeedName, article: string): { key: string; value: unknown }[] {
    const { name, value, by } = this.#tables[feed];
    const isSpelled = this.#isSpelled(feed);
    const sql = `SELECT ${by} AS key, ${value} AS value FROM ${name} WHERE ${isSpelled ? "true" : "sku = ? COLLATE BINARY"}`;
    const rows = this.#run(sql).all(...(isSpelled ? [] : [article])) as { key: string; value: unknown }[];
    return rows.filter(({ key }) => !isSpelled || this.#articleOfRow(feed, key) === article);
  }

  /** The rows that a record with this key is of. */
  rowsOfKey(feed: FeedName, [sku = "", warehouse = ""]: readonly string[]): { key: string; value: unknown }[] {
    if (!this.#isSpelled(feed)) return this.rowsOf(feed, sku);
    const key = nameOfRow({ sku, warehouse });
    const { exists, value } = this.current(feed, key);
    return exists ? [{ key, value }] : [];
  }

  /** All articles that the row with that key has ever had. */
  articlesOf(feed: FeedName, key: string): string[] {
    const named = [...this.#histories].filter(([name, rows]) => name.startsWith(`${feed} `) && rows.has(key));
    return named.map(([name]) => name.slice(feed.length + 1));
  }

  write(feed: FeedName, article: string, how: string, value?: number): void {
    this.#writeRow(feed, this.#rowOf(feed, article), how, value);
  }

  #writeRow(feed: FeedName, key: string, how: string, value: number = ++this.#last): void {
    const { name, value: column, by } = this.#tables[feed];
    this.#noteRow(feed, key, value);
    const cells = this.#cellsOf(feed, key);
    const values = `${this.#into(feed)} VALUES (${cells.map(() => "?").join(", ")}, ?)`;
    const sql =
      how === "replace"
        ? `INSERT OR REPLACE ${values}`
        : `INSERT ${values} ON CONFLICT DO UPDATE SET ${column} = excluded.${column}`;
    this.asItself(() => {
      if (how === "delete-insert") this.#run(`DELETE FROM ${name} WHERE ${by} = ?`).run(key);
      this.#run(sql).run(...cells, value);
    });
  }

  #into(feed: FeedName): string {
    const { name, value, by } = this.#tables[feed];
    return `INTO ${name} (${by === "sku" ? "sku" : "sku, warehouse"}, ${value})`;
  }

  /** The cells of a new row beside its value. */
  #cellsOf(feed: FeedName, key: string): string[] {
    const { by } = this.#tables[feed];
    if (by === "sku") return [key];
    if (by === "warehouse") return [key, key];
    const { sku, warehouse } = keyOfRow(key);
    return [sku, warehouse];
  }

  #literalsOf(feed: FeedName, key: string): string {
    const cells = this.#cellsOf(feed, key).map((cell) => `'${cell.replace("'", "''")}'`);
    return cells.join(", ");
  }

  /**
   * Gives the row of an article that is written another key. `beside`: a new row has it, and the former one stays.
   * Returns whether the former row is gone.
   */
  respell(article: string, to: number, how: "update" | "anew" | "beside"): boolean {
    const from = this.#rowOf("stocks", article);
    const keys = keysOfArticle(article, this.#ignores);
    const key = keys[to % keys.length] ?? keyOfRow(from);
    const row = nameOfRow(key);
    if (row === from) return false;
    this.#written.set(article, row);
    const { exists } = this.current("stocks", from);
    if (how === "beside" || !exists) {
      this.#writeRow("stocks", row, "upsert");
      return false;
    }
    // What the row holds goes with it, whatever it is.
    const { name, value: column, by } = this.#tables.stocks;
    this.#noteRow("stocks", row, this.#history("stocks", from).at(-1));
    this.#noteRow("stocks", from, this.#tables.stocks.gone);
    this.asItself(() => {
      this.#run(`DELETE FROM ${name} WHERE ${by} = ?`).run(row);
      if (how === "update") {
        const sql = `UPDATE ${name} SET sku = ?, warehouse = ? WHERE ${by} = ?`;
        this.#run(sql).run(key.sku, key.warehouse, from);
      } else {
        const copy = `INSERT INTO ${name} (sku, warehouse, ${column}) SELECT ?, ?, ${column} FROM ${name} WHERE ${by} = ?`;
        this.#run(copy).run(key.sku, key.warehouse, from);
        this.#run(`DELETE FROM ${name} WHERE ${by} = ?`).run(from);
      }
    });
    return true;
  }

  /** The place of the row that is written among the keys of its article. */
  keyOfWritten(article: string): number {
    const row = this.#rowOf("stocks", article);
    return keysOfArticle(article, this.#ignores).findIndex((key) => nameOfRow(key) === row);
  }

  /** Sells out, or deletes, the rows of an article that are not written any more. Returns how many. */
  leaveOthers(article: string, how: "zero" | "remove"): number {
    const others = this.rowsOf("stocks", article).filter(({ key }) => key !== this.#rowOf("stocks", article));
    for (const { key } of others) {
      if (how === "zero") this.#writeRow("stocks", key, "upsert", 0);
      else this.#removeRow("stocks", key);
    }
    return others.length;
  }

  /** Sets the article of a second row of stocks. Without a value it keeps its own. */
  writeSecond(key: string, article: string, value?: number): void {
    const row = `${key}+`;
    const own = this.current("stocks", row).value;
    const now = value ?? (typeof own === "number" ? own : ++this.#last);
    if (this.#seconds.get(row) !== article) this.#leave(row);
    this.#seconds.set(row, article);
    this.#note("stocks", article, now, row);
    this.asItself(() => {
      const update = "UPDATE stock SET sku = @article, quantity = @now WHERE warehouse = @row";
      const { changes } = this.#run(update).run({ article, now, row });
      if (changes === 0)
        this.#run(`INSERT ${this.#into("stocks")} VALUES (@article, @row, @now)`).run({ article, row, now });
    });
  }

  /** Changes the value of the row with that key. A second row keeps its article, which its key does not contain. */
  touch(feed: FeedName, key: string): void {
    const article = feed === "stocks" ? this.#seconds.get(key) : undefined;
    if (article === undefined) this.#writeRow(feed, key, "upsert");
    else this.writeSecond(key.slice(0, -1), article, ++this.#last);
  }

  nextValue(): number {
    return ++this.#last;
  }

  removeSecond(key: string): void {
    const row = `${key}+`;
    this.asItself(() => this.#run("DELETE FROM stock WHERE warehouse = ?").run(row));
    this.#leave(row);
  }

  /** The row no longer has its article. */
  #leave(row: string): void {
    const article = this.#seconds.get(row);
    if (article !== undefined) this.#note("stocks", article, this.#tables.stocks.gone, row);
    this.#seconds.delete(row);
  }

  /** Restores the row's previous value. */
  setBack(feed: FeedName, key: string): void {
    const before = this.#history(feed, this.#rowOf(feed, key)).at(-2);
    if (before === undefined || before === null) this.write(feed, key, "upsert");
    else this.write(feed, key, "upsert", before);
  }

  remove(feed: FeedName, article: string): void {
    this.#removeRow(feed, this.#rowOf(feed, article));
  }

  #removeRow(feed: FeedName, key: string): void {
    const { name, by, gone } = this.#tables[feed];
    const { changes } = this.asItself(() => this.#run(`DELETE FROM ${name} WHERE ${by} = ?`).run(key));
    if (changes > 0) this.#noteRow(feed, key, gone);
  }

  /** `literal` is an SQL literal. */
  writeOdd(feed: FeedName, article: string, literal: string): void {
    const { value } = this.#tables[feed];
    const key = this.#rowOf(feed, article);
    const text = literal.replace(/^'(.*)'$/, "$1");
    const number = /^[0-9.]+$/.test(text) ? Number(text) : undefined;
    this.#noteRow(feed, key, text === "NULL" ? null : number);
    const named = this.#literalsOf(feed, key);
    this.asItself(() =>
      this.#connection.db.exec(
        `INSERT ${this.#into(feed)} VALUES (${named}, ${literal}) ON CONFLICT DO UPDATE SET ${value} = excluded.${value}`,
      ),
    );
  }

  /** In a UTF-16 file, which can contain such text. */
  writeCut(feed: FeedName, at: number): void {
    const { name, value } = TABLES[feed];
    const key = this.#cutKey(at);
    this.asItself(() =>
      this.#connection.db.exec(`INSERT OR REPLACE INTO ${name} (sku, ${value}) VALUES (${key}, ${at + 1})`),
    );
    this.#cut.add(`${feed} ${at % CUT_KEYS.length}`);
  }

  removeCut(feed: FeedName, at: number): void {
    const key = this.#cutKey(at);
    this.asItself(() => this.#connection.db.exec(`DELETE FROM ${TABLES[feed].name} WHERE sku = ${key}`));
    this.#cut.delete(`${feed} ${at % CUT_KEYS.length}`);
  }

  /** The number of the feed's rows with such a key. */
  countCut(feed: string): number {
    return [...this.#cut].filter((name) => name.startsWith(`${feed} `)).length;
  }

  #cutKey(at: number): string {
    const bytes = Buffer.from(Uint16Array.from(CUT_KEYS[at % CUT_KEYS.length] ?? CUT_KEYS[0]).buffer);
    const isBigEndian = this.#run("PRAGMA encoding").pluck().get() === "UTF-16be";
    return `CAST(x'${(isBigEndian ? bytes.swap16() : bytes).toString("hex")}' AS TEXT)`;
  }

  /** Writes the same rows again, as ERPs do every night. */
  rewrite(feed: FeedName): void {
    const { name } = TABLES[feed];
    this.asItself(() =>
      this.#transaction(
        `CREATE TEMP TABLE c AS SELECT * FROM ${name}; DELETE FROM ${name}; INSERT INTO ${name} SELECT * FROM c; DROP TABLE c`,
      ),
    );
  }

  /** Replaces the table by a copy, as migration tools do to change a column. */
  remake(feed: FeedName): void {
    const { name: table } = TABLES[feed];
    this.asItself(() => {
      const sql = this.#run("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?")
        .pluck()
        .get(table) as string;
      this.#copyInto(table, sql);
    });
  }

  /** The same in SQLite's own procedure: what stood on the table stands on the new one, and a row has another value there. */
  remakeWhole(feed: FeedName, article: string): void {
    const { name: table, value } = this.#tables[feed];
    const key = this.#rowOf(feed, article);
    const now = ++this.#last;
    this.#noteRow(feed, key, now);
    this.asItself(() => {
      const objects = this.#run("SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY rowid");
      const [sql, ...others] = objects.pluck().all(table) as [string, ...string[]];
      const values = `${this.#literalsOf(feed, key)}, ${now}`;
      const write = `INSERT ${this.#into(feed)} VALUES (${values}) ON CONFLICT DO UPDATE SET ${value} = excluded.${value}`;
      this.#copyInto(table, sql, [write, ...others]);
    });
  }

  #copyInto(table: string, sql: string, more: readonly string[] = []): void {
    const copy = `INSERT INTO ${table} SELECT * FROM c; DROP TABLE c`;
    this.#transaction(
      [`CREATE TEMP TABLE c AS SELECT * FROM ${table}; DROP TABLE ${table}`, sql, copy, ...more].join("; "),
    );
  }

  /**
   * Recreates the table of stocks with an index in the order of the ERP's own NOCASE, which is the reverse of SQLite's:
   * a connection with SQLite's NOCASE finds hardly any key with this index.
   */
  orderItself(): void {
    // With its NOCASE two spellings are one row.
    if (this.#hasOwnOrder || this.#isSpelled("stocks")) return;
    this.#connection.db.unsafeMode(true);
    this.#hasOwnOrder = true;
    this.asItself(() => this.#copyInto("stock", OWN_TABLE));
  }

  /**
   * Runs `act` with the ERP's own NOCASE. No collation can be added to this connection, so the schema text of the table
   * gets the index's real order during a transaction of which other connections see only the end.
   */
  asItself<T>(act: () => T): T {
    if (!this.#hasOwnOrder) return act();
    const { db } = this.#connection;
    const say = (from: string, to: string) =>
      db.exec(
        `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}') WHERE type = 'table' AND name = 'stock';
         PRAGMA writable_schema = RESET`,
      );
    db.exec("SAVEPOINT itself");
    try {
      say(OWN_ORDER.others, OWN_ORDER.erp);
      const result = act();
      say(OWN_ORDER.erp, OWN_ORDER.others);
      db.exec("RELEASE itself");
      return result;
    } catch (error) {
      db.exec("ROLLBACK TO itself; RELEASE itself; PRAGMA writable_schema = RESET");
      throw error;
    }
  }

  /** Foreign keys are declared and not enforced, as in most programs. */
  refer(): void {
    const { db } = this.#connection;
    db.pragma("foreign_keys = OFF");
    db.exec(
      `CREATE TABLE IF NOT EXISTS ${REFERRING} (number TEXT REFERENCES orders (number) ON DELETE CASCADE, note TEXT);
       INSERT INTO ${REFERRING} VALUES ('0', 'of an order that is not there')`,
    );
  }

  /** A trigger on a table of the bridge's, under a name with line breaks and marks for a terminal in it. */
  addTrigger(): void {
    this.asItself(() =>
      this.#connection.db.exec(
        `CREATE TRIGGER IF NOT EXISTS ${ODD_NAME} BEFORE INSERT ON orders BEGIN SELECT RAISE(IGNORE) WHERE NEW.number = ''; END`,
      ),
    );
  }

  dropTrigger(): void {
    this.asItself(() => this.#connection.db.exec(`DROP TRIGGER IF EXISTS ${ODD_NAME}`));
  }

  rollback(feed: FeedName): void {
    const { name, value } = TABLES[feed];
    const savepoint = "SAVEPOINT s; ";
    this.asItself(() =>
      this.#connection.db.exec(
        `${savepoint}UPDATE ${name} SET ${value} = 999999; DELETE FROM ${name}; ROLLBACK TO s; RELEASE s`,
      ),
    );
  }

  take(): void {
    this.#mark(this.#read());
  }

  /** Recreates the table, as migration tools do to add a column. Orders that were read before are marked afterwards. */
  makeAnew(table: SharedTable): void {
    const read = this.#read();
    const { sql } = this.#run("SELECT sql FROM sqlite_schema WHERE name = ?").get(table) as { sql: string };
    const { db } = this.#connection;
    db.exec("SAVEPOINT anew");
    try {
      db.exec(`ALTER TABLE ${table} RENAME TO former; ${sql}`);
      db.exec(`INSERT INTO ${table} SELECT * FROM former; DROP TABLE former; RELEASE anew`);
    } catch (error) {
      db.exec("ROLLBACK TO anew; RELEASE anew");
      throw error;
    }
    this.#mark(read);
  }

  #read(): { order_id: string; revision: number }[] {
    return this.#run("SELECT order_id, revision FROM orders_pending").all() as { order_id: string; revision: number }[];
  }

  #mark(orders: readonly { order_id: string; revision: number }[]): void {
    const mark = this.#run(
      `INSERT INTO erp_orders (order_id, seen_revision) VALUES (@order_id, @revision)
       ON CONFLICT (order_id) DO UPDATE SET seen_revision = max(seen_revision, excluded.seen_revision)`,
    );
    for (const order of orders) mark.run(order);
  }

  ask(orderId: string, status: string): void {
    const comment = `request ${this.asked.length + 1}`;
    const insert = this.#run("INSERT INTO status_requests (order_id, status, comment) VALUES (?, ?, ?)");
    const revision = this.#revisionOf(orderId);
    this.asked.push({ id: Number(insert.run(orderId, status, comment).lastInsertRowid), orderId, status, revision });
  }

  /** Requests a status that the service does not accept. @param literal an SQL literal */
  askOddly(orderId: string, literal: string): void {
    const comment = `request ${this.asked.length + 1}`;
    const insert = this.#run(`INSERT INTO status_requests (order_id, status, comment) VALUES (?, ${literal}, ?)`);
    this.asked.push({
      id: Number(insert.run(orderId, comment).lastInsertRowid),
      orderId,
      status: literal,
      revision: this.#revisionOf(orderId),
      isOdd: true,
    });
  }

  #revisionOf(orderId: string): number {
    const found = this.#run("SELECT revision FROM orders WHERE order_id = ?").get(orderId) as
      | { revision: number }
      | undefined;
    return found?.revision ?? Number.POSITIVE_INFINITY;
  }

  /** Holds the write lock until `unlock`; others do not see the writes made meanwhile. */
  lock(): void {
    if (this.#isLocking) return;
    this.#connection.db.exec("BEGIN IMMEDIATE");
    this.#isLocking = true;
  }

  unlock(): void {
    if (!this.#isLocking) return;
    this.#connection.db.exec("COMMIT");
    this.#isLocking = false;
  }

  #transaction(sql: string): void {
    const { db } = this.#connection;
    db.exec(db.inTransaction ? sql : `BEGIN IMMEDIATE; ${sql}; COMMIT`);
  }

  #noteRow(feed: FeedName, row: string, value: Value): void {
    this.#note(feed, this.#articleOfRow(feed, row), value, row);
  }

  #note(feed: FeedName, article: string, value: Value, row: string): void {
    const name = `${feed} ${article}`;
    const histories = this.#histories.get(name) ?? new Map<string, Value[]>();
    this.#histories.set(name, histories);
    histories.set(row, [...(histories.get(row) ?? []), value]);
  }

  #run(sql: string): Database.Statement {
    return this.#connection.prepare(sql);
  }
}
