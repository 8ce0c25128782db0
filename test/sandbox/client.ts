import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";
import { type Sandbox, type StartOptions, startSandbox } from "../../src/sandbox/start-sandbox.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
  /** The parsed body; undefined at run time where it is not JSON. */
  readonly json: Json;
}

/** JSON of many shapes: whatever a test expects of it is checked by the expectation. */
export interface Json {
  readonly [key: string | number]: Json;
}

/** A list of strings in an answer. */
export function strings(json: Json | undefined): string[] {
  return json as unknown as string[];
}

export interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** A sandbox that ends with its test. */
export async function sandboxFor(start: StartOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(start);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** A clock that stands still until it is told. */
export function handClock(startMs = Date.parse("2026-03-01T10:00:00.000Z")): {
  now: () => number;
  pass: (ms: number) => void;
} {
  let at = startMs;
  return {
    now: () => at,
    pass: (ms) => {
      at += ms;
    },
  };
}

export function basic(sandbox: Sandbox): Record<string, string> {
  const pair = Buffer.from(`${sandbox.clientId}:${sandbox.clientSecret}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

export function importHeaders(sandbox: Sandbox): Record<string, string> {
  return {
    "x-client-id": sandbox.clientId,
    "x-client-secret": sandbox.clientSecret,
    "content-type": "application/json",
  };
}

/** One request with the path exactly as given; rejects when the connection ends early. */
export function send(sandbox: Sandbox, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  const { hostname, port } = new URL(sandbox.url);
  return new Promise((resolve, reject) => {
    const options = {
      hostname,
      port,
      method,
      path,
      headers: sent.headers ?? {},
      agent: false,
      maxHeaderSize: 1_000_000,
    };
    const request = httpRequest(options, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(pieces);
        const text = bytes.toString("utf8");
        const json = tryJson(text) as Json;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, bytes, json });
      });
    });
    request.on("error", reject);
    request.end(sent.body);
  });
}

function tryJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const ORDERS = "/api/v1/1c/orders";

/** A GET of the 1C area; `path` follows `/api/v1/1c/orders`. */
export function get(sandbox: Sandbox, path = ""): Promise<Answer> {
  return send(sandbox, "GET", `${ORDERS}${path}`, { headers: basic(sandbox) });
}

/** A POST of JSON in the 1C area; text is sent as it is. */
export function post(sandbox: Sandbox, path: string, body: unknown): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return send(sandbox, "POST", `${ORDERS}${path}`, { headers: basic(sandbox), body: text });
}

export function pushTo(sandbox: Sandbox, feed: string, body: unknown): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return send(sandbox, "POST", `/api/v1/import/${feed}`, { headers: importHeaders(sandbox), body: text });
}
