import { createServer } from "node:net";
import type { LoadedConfig } from "../config/load.ts";
import { isLocked } from "../database/instance-lock.ts";
import { loadPageSilent } from "../health/page-silence.ts";
import { openDatabase } from "../pass/open-database.ts";
import { EXIT } from "../platform/errors.ts";
import type { CheckResult } from "./check.ts";

/**
 * Whether health, metrics and the page can be reached where the configuration says. A running daemon has the port or has
 * noted that it cannot have it; without one the port is taken for an instant.
 */
export async function checkListen(loaded: LoadedConfig): Promise<CheckResult> {
  const { listen } = loaded.config.http;
  if (listen === null) return told(true, "switched off: no health, no metrics, no status page");
  const address = listen.host.includes(":") ? `[${listen.host}]:${listen.port}` : `${listen.host}:${listen.port}`;
  if (!isDaemonRunning(loaded)) {
    const problem = await tryListening(listen);
    if (problem === undefined) return told(true, `${address} is free`);
    return told(false, `${address} cannot be listened on (${problem}): there will be no status page; orders go on`);
  }
  const silence = loadSilence(loaded);
  if (silence === undefined) return told(true, `the running bridge answers on http://${address}/`);
  return told(false, `the running bridge cannot listen on ${silence.address} (${silence.error}); orders go on`);
}

function told(ok: boolean, message: string): CheckResult {
  return { check: "http", ok, message, exitCode: ok ? EXIT.ok : EXIT.attention };
}

/** What else cannot be told about the lock is told by the check of the database. */
function isDaemonRunning({ config }: LoadedConfig): boolean {
  try {
    return isLocked(config.database.path)?.holder?.command === "run";
  } catch {
    return false;
  }
}

/** A database that cannot be opened is told by its own check. */
function loadSilence(loaded: LoadedConfig): ReturnType<typeof loadPageSilent> {
  try {
    const store = openDatabase(loaded, "readonly");
    try {
      return loadPageSilent(store);
    } finally {
      store.close();
    }
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
