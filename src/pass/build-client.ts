import type { LoadedConfig } from "../config/load.ts";
import { routeOf } from "../config/route.ts";
import type { Clock } from "../platform/ports.ts";
import { type ClientOptions, ServiceClient } from "../service/client.ts";

const USER_AGENT = "erp-bridge";

export interface ClientSources extends Pick<ClientOptions, "dispatcher"> {
  loaded: LoadedConfig;
  clock: Clock;
  /** Rejects if another instance works for the shop; undefined where no second instance is possible. */
  admit: (() => Promise<void>) | undefined;
}

export function createClient({ loaded, clock, admit, dispatcher }: ClientSources): ServiceClient {
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
    admit,
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
}
