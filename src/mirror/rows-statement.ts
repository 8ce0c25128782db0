/*
 * Statements that write many rows, again and again: PostgreSQL plans each once, under a name, and one buffer of the connection's takes the messages
 * of all. `pg` itself would make new buffers for each, larger and larger until all fits, and the C library does not give back what a
 * first copy takes in this way. It takes a query of one's own as it takes a cursor.
 */
import type { Client, Connection, Submittable } from "pg";
import type { Columns } from "./down-columns.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { RowsBuffer } from "./rows-buffer.ts";

/** Rows stand for a parameter for each of their columns. */
export type RowsParam = RowsBuffer<Columns> | string | number;

const SIZES = { startBytes: 64 * 1024, keptBytes: 1024 * 1024 };
const BIND = 0x42;
const AS_TEXT = 0;
const BINARY = 1;
/** Each has its letter, its length and, the first, a portal without a name and no limit of rows. */
const EXECUTE_AND_SYNC = [0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4];

/** What a connection keeps. */
class PreparedRows {
  readonly message = new GrowingBytes(SIZES);
  /** Names by texts. */
  readonly names = new Map<string, string>();
  count = 0;
}

const prepared = new WeakMap<Client, PreparedRows>();

/** Returns how many rows it has written. One at a time on each connection. */
export function runRows(client: Client, sql: string, params: readonly RowsParam[]): Promise<number> {
  const own = prepared.get(client) ?? new PreparedRows();
  prepared.set(client, own);
  const { message, names } = own;
  const known = names.get(sql);
  const name = known ?? `rows_${own.count++}`;
  return new Promise<number>((resolve, reject) => {
    const submit = (connection: Connection) => {
      const { stream } = connection;
      stream.cork();
      if (known === undefined) connection.parse({ name, text: sql, types: [] }, false);
      writeMessages(message, name, params);
      stream.write(message.written);
      stream.uncork();
    };
    client.query(
      new RowsStatement(submit, (error, rows = 0) => {
        message.clear();
        if (error) return reject(error);
        names.set(sql, name);
        return resolve(rows);
      }),
    );
  });
}

/** Binds the values to the prepared statement and carries it out. */
function writeMessages(to: GrowingBytes, name: string, params: readonly RowsParam[]): void {
  const count = params.reduce<number>((sum, param) => sum + columnsOf(param), 0);
  to.clear();
  to.byte(BIND);
  to.withLength(() => {
    to.byte(0); // The portal has no name.
    to.text(name);
    to.byte(0);
    to.int16(count);
    for (const param of params)
      for (let at = 0; at < columnsOf(param); at++) to.int16(param instanceof RowsBuffer ? BINARY : AS_TEXT);
    to.int16(count);
    for (const param of params) {
      if (param instanceof RowsBuffer) param.writeTo(to);
      else to.withLength(() => to.text(String(param)));
    }
    to.int16(0); // No rows come back.
  }, true);
  for (const byte of EXECUTE_AND_SYNC) to.byte(byte);
}

function columnsOf(param: RowsParam): number {
  return param instanceof RowsBuffer ? param.columns : 1;
}

/** What `pg` calls, by the names that it expects. */
class RowsStatement implements Submittable {
  readonly submit: (connection: Connection) => void;
  /** `pg` puts its time limit around it. */
  callback: (error: Error | null | undefined, rows?: number) => void;
  #rows = 0;

  constructor(submit: (connection: Connection) => void, callback: RowsStatement["callback"]) {
    this.submit = submit;
    this.callback = callback;
  }

  /** `INSERT 0 64` */
  handleCommandComplete({ text }: { text: string }): void {
    this.#rows = Number(text.split(" ").at(-1));
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#rows);
  }

  handleError(error: Error): void {
    this.callback(error);
  }
}
