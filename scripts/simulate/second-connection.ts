import Database from "better-sqlite3";

/**
 * The connection of everybody but the bridge: the ERP writes through it and the invariants look through it. One for
 * both, because reading the schema costs more than most of what is asked, and opened when it is first needed, because
 * the bridge changes the schema as soon as it starts. While the ERP holds the lock nobody else commits, so what is
 * seen beside the ERP's own rows is what is committed, and nothing else.
 */
export class SecondConnection {
  readonly #file: string;
  /** Whoever closes a database last copies its log, which nobody looks at here; a reader can not. */
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
      // As an ERP would not: but its fsyncs are not what is looked at here.
      this.#db.pragma("synchronous = OFF");
    }
    return this.#db;
  }

  /** Prepared once. `pluck` stays with the text. */
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
