import { setTimeout as sleep } from "node:timers/promises";
import type { LoadedConfig } from "../config/load.ts";
import { Bridge, openDatabase } from "../daemon.ts";
import { BridgeError, type ErrorCode, EXIT, type ExitCode, exitCodeOf } from "../domain/errors.ts";
import { isJobName, JOB_NAMES, type JobName } from "../domain/job-names.ts";
import { isoTime } from "../domain/ports.ts";
import { systemClock } from "../platform/clock.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { jsonLine } from "../platform/terminal.ts";
import { loadSyncResult, type SyncOutcome, saveSyncRequest } from "../store/sync-requests.ts";
import { type Call, type Command, load } from "./command.ts";

/** How often the command looks for the daemon's answer. */
const LOOK_MS = 200;
/** A daemon that has not taken the request by then is hung or was stopped. */
const TAKEN_WITHIN_MS = 30_000;

/** One bounded pass of the named jobs; beside a running daemon it asks the daemon and follows. */
export const sync: Command<{ jobs: string[] }> = async (call, { jobs }) => {
  const loaded = load(call);
  const names = chooseJobs(jobs, loaded);
  const outcomes: SyncOutcome[] = [];
  const show = (outcome: SyncOutcome) => {
    outcomes.push(outcome);
    if (!call.json) call.terminal.out(describeOutcome(outcome));
  };
  await syncHere(call, loaded, { names, show });
  if (call.json) call.terminal.out(jsonLine({ jobs: outcomes }));
  return exitCodeOfOutcomes(outcomes);
};

function chooseJobs(jobs: readonly string[], { config }: LoadedConfig): JobName[] {
  const unknown = jobs.find((job) => !isJobName(job));
  if (unknown !== undefined)
    throw new BridgeError("usage", `There is no job ${unknown}.`, { hint: `Jobs: ${JOB_NAMES.join(", ")}` });
  const isOn = (job: JobName) =>
    job === "orders" || job === "updates" || (job in config.imports && config.imports[job as "stocks"].path !== null);
  const named = JOB_NAMES.filter((job) => jobs.includes(job));
  const off = named.find((job) => !isOn(job));
  if (off !== undefined)
    throw new BridgeError("usage", `${off} is switched off.`, { hint: `Set its path in the configuration.` });
  return named.length > 0 ? named : JOB_NAMES.filter((job) => job !== "reconcile" && isOn(job));
}

type Work = { names: readonly JobName[]; show: (outcome: SyncOutcome) => void };

async function syncHere(call: Call, loaded: LoadedConfig, work: Work): Promise<void> {
  const log = createTerminalLog(loaded.config, call.terminal);
  let bridge: Bridge;
  try {
    bridge = new Bridge({ loaded, log, clock: systemClock }, "sync");
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== "instance_running") throw error;
    await askDaemon(call, loaded, work);
    return;
  }
  const stop = () => void bridge.stop();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    await bridge.sync(work.names, work.show);
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    await bridge.stop();
  }
}

async function askDaemon(call: Call, loaded: LoadedConfig, { names, show }: Work): Promise<void> {
  call.terminal.err("A daemon is running; asking it.");
  const store = openDatabase(loaded, "command");
  try {
    const id = store.write(() => saveSyncRequest(store, names, isoTime(Date.now())));
    const startedMs = performance.now();
    for (let shown = 0; ; await sleep(LOOK_MS)) {
      const { taken, finished, outcomes } = loadSyncResult(store, id);
      for (const outcome of outcomes.slice(shown)) show(outcome);
      shown = outcomes.length;
      if (finished) return;
      if (!taken && performance.now() - startedMs > TAKEN_WITHIN_MS) {
        throw new BridgeError("timed_out", "The daemon has not taken the request.", {
          hint: "erp-bridge status, and the daemon's log, say why.",
        });
      }
    }
  } finally {
    store.close();
  }
}

function describeOutcome({ job, outcome, counts, error }: SyncOutcome): string {
  const done = Object.entries(counts).filter(([, count]) => count > 0);
  const what = done.length === 0 ? "nothing to do" : done.map(([name, count]) => `${count} ${name}`).join(", ");
  if (outcome === "held" || outcome === "failed" || outcome === "stopped")
    return `${job}: ${outcome}${error === null ? "" : `: ${error}`}`;
  return `${job}: ${what}`;
}

/** The first that applies, in the order of the exit codes. */
function exitCodeOfOutcomes(outcomes: readonly SyncOutcome[]): ExitCode {
  const codes = outcomes.map(({ outcome, errorCode, error }) => {
    if (outcome === "held")
      return error?.includes("(credentials)") || error?.includes("(payment)") ? EXIT.credentials : EXIT.attention;
    if (errorCode !== null) return exitCodeOf(new BridgeError(errorCode as ErrorCode, ""));
    return EXIT.ok;
  });
  const order: ExitCode[] = [
    EXIT.config,
    EXIT.credentials,
    EXIT.busyInstance,
    EXIT.unreachable,
    EXIT.usage,
    EXIT.failed,
    EXIT.attention,
  ];
  return order.find((code) => codes.includes(code)) ?? EXIT.ok;
}
