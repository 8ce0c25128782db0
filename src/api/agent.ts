import { getCACertificates } from "node:tls";
import type { buildConnector, Dispatcher } from "undici";
import connectOf from "undici/lib/api/api-connect.js";
import requestOf from "undici/lib/api/api-request.js";
import Agent from "undici/lib/dispatcher/agent.js";
import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";
import Pool from "undici/lib/dispatcher/pool.js";

type AgentOptions = ConstructorParameters<typeof Agent>[0] & { connect?: buildConnector.BuildOptions };

/**
 * undici's connections and its `request`, taken from the files that they are in: its index reads a browser's fetch,
 * WebSocket, caches, cookies and mocks at every start, which together are more than the rest of the program.
 */
export class HttpAgent extends Agent {
  override request: typeof requestOf = requestOf;

  constructor(options: AgentOptions) {
    // Said at each connection, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes what holds where nothing is said.
    super({ ...options, connect: { ...options.connect, rejectUnauthorized: true } });
  }
}

/** A connection to a proxy: `connect` asks it for a tunnel. */
class TunnelPool extends Pool {
  override connect: typeof connectOf = connectOf;
}

/** The same through proxies, as undici's own EnvHttpProxyAgent chooses them. */
class HttpProxyAgent extends EnvHttpProxyAgent {
  override request: typeof requestOf = requestOf;
}

export interface Route {
  /** `env`: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say; an address: always through it; null: directly. */
  proxy: string | null;
  /** Certificates (PEM) of authorities that are believed beside the usual ones. */
  authorities: readonly string[];
}

/** What carries requests to `target`. A target on loopback is never asked through a proxy. */
export function createHttpAgent(target: URL, { proxy, authorities }: Route, options: AgentOptions): Dispatcher {
  const trust = authorities.length === 0 ? {} : { ca: [...getCACertificates("default"), ...authorities] };
  const connect = { ...options.connect, ...trust, rejectUnauthorized: true };
  const isDirect = proxy === null || /^(localhost|127\.[\d.]+|\[::1\])$/.test(target.hostname);
  if (isDirect) return new HttpAgent({ ...options, connect });
  const fixed = proxy === "env" ? {} : { httpProxy: proxy, httpsProxy: proxy, noProxy: "" };
  // Both connections are checked: the one to a proxy that speaks TLS, and the one through it.
  const clientFactory = (origin: URL, pool: object) => new TunnelPool(origin, pool);
  return new HttpProxyAgent({ ...options, ...fixed, clientFactory, connect, requestTls: connect, proxyTls: connect });
}
