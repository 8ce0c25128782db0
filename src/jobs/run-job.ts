/*
 * Runs one pass of a job and keeps the books: what it did, what it met, which hold that asks for. A crash in the
 * middle loses one row of bookkeeping and nothing else.
 */
import { asError, BridgeError } from "../domain/errors.ts";
import { planHold } from "../domain/holds.ts";
import { isoTime } from "../domain/ports.ts";
import { type RunRow, saveRun } from "../store/runs.ts";
import { commit } from "./commit.ts";
import type { HoldGate } from "./gate.ts";
import type { Job, JobContext, JobReport } from "./job.ts";

export type RunResult =
  | ({ error: null } & JobReport)
  | { error: null; outcome: "held"; counts: Record<string, number>; reason: string }
  | { error: BridgeError; outcome: "failed" | "stopped"; counts: Record<string, number> };

/** Never throws: what went wrong is in the result, in `runs` and in one log line. */
export async function runJob(job: Job, context: JobContext, gate: HoldGate, signal: AbortSignal): Promise<RunResult> {
  const startedAt = isoTime(context.clock.nowMs());
  const result = await attempt(job, context, gate, signal);
  await saveResult(job, context, { startedAt, result }, signal);
  return result;
}

async function attempt(job: Job, context: JobContext, gate: HoldGate, signal: AbortSignal): Promise<RunResult> {
  try {
    const admission = await gate.admit(job.areas, signal);
    if (admission.state === "held") {
      const { area, reason, detail } = admission.hold;
      return { error: null, outcome: "held", counts: {}, reason: `${area} is held (${reason})${detail === null ? "" : `: ${detail}`}` };
    }
    const report = await job.runOnce(signal);
    await gate.passed(job.areas, signal);
    return { error: null, ...report };
  } catch (caught) {
    const error = asError(caught);
    if (error.code === "stopped" || signal.aborted) return { error, outcome: "stopped", counts: {} };
    await beginHold(error, job, gate, signal);
    return { error, outcome: "failed", counts: {} };
  }
}

async function beginHold(error: BridgeError, job: Job, gate: HoldGate, signal: AbortSignal): Promise<void> {
  const plan = planHold(error, job.name);
  if (plan === undefined) return;
  try {
    await gate.hold(plan, error, signal);
  } catch {
    // The disk may be full or the program may be stopping: the next answer asks for the same hold again.
  }
}

async function saveResult(
  job: Job,
  context: JobContext,
  run: { startedAt: string; result: RunResult },
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, client, log } = context;
  const { result } = run;
  const row: RunRow = {
    job: job.name,
    startedAt: run.startedAt,
    finishedAt: isoTime(clock.nowMs()),
    outcome: result.outcome === "more" ? "done" : result.outcome,
    counts: result.counts,
    errorCode: result.error?.code ?? (result.outcome === "held" ? "held" : null),
    error: result.error === null ? ("reason" in result ? result.reason : null) : client.hideSecrets(result.error.message),
  };
  try {
    await commit(context, signal, () => saveRun(store, row));
  } catch (error) {
    log.debug({ job: job.name, errorCode: asError(error).code }, "The run's own record could not be written.");
  }
}
