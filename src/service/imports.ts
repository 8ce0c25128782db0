import type { ServiceAnswer, ServiceClient, Turn } from "./client.ts";

/** Sends one import. Never retried here: after an unknown outcome its rows are sent again with their newest values. */
export function sendImport(
  client: ServiceClient,
  request: {
    path: string;
    body: string | Buffer;
    contentType?: string;
    totalTimeoutMs: number;
    signal: AbortSignal;
    turn?: Turn;
  },
): Promise<ServiceAnswer> {
  return client.request({ area: "imports", method: "POST", ...request });
}

/** Waits for the turn of {@link sendImport}. */
export function turnOfImport(client: ServiceClient, request: { path: string; signal: AbortSignal }): Promise<Turn> {
  return client.turn({ area: "imports", method: "POST", ...request });
}
