import type { LoadedConfig } from "../config/load.ts";
import { Bridge } from "../daemon.ts";
import { asError, EXIT, type ExitCode } from "../domain/errors.ts";
import type { Log } from "../domain/ports.ts";
import { secretFilter } from "../domain/secrets.ts";
import { describeStatus } from "../domain/status.ts";
import { systemClock } from "../platform/clock.ts";
import { createLogger, logForm } from "../platform/logger.ts";
import { createNotifier } from "../platform/systemd.ts";
import { loadStatusFacts } from "../store/status.ts";
import { type Call, type Command, load } from "./command.ts";

/** How often systemd's status line is renewed. */
const STATUS_EVERY_MS = 60_000;

/** The daemon. Ends with 0 after the first SIGTERM or SIGINT, within 10 s; a second one leaves at once. */
export const run: Command = async (call) => {
  const notify = createNotifier(call.terminal.env);
  let loaded = load(call);
  let log = createLog(call, loaded);
  catchDefects(log);
  let bridge = start(loaded, log);
  notify("READY=1");
  log.info(
    { database: loaded.config.database.path, service: loaded.config.service.base_url },
    "erp-bridge is running.",
  );
  const statusTimer = setInterval(() => notify(`STATUS=${sentenceOf(bridge, loaded)}`), STATUS_EVERY_MS);
  for (;;) {
    const signal = await nextSignal();
    if (signal !== "SIGHUP") break;
    notify("RELOADING=1");
    const changed = tryLoad(call, log);
    if (changed !== undefined) {
      await bridge.stop();
      loaded = changed;
      log = createLog(call, loaded);
      bridge = start(loaded, log);
      log.info({}, "The configuration was read again.");
    }
    notify("READY=1");
  }
  clearInterval(statusTimer);
  process.once("SIGTERM", leaveAtOnce);
  process.once("SIGINT", leaveAtOnce);
  notify("STOPPING=1");
  log.info({}, "Stopping: passes under way are finished first.");
  await bridge.stop();
  log.info({}, "Stopped.");
  return EXIT.ok;
};

function start(loaded: LoadedConfig, log: Log): Bridge {
  for (const warning of loaded.warnings) log.warn({ config: loaded.file }, warning);
  const bridge = new Bridge({ loaded, log, clock: systemClock }, "run");
  const { backup } = bridge.store.migrated;
  if (backup !== undefined)
    log.info({ backup }, "The database was brought up to date; a copy of it as it was is kept.");
  bridge.start();
  return bridge;
}

function createLog({ terminal }: Call, { config }: LoadedConfig): Log {
  return createLogger({
    level: config.log.level,
    form: logForm(terminal.env, terminal.isTerminal),
    hideSecrets: secretFilter(config.service.client_id, config.service.client_secret),
  });
}

/** A wrong configuration changes nothing: the old one stays in force. */
function tryLoad(call: Call, log: Log): LoadedConfig | undefined {
  try {
    return load(call);
  } catch (error) {
    log.error(
      { errorCode: asError(error).code },
      `The configuration was not taken over, the old one stays: ${asError(error).message}`,
    );
    return undefined;
  }
}

function sentenceOf(bridge: Bridge, { config }: LoadedConfig): string {
  try {
    const facts = loadStatusFacts(bridge.store);
    return describeStatus(facts, { nowMs: Date.now(), isRunning: true }, { erpReadWithinMs: config.erp.read_within })
      .sentence;
  } catch (error) {
    return asError(error).message;
  }
}

function nextSignal(): Promise<"SIGTERM" | "SIGINT" | "SIGHUP"> {
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  return new Promise((resolve) => {
    const listeners = signals.map((signal) => ({ signal, listener: () => done(signal) }));
    const done = (signal: (typeof signals)[number]) => {
      for (const { signal: name, listener } of listeners) process.off(name, listener);
      resolve(signal);
    };
    for (const { signal, listener } of listeners) process.on(signal, listener);
  });
}

function leaveAtOnce(): void {
  process.exit(EXIT.ok satisfies ExitCode);
}

/** A defect ends the process at once and loudly: what is committed is safe, and systemd starts it again. */
function catchDefects(log: Log): void {
  const end = (thrown: unknown) => {
    const error = asError(thrown);
    log.error({ errorCode: error.code }, error.message);
    log.debug({ stack: thrown instanceof Error ? (thrown.stack ?? "") : "" }, "details");
    process.exit(EXIT.failed);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
