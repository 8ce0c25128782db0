import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Deliverer } from "./delivery.ts";
import type { SandboxRequest, SandboxResponse } from "./messages.ts";

/** Larger requests are refused before the model receives them. */
const BODY_BYTES_MAX = 512 * 1024 * 1024;
const CONNECTIONS_MAX = 256;
/** Longer than any client keeps an idle connection, so that a reused one is never closed during a request. */
const KEEP_ALIVE_MS = 120_000;

export interface HttpServerOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Answers requests that are not for the service, such as the control endpoint; undefined passes the request on. */
  readonly control?: ((request: SandboxRequest) => SandboxResponse | undefined) | undefined;
  readonly handle: (request: SandboxRequest) => SandboxResponse;
  /** Called and awaited for each request, before its effect. */
  readonly onRequest?: ((request: SandboxRequest) => void | Promise<void>) | undefined;
  /** Called and awaited after the effect (before it where a fault delays it), before anything is sent. */
  readonly onAnswer?: ((request: SandboxRequest, response: SandboxResponse) => void | Promise<void>) | undefined;
}

export interface RunningServer {
  readonly port: number;
  /** Closes all connections and cancels everything that was still to be sent. */
  readonly close: () => Promise<void>;
}

async function readBytes(message: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function headersOf(message: IncomingMessage): Record<string, string> {
  const headers = Object.entries(message.headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    headers.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  );
}

async function answer(message: IncomingMessage, out: ServerResponse, options: HttpServerOptions, deliverer: Deliverer) {
  const body = await readBytes(message);
  if (body === undefined) {
    out.writeHead(413, { connection: "close" }).end();
    return;
  }
  const request = { method: message.method ?? "", path: message.url ?? "", headers: headersOf(message), body };
  const controlled = options.control?.(request);
  if (controlled !== undefined) return deliverer.deliver(out, controlled);
  await options.onRequest?.(request);
  const response = options.handle(request);
  await options.onAnswer?.(request, response);
  deliverer.deliver(out, response);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Serves on loopback only. An exception in the model or in a hook is answered with 500 and its message. */
export async function startHttpServer(options: HttpServerOptions): Promise<RunningServer> {
  const deliverer = new Deliverer();
  const server = createServer((message, out) => {
    // The model sets the Date header, or omits it.
    out.sendDate = false;
    answer(message, out, options, deliverer).catch((error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      if (!out.headersSent && !out.destroyed) out.writeHead(500).end(`the sandbox failed: ${text}`);
      else out.destroy();
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.maxConnections = CONNECTIONS_MAX;
  const port = await listen(server, options.port);
  const close = async () => {
    deliverer.stop();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return { port, close };
}
