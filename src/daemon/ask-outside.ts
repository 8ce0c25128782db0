import type { LoadedConfig } from "../config/load.ts";
import { openReadOnly } from "../database/connection.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import type { Store } from "../database/store.ts";
import { sendTestMessage } from "../health/send-alerts.ts";
import type { Message } from "../messages/message.ts";
import { createClient } from "../pass/build-client.ts";
import { type Clock, isoTime } from "../platform/ports.ts";
import type { CheckResult } from "../probe/check-result.ts";
import { checkService } from "../probe/check-service.ts";
import type { ProbeOptions } from "../probe/probe.ts";
import { type Explored, probeOpenQuestions } from "../probe/probe-service.ts";
import type { ServiceClient } from "../service/client.ts";
import { refuseOtherAccount } from "./account.ts";
import { admissionOf } from "./admission.ts";
import { buildReceivers } from "./build-watch.ts";
import { hasDatabase } from "./missing-database.ts";

/** Sends a test message to every configured receiver; `error` is the reason where it did not arrive. */
export function sendTestAlerts(
  loaded: LoadedConfig,
  clock: Clock,
): Promise<{ channel: string; error: Message | undefined }[]> {
  const { signal } = new AbortController();
  const at = isoTime(clock.nowMs());
  return Promise.all(
    buildReceivers(loaded).map(async (receiver) => ({
      channel: receiver.name,
      error: await sendTestMessage(receiver, at, signal),
    })),
  );
}

/** Checks with harmless requests whether the service accepts the bridge's credentials. */
export async function probeService(loaded: LoadedConfig, clock: Clock): Promise<CheckResult[]> {
  const { config } = loaded;
  const follow = { since: config.updates.since, timezone: config.service.timezone, overlapMs: 0 };
  const importPath = config.imports.stocks.path;
  const { signal } = new AbortController();
  return await withClient(loaded, clock, (client) => checkService(client, { clock, follow, importPath, signal }));
}

/** @throws Fenced before the first request, or as soon as another instance has the shop */
async function withClient<T>(
  loaded: LoadedConfig,
  clock: Clock,
  ask: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  const admit = admissionOf(loaded);
  await admit();
  const client = createClient({ loaded, clock, admit });
  try {
    return await ask(client);
  } catch (error) {
    await admit();
    throw error;
  } finally {
    await client.close();
  }
}

/** Rate limit where a daemon sends requests too. */
const PROBE_PER_SECOND = 1;

type Exploring = Pick<ProbeOptions, "clock" | "signal" | "consent" | "progress">;

/** Probes what the interface document leaves open, with a client of its own beside a running daemon. */
export async function exploreService(loaded: LoadedConfig, options: Exploring): Promise<Explored> {
  const { config } = loaded;
  const store = hasDatabase(loaded) ? openReadOnly(loaded.config.database.path) : undefined;
  const configured = config.service.requests_per_second;
  const isAlone = store === undefined || isLocked(config.database.path) === undefined;
  const perSecond = isAlone ? configured : Math.min(configured, PROBE_PER_SECOND);
  return await explore(loaded, { ...options, store, perSecond });
}

/** The same before a database exists, and so without a daemon. */
export async function exploreNewService(loaded: LoadedConfig, options: Exploring): Promise<Explored> {
  const perSecond = loaded.config.service.requests_per_second;
  return await explore(loaded, { ...options, store: undefined, perSecond });
}

async function explore(
  loaded: LoadedConfig,
  { store, perSecond, ...options }: Exploring & { store: Store | undefined; perSecond: number },
): Promise<Explored> {
  const { config } = loaded;
  const service = { ...config.service, requests_per_second: perSecond };
  try {
    if (store !== undefined) refuseOtherAccount(store, loaded);
    return await withClient({ ...loaded, config: { ...config, service } }, options.clock, (client) =>
      probeOpenQuestions({ ...options, client, config, store }),
    );
  } finally {
    store?.close();
  }
}
