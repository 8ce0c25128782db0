import { getCACertificates } from "node:tls";
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent } from "undici";

type AgentOptions = ConstructorParameters<typeof Agent>[0] & { connect?: buildConnector.BuildOptions };

export interface Route {
  /** `env`: from HTTPS_PROXY, HTTP_PROXY and NO_PROXY; an address: always this proxy; null: no proxy. */
  proxy: string | null;
  /** Certificates (PEM) of trusted authorities in addition to the default ones. */
  authorities: readonly string[];
}

/** The dispatcher for requests to `target`. A proxy is never used for loopback. */
export function createHttpAgent(target: URL, { proxy, authorities }: Route, options: AgentOptions): Dispatcher {
  const trust = authorities.length === 0 ? {} : { ca: [...getCACertificates("default"), ...authorities] };
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
  const connect = { ...options.connect, ...trust, rejectUnauthorized: true };
  const isDirect = proxy === null || /^(localhost|127\.[\d.]+|\[::1\])$/.test(target.hostname);
  if (isDirect) return new Agent({ ...options, connect });
  const fixed = proxy === "env" ? {} : { httpProxy: proxy, httpsProxy: proxy, noProxy: "" };
  // Certificates are verified for both connections: to a TLS proxy, and through it.
  return new EnvHttpProxyAgent({ ...options, ...fixed, connect, requestTls: connect, proxyTls: connect });
}
