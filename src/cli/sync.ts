import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import { Bridge } from "../daemon/bridge.ts";
import { feedRulesOf } from "../daemon/build-jobs.ts";
import { openReadOnly } from "../database/connection.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import type { Store } from "../database/store.ts";
import { invalidateAcknowledged } from "../feeds/acknowledged-rows.ts";
import { hasOtherKey, type KeyShown } from "../feeds/feed-views.ts";
import { describeCondition } from "../health/condition-words.ts";
import { exitCodeOfHold, isHeldBy, listConditions } from "../health/conditions.ts";
import { loadFacts } from "../health/fact-rows.ts";
import { describeCounts } from "../messages/describe-counts.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type HoldRow, loadHolds } from "../pass/hold-rows.ts";
import { AREA_FLOWS, isJobName, JOB_NAMES, type JobName } from "../pass/job-names.ts";
import { type LockedAccount, lockAccount } from "../pass/lock-account.ts";
import { openDatabase } from "../pass/open-database.ts";
import { cancelSyncRequest, loadSyncResult, type SyncOutcome, saveSyncRequest } from "../pass/sync-request-rows.ts";
import { systemClock } from "../platform/clock.ts";
import { asError, BridgeError, EXIT, type ExitCode, exitCodeOfCode } from "../platform/errors.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { isoTime } from "../platform/ports.ts";
import type { Area } from "../service/service-error.ts";
import { isBackfillOpen } from "../updates/pages/rest-rows.ts";
import { type BackfillOptions, readBackfill, requestOlder } from "./backfill.ts";
import { asTyped } from "./call.ts";
import { type Call, load, unknownWord, worstOf } from "./command.ts";
import { findOnlyRow } from "./only-row.ts";
import { openExisting } from "./open-existing.ts";
import { describeKey } from "./preview.ts";
import { type LongCall, withProgress } from "./progress.ts";
import { interruption } from "./signals.ts";
import { isSwitchedOn, switchedOff } from "./switched-off.ts";
import { previewSync } from "./sync-dry-run.ts";
import { SyncProgress } from "./sync-progress.ts";
import { jsonLine } from "./terminal.ts";

/** How often the command polls for the daemon's answer. */
const LOOK_MS = 100;
/** A daemon that has not accepted the request by then hangs or was stopped. */
const TAKEN_WITHIN_MS = 30_000;

type SyncOptions = BackfillOptions & { jobs: string[]; dryRun?: boolean; only?: string; again?: boolean };

/** Runs one bounded pass of the named jobs; where a daemon runs, requests them from it and follows their progress. */
export const sync = withProgress<SyncOptions>(async (call, options) => {
  const { jobs, dryRun = false, again = false } = options;
  const unknown = jobs.find((job) => !isJobName(job));
  if (unknown !== undefined) throw unknownWord(m.command.job, unknown, JOB_NAMES);
  const loaded = await load(call);
  const names = chooseJobs(jobs, loaded);
  if (options.only !== undefined) refuseOnly(names, loaded);
  if (again) refuseAgain(names, options);
  const isOlder = options.since !== undefined || options.orders !== undefined;
  if (isOlder) refuseOlder(names, options);
  const older = readBackfill(options, loaded.config.service.timezone);
  // Before the first write. A dry run sends nothing.
  const account = dryRun ? undefined : await lockUnlessDaemon(loaded);
  using _account = { [Symbol.dispose]: () => account?.release() };
  if (again) sendAgain(loaded, names);
  const isAllNamed = isOlder ? requestOlder(call, loaded, older) : true;
  const only = options.only === undefined ? undefined : await nameRow(loaded, names[0] as FeedName, options.only);
  if (only === null) {
    if (call.json) call.terminal.out(jsonLine({ jobs: [], holds: [], row: null }));
    else call.terminal.out(m.sync.noRow({ only: options.only ?? "" }));
    return EXIT.failed;
  }
  if (dryRun) return previewSync(call, loaded, { names, only });
  const outcomes: SyncOutcome[] = [];
  const show = (outcome: SyncOutcome) => {
    outcomes.push(outcome);
    if (!call.json) call.terminal.out(describeOutcome(outcome));
  };
  const hasUpkeep = jobs.length === 0;
  const holds = (await syncHere(call, loaded, { names, show, only, hasUpkeep })).filter(
    (hold) => !isShownBy(hold, outcomes),
  );
  const shown = only === undefined ? undefined : showKey(call, loaded, names[0] as FeedName, only);
  if (options.since !== undefined && !call.json && outcomes.every((each) => exitCodeOfOutcome(each) === EXIT.ok))
    call.terminal.out(describeBackfill(loaded, options.since));
  if (call.json) call.terminal.out(jsonLine({ jobs: outcomes, holds, ...(shown === undefined ? {} : { row: shown }) }));
  for (const { area, reason, detail } of holds) {
    if (detail === null) call.terminal.err(m.sync.held({ area, reason }));
    else call.terminal.err(m.sync.heldBecause({ area, reason, detail }));
  }
  if (!call.json)
    for (const command of nextCommands(loaded, names))
      call.terminal.err(m.sync.next({ command: asTyped(command, call) }));
  const named = isAllNamed ? EXIT.ok : EXIT.attention;
  return worstOf([named, ...outcomes.map(exitCodeOfOutcome), ...holds.map(({ reason }) => exitCodeOfHold(reason))]);
});

/** A pass that stored nothing new has read the requested range all the same. */
function describeBackfill(loaded: LoadedConfig, since: string): Message {
  using store = openReadOnly(loaded.config.database.path);
  const words = { since };
  return isBackfillOpen(store) ? m.sync.stillReading(words) : m.sync.haveRead(words);
}

/** The commands that `status` would suggest for present conditions of these jobs. */
function nextCommands(loaded: LoadedConfig, names: readonly string[]): string[] {
  if (!existsSync(loaded.config.database.path)) return [];
  using store = openReadOnly(loaded.config.database.path);
  const limits = { erpReadWithinMs: loaded.config.erp.read_within };
  const nowMs = Date.now();
  const standing = listConditions(loadFacts(store), { nowMs, isRunning: true }, limits);
  const commands = standing.flatMap((condition) => {
    const { command } = describeCondition(condition, { nowMs });
    return concerns(condition.subject, names) && command?.startsWith("erp-bridge ") ? [command] : [];
  });
  return [...new Set(commands)];
}

/** The subject of a hold may be an area that contains the job. */
function concerns(subject: string, names: readonly string[]): boolean {
  const stopped: readonly string[] = subject in AREA_FLOWS ? AREA_FLOWS[subject as Area] : [];
  return [subject, ...stopped].some((name) => names.includes(name));
}

/**
 * Null where there is no such row. Returns the name unchanged where it cannot be resolved yet: the pass reports why.
 */
async function nameRow(loaded: LoadedConfig, feed: FeedName, only: string): Promise<string | null> {
  if (!existsSync(loaded.config.database.path)) return only;
  try {
    using store = openReadOnly(loaded.config.database.path);
    const rules = feedRulesOf(loaded).get(feed);
    if (rules !== undefined && hasOtherKey(store, rules) && isDaemonRunning(loaded))
      throw new BridgeError("config_invalid", m.sync.daemonHasOther({ feed }), { hint: m.sync.reloadFirst });
    return (await findOnlyRow(store, loaded, { feed, only })) ?? null;
  } catch (error) {
    const { code } = asError(error);
    if (code === "table_missing" || code === "database_refused") return only;
    throw error;
  }
}

function chooseJobs(jobs: readonly string[], loaded: LoadedConfig): JobName[] {
  const named = JOB_NAMES.filter((job) => jobs.includes(job));
  const off = named.find((job) => !isSwitchedOn(job, loaded));
  if (off !== undefined) throw switchedOff(off);
  return named.length > 0 ? named : JOB_NAMES.filter((job) => job !== "reconcile" && isSwitchedOn(job, loaded));
}

/** A key needs exactly one feed, and a feed that is always sent whole has no request for a single row. */
function refuseOnly(names: readonly JobName[], { config }: LoadedConfig): void {
  const [name] = names;
  if (names.length !== 1 || name === undefined || !(name in config.imports)) {
    throw new BridgeError("usage", m.sync.onlyNeedsFeed, { hint: m.sync.onlyExample });
  }
  if (config.imports[name as FeedName].scope === "whole") {
    throw new BridgeError("usage", m.sync.sentWhole({ feed: name }), { hint: m.sync.sendsTable({ feed: name }) });
  }
}

/** Only feeds that are named are sent again, and only whole. */
function refuseAgain(names: readonly JobName[], { jobs, dryRun, only }: SyncOptions): void {
  const isWhole = only === undefined && dryRun !== true;
  if (jobs.length > 0 && feedsAmong(names).length === names.length && isWhole) return;
  throw new BridgeError("usage", m.sync.againNeedsFeeds, { hint: m.sync.againExample });
}

function feedsAmong(names: readonly string[]): FeedName[] {
  return FEED_NAMES.filter((feed) => names.includes(feed));
}

/** Marks every row of these feeds to be sent again, before the passes. */
function sendAgain(loaded: LoadedConfig, names: readonly JobName[]): void {
  using store = openExisting(loaded);
  refuseOtherAccount(store, loaded);
  const doubt = { since: "", at: isoTime(systemClock.nowMs()), because: m.sync.asked };
  store.write(() => invalidateAcknowledged(store, feedsAmong(names), doubt));
}

/** Only `updates` reads older orders. */
function refuseOlder(names: readonly JobName[], { jobs, dryRun, only }: SyncOptions): void {
  if (jobs.length > 0 && names.length === 1 && names[0] === "updates" && dryRun !== true && only === undefined) return;
  throw new BridgeError("usage", m.sync.olderNeedsUpdates, { hint: m.sync.sinceExample });
}

/** Shows the state of the one key afterwards. */
function showKey(call: Call, loaded: LoadedConfig, feed: FeedName, only: string): KeyShown | null {
  using store = openReadOnly(loaded.config.database.path);
  const shown = describeKey(store, loaded, feed, only);
  if (call.json) return shown ?? null;
  if (shown === undefined) {
    call.terminal.out(m.sync.noRow({ only }));
    return null;
  }
  const { state, sent, sentAt, lastError } = shown;
  const site = sent === null ? m.sync.neverAccepted : m.sync.onSite({ sentAt: sentAt ?? "", sent });
  const stands = m.sync.rowStands({ only, state, site });
  if (lastError === null) call.terminal.out(stands);
  else call.terminal.out(m.common.joined({ parts: [stands, store.messageOf(lastError)] }));
  return shown;
}

type Work = {
  names: readonly JobName[];
  show: (outcome: SyncOutcome) => void;
  only: string | undefined;
  /** Also what a daemon does beside its jobs. */
  hasUpkeep: boolean;
};

type Following = Pick<Work, "names" | "show">;

/** Returns the holds that concern the named jobs afterwards. */
async function syncHere(call: LongCall, loaded: LoadedConfig, work: Work): Promise<HoldRow[]> {
  // Checking first avoids waiting for the lock; a daemon that starts in between is found below.
  if (isDaemonRunning(loaded)) return await askDaemon(call, loaded, work);
  const log = createTerminalLog(loaded.config, call.terminal);
  let bridge: Bridge;
  try {
    // This command prints each job's outcome itself, so passes are not logged.
    bridge = new Bridge({ loaded, log, clock: systemClock, onResult: () => {} }, "sync");
  } catch (error) {
    if (!isOwnDaemon(error, loaded)) throw error;
    return await askDaemon(call, loaded, work);
  }
  using _stop = interruption(() => {
    call.terminal.err(m.sync.stopping);
    void bridge.stop();
  });
  try {
    const { count, show } = counting(work.show);
    const progress = new SyncProgress(bridge.store, work.names, count);
    await call.progress.during(
      () => progress.look(),
      () => bridge.sync(work.names, show, work),
    );
    return bridge.store.db.open ? holdsOf(bridge.store, work.names) : [];
  } finally {
    await bridge.stop();
  }
}

/** The same function, with a count of its calls. */
function counting(show: Work["show"]): { show: Work["show"]; count: () => number } {
  let count = 0;
  const counted = (outcome: SyncOutcome) => {
    count += 1;
    show(outcome);
  };
  return { show: counted, count: () => count };
}

/**
 * Locks the account, where no daemon of this database does that.
 * @throws BridgeError `instance_running` where another program on this machine works for the account
 */
async function lockUnlessDaemon(loaded: LoadedConfig): Promise<LockedAccount | undefined> {
  if (isDaemonRunning(loaded)) return undefined;
  try {
    return await lockAccount(loaded);
  } catch (error) {
    if (isOwnDaemon(error, loaded)) return undefined;
    throw error;
  }
}

/** Whether a daemon of this database has just started, and can be asked. */
function isOwnDaemon(error: unknown, loaded: LoadedConfig): boolean {
  return asError(error).code === "instance_running" && isDaemonRunning(loaded);
}

/** Another sync holds the lock as well, but answers no requests. */
function isDaemonRunning(loaded: LoadedConfig): boolean {
  const lock = isLocked(loaded.config.database.path);
  return lock !== undefined && lock.holder?.command !== "sync";
}

async function askDaemon(call: LongCall, loaded: LoadedConfig, work: Work): Promise<HoldRow[]> {
  call.terminal.err(m.sync.asking);
  using store = openDatabase(loaded, "command");
  refuseOtherAccount(store, loaded);
  const { names, only } = work;
  const id = store.write(() => saveSyncRequest(store, { jobs: names, only, at: isoTime(Date.now()) }));
  const { count, show } = counting(work.show);
  const progress = new SyncProgress(store, names, count);
  return await call.progress.during(
    () => progress.look(),
    () => followDaemon(store, id, { names, show }),
  );
}

/** Shows the daemon's outcomes until the request is done. */
async function followDaemon(store: Store, id: number, { names, show }: Following): Promise<HoldRow[]> {
  const startedMs = performance.now();
  for (let shown = 0; ; await sleep(LOOK_MS)) {
    // Read before the result, because a daemon may finish the request and then end.
    const isGone = isLocked(store.path) === undefined;
    const { taken, finished, outcomes } = loadSyncResult(store, id);
    for (const outcome of outcomes.slice(shown)) show(outcome);
    shown = outcomes.length;
    if (shown === names.length) return holdsOf(store, names);
    if (finished || isGone) throw daemonEnded();
    if (!taken && performance.now() - startedMs > TAKEN_WITHIN_MS) {
      if (!store.write(() => cancelSyncRequest(store, id, isoTime(Date.now())))) continue;
      throw new BridgeError("timed_out", m.sync.notTaken, { hint: m.sync.seeWhy });
    }
  }
}

function daemonEnded(): BridgeError {
  return new BridgeError("stopped", m.sync.daemonEnded, { hint: m.sync.askAgain });
}

/** Only holds that stop one of these jobs: those of other areas must not affect the exit code. */
function holdsOf(store: Store, names: readonly string[]): HoldRow[] {
  return loadHolds(store).filter((hold) => names.some((name) => isHeldBy(hold, name)));
}

/** Whether a job's own line has named the hold. */
function isShownBy({ area, reason }: HoldRow, outcomes: readonly SyncOutcome[]): boolean {
  return outcomes.some(({ hold }) => hold?.area === area && hold.reason === reason);
}

function describeOutcome({ job, outcome, counts, error }: SyncOutcome): Message {
  const why = error ?? undefined;
  if (why !== undefined && outcome === "held") return m.sync.heldBack({ job, why });
  if (why !== undefined) return m.sync.endedBecause({ job, outcome: OUTCOMES[outcome] ?? outcome, why });
  if (outcome === "stopped") return m.common.about({ subject: job, text: m.sync.stopped });
  return m.common.about({ subject: job, text: describeCounts(counts) });
}

const OUTCOMES: Readonly<Record<string, Message>> = { failed: m.sync.failed, stopped: m.sync.stopped };

/** Counts that need a person's attention. */
const BAD_COUNTS = ["quarantined", "refused", "unsendable"];

function exitCodeOfOutcome({ outcome, counts, errorCode, hold }: SyncOutcome): ExitCode {
  if (errorCode !== null) return exitCodeOfCode(errorCode);
  if (outcome === "held") return exitCodeOfHold(hold?.reason ?? "");
  return BAD_COUNTS.some((name) => (counts[name] ?? 0) > 0) ? EXIT.attention : EXIT.ok;
}
