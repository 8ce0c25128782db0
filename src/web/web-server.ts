/*
 * Serves health, metrics and the status page on loopback. Must never stop orders: a used port is logged, stored for
 * `status` and retried; requests are limited in size, time and number. A crash loses nothing, because nothing is kept.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Store } from "../database/store.ts";
import { PAGE_SILENCE, type PageSilence } from "../health/health-rows.ts";
import { m } from "../messages/messages.ts";
import { asError } from "../platform/errors.ts";
import { type Clock, isoTime, type Log } from "../platform/ports.ts";
import type { Answer, WebRequest } from "./answer-request.ts";
import type { LoopWatch } from "./event-loop.ts";

/** Once the port is free, the page appears within a minute. */
const RETRY_MS = 30_000;
/** Browsers and scrapers send a few hundred bytes. */
const HEADER_BYTES_MAX = 8 * 1024;
/** Enough for two browsers, a scraper and a prober; further connections are closed. */
const CONNECTIONS_MAX = 32;
const REQUESTS_PER_CONNECTION_MAX = 1_000;
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** A client that reads nothing for so long is disconnected. */
const IDLE_TIMEOUT_MS = 15_000;

export interface WebServerOptions {
  listen: { host: string; port: number };
  store: Store;
  clock: Clock;
  log: Log;
  /** Runs while this server listens or tries to. */
  loop: LoopWatch;
  /** Makes the answer; this class does the transport. Must not throw. `port` is the one that is actually used. */
  answer: (request: WebRequest, port: number) => Answer;
}

export class WebServer {
  readonly #options: WebServerOptions;
  readonly #abort = new AbortController();
  #server: Server | undefined;
  #listening: Promise<void> = Promise.resolve();
  #silence: PageSilence | undefined;

  constructor(options: WebServerOptions) {
    this.#options = options;
  }

  /** Starts to listen, now or as soon as the port is free. */
  start(): void {
    this.#options.loop.start();
    this.#listening = this.#keepTrying();
  }

  /** Resolves once it listens or was stopped. */
  whenListening(): Promise<void> {
    return this.#listening;
  }

  /** The port that it listens on; undefined while it does not. */
  get port(): number | undefined {
    const address = this.#server?.address() as AddressInfo | null | undefined;
    return address?.port;
  }

  /** Closes all connections; answers are made synchronously, so none is cut off. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#options.loop.stop();
    await this.#listening;
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  async #keepTrying(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        this.#server = await this.#listen();
        this.#reportListening();
        return;
      } catch (error) {
        this.#reportSilent((error as NodeJS.ErrnoException).code ?? asError(error).code);
      }
      try {
        await this.#options.clock.sleep(RETRY_MS, signal);
      } catch {
        return;
      }
    }
  }

  #listen(): Promise<Server> {
    const server = createServer(
      {
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: 1_000,
        keepAliveTimeout: 5_000,
      },
      (request, response) => this.#handle(request, response),
    );
    server.maxConnections = CONNECTIONS_MAX;
    server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION_MAX;
    server.setTimeout(IDLE_TIMEOUT_MS);
    const { host, port } = this.#options.listen;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port, exclusive: true }, () => {
        server.off("error", reject);
        server.on("error", (error) => this.#options.log.warn({ errorCode: asError(error).code }, asError(error).text));
        resolve(server);
      });
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const hosts = request.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host");
    const answer = this.#options.answer(
      {
        method: request.method ?? "",
        target: request.url ?? "",
        host: hosts.length === 1 ? request.headers.host : undefined,
        hasBody: request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined,
      },
      this.port ?? this.#options.listen.port,
    );
    const body = Buffer.from(answer.body);
    response.writeHead(answer.status, {
      ...answer.headers,
      "Content-Length": body.length,
      // The rest of a refused request is not read, so what follows on the connection must not count as a request.
      ...(answer.status >= 400 && answer.status !== 503 ? { Connection: "close" } : {}),
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }

  #reportListening(): void {
    const { listen, log } = this.#options;
    log.info({}, m.web.listening({ address: withPort(listen.host, this.port ?? listen.port) }));
    this.#note(undefined);
  }

  /** Logs once, not at each attempt. */
  #reportSilent(error: string): void {
    const { listen, log, clock } = this.#options;
    const address = withPort(listen.host, listen.port);
    if (this.#silence === undefined) {
      const fields = { errorCode: error, hint: m.web.freePort };
      log.warn(fields, m.web.notListening({ address, error }));
    }
    this.#note({ address, since: this.#silence?.since ?? isoTime(clock.nowMs()), error });
  }

  /**
   * Stores the state for `status`, which runs in another process. Where the database is busy, the next attempt stores
   * it.
   */
  #note(silence: PageSilence | undefined): void {
    const { store, log } = this.#options;
    this.#silence = silence;
    try {
      if (JSON.stringify(PAGE_SILENCE.load(store)) === JSON.stringify(silence)) return;
      store.write(() => PAGE_SILENCE.save(store, silence));
    } catch (error) {
      log.debug({ errorCode: asError(error).code }, "The state of the status page could not be noted.");
    }
  }
}

function withPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
