import type { ServiceAnswer, ServiceClient } from "./client.ts";

/** Sends one import. Never repeated here: after an unknown outcome its rows go again with their newest values. */
export function sendImport(
  client: ServiceClient,
  request: { path: string; body: string | Buffer; contentType?: string; totalTimeoutMs: number; signal: AbortSignal },
): Promise<ServiceAnswer> {
  return client.request({ area: "imports", method: "POST", ...request });
}
