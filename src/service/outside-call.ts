import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { createHttpAgent, type Route } from "./agent.ts";

/** A receiver of alerts is small and near, so a longer wait means that it is down. */
const CONNECT_MS = 5_000;
const TOTAL_MS = 10_000;
/** The answer is ignored; so much of it is read for an orderly end of the connection. */
const ANSWER_BYTES_MAX = 64 * 1024;

export interface OutsideCall {
  method: "GET" | "POST";
  /** The administrator's URL. It may contain a token, so it must not appear in messages. */
  url: string;
  /** JSON text. */
  body?: string;
  userAgent: string;
  signal: AbortSignal;
  /** As for the service, except that a proxy configured for the service is not used. */
  route?: Route;
}

/**
 * Calls a URL of the administrator. Follows no redirects, sends no credentials of the service and has its own time limits.
 * @throws BridgeError `unreachable`, `timed_out`, `request_refused` or `stopped`, without the URL
 */
export async function callOutside(call: OutsideCall): Promise<void> {
  const url = new URL(call.url);
  const { proxy = null, authorities = [] } = call.route ?? {};
  const agent = createHttpAgent(
    url,
    { proxy: proxy === "env" ? proxy : null, authorities },
    {
      connect: { timeout: CONNECT_MS },
      headersTimeout: TOTAL_MS,
      bodyTimeout: TOTAL_MS,
      connections: 1,
      allowH2: false,
    },
  );
  const deadline = AbortSignal.timeout(TOTAL_MS);
  const { origin, pathname, search } = url;
  try {
    const response = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method: call.method,
      headers: {
        "user-agent": call.userAgent,
        "accept-encoding": "identity",
        ...authorizationOf(call.url),
        ...(call.body === undefined ? {} : { "content-type": "application/json; charset=utf-8" }),
      },
      body: call.body ?? null,
      signal: AbortSignal.any([call.signal, deadline]),
    });
    await response.body.dump({ limit: ANSWER_BYTES_MAX, signal: deadline });
    if (response.statusCode < 200 || response.statusCode > 299) {
      throw new BridgeError("request_refused", m.service.placeAnswered({ status: response.statusCode }));
    }
  } catch (error) {
    if (error instanceof BridgeError) throw error;
    if (call.signal.aborted) throw new BridgeError("stopped", m.service.stoppedCalling);
    if (deadline.aborted) throw new BridgeError("timed_out", m.service.placeSilent({ seconds: TOTAL_MS / 1000 }));
    throw new BridgeError("unreachable", m.service.placeNotReached({ code: codeOf(error) }));
  } finally {
    await agent.destroy();
  }
}

/** For URLs with credentials: `https://user:password@host/`. */
function authorizationOf(url: string): Record<string, string> {
  const { username, password } = new URL(url);
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair, "utf8").toString("base64")}` };
}

/** Only a code: the message of a network error may contain the URL. */
function codeOf(error: unknown): string | Message {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^[A-Z0-9_]+$/.test(code) ? code : m.service.noLink;
}
