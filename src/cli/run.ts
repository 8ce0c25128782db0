import type { LoadedConfig } from "../config/load.ts";
import { readHere } from "../config/read-files.ts";
import type { Bridge } from "../daemon/bridge.ts";
import { describeStanding } from "../health/status.ts";
import { speaking } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { asError, EXIT, type ExitCode } from "../platform/errors.ts";
import type { Log } from "../platform/ports.ts";
import { createNotifier } from "../platform/systemd.ts";
import { Troubles } from "../platform/troubles.ts";
import { type Command, load } from "./command.ts";
import { SignalQueue } from "./signals.ts";
import { createLog, giveUp, holdAccount, recover, reload, startBridge } from "./start-bridge.ts";

/** Longest interval between updates of systemd's status line and watchdog messages. */
const STATUS_EVERY_MS = 15_000;
/** Right after the start hardly any pass has finished. */
const FIRST_STATUS_MS = 5_000;
/** Watchdog messages per `WatchdogSec=`, so that one late message ends nothing. */
const WATCHDOG_SHARE = 3;

/** Runs the daemon. Exits with 0 within 10 s of the first SIGTERM or SIGINT; a second one exits at once. */
export const run: Command = async (call) => {
  // Created first: a reload during the start is handled after it.
  const signals = new SignalQueue();
  const notify = createNotifier(call.terminal.env);
  let loaded = await load(call);
  let reads = readHere({ file: call.configFile, env: call.terminal.env });
  let log = createLog(call, loaded);
  catchDefects(() => log);
  let account = await holdAccount(loaded, log);
  const troubles = new Troubles();
  signals.takeStops();
  let bridge = startBridge({ loaded, reads, log, troubles });
  notify("READY=1", statusLine(bridge, loaded));
  log.info({ database: bridge.store.path, service: loaded.config.service.base_url }, m.daemon.running);
  const stalls = new StallDetector();
  const notifyState = () => {
    const isWell = stalls.look(bridge, log);
    notify(statusLine(bridge, loaded), ...(isWell ? ["WATCHDOG=1"] : []));
  };
  const statusTimers = [
    setTimeout(notifyState, FIRST_STATUS_MS),
    setInterval(notifyState, statusEveryMs(call.terminal.env)),
  ];
  let code: ExitCode = EXIT.ok;
  let signal = signals.next();
  for (;;) {
    const event = await Promise.race([signal, bridge.trouble]);
    if (event === "SIGTERM" || event === "SIGINT") break;
    if (typeof event === "object" && event.kind === "fenced") {
      log.error({ errorCode: event.error.code }, event.error.inFull);
      code = EXIT.fenced;
      break;
    }
    notify("RELOADING=1");
    const running = { loaded, reads, log, bridge, account, troubles };
    try {
      if (event === "SIGHUP") {
        signal = signals.next();
        ({ loaded, reads, log, bridge, account } = await reload(call, running, signals.stop));
      } else {
        bridge = await recover(running, event, signals.stop);
      }
    } catch (error) {
      giveUp(error, running, signals.stop);
    }
    notify("READY=1", statusLine(bridge, loaded));
  }
  for (const timer of statusTimers) clearInterval(timer);
  signals.onSecondStop(() => process.exit(code));
  notify("STOPPING=1");
  log.info({}, m.daemon.stopping);
  try {
    await bridge.stop();
  } finally {
    account.release();
  }
  log.info({}, m.daemon.stopped);
  return code;
};

function statusEveryMs(env: NodeJS.ProcessEnv): number {
  const watchdogMs = Number(env["WATCHDOG_USEC"]) / 1000;
  return watchdogMs > 0 ? Math.min(STATUS_EVERY_MS, watchdogMs / WATCHDOG_SHARE) : STATUS_EVERY_MS;
}

/**
 * Withholds the watchdog message while a flow hangs, and logs that once, so that the following restart is explained.
 */
class StallDetector {
  #reported: string | undefined;

  /** Whether no flow hangs. */
  look(bridge: Bridge, log: Log): boolean {
    const name = bridge.findStalled();
    if (name !== undefined && name !== this.#reported) {
      log.error({ job: name }, m.daemon.hangs({ job: name }));
    }
    this.#reported = name;
    return name === undefined;
  }
}

function statusLine(bridge: Bridge, { config }: LoadedConfig): string {
  return `STATUS=${bridge.client.hideSecrets(sentenceOf(bridge, config))}`;
}

function sentenceOf(bridge: Bridge, config: LoadedConfig["config"]): string {
  try {
    const { language } = config;
    const { facts, nowMs } = bridge.watched();
    const limits = { erpReadWithinMs: config.erp.read_within };
    return describeStanding(facts, { nowMs, isRunning: true }, limits, language);
  } catch (error) {
    return speaking(config.language)(bridge.store.troubles.first?.sentence ?? asError(error).text);
  }
}

/** A defect ends the process at once: committed data is safe, and systemd restarts it. */
function catchDefects(log: () => Log): void {
  const end = (thrown: unknown) => {
    const error = asError(thrown);
    log().error({ errorCode: error.code }, error.text);
    log().debug({ stack: thrown instanceof Error ? (thrown.stack ?? "") : "" }, "details");
    process.exit(EXIT.failed);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
