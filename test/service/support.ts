import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { type ClientOptions, ServiceClient } from "../../src/service/client.ts";
import { ServiceError } from "../../src/service/service-error.ts";

export const CLIENT_ID = "shop-1";
export const SECRET = 's3cr3t/?>~ +=&"quoted"';

/** A client of `url` with limits that a busy machine does not reach; a test that wants to see one sets it. */
export function clientFor(url: string, options: Partial<ClientOptions> = {}): ServiceClient {
  const client = new ServiceClient({
    baseUrl: url,
    clientId: CLIENT_ID,
    clientSecret: SECRET,
    requestsPerSecond: 10_000,
    connectTimeoutMs: 20_000,
    headersTimeoutMs: 20_000,
    totalTimeoutMs: 20_000,
    answerBytesMax: 100_000,
    userAgent: "erp-bridge-test",
    clock: systemClock,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

export const get = (client: ServiceClient, signal = new AbortController().signal) =>
  client.request({ area: "orders", method: "GET", path: "/api/v1/1c/orders", signal });

export const post = (client: ServiceClient, body = "{}", signal = new AbortController().signal) =>
  client.request({ area: "imports", method: "POST", path: "/api/v1/import/stocks", body, signal });

/** The typed failure of a request that must fail. */
export async function failureOf(request: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await request.then(
    () => expect.fail("the request succeeded"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ServiceError)) throw error;
  return error;
}

/** What the sockets of this process have to say to each other is said. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
}

/** A server of the test's own on loopback. */
export async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server: Server = createServer(answer);
  const url = await listen(server);
  return url;
}

/** The same without HTTP: what comes over the socket is the test's own. */
export async function serveRaw(talk: (socket: Socket) => void): Promise<string> {
  const server = createServer();
  const sockets = new Set<Socket>();
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    talk(socket);
  });
  const url = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return url;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
