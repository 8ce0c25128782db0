/*
 * The connection to PostgreSQL. A transaction uses one client from BEGIN to the answer to COMMIT. Any error closes the
 * client, and nothing is retried here: the next pass reconnects and first reads the position, which also shows whether a
 * COMMIT without an answer succeeded. So no statement ever runs outside of a transaction that the server has aborted.
 */
import { Socket } from "node:net";
import { rootCertificates } from "node:tls";
import type { Client, ClientConfig, QueryResult } from "pg";
import type { MirrorTarget } from "../config/mirror.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type RowsParam, runRows } from "./down/rows-statement.ts";
import { lockTimeoutMs, MirrorError, mirrorErrorOf } from "./mirror-error.ts";

/** Limit for establishing the connection. */
const CONNECT_MS = 10_000;
/** Beyond the statement timeout, which PostgreSQL itself applies: for answers that are lost. */
const ANSWER_GRACE_MS = 5_000;

export type Param = string | number | boolean | null | readonly (string | number | null)[];

/** Inside one transaction. */
export interface MirrorTx {
  /**
   * Returns rows under the statement's column names. Integers are numbers, booleans are booleans; everything else is text
   * as PostgreSQL writes it, including JSON, numeric and times (UTC, ISO).
   */
  query<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
  /** Runs a statement; returns the number of rows written. */
  run(sql: string, params?: readonly Param[]): Promise<number>;
  /** As `run`, with many rows as parameters. */
  runRows(sql: string, params: readonly RowsParam[]): Promise<number>;
  /** Runs `work` in a savepoint: a failure rolls back only `work`. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
}

export interface LinkOptions {
  target: MirrorTarget;
  /** Why the target is unknown; where it is set, no connection is tried. */
  trouble?: Message | undefined;
  /** Trusted certificates in addition to the default ones. */
  authorities: readonly string[];
  schema: string;
  shop: string;
  /** Limit for one statement. */
  timeoutMs: number;
  /** Called first on every new connection; may throw. */
  verify?: (query: MirrorTx["query"]) => Promise<void>;
}

/** Limit for work outside of the passes. */
const BRIEFLY_MS = 10_000;

/** Runs `act` with a separate connection, which is closed afterwards or after `BRIEFLY_MS`. */
export async function briefly<T>(options: LinkOptions, act: (link: MirrorLink) => Promise<T>): Promise<T> {
  const link = new MirrorLink(options);
  // A real timer, not the injected clock: it limits network operations.
  const timer = setTimeout(() => link.close(), BRIEFLY_MS);
  try {
    return await act(link);
  } finally {
    clearTimeout(timer);
    link.close();
  }
}

export class MirrorLink {
  readonly #options: LinkOptions;
  #client: Client | undefined;
  #socket: Socket | undefined;
  #isBusy = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /**
   * Runs one statement outside of a transaction.
   * @param name for a statement of each second, which PostgreSQL then plans once a connection
   */
  async look<Row>(sql: string, params: readonly Param[] = [], name?: string): Promise<Row[]> {
    return await this.#exclusively(m.mirror.reading, async (client) => await queryOn<Row>(client, sql, params, name));
  }

  /** @throws BridgeError with a `mirror_` code; `MirrorError.isOutcomeUnknown` is set where COMMIT was not answered */
  async transaction<T>(work: (tx: MirrorTx) => Promise<T>): Promise<T> {
    return await this.#exclusively(m.mirror.writing, async (client) => {
      await client.query("BEGIN");
      const tx = new OpenTransaction(client, (thrown) => this.#explain(thrown, m.mirror.writing));
      const result = await work(tx);
      tx.end();
      try {
        const { command } = await client.query("COMMIT");
        // PostgreSQL answers ROLLBACK where a statement had failed and its error was caught.
        if (command !== "COMMIT") throw new Error(`COMMIT was answered ${command}`);
      } catch (thrown) {
        throw this.#explain(thrown, m.mirror.committing, true);
      }
      return result;
    });
  }

  /** Closes the connection at once, even during a statement. The next use reconnects. */
  close(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
    // A pending query fails with the socket.
    if (client !== undefined) client.end().catch(() => {});
  }

  async #exclusively<T>(doing: Message, work: (client: Client) => Promise<T>): Promise<T> {
    if (this.#isBusy) throw new Error("The mirror's connection was used twice at once.");
    this.#isBusy = true;
    try {
      return await work(await this.#open());
    } catch (thrown) {
      this.close();
      throw this.#explain(thrown, doing);
    } finally {
      this.#isBusy = false;
    }
  }

  async #open(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const { trouble } = this.#options;
    if (trouble !== undefined) throw new MirrorError("mirror_access", trouble, { hint: m.mirror.noAddressHint });
    const { Client: PgClient } = await loadPg();
    const socket = new Socket();
    this.#socket = socket;
    const client = new PgClient({ ...settingsOf(this.#options), stream: () => socket });
    // Between two passes no query is pending that would report a lost connection.
    client.on("error", () => {
      if (this.#client === client) this.close();
    });
    try {
      await client.connect();
      await queryOn(client, SETTINGS, [
        this.#options.schema,
        `${this.#options.timeoutMs}`,
        `${lockTimeoutMs(this.#options.timeoutMs)}`,
        `${this.#options.timeoutMs * 2}`,
      ]);
      await this.#options.verify?.(async (sql, params = []) => await queryOn(client, sql, params));
    } catch (thrown) {
      socket.destroy();
      throw this.#explain(thrown, m.mirror.connecting);
    }
    // Where the server has closed the connection by now, the first use fails.
    this.#client = client;
    return client;
  }

  #explain(thrown: unknown, doing: Message, isCommit = false) {
    return mirrorErrorOf(thrown, { ...this.#options, doing, isCommit, tookMs: TOOK_MS.get(thrown as object) });
  }
}

/** `pg` is loaded at first use: most shops have no mirror. */
async function loadPg(): Promise<{ Client: typeof Client }> {
  const { default: pg } = await import("pg");
  return pg;
}

/** `erp_bridge.quiet`: triggers do not record the bridge's own writes in `touched`. */
const SETTINGS = `SELECT set_config('search_path', $1, false), set_config('statement_timeout', $2, false),
  set_config('lock_timeout', $3, false), set_config('idle_in_transaction_session_timeout', $4, false),
  set_config('erp_bridge.quiet', 'on', false), set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO, YMD', false),
  set_config('synchronous_commit', 'on', false)`;

function settingsOf({
  target,
  authorities,
  timeoutMs,
}: Pick<LinkOptions, "target" | "authorities" | "timeoutMs">): ClientConfig {
  const { host, port, user, password, database, tls } = target;
  return {
    host,
    port,
    user,
    database,
    // Set even where there is none, so that `pg` does not use PGPASSWORD or .pgpass.
    password: async () => password ?? "",
    application_name: "erp-bridge",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: timeoutMs + ANSWER_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    // `rejectUnauthorized` overrides NODE_TLS_REJECT_UNAUTHORIZED=0. `host` is needed for IP addresses, which SNI excludes.
    ssl: tls
      ? {
          rejectUnauthorized: true,
          host,
          ...(authorities.length === 0 ? {} : { ca: [...authorities, ...rootCertificates] }),
        }
      : false,
    types: { getTypeParser: (oid: number) => PARSERS.get(oid) ?? String } as NonNullable<ClientConfig["types"]>,
  };
}

const PARSERS = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"],
  ...[20, 21, 23, 26].map((oid) => [oid, Number] as const),
]);

/** Durations of failed statements, by their errors. */
const TOOK_MS = new WeakMap<object, number>();

async function timed<T>(act: () => Promise<T>): Promise<T> {
  const sentMs = performance.now();
  try {
    return await act();
  } catch (thrown) {
    if (thrown instanceof Error) TOOK_MS.set(thrown, performance.now() - sentMs);
    throw thrown;
  }
}

async function sendOn(client: Client, sql: string, params: readonly Param[], name?: string): Promise<QueryResult> {
  const query = { text: sql, values: params as unknown[], ...(name === undefined ? {} : { name }) };
  return await timed(async () => await client.query(query));
}

async function queryOn<Row>(client: Client, sql: string, params: readonly Param[], name?: string): Promise<Row[]> {
  const { rows } = await sendOn(client, sql, params, name);
  return rows as Row[];
}

class OpenTransaction implements MirrorTx {
  readonly #client: Client;
  readonly #explain: (thrown: unknown) => Error;
  #isOver = false;

  constructor(client: Client, explain: (thrown: unknown) => Error) {
    this.#client = client;
    this.#explain = explain;
  }

  end(): void {
    this.#isOver = true;
  }

  async query<Row>(sql: string, params: readonly Param[] = []): Promise<Row[]> {
    return await this.#send((client) => queryOn<Row>(client, sql, params));
  }

  async run(sql: string, params: readonly Param[] = []): Promise<number> {
    const { rowCount } = await this.#send((client) => sendOn(client, sql, params));
    return rowCount ?? 0;
  }

  async runRows(sql: string, params: readonly RowsParam[]): Promise<number> {
    return await this.#send((client) => timed(() => runRows(client, sql, params)));
  }

  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    await this.run("SAVEPOINT part");
    try {
      const result = await work();
      await this.run("RELEASE SAVEPOINT part");
      return result;
    } catch (error) {
      // Throws as well where the connection is lost.
      await this.run("ROLLBACK TO SAVEPOINT part");
      throw error;
    }
  }

  async #send<T>(act: (client: Client) => Promise<T>): Promise<T> {
    if (this.#isOver) throw new Error("A statement came after the transaction's end.");
    try {
      return await act(this.#client);
    } catch (thrown) {
      throw this.#explain(thrown);
    }
  }
}
