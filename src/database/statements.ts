/*
 * The statements of a connection, each prepared once, and the messages behind the texts that are stored in columns.
 */

import type Database from "better-sqlite3";
import { type BetterSQLite3Database, drizzle } from "drizzle-orm/better-sqlite3";
import type { Message } from "../messages/message.ts";
import { messageBehind, packed } from "../messages/pack.ts";

/** The program's own statements are far fewer; the limit is for statements that contain names from a feed. */
const STATEMENTS_MAX = 500;

/** Stored texts whose messages are kept, the most recently used ones: more than are ever shown. */
const MESSAGES_MAX = 10_000;

const QUOTED = /'[^']*'|"[^"]*"/;
const COMPARED = /(?<=[=<>]\s*|\bIS\s+|\bIS\s+NOT\s+)(\?|@\w+)/;
const LIMIT = /(?<=\bLIMIT\s+)(\?|@\w+)/;
const PARTS = new RegExp([QUOTED, COMPARED, LIMIT].map(({ source }) => source).join("|"), "gi");

export class Statements {
  readonly db: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>();
  #drizzle: BetterSQLite3Database | undefined;
  readonly #queries = new Map<unknown, object>();

  constructor(db: Database.Database) {
    this.db = db;
  }

  /**
   * A prepared statement, cached by its text. Its modes (`pluck`, `raw`, `safeIntegers`) stay set, so each text must have
   * only one user; better-sqlite3 refuses to run it while it is being iterated. Plans do not depend on bound values.
   * `Row` is the type of its rows, preferably from the schema: `Pick<Row<typeof orders>, …>` or `$inferSelect`.
   */
  prepare<Row = unknown, Params extends unknown[] = unknown[]>(sql: string): Database.Statement<Params, Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const [oldest] = this.#statements.keys();
      if (this.#statements.size >= STATEMENTS_MAX && oldest !== undefined) this.#statements.delete(oldest);
      statement = this.db.prepare<unknown[], unknown>(plannedOnce(sql));
      this.#statements.set(sql, statement);
    }
    return statement as unknown as Database.Statement<Params, Row>;
  }

  /**
   * A drizzle query, built and prepared at its first use.
   * @param build a constant of its file, unless `key` is given
   * @param key identifies the query
   */
  prepared<Prepared extends object>(build: (query: BetterSQLite3Database) => Prepared, key: unknown = build): Prepared {
    let query = this.#queries.get(key);
    if (query === undefined) {
      this.#drizzle ??= drizzle(this.db);
      query = build(this.#drizzle);
      this.#queries.set(key, query);
    }
    return query as Prepared;
  }

  /** The English text of a message, for a column; `messageOf` converts it back. Inside a transaction. */
  textOf(message: Message): string;
  textOf(message: Message | null): string | null;
  textOf(message: Message | null): string | null {
    if (message === null) return null;
    const text = String(message);
    this.prepare("REPLACE INTO stored_messages (text, message) VALUES (?, ?)").run(
      text,
      JSON.stringify(packed(message)),
    );
    this.prepare("DELETE FROM stored_messages WHERE rowid <= last_insert_rowid() - ?").run(MESSAGES_MAX);
    return text;
  }

  /** The message of a stored text; an unknown text, such as one of an earlier version, stays plain text. */
  messageOf(text: string): Message;
  messageOf(text: string | null): Message | null;
  messageOf(text: string | null): Message | null {
    if (text === null) return null;
    const sql = "SELECT message FROM stored_messages WHERE text = ?";
    const row = this.prepare<{ message: string }>(sql).get(text);
    return messageBehind(text, JSON.parse(row?.message ?? "null"));
  }
}

/**
 * SQLite's planner reads the values of some parameters: that of LIMIT, and those compared with a column where the
 * statement sorts or an index is partial. It then recompiles the statement each time such a parameter is bound, which
 * costs more than most statements themselves. It does not read the value of an expression, so such parameters are made
 * expressions.
 */
export function plannedOnce(sql: string): string {
  return sql.replace(PARTS, (part, compared?: string, limit?: string) => {
    if (compared !== undefined) return `+${compared}`;
    return limit === undefined ? part : `${limit} + 0`;
  });
}
