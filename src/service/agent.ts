import { getCACertificates } from "node:tls";
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent } from "undici";

type AgentOptions = ConstructorParameters<typeof Agent>[0] & { connect?: buildConnector.BuildOptions };

export interface Route {
  /** `env`: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say; an address: always through it; null: directly. */
  proxy: string | null;
  /** Certificates (PEM) of authorities that are trusted beside the usual ones. */
  authorities: readonly string[];
}

/** What carries requests to `target`. A target on loopback is never asked through a proxy. */
export function createHttpAgent(target: URL, { proxy, authorities }: Route, options: AgentOptions): Dispatcher {
  const trust = authorities.length === 0 ? {} : { ca: [...getCACertificates("default"), ...authorities] };
  // Said at each connection, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes what holds where nothing is said.
  const connect = { ...options.connect, ...trust, rejectUnauthorized: true };
  const isDirect = proxy === null || /^(localhost|127\.[\d.]+|\[::1\])$/.test(target.hostname);
  if (isDirect) return new Agent({ ...options, connect });
  const fixed = proxy === "env" ? {} : { httpProxy: proxy, httpsProxy: proxy, noProxy: "" };
  // Both connections are checked: the one to a proxy that speaks TLS, and the one through it.
  return new EnvHttpProxyAgent({ ...options, ...fixed, connect, requestTls: connect, proxyTls: connect });
}
