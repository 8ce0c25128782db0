/*
 * The service of the benchmarks, in a process of its own: it hands out prepared bodies as fast as they are asked for, shows
 * single orders of theirs and accepts everything. `POST /_bench` prepares: `{"from": N, "batches": N, "size": N}`, `{"changes": N}` or
 * `{"shape": NAME, "bytes": N, "as": "orders"}`; `as` may be `updates` or `order` as well.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { hostileBody, withId } from "./hostile-data.ts";
import { BATCH_SIZE, batchBody, changeText, orderIdOf, orderText } from "./order-data.ts";

/** Ten thousand changes in fewer than two minutes. */
const CHANGE_EVERY_MS = 10;

let batches: Buffer[] = [];
let changes: { timestamp: string; text: string }[] = [];
let hostilePage: Buffer | undefined;
let hostileOrder: Buffer | undefined;
/** Numbers of the orders in the batches. */
let handedOut = { from: 0, to: 0 };

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

interface Wanted {
  from?: number;
  batches?: number;
  /** Orders in a batch. */
  size?: number;
  changes?: number;
  shape?: string;
  bytes?: number;
  as?: "orders" | "updates" | "order";
}

async function prepare(request: IncomingMessage): Promise<void> {
  const wanted = JSON.parse(await bodyOf(request)) as Wanted;
  const size = wanted.size ?? BATCH_SIZE;
  batches = Array.from({ length: wanted.batches ?? 0 }, (_, index) =>
    Buffer.from(batchBody((wanted.from ?? 0) + index * size, size)),
  );
  handedOut = { from: wanted.from ?? 0, to: (wanted.from ?? 0) + batches.length * size };
  [hostilePage, hostileOrder] = [undefined, undefined];
  if (wanted.shape !== undefined) {
    const { shape, bytes = 0, as = "orders" } = wanted;
    if (as === "orders") batches.push(hostileBody(shape, bytes));
    if (as === "updates") hostilePage = hostileBody(shape, bytes, "updates");
    if (as === "order") hostileOrder = hostileBody(shape, bytes, null);
  }
  const count = wanted.changes ?? 0;
  const firstMs = Date.now() - count * CHANGE_EVERY_MS;
  changes = Array.from({ length: count }, (_, n) => {
    const timestamp = new Date(firstMs + n * CHANGE_EVERY_MS).toISOString();
    return { timestamp, text: changeText(n, timestamp) };
  });
}

/** The order as the changes show it, or as it was handed out. Few are asked for, so they are looked for one by one. */
function findOrder(id: string): string | undefined {
  const change = changes.findIndex((_, n) => orderIdOf(n) === id);
  if (change >= 0) return changes[change]?.text;
  for (let n = handedOut.from; n < handedOut.to; n++) if (orderIdOf(n) === id) return orderText(n);
  return undefined;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const send = (body: string | Buffer) =>
    response
      .writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
      .end(body);
  if (url.pathname === "/_bench") {
    await prepare(request);
    send("{}");
  } else if (url.pathname === "/api/v1/1c/orders") {
    send(batches.shift() ?? '{"orders":[]}');
  } else if (url.pathname === "/api/v1/1c/orders/updates") {
    const since = url.searchParams.get("since") ?? "";
    const due = changes.filter(({ timestamp }) => timestamp >= since);
    send(hostilePage ?? `{"updates":[${due.map(({ text }) => text).join(",")}]}`);
  } else if (request.method === "GET" && hostileOrder !== undefined) {
    send(withId(hostileOrder, lastOf(url)));
  } else if (request.method === "GET") {
    send(findOrder(lastOf(url)) ?? "{}");
  } else {
    request.resume();
    request.once("end", () => send("{}"));
  }
}

const lastOf = (url: URL) => url.pathname.split("/").at(-1) ?? "";

const server = createServer((request, response) => void answer(request, response));
// Longer than anything that is measured between two requests.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address !== null ? address.port : 0);
});
