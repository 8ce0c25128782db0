import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import { socketUrl } from "./postgres-cluster.ts";

/** PostgreSQL's port in the name of its socket; another proxy has another folder. */
const PORT = 5432;
const LENGTH_BYTES = 4;
const SSL_REQUEST = 80_877_103;
const SIMPLE_QUERY = "Q".charCodeAt(0);
const PARSE = "P".charCodeAt(0);
const BIND = "B".charCodeAt(0);

/**
 * What becomes of a statement and of its connection: `before`, the server never sees it; `after`, the server carries it out, and its answer is
 * lost.
 */
export type Cut = "before" | "after";

interface Connection {
  client: Socket;
  server: Socket;
  /** What the client has sent of a message that is not whole yet. */
  rest: Buffer;
  isStarted: boolean;
  /** The server's next answer is the end of the connection. */
  isLast: boolean;
  /** Statements that were prepared under a name. */
  named: Map<string, string>;
  /** The name of the one that was parsed last and not bound yet. */
  parsed: string | undefined;
}

/** Stands between a client and the socket of a PostgreSQL, and cuts connections at chosen moments. Speaks no TLS. */
export class CuttingProxy {
  /** Called with the text of each statement before it is passed on. */
  onStatement: ((sql: string) => Cut | undefined) | undefined;
  /** Called with each new connection that is not refused. */
  onConnection: (() => void) | undefined;
  /** Connections are accepted, and nothing is passed on: PostgreSQL behind a network that swallows everything. */
  isSilent = false;
  /** New connections end at once. */
  isRefusing = false;
  cuts = 0;
  /** COMMITs that clients have sent. */
  commits = 0;
  readonly #folder: string;
  readonly #target: () => string;
  readonly #server: Server;
  readonly #open = new Set<Connection>();

  private constructor(folder: string, target: () => string) {
    this.#folder = folder;
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Listens on a socket in the folder; `target` is the path of PostgreSQL's own. */
  static async start(folder: string, target: () => string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(folder, target);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject).listen(proxy.#socket, resolve);
    });
    return proxy;
  }

  url(database: string, user = "postgres"): string {
    return socketUrl({ folder: this.#folder, port: PORT, database, user });
  }

  /** Ends every connection as a pulled cable does, for both sides. */
  cutAll(): void {
    for (const connection of [...this.#open]) this.#cut(connection);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const connection of [...this.#open]) this.#end(connection);
    await closed;
    rmSync(this.#socket, { force: true });
  }

  get #socket(): string {
    return path.join(this.#folder, `.s.PGSQL.${PORT}`);
  }

  #accept(client: Socket): void {
    if (this.isRefusing) {
      client.destroy();
      return;
    }
    const server = connect(this.#target());
    const connection: Connection = {
      ...{ client, server, rest: Buffer.alloc(0), isStarted: false, isLast: false },
      ...{ named: new Map<string, string>(), parsed: undefined },
    };
    this.#open.add(connection);
    client.on("data", (bytes) => this.#fromClient(connection, bytes));
    server.on("data", (bytes) => {
      if (connection.isLast) this.#cut(connection);
      else if (!this.isSilent) client.write(bytes);
    });
    for (const socket of [client, server]) {
      socket.on("error", () => this.#end(connection)).on("close", () => this.#end(connection));
    }
    this.onConnection?.();
  }

  #fromClient(connection: Connection, bytes: Buffer): void {
    if (this.isSilent) return;
    connection.rest = connection.rest.length === 0 ? bytes : Buffer.concat([connection.rest, bytes]);
    for (;;) {
      const message = nextMessage(connection);
      if (message === undefined) return;
      const sql = connection.isStarted ? statementOf(connection, message) : undefined;
      // A request for TLS, which PostgreSQL refuses on a socket, comes before the start of the conversation.
      if (!connection.isStarted) connection.isStarted = message.readUInt32BE(LENGTH_BYTES) !== SSL_REQUEST;
      if (sql === "COMMIT") this.commits += 1;
      const cut = sql === undefined ? undefined : this.onStatement?.(sql);
      if (cut === "before") {
        this.#cut(connection);
        return;
      }
      if (cut === "after") connection.isLast = true;
      connection.server.write(message);
    }
  }

  #cut(connection: Connection): void {
    this.cuts += 1;
    this.#end(connection);
  }

  #end(connection: Connection): void {
    this.#open.delete(connection);
    connection.client.destroy();
    connection.server.destroy();
  }
}

/** Takes a whole message off what has come: its kind, its length, its content; the first message has no kind. */
function nextMessage(connection: Connection): Buffer | undefined {
  const { rest, isStarted } = connection;
  const head = (isStarted ? 1 : 0) + LENGTH_BYTES;
  if (rest.length < head) return undefined;
  const length = rest.readUInt32BE(head - LENGTH_BYTES) + head - LENGTH_BYTES;
  if (rest.length < length) return undefined;
  connection.rest = rest.subarray(length);
  return rest.subarray(0, length);
}

/** Each time that it is to be carried out: one with a name is parsed once. */
function statementOf(connection: Connection, message: Buffer): string | undefined {
  const content = message.subarray(1 + LENGTH_BYTES);
  const textAt = (start: number) => content.toString("utf8", start, content.indexOf(0, start));
  if (message[0] === SIMPLE_QUERY) return textAt(0);
  if (message[0] === PARSE) {
    const name = textAt(0);
    const sql = textAt(content.indexOf(0) + 1);
    connection.named.set(name, sql);
    connection.parsed = name;
    return sql;
  }
  if (message[0] !== BIND) return undefined;
  const name = textAt(content.indexOf(0) + 1);
  const isReported = connection.parsed === name;
  connection.parsed = undefined;
  return isReported ? undefined : connection.named.get(name);
}
