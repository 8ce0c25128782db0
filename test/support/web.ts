import { type IncomingHttpHeaders, request } from "node:http";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { type Settings, startTestBridge, type TestBridge } from "./bridge.ts";

export interface WebAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface WebBridge extends TestBridge {
  port(): number;
  /** On its own connection, with exactly these headers. */
  ask(path: string, options?: { method?: string; host?: string; headers?: Record<string, string> }): Promise<WebAnswer>;
  /** The health a moment later, because it is cached for a second. */
  health(): Promise<{ status: number; body: Health }>;
}

export interface Health {
  version: number;
  healthy: boolean;
  sentence: string;
  ill: { flow: string; reason: string; since: string | null }[];
  attention: string[];
  flows: { flow: string; fresh: boolean; ageSeconds: number | null }[];
}

/** A bridge whose page listens on a port selected by the system. */
export async function startWebBridge(
  options: { settings?: Settings; sandbox?: StartOptions; folder?: string } = {},
): Promise<WebBridge> {
  const t = await startTestBridge({
    ...options,
    settings: { http: { listen: "127.0.0.1:0" }, ...options.settings },
  });
  t.bridge.web?.start();
  await t.bridge.web?.whenListening();
  const port = () => t.bridge.web?.port ?? 0;
  const ask: WebBridge["ask"] = (path, given = {}) => askPort(port(), path, given);
  const health = async () => {
    t.clock.advance(60_000);
    const { status, body } = await ask("/health");
    return { status, body: JSON.parse(body) as Health };
  };
  return Object.assign(t, { port, ask, health });
}

export function askPort(
  port: number,
  path: string,
  { method = "GET", host = `127.0.0.1:${port}`, headers = {} }: Parameters<WebBridge["ask"]>[1] = {},
): Promise<WebAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, agent: false, headers: { host, ...headers } });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    sent.end();
  });
}
