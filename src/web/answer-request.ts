/*
 * Decides the answer to a request. Every page in the administrator's browser can reach loopback, so only this machine's
 * exact names are answered (a name rebound to 127.0.0.1 is refused), nothing can be changed, no other origin may read,
 * and no answer contains a stack trace, a path or foreign text.
 */
import { m } from "../messages/messages.ts";
import { asError } from "../platform/errors.ts";
import type { Log } from "../platform/ports.ts";

export interface WebRequest {
  method: string;
  target: string;
  /** Undefined unless the request has exactly one. */
  host: string | undefined;
  hasBody: boolean;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Renders one address. */
export type Page = () => { status: number; type: string; body: string; csp?: string };

const TARGET_MAX = 1_000;

const HEADERS = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
};

/** An answer may not load, run, frame or submit anything. */
export const CLOSED_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PLAIN = "text/plain; charset=utf-8";

export class RequestAnswerer {
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #host: string;
  readonly #log: Log;
  readonly #hideSecrets: (text: string) => string;

  /** @param host the configured one, which is accepted beside the usual names of loopback */
  constructor(
    pages: ReadonlyMap<string, Page>,
    host: string,
    { log, hideSecrets = (text) => text }: { log: Log; hideSecrets?: (text: string) => string },
  ) {
    this.#pages = pages;
    this.#host = host;
    this.#log = log;
    this.#hideSecrets = hideSecrets;
  }

  /** Never throws. */
  answer(request: WebRequest, port: number): Answer {
    if (!this.#isOwnName(request.host, port)) {
      return refusal(421, "This address answers only under its own name, for example http://127.0.0.1:9469/.");
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      return refusal(405, "Only GET and HEAD.", { Allow: "GET, HEAD" });
    }
    if (request.hasBody) return refusal(413, "A request has no body here.");
    if (request.target.length > TARGET_MAX) return refusal(414, "The address is too long.");
    const page = this.#pages.get(request.target.split("?", 1)[0] ?? "");
    if (page === undefined) return refusal(404, `Nothing is here. There are ${[...this.#pages.keys()].join(", ")}.`);
    try {
      const { status, type, body, csp } = page();
      return { status, headers: headersFor(type, csp), body: this.#hideSecrets(body) };
    } catch (thrown) {
      const { code, message } = asError(thrown);
      // Debug level: the flows log the same trouble once, while a scraper would log it every few seconds.
      this.#log.debug({ errorCode: code }, `The status could not be read: ${message}`);
      // An open browser page keeps retrying.
      return refusal(503, String(m.web.noStatus({ code })), { Refresh: "30" });
    }
  }

  #isOwnName(host: string | undefined, port: number): boolean {
    if (host === undefined) return false;
    const own = this.#host.includes(":") ? `[${this.#host}]` : this.#host;
    const names = ["127.0.0.1", "[::1]", "localhost", own.toLowerCase()];
    // Clients omit the default port of the scheme.
    const suffixes = port === 80 ? [":80", ""] : [`:${port}`];
    return names.some((name) => suffixes.some((suffix) => host.toLowerCase() === `${name}${suffix}`));
  }
}

function headersFor(type: string, csp = CLOSED_POLICY): Record<string, string> {
  return { "Content-Type": type, "Content-Security-Policy": csp, ...HEADERS };
}

function refusal(status: number, text: string, more: Record<string, string> = {}): Answer {
  return { status, headers: { ...headersFor(PLAIN), ...more }, body: `${text}\n` };
}
