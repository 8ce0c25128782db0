import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadedConfig } from "../config/load.ts";
import { readAside, readHere } from "../config/read-files.ts";
import { type ReadFiles, withReads } from "../config/small-file.ts";
import { accountOf } from "../daemon/account.ts";
import { Bridge } from "../daemon/bridge.ts";
import type { FileTrouble } from "../database/store.ts";
import { describeStanding } from "../health/status.ts";
import { speaking } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { acquireAccountLock } from "../platform/account-lock.ts";
import { systemClock } from "../platform/clock.ts";
import { asError, BridgeError, EXIT, type ExitCode, exitCodeOf } from "../platform/errors.ts";
import { createLogger, logForm } from "../platform/logger.ts";
import type { Log } from "../platform/ports.ts";
import { secretFilter } from "../platform/secrets.ts";
import { createNotifier } from "../platform/systemd.ts";
import { Troubles } from "../platform/troubles.ts";
import { type Call, type Command, load, requireDatabase } from "./command.ts";
import { SignalQueue } from "./signals.ts";

/** How often systemd's status line is renewed, and its watchdog fed, at least. */
const STATUS_EVERY_MS = 15_000;
/** At the start itself hardly any pass has succeeded yet. */
const FIRST_STATUS_MS = 5_000;
/** Files that are gone with their folder may come back with it: systemd tries again. */
const MAY_COME_BACK = EXIT.failed;
/** A stop is waited for no longer: it ends within ten seconds. */
const BACK_WITHIN_MS = 8_000;
const BACK_LOOK_MS = 250;
/** So many times in the time that a unit's WatchdogSec= gives: one message that is late ends nothing. */
const WATCHDOG_SHARE = 3;

/** The daemon. Ends with 0 after the first SIGTERM or SIGINT, within 10 s; a second one leaves at once. */
export const run: Command = async (call) => {
  // A reload that comes before the start is over is answered after it.
  const signals = new SignalQueue();
  const notify = createNotifier(call.terminal.env);
  let loaded = await load(call);
  let reads = readHere({ file: call.configFile, env: call.terminal.env });
  let log = createLog(call, loaded);
  catchDefects(() => log);
  let account = await lockAccount(loaded, log);
  const troubles = new Troubles();
  signals.takeStops();
  let bridge = start({ loaded, reads, log, troubles });
  notify("READY=1", statusLine(bridge, loaded));
  log.info({ database: bridge.store.path, service: loaded.config.service.base_url }, m.daemon.running);
  const hanging = new StalledFlow();
  const tell = () => {
    const isWell = hanging.look(bridge, log);
    notify(statusLine(bridge, loaded), ...(isWell ? ["WATCHDOG=1"] : []));
  };
  const statusTimers = [setTimeout(tell, FIRST_STATUS_MS), setInterval(tell, statusEveryMs(call.terminal.env))];
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
    if (event === "SIGHUP") {
      signal = signals.next();
      const running = { loaded, reads, log, bridge, account, troubles };
      ({ loaded, reads, log, bridge, account } = await reload(call, running, () => signals.isStopAsked));
    } else {
      bridge = await beginAnew({ loaded, reads, log, bridge, account, troubles }, event);
    }
    notify("READY=1", statusLine(bridge, loaded));
  }
  for (const timer of statusTimers) clearInterval(timer);
  signals.onSecondStop(() => process.exit(code));
  notify("STOPPING=1");
  log.info({}, m.daemon.stopping);
  await bridge.stop();
  account.release();
  log.info({}, m.daemon.stopped);
  return code;
};

interface Running {
  loaded: LoadedConfig;
  /** The files of the configuration, as they were when it was taken over. */
  reads: ReadFiles;
  log: Log;
  bridge: Bridge;
  account: HeldAccount;
  troubles: Troubles;
}

/** The account that this process works for, alone on this machine. */
interface HeldAccount {
  of: string;
  release: () => void;
}

/** @throws BridgeError `instance_running` where another daemon of this machine works for the account. */
async function lockAccount({ config }: LoadedConfig, log: Log): Promise<HeldAccount> {
  const { base_url: baseUrl, client_id: clientId, client_secret: clientSecret } = config.service;
  const lock = await acquireAccountLock({ baseUrl, clientId, clientSecret });
  if (lock.state === "taken") {
    throw new BridgeError("instance_running", m.daemon.accountTaken({ clientId, baseUrl }), {
      hint: m.daemon.ownAccounts,
    });
  }
  if (lock.state === "unknown") log.debug({}, "Whether another program works for this account cannot be told.");
  return { of: accountOf(config), release: lock.release };
}

/**
 * Takes the configuration over as it stands now. One that is wrong changes nothing; one that only shows at the start
 * that it cannot work (a database of another account, a folder without rights) makes way for the old one again.
 */
async function reload(call: Call, old: Running, isStopping: () => boolean): Promise<Running> {
  let loaded: LoadedConfig;
  let reads: ReadFiles;
  try {
    reads = await readAside({ file: call.configFile, env: call.terminal.env }, isStopping);
    loaded = await withReads(reads, () => load(call));
  } catch (error) {
    if (isStopping()) return old;
    tellRefused(old, error);
    return old;
  }
  const log = createLog(call, loaded);
  let account = old.account;
  try {
    if (accountOf(loaded.config) !== old.account.of) account = await lockAccount(loaded, log);
  } catch (error) {
    tellRefused(old, error);
    return old;
  }
  try {
    requireDatabase(loaded);
  } catch (error) {
    if (account !== old.account) account.release();
    tellRefused(old, error);
    return old;
  }
  await old.bridge.stop();
  try {
    const bridge = start({ loaded, reads, log, troubles: old.troubles });
    old.troubles.end("reload");
    log.info({}, m.daemon.reloaded);
    if (account !== old.account) old.account.release();
    return { ...old, loaded, reads, log, bridge, account };
  } catch (error) {
    if (account !== old.account) account.release();
    tellRefused(old, error);
    return { ...old, bridge: start(old) };
  }
}

/** After something happened to the files under the daemon. Ends the program where nothing can be trusted any more. */
async function beginAnew(running: Running, trouble: FileTrouble): Promise<Bridge> {
  const { log, bridge } = running;
  try {
    if (trouble.kind === "damaged") return refuse(trouble.error, running);
    // Where a folder goes away, the log or the lock may be missed first.
    if (trouble.kind === "replaced" || bridge.store.whereFiles() === "away") {
      if (!(await areFilesBack(running)))
        return await leave("error" in trouble ? trouble.error : goneError(bridge), running);
      log.warn({}, m.daemon.filesBack);
      await bridge.stop();
      return start(running);
    }
    if (trouble.kind === "older") {
      log.error({ errorCode: trouble.error.code }, trouble.error.text);
      log.warn({}, m.daemon.verifiesAnew);
      await bridge.stop();
      return start(running);
    }
    const file = trouble.kind === "log removed" ? `${bridge.store.path}-wal` : `${bridge.store.path}.lock`;
    log.warn({ file }, m.daemon.fileRemoved({ file }));
    await bridge.stop();
    return start(running);
  } catch (thrown) {
    const error = asError(thrown);
    log.error({ errorCode: error.code }, error.inFull);
    process.exit(existsSync(bridge.store.path) ? exitCodeOf(error) : MAY_COME_BACK);
  }
}

function goneError({ store }: Bridge): BridgeError {
  return new BridgeError("database_refused", m.daemon.databaseGone({ path: store.path }), { hint: m.daemon.bringBack });
}

/** Nothing is closed: SQLite would move what is left of the log into the database. What is held cannot be trusted either. */
function refuse(error: BridgeError, { log }: Running): never {
  log.error({ errorCode: error.code }, error.inFull);
  process.exit(exitCodeOf(error));
}

/** A folder may be unmounted or renamed for a moment: until the very same files are back nothing is written or confirmed. */
async function areFilesBack({ bridge: { store }, log }: Running): Promise<boolean> {
  for (let waitedMs = 0; store.whereFiles() === "away" && waitedMs < BACK_WITHIN_MS; waitedMs += BACK_LOOK_MS) {
    if (waitedMs === 0) log.warn({ database: store.path }, m.daemon.filesGone);
    await sleep(BACK_LOOK_MS);
  }
  return store.whereFiles() === "there";
}

/** Nothing is closed: SQLite would write into files that it did not open. */
async function leave(error: BridgeError, { log, bridge }: Running): Promise<never> {
  log.error({ errorCode: error.code }, error.inFull);
  const copy = await bridge.saveHeld();
  if (copy !== undefined) log.error({ copy }, m.daemon.heldSaved({ copy }));
  const mayComeBack = copy === undefined && bridge.store.whereFiles() === "away";
  process.exit(mayComeBack ? MAY_COME_BACK : exitCodeOf(error));
}

function tellRefused({ log, loaded, troubles }: Running, thrown: unknown): void {
  const error = asError(thrown);
  const text = m.daemon.notReloaded({ error: error.text });
  troubles.note("reload", new BridgeError(error.code, text), path.dirname(loaded.file));
  log.error({ errorCode: error.code }, text);
}

function start({ loaded, reads, log, troubles }: Pick<Running, "loaded" | "reads" | "log" | "troubles">): Bridge {
  for (const warning of loaded.warnings) log.warn({ config: loaded.file }, warning);
  const bridge = withReads(reads, () => new Bridge({ loaded, log, clock: systemClock, troubles }, "run"));
  const { backup } = bridge.store.migrated;
  if (backup !== undefined) log.info({ backup }, m.daemon.upgraded);
  bridge.start();
  return bridge;
}

function createLog({ terminal, paintErr }: Call, { config }: LoadedConfig): Log {
  return createLogger({
    level: config.log.level,
    form: logForm(terminal.env, terminal.isTerminal),
    hideSecrets: secretFilter(config.service.client_id, config.service.client_secret),
    paint: paintErr,
    say: speaking(config.language),
  });
}

function statusEveryMs(env: NodeJS.ProcessEnv): number {
  const watchdogMs = Number(env["WATCHDOG_USEC"]) / 1000;
  return watchdogMs > 0 ? Math.min(STATUS_EVERY_MS, watchdogMs / WATCHDOG_SHARE) : STATUS_EVERY_MS;
}

/** Keeps the watchdog unfed while something hangs, and says so once: the restart that follows explains itself. */
class StalledFlow {
  #told: string | undefined;

  /** Whether everything gets on. */
  look(bridge: Bridge, log: Log): boolean {
    const name = bridge.findStalled();
    if (name !== undefined && name !== this.#told) {
      log.error({ job: name }, m.daemon.hangs({ job: name }));
    }
    this.#told = name;
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

/** A defect ends the process at once and loudly: what is committed is safe, and systemd starts it again. */
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
