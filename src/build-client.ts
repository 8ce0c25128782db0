import { X509Certificate } from "node:crypto";
import type { Route } from "./api/agent.ts";
import { type ClientOptions, ServiceClient } from "./api/client.ts";
import type { LoadedConfig } from "./config/load.ts";
import { readSmallFile } from "./config/small-file.ts";
import { BridgeError } from "./domain/errors.ts";
import type { Clock } from "./domain/ports.ts";

const USER_AGENT = "erp-bridge";

export interface ClientSources extends Pick<ClientOptions, "dispatcher"> {
  loaded: LoadedConfig;
  clock: Clock;
}

export function createClient({ loaded, clock, dispatcher }: ClientSources): ServiceClient {
  const { service } = loaded.config;
  return new ServiceClient({
    baseUrl: service.base_url,
    clientId: service.client_id,
    clientSecret: service.client_secret,
    requestsPerSecond: service.requests_per_second,
    connectTimeoutMs: service.timeouts.connect,
    headersTimeoutMs: service.timeouts.headers,
    totalTimeoutMs: service.timeouts.total,
    answerBytesMax: service.answer_bytes_max,
    answerLimits: { recordsMax: service.answer_records_max, valuesMax: service.answer_values_max },
    route: routeOf(loaded.config),
    userAgent: USER_AGENT,
    clock,
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
}

/** @throws BridgeError `config_invalid` where service.ca_file is none. */
export function routeOf({ service }: LoadedConfig["config"]): Route {
  return { proxy: service.proxy, authorities: readAuthorities(service.ca_file) };
}

const CA_BYTES_MAX = 1_000_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** @throws BridgeError `config_invalid` where the file cannot be read or holds no certificate. */
function readAuthorities(file: string | null): string[] {
  if (file === null) return [];
  const read = readSmallFile(file, CA_BYTES_MAX);
  const found = "problem" in read ? [] : (read.bytes.toString("latin1").match(CERTIFICATE) ?? []);
  if (found.length > 0 && found.every(isCertificate)) return found;
  const message =
    "problem" in read
      ? `service.ca_file: ${file} ${read.problem}.`
      : `service.ca_file: ${file} holds no certificate in PEM form.`;
  throw new BridgeError("config_invalid", message, {
    hint: "Ask the network's administrator for the authority's certificate; it begins with -----BEGIN CERTIFICATE-----",
  });
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== "";
  } catch {
    return false;
  }
}
