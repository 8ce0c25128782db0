import Database from "better-sqlite3";

/**
 * The connection of everybody but the bridge: the ERP writes through it and the invariants look through it. One for
 * both, because reading the schema costs more than most of what is asked, and opened when it is first needed, because
 * the bridge changes the schema as soon as it starts. While the ERP holds the lock nobody else commits, so what is
 * seen beside the ERP's own rows is what is committed, and nothing else.
 */
export class SecondConnection {
  readonly #file: string;
  /** The last connection to close a database copies its log, which is not needed here; a read-only one cannot. */
  readonly #last: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();
  #db: Database.Database | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#last = new Database(file, { readonly: true, fileMustExist: true });
    this.#last.pragma("user_version");
  }

  get db(): Database.Database {
    if (this.#db === undefined) {
      this.#db = new Database(this.#file, { timeout: 0, fileMustExist: true });
      // Unlike an ERP's: its fsyncs are not tested here.
      this.#db.pragma("synchronous = OFF");
    }
    return this.#db;
  }

  /** Prepared once per text; so `pluck` stays set for it. */
  prepare(sql: string): Database.Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  close(): void {
    this.#db?.close();
    this.#last.close();
  }
}
