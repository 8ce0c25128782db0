/*
 * The one connection to PostgreSQL. A transaction has one client from BEGIN to the answer to COMMIT; whatever goes wrong in it ends the
 * client, and nothing of it is tried again here: the next pass connects anew and reads the position first, which also says what
 * became of a COMMIT whose answer was lost. So nothing ever runs on in a transaction that the server no longer has.
 */
import { Socket } from "node:net";
import { rootCertificates } from "node:tls";
import type { Client, ClientConfig, QueryResult } from "pg";
import type { MirrorTarget } from "../config/mirror.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { lockTimeoutMs, MirrorError, mirrorErrorOf } from "./mirror-error.ts";
import { type RowsParam, runRows } from "./rows-statement.ts";

/** Until the connection stands. */
const CONNECT_MS = 10_000;
/** PostgreSQL itself ends a statement that takes too long; an answer that is lost is waited for no longer. */
const ANSWER_GRACE_MS = 5_000;

export type Param = string | number | boolean | null | readonly (string | number | null)[];

/** Inside one transaction. */
export interface MirrorTx {
  /** Rows under the names of the statement. Whole numbers are numbers, booleans booleans, everything else is text as PostgreSQL writes it: JSON, numeric and times (UTC, ISO) too. */
  query<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
  /** The same for a statement whose rows are of no interest: how many it has written. */
  run(sql: string, params?: readonly Param[]): Promise<number>;
  /** The same for many rows. */
  runRows(sql: string, params: readonly RowsParam[]): Promise<number>;
  /** What fails inside is undone alone. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
}

export interface LinkOptions {
  target: MirrorTarget;
  /** Why the target is not known: no connection is tried. */
  trouble?: Message | undefined;
  /** Certificates that are trusted beside the usual ones. */
  authorities: readonly string[];
  schema: string;
  shop: string;
  /** For one statement. */
  timeoutMs: number;
  /** Asked on every new connection, before anything else. */
  verify?: (query: MirrorTx["query"]) => Promise<void>;
}

/** What is asked beside the passes takes no longer. */
const BRIEFLY_MS = 10_000;

/** In a connection of its own, which ends with it. */
export async function briefly<T>(options: LinkOptions, act: (link: MirrorLink) => Promise<T>): Promise<T> {
  const link = new MirrorLink(options);
  // Of the machine: it bounds what the network does.
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

  /** One statement by itself. */
  async look<Row>(sql: string, params: readonly Param[] = []): Promise<Row[]> {
    return await this.#exclusively(m.mirror.reading, async (client) => await queryOn<Row>(client, sql, params));
  }

  /** @throws BridgeError of the mirror's; `MirrorError.isOutcomeUnknown` where COMMIT was not answered */
  async transaction<T>(work: (tx: MirrorTx) => Promise<T>): Promise<T> {
    return await this.#exclusively(m.mirror.writing, async (client) => {
      await client.query("BEGIN");
      const tx = new OpenTransaction(client, (thrown) => this.#explain(thrown, m.mirror.writing));
      const result = await work(tx);
      tx.end();
      try {
        const { command } = await client.query("COMMIT");
        // PostgreSQL answers so where a statement had failed and somebody has swallowed it.
        if (command !== "COMMIT") throw new Error(`COMMIT was answered ${command}`);
      } catch (thrown) {
        throw this.#explain(thrown, m.mirror.committing, true);
      }
      return result;
    });
  }

  /** At once, whatever is under way. The next use connects anew. */
  close(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
    // What it waits for ended with the socket.
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
    // Between two passes no answer is awaited that could show it.
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
    // A server that closes the connection at once fails the first use.
    this.#client = client;
    return client;
  }

  #explain(thrown: unknown, doing: Message, isCommit = false) {
    return mirrorErrorOf(thrown, { ...this.#options, doing, isCommit, tookMs: TOOK_MS.get(thrown as object) });
  }
}

/** `pg` is read when it is first needed: most shops have no mirror. */
async function loadPg(): Promise<{ Client: typeof Client }> {
  const { default: pg } = await import("pg");
  return pg;
}

/** The bridge's own writes touch nothing for the way up. */
const SETTINGS = `SELECT set_config('search_path', $1, false), set_config('statement_timeout', $2, false),
  set_config('lock_timeout', $3, false), set_config('idle_in_transaction_session_timeout', $4, false),
  set_config('erp_bridge.quiet', 'on', false), set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO, YMD', false),
  set_config('synchronous_commit', 'on', false)`;

export function settingsOf({
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
    // Said even where there is none: PGPASSWORD and .pgpass are not this program's.
    password: async () => password ?? "",
    application_name: "erp-bridge",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: timeoutMs + ANSWER_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    // Explicitly: NODE_TLS_REJECT_UNAUTHORIZED=0 would win otherwise. The host is named for addresses, which SNI cannot carry.
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

/** How long the statements took that failed. */
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

async function sendOn(client: Client, sql: string, params: readonly Param[]): Promise<QueryResult> {
  return await timed(async () => await client.query(sql, params as unknown[]));
}

async function queryOn<Row>(client: Client, sql: string, params: readonly Param[]): Promise<Row[]> {
  const { rows } = await sendOn(client, sql, params);
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
      // Where the connection is gone, this fails as well and says so.
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
