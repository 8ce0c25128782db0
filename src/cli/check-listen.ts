import { createServer } from "node:net";
import { formatListen } from "../config/addresses.ts";
import type { LoadedConfig } from "../config/load.ts";
import { openReadOnly } from "../database/connection.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import { PAGE_SILENCE, type PageSilence } from "../health/health-rows.ts";
import { m } from "../messages/messages.ts";
import { type CheckResult, failed, passed } from "../probe/check-result.ts";

/**
 * Whether the page answers at the configured address; without a daemon, whether the port is free (it is bound for a
 * moment).
 */
export async function checkListen(loaded: LoadedConfig): Promise<CheckResult> {
  const { listen } = loaded.config.http;
  if (listen === null) return passed("http", m.check.pageOff);
  const address = formatListen(listen);
  if (!isDaemonRunning(loaded)) {
    const problem = await tryListening(listen);
    if (problem === undefined) return passed("http", m.check.addressFree({ address }));
    return failed("http", m.check.addressTaken({ address, problem }));
  }
  const silence = loadSilence(loaded);
  if (silence === undefined) return passed("http", m.check.pageAnswers({ address }));
  return failed("http", m.check.pageSilent({ address: silence.address, error: silence.error }));
}

/** An unreadable lock is reported by the check of the database. */
function isDaemonRunning({ config }: LoadedConfig): boolean {
  try {
    return isLocked(config.database.path)?.holder?.command === "run";
  } catch {
    return false;
  }
}

/**
 * Undefined where the daemon has reported no failure to listen. A database that cannot be opened is reported by its own
 * check.
 */
function loadSilence(loaded: LoadedConfig): PageSilence | undefined {
  try {
    using store = openReadOnly(loaded.config.database.path);
    return PAGE_SILENCE.load(store);
  } catch {
    return undefined;
  }
}

function tryListening({ host, port }: { host: string; port: number }): Promise<string | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
