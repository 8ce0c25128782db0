import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface TestReceiver {
  url: string;
  received: Received[];
  /** The received alerts, parsed. */
  messages(): { kind: string; subject: string; text: string; version: number }[];
  /** Answers all further calls with this status; 0 closes the connection. */
  answer(status: number, headers?: Record<string, string>): void;
}

/** A small server on loopback that stores what it receives. */
export async function startReceiver(): Promise<TestReceiver> {
  const received: Received[] = [];
  let status = 204;
  let headers: Record<string, string> = {};
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      });
      if (status === 0) request.socket.destroy();
      else response.writeHead(status, headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    messages: () => received.map(({ body }) => JSON.parse(body)),
    answer: (next, more = {}) => {
      status = next;
      headers = more;
    },
  };
}
