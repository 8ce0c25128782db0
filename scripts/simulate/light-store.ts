import Database from "better-sqlite3";
import { type BetterSQLite3Database, drizzle } from "drizzle-orm/better-sqlite3";
import { plannedOnce } from "../../src/database/statements.ts";
import { Store } from "../../src/database/store.ts";

/** The program has far fewer statements of its own; the limit is for those with names from a changed configuration. */
const STATEMENTS_MAX = 2_000;

/** The bridge's connection to one database, with all its prepared statements. */
export class LightConnection {
  readonly db: Database.Database;
  readonly file: string;
  readonly statements = new Map<string, Database.Statement<unknown[], unknown>>();
  readonly queries = new Map<unknown, object>();
  readonly drizzle: BetterSQLite3Database;
  readonly #temporary: Database.Statement<[], { name: string }>;

  constructor(file: string) {
    this.file = file;
    this.db = new Database(file, { fileMustExist: true, timeout: 0 });
    const settings = ["trusted_schema = OFF", "recursive_triggers = OFF", "foreign_keys = OFF", "synchronous = OFF"];
    for (const setting of settings) this.db.pragma(setting);
    this.drizzle = drizzle(this.db);
    this.#temporary = this.db.prepare("SELECT name FROM temp.sqlite_schema WHERE type = 'table'");
  }

  /** Removes the connection state of a program that has ended, because a closed connection would have none. */
  leave(): void {
    if (this.db.inTransaction) this.db.exec("ROLLBACK");
    for (const { name } of this.#temporary.all()) this.db.exec(`DROP TABLE temp."${name}"`);
  }
}

/**
 * The store over a database that is known to be intact: with one connection instead of five, without guards of its
 * files, and with the prepared statements of earlier stores. It writes the same data; handling of files is tested
 * elsewhere.
 */
export class LightStore extends Store {
  readonly #connection: LightConnection;

  constructor(connection: LightConnection) {
    super(connection.db, connection.file);
    this.#connection = connection;
  }

  override prepare<Row = unknown, Params extends unknown[] = unknown[]>(sql: string): Database.Statement<Params, Row> {
    const { statements, db } = this.#connection;
    let statement = statements.get(sql);
    if (statement === undefined) {
      if (statements.size >= STATEMENTS_MAX) statements.clear();
      statement = db.prepare<unknown[], unknown>(plannedOnce(sql));
      statements.set(sql, statement);
    }
    return statement as unknown as Database.Statement<Params, Row>;
  }

  override prepared<Prepared extends object>(
    build: (query: BetterSQLite3Database) => Prepared,
    key: unknown = build,
  ): Prepared {
    const { queries, drizzle } = this.#connection;
    const query = queries.get(key) ?? build(drizzle);
    queries.set(key, query);
    return query as Prepared;
  }
}
