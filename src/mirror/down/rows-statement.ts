/*
 * Repeated statements that write many rows. Each is prepared once under a name, and all messages of a connection use one
 * buffer. `pg` itself would allocate growing buffers for each message, and the C library does not return the memory that a
 * first copy uses in this way. `pg` accepts custom queries (`Submittable`), as it does cursors.
 */
import type { Client, Connection, Submittable } from "pg";
import type { Columns } from "./down-columns.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { RowsBuffer } from "./rows-buffer.ts";

/** A buffer of rows is one parameter per column. */
export type RowsParam = RowsBuffer<Columns> | string | number;

const SIZES = { startBytes: 64 * 1024, keptBytes: 1024 * 1024 };
const BIND = 0x42;
const AS_TEXT = 0;
const BINARY = 1;
/** Each has a type byte and a length; Execute also has an unnamed portal and no row limit. */
const EXECUTE_AND_SYNC = [0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4];

/** State of a connection. */
class PreparedRows {
  readonly message = new GrowingBytes(SIZES);
  /** Names of prepared statements, by SQL text. */
  readonly names = new Map<string, string>();
  count = 0;
}

const prepared = new WeakMap<Client, PreparedRows>();

/** Returns the number of rows written. Only one call at a time per connection. */
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

/** Bind, Execute and Sync for a prepared statement. */
function writeMessages(to: GrowingBytes, name: string, params: readonly RowsParam[]): void {
  const count = params.reduce<number>((sum, param) => sum + columnsOf(param), 0);
  to.clear();
  to.byte(BIND);
  to.withLength(() => {
    to.byte(0); // unnamed portal
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
    to.int16(0); // no result columns
  }, true);
  for (const byte of EXECUTE_AND_SYNC) to.byte(byte);
}

function columnsOf(param: RowsParam): number {
  return param instanceof RowsBuffer ? param.columns : 1;
}

/** The methods that `pg` calls. */
class RowsStatement implements Submittable {
  readonly submit: (connection: Connection) => void;
  /** `pg` wraps it for `query_timeout`. */
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
