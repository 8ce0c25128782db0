import { setTimeout as sleep } from "node:timers/promises";
import { refuseOtherAccount } from "../account.ts";
import type { LoadedConfig } from "../config/load.ts";
import { Bridge, openDatabase } from "../daemon.ts";
import { BridgeError, type ErrorCode, EXIT, type ExitCode, exitCodeOf } from "../domain/errors.ts";
import { isJobName, JOB_NAMES, type JobName } from "../domain/job-names.ts";
import { isoTime } from "../domain/ports.ts";
import { exitCodeOfHold } from "../domain/status.ts";
import { systemClock } from "../platform/clock.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { jsonLine } from "../platform/terminal.ts";
import { type HoldRow, loadHolds } from "../store/holds.ts";
import { isLocked } from "../store/instance-lock.ts";
import type { Store } from "../store/store.ts";
import { cancelSyncRequest, loadSyncResult, type SyncOutcome, saveSyncRequest } from "../store/sync-requests.ts";
import { type Call, type Command, load, unknownWord, worstOf } from "./command.ts";

/** How often the command looks for the daemon's answer. */
const LOOK_MS = 100;
/** A daemon that has not taken the request by then is hung or was stopped. */
const TAKEN_WITHIN_MS = 30_000;

/** One bounded pass of the named jobs; beside a running daemon it asks the daemon and follows. */
export const sync: Command<{ jobs: string[] }> = async (call, { jobs }) => {
  const unknown = jobs.find((job) => !isJobName(job));
  if (unknown !== undefined) throw unknownWord("job", unknown, JOB_NAMES);
  const loaded = load(call);
  const names = chooseJobs(jobs, loaded);
  const outcomes: SyncOutcome[] = [];
  const show = (outcome: SyncOutcome) => {
    outcomes.push(outcome);
    if (!call.json) call.terminal.out(describeOutcome(outcome));
  };
  const holds = (await syncHere(call, loaded, { names, show })).filter((hold) => !isTold(hold, outcomes));
  if (call.json) call.terminal.out(jsonLine({ jobs: outcomes, holds }));
  for (const { area, reason, detail } of holds) {
    call.terminal.err(`${area}: held (${reason})${detail === null ? "" : `: ${detail}`}`);
  }
  return worstOf([...outcomes.map(exitCodeOfOutcome), ...holds.map(({ reason }) => exitCodeOfHold(reason))]);
};

function chooseJobs(jobs: readonly string[], { config }: LoadedConfig): JobName[] {
  const isOn = (job: JobName) =>
    job === "orders" ||
    job === "updates" ||
    job === "reconcile" ||
    (job === "statuses" && config.statuses.path !== null) ||
    (job in config.imports && config.imports[job as "stocks"].path !== null);
  const named = JOB_NAMES.filter((job) => jobs.includes(job));
  const off = named.find((job) => !isOn(job));
  if (off !== undefined) {
    throw new BridgeError("usage", `${off} is switched off.`, { hint: "Set its path in the configuration." });
  }
  return named.length > 0 ? named : JOB_NAMES.filter((job) => job !== "reconcile" && isOn(job));
}

type Work = { names: readonly JobName[]; show: (outcome: SyncOutcome) => void };

/** The holds that concern the named jobs afterwards. */
async function syncHere(call: Call, loaded: LoadedConfig, work: Work): Promise<HoldRow[]> {
  // Asking first saves the time that taking the lock waits for it; a daemon that starts in between is met below.
  if (isDaemonRunning(loaded)) return await askDaemon(call, loaded, work);
  const log = createTerminalLog(loaded.config, call.terminal);
  let bridge: Bridge;
  try {
    const onResult = (job: string, { outcome, counts }: Pick<SyncOutcome, "outcome" | "counts">) => {
      if (outcome === "more") call.terminal.err(`${job}: ${describeCounts(counts)}, and more waits …`);
    };
    bridge = new Bridge({ loaded, log, clock: systemClock, onResult }, "sync");
  } catch (error) {
    const isInUse = error instanceof BridgeError && error.code === "instance_running";
    if (!isInUse || !isDaemonRunning(loaded)) throw error;
    return await askDaemon(call, loaded, work);
  }
  const stop = () => {
    call.terminal.err("Stopping after the request under way; once more to leave at once.");
    void bridge.stop();
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    await bridge.sync(work.names, work.show);
    return bridge.store.db.open ? holdsOf(bridge.store, work.names) : [];
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    await bridge.stop();
  }
}

/** Another sync holds the lock as well, but answers no requests. */
function isDaemonRunning(loaded: LoadedConfig): boolean {
  const lock = isLocked(loaded.config.database.path);
  return lock !== undefined && lock.holder?.command !== "sync";
}

async function askDaemon(call: Call, loaded: LoadedConfig, { names, show }: Work): Promise<HoldRow[]> {
  call.terminal.err("A daemon is running; asking it.");
  const store = openDatabase(loaded, "command");
  try {
    refuseOtherAccount(store, loaded);
    const id = store.write(() => saveSyncRequest(store, names, isoTime(Date.now())));
    const startedMs = performance.now();
    for (let shown = 0; ; await sleep(LOOK_MS)) {
      // Before the result: a daemon that has just ended may have finished the request first.
      const isGone = isLocked(store.path) === undefined;
      const { taken, finished, outcomes } = loadSyncResult(store, id);
      for (const outcome of outcomes.slice(shown)) show(outcome);
      shown = outcomes.length;
      if (shown === names.length) return holdsOf(store, names);
      if (finished || isGone) throw daemonEnded();
      if (!taken && performance.now() - startedMs > TAKEN_WITHIN_MS) {
        if (!store.write(() => cancelSyncRequest(store, id, isoTime(Date.now())))) continue;
        throw new BridgeError("timed_out", "The daemon has not taken the request.", {
          hint: "erp-bridge status, and the daemon's log, say why.",
        });
      }
    }
  } finally {
    store.close();
  }
}

function daemonEnded(): BridgeError {
  return new BridgeError("stopped", "The daemon ended before it had done everything that was asked.", {
    hint: "What it did is stored; ask again.",
  });
}

function holdsOf(store: Store, names: readonly string[]): HoldRow[] {
  const areas = new Set(
    names.flatMap((name) => [name, ["orders", "updates", "statuses"].includes(name) ? "orders" : "imports"]),
  );
  return loadHolds(store).filter(({ area }) => areas.has(area));
}

/** Whether a job's own line has named the hold. */
function isTold({ area, reason }: HoldRow, outcomes: readonly SyncOutcome[]): boolean {
  return outcomes.some(({ hold }) => hold?.area === area && hold.reason === reason);
}

function describeOutcome({ job, outcome, counts, error }: SyncOutcome): string {
  if (error !== null) return `${job}: ${outcome === "held" ? "" : `${outcome}: `}${error}.`;
  return `${job}: ${outcome === "stopped" ? "stopped" : describeCounts(counts)}`;
}

function describeCounts(counts: Record<string, number>): string {
  const done = Object.entries(counts).filter(([name, count]) => count > 0 || name === "differ");
  return done.length === 0 ? "nothing to do" : done.map(([name, count]) => `${count} ${name}`).join(", ");
}

/** Counts of records that somebody has to look at. */
const BAD_COUNTS = ["quarantined", "refused", "unsendable"];

function exitCodeOfOutcome({ outcome, counts, errorCode, hold }: SyncOutcome): ExitCode {
  if (errorCode !== null) return exitCodeOf(new BridgeError(errorCode as ErrorCode, ""));
  if (outcome === "held") return exitCodeOfHold(hold?.reason ?? "");
  return BAD_COUNTS.some((name) => (counts[name] ?? 0) > 0) ? EXIT.attention : EXIT.ok;
}
