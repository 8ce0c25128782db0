/*
 * Begins the bridge of the daemon, and begins it again: with a configuration that was changed, or with files that
 * another program has moved, removed or replaced. What was there before works on until the new one can be expected to
 * start; a process that can start neither ends.
 */

import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadedConfig } from "../config/load.ts";
import { readAside } from "../config/read-files.ts";
import { type ReadFiles, withReads } from "../config/small-file.ts";
import { accountOf } from "../daemon/account.ts";
import { Bridge } from "../daemon/bridge.ts";
import { checkDatabaseFile } from "../database/file/file-checks.ts";
import type { FileTrouble } from "../database/store-files.ts";
import { speaking } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { lockAccount } from "../pass/lock-account.ts";
import { systemClock } from "../platform/clock.ts";
import { asError, BridgeError, EXIT, exitCodeOf } from "../platform/errors.ts";
import { createLogger, logForm } from "../platform/logger.ts";
import { faultCodeOf } from "../platform/machine-fault.ts";
import type { Log } from "../platform/ports.ts";
import { secretFilter } from "../platform/secrets.ts";
import type { Troubles } from "../platform/troubles.ts";
import { type Call, load, requireDatabase } from "./command.ts";

/** The files may return together with their folder, so systemd should restart the daemon. */
const MAY_COME_BACK = EXIT.failed;
/** Shorter than the ten seconds within which a stop must end. */
const BACK_WITHIN_MS = 8_000;
const BACK_LOOK_MS = 250;
const BUSY_EVERY_MS = 1_000;

export interface Running {
  loaded: LoadedConfig;
  /** The configuration's files as they were when it was loaded. */
  reads: ReadFiles;
  log: Log;
  bridge: Bridge;
  account: HeldAccount;
  troubles: Troubles;
}

/** The lock on the account `of`. */
interface HeldAccount {
  of: string;
  release: () => void;
}

type Parts = Pick<Running, "loaded" | "reads" | "log" | "troubles">;

export async function holdAccount(loaded: LoadedConfig, log: Log): Promise<HeldAccount> {
  const { state, release } = await lockAccount(loaded);
  if (state === "unknown") log.debug({}, "It is unknown whether another program works for this account.");
  return { of: accountOf(loaded.config), release };
}

export function startBridge({ loaded, reads, log, troubles }: Parts): Bridge {
  for (const warning of loaded.warnings) log.warn({ config: loaded.file }, warning);
  const bridge = withReads(reads, () => new Bridge({ loaded, log, clock: systemClock, troubles }, "run"));
  const { backup } = bridge.store.migrated;
  if (backup !== undefined) log.info({ backup }, m.daemon.upgraded);
  bridge.start();
  return bridge;
}

export function createLog({ terminal, paintErr }: Call, { config }: LoadedConfig): Log {
  return createLogger({
    level: config.log.level,
    form: logForm(terminal.env, terminal.isTerminal),
    hideSecrets: secretFilter(config.service.client_id, config.service.client_secret),
    paint: paintErr,
    say: speaking(config.language),
  });
}

/**
 * Loads the configuration again. A refused one changes nothing; where one fails only at the start (a database of
 * another account, a folder without rights), the old one is started again.
 * @throws BridgeError where the old one cannot be started any more
 */
export async function reload(call: Call, old: Running, stop: AbortSignal): Promise<Running> {
  let loaded: LoadedConfig;
  let reads: ReadFiles;
  try {
    reads = await readAside({ file: call.configFile, env: call.terminal.env }, () => stop.aborted);
    loaded = await withReads(reads, () => load(call));
  } catch (error) {
    if (stop.aborted) return old;
    reportRefused(old, error);
    return old;
  }
  const log = createLog(call, loaded);
  let account = old.account;
  try {
    if (accountOf(loaded.config) !== old.account.of) account = await holdAccount(loaded, log);
  } catch (error) {
    reportRefused(old, error);
    return old;
  }
  try {
    // What would fail at the start is found while the old bridge still works, as far as that is possible.
    requireDatabase(loaded);
    checkDatabaseFile(loaded.config.database.path, "write");
  } catch (error) {
    if (account !== old.account) account.release();
    reportRefused(old, error);
    return old;
  }
  // While the ERP holds the lock the old bridge works on: a new one could not even start.
  await old.bridge.whenWritable(stop);
  if (stop.aborted) {
    if (account !== old.account) account.release();
    return old;
  }
  await old.bridge.stop();
  try {
    const bridge = await startAgain({ loaded, reads, log, troubles: old.troubles }, stop);
    old.troubles.end("reload");
    log.info({}, m.daemon.reloaded);
    if (account !== old.account) old.account.release();
    return { ...old, loaded, reads, log, bridge, account };
  } catch (error) {
    if (account !== old.account) account.release();
    reportRefused(old, error);
    return { ...old, bridge: await startAgain(old, stop) };
  }
}

/**
 * Handles a change to the database's files under the daemon: starts again with them, or ends the process where they
 * cannot be trusted.
 */
export async function recover(running: Running, trouble: FileTrouble, stop: AbortSignal): Promise<Bridge> {
  const { log, bridge } = running;
  if (trouble.kind === "damaged") return refuse(trouble.error, running);
  // Where the whole folder disappears, its log or its lock may be missed first.
  if (trouble.kind === "replaced" || bridge.store.files?.where() === "away") {
    if (!(await areFilesBack(running)))
      return await leave("error" in trouble ? trouble.error : goneError(bridge), running);
    log.warn({}, m.daemon.filesBack);
    await bridge.stop();
    return await startAgain(running, stop);
  }
  if (trouble.kind === "older") {
    log.error({ errorCode: trouble.error.code }, trouble.error.text);
    log.warn({}, m.daemon.verifiesAnew);
    await bridge.stop();
    return await startAgain(running, stop);
  }
  const file = trouble.kind === "log removed" ? `${bridge.store.path}-wal` : `${bridge.store.path}.lock`;
  log.warn({ file }, m.daemon.fileRemoved({ file }));
  await bridge.stop();
  return await startAgain(running, stop);
}

/** Starts where a bridge has worked before: a lock that another program holds is waited for, as within a pass. */
async function startAgain(parts: Parts, stop: AbortSignal): Promise<Bridge> {
  for (let isLogged = false; ; isLogged = true) {
    try {
      return startBridge(parts);
    } catch (thrown) {
      const error = asError(thrown);
      // Not where another program keeps a removed log open: that is no lock, and lasts until somebody closes it.
      const isLocked = error.code === "database_busy" && faultCodeOf(error) !== undefined;
      if (!isLocked || stop.aborted) throw error;
      if (!isLogged) parts.log.warn({ errorCode: error.code }, m.pass.waitsForLock);
    }
    await sleep(BUSY_EVERY_MS, undefined, { signal: stop }).catch(() => {});
  }
}

/** After the bridge was stopped and cannot be started: the process ends, as it does where its first start fails. */
export function giveUp(thrown: unknown, { log, bridge }: Running, stop: AbortSignal): never {
  const error = asError(thrown);
  log.error({ errorCode: error.code }, error.inFull);
  // The bridge is stopped already, as it was asked to.
  if (stop.aborted) process.exit(EXIT.ok);
  process.exit(existsSync(bridge.store.path) ? exitCodeOf(error) : MAY_COME_BACK);
}

function reportRefused({ log, loaded, troubles }: Running, thrown: unknown): void {
  const error = asError(thrown);
  const text = m.daemon.notReloaded({ error: error.text });
  troubles.note("reload", new BridgeError(error.code, text), path.dirname(loaded.file));
  log.error({ errorCode: error.code }, text);
}

function goneError({ store }: Bridge): BridgeError {
  return new BridgeError("database_refused", m.daemon.databaseGone({ path: store.path }), { hint: m.daemon.bringBack });
}

/**
 * Exits without closing: SQLite would write the rest of the log into the database, and the open connection's data is
 * not trusted either.
 */
function refuse(error: BridgeError, { log }: Running): never {
  log.error({ errorCode: error.code }, error.inFull);
  process.exit(exitCodeOf(error));
}

/** Exits without closing: SQLite would write to files that it did not open. */
async function leave(error: BridgeError, { log, bridge }: Running): Promise<never> {
  log.error({ errorCode: error.code }, error.inFull);
  const copy = await bridge.saveUnlinked();
  if (copy !== undefined) log.error({ copy }, m.daemon.heldSaved({ copy }));
  const mayComeBack = copy === undefined && bridge.store.files?.where() === "away";
  process.exit(mayComeBack ? MAY_COME_BACK : exitCodeOf(error));
}

/**
 * Waits for a folder that is unmounted or renamed for a moment. Nothing is written or confirmed until the very same
 * files are back.
 */
async function areFilesBack({ bridge: { store }, log }: Running): Promise<boolean> {
  for (let waitedMs = 0; store.files?.where() === "away" && waitedMs < BACK_WITHIN_MS; waitedMs += BACK_LOOK_MS) {
    if (waitedMs === 0) log.warn({ database: store.path }, m.daemon.filesGone);
    await sleep(BACK_LOOK_MS);
  }
  return store.files?.where() === "there";
}
