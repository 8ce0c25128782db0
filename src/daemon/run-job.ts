/*
 * Runs one pass of a job and records what it did, how it failed, and which hold follows. A crash in the middle, or a
 * full disk, loses one record of a run and nothing else.
 */

import { isHeldAsDenied, isOfRecord } from "../feeds/send/refusal-trial.ts";
import { clockTime } from "../health/condition-words.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { commit } from "../pass/commit.ts";
import { describeFailure } from "../pass/describe-failure.ts";
import { isRequestedWait } from "../pass/hold-reasons.ts";
import type { HoldRow } from "../pass/hold-rows.ts";
import type { HoldPlan } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { restoreOwn } from "../pass/restore-own.ts";
import { isFirstPass, type RunRow, saveFirstPass, saveRun } from "../pass/runs.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { ServiceError } from "../service/service-error.ts";
import type { Admission, HoldGate } from "./gate.ts";

export type RunResult =
  /** `lifted`: the holds that this pass ended; `isAwaiting`: it had nothing to send (`Job.prepare`). */
  | ({ error: null; lifted?: readonly HoldRow[]; isAwaiting?: boolean } & JobReport)
  /**
   * `leftMs`: until the hold may be tried, even by a job that is scheduled once a day; undefined: only a person ends
   * it.
   */
  | {
      error: null;
      outcome: "held";
      counts: Record<string, number>;
      hold: HoldRow;
      reason: Message;
      leftMs: number | undefined;
    }
  /** `hold`: the hold that the failure set; `hasProgressed`: as in {@link JobReport}. */
  | {
      error: BridgeError;
      outcome: "failed" | "stopped";
      counts: Record<string, number>;
      hold?: HoldRow;
      hasProgressed?: boolean;
    };

/** Never throws: a failure is in the result, in `runs` and in one log line. */
export async function runJob(job: Job, context: JobContext, gate: HoldGate, signal: AbortSignal): Promise<RunResult> {
  const startedAt = isoTime(context.clock.nowMs());
  await noteFirstPass(job, context, startedAt, signal);
  const result = await attempt(job, context, gate, signal);
  await saveResult(job, context, { startedAt, result }, signal);
  return result;
}

/** A failure to record it is ignored: the pass will report the cause. */
async function noteFirstPass(job: Job, context: JobContext, at: string, signal: AbortSignal): Promise<void> {
  const { store, log } = context;
  try {
    if (isFirstPass(store, job.name)) await commit(context, signal, () => saveFirstPass(store, job.name, at));
  } catch (error) {
    log.debug({ job: job.name, errorCode: asError(error).code }, "The first pass could not be noted.");
  }
}

async function attempt(job: Job, context: JobContext, gate: HoldGate, signal: AbortSignal): Promise<RunResult> {
  let admission: Admission = { state: "open" };
  let isLetIn = false;
  let hasProgressed = false;
  try {
    context.requireAccount?.();
    await restoreOwn(context, context.objects, signal);
    context.objects?.refuseSwallowing();
    const prepared = await job.prepare?.(signal);
    const counts = prepared?.counts ?? {};
    if (prepared?.hasWork === false) {
      await gate.endWaits(job.areas, signal);
      const outcome = Object.keys(counts).length > 0 ? "done" : "idle";
      const { isAwaiting = false, dueInMs } = prepared;
      return { error: null, outcome, counts, isAwaiting, ...(dueInMs !== undefined && { dueInMs }) };
    }
    admission = await gate.admit(job.areas, signal);
    if (admission.state === "held") {
      const { hold, leftMs } = admission;
      const reason = describeHeld(hold, context.clock.nowMs());
      return { error: null, outcome: "held", counts, hold, reason, leftMs };
    }
    const beganMs = context.clock.monotonicMs();
    let report: JobReport;
    try {
      report = await job.runOnce(signal);
      report = { ...report, counts: { ...counts, ...report.counts } };
    } catch (error) {
      // No request was sent: the probe is left to a flow that can send one.
      if (asError(error).code === "table_missing") await gate.unused(admission, job.areas, signal);
      throw error;
    }
    if (report.failure === undefined && !hasAsked(job, report)) {
      await gate.unused(admission, job.areas, signal);
      // It may have no request to send for a day.
      await gate.endWaits(job.areas, signal);
      return { error: null, ...report };
    }
    if (report.isLetIn === false) {
      await endTried({ admission, over: { state: "open" } }, job, { context, gate, signal });
      return { error: null, ...report };
    }
    isLetIn = report.failure !== undefined;
    hasProgressed = report.hasProgressed === true;
    if (report.failure !== undefined) throw report.failure;
    gate.noteAccepted(job.areas, beganMs);
    return { error: null, ...report, lifted: await gate.passed(admission, signal) };
  } catch (caught) {
    const error = isAbort(caught, signal)
      ? new BridgeError("stopped", m.daemon.stoppedInPass, { cause: caught })
      : asError(context.objects?.explain(caught) ?? caught);
    context.store.files?.notice(error);
    if (error.code === "stopped" || signal.aborted) return { error, outcome: "stopped", counts: {} };
    const plan = gate.planFor(error, job.areas);
    const hold = plan === undefined ? undefined : await gate.hold(plan, error, signal, job.areas);
    // A failure that sets a hold ends none: it may be the same one.
    const isOver = plan === undefined && (isLetIn || isAnswered(error));
    const over = isOver ? admission : overBy(admission, { plan, error });
    await endTried({ admission, over }, job, { context, gate, signal });
    return { error, outcome: "failed", counts: {}, hasProgressed, ...(hold === undefined ? {} : { hold }) };
  }
}

/**
 * Of the holds that were tried those that this failure ends: waits that the service asked for and that have passed, and refused credentials or a
 * refused payment where it has judged what was sent. What it answers now is another matter, and must not stand behind the old words.
 */
function overBy(admission: Admission, { plan, error }: { plan: HoldPlan | undefined; error: BridgeError }): Admission {
  if (admission.state !== "probe" || isRequestedWait(plan?.reason ?? "")) return { state: "open" };
  const isOver = ({ reason }: HoldRow) => isRequestedWait(reason) || (isHeldAsDenied([reason]) && isJudged(error));
  return { ...admission, holds: admission.holds.filter(isOver) };
}

/** Whether the service has read what was sent, and refuses it or says of it what is not understood. */
function isJudged(error: BridgeError): boolean {
  if (error.code === "answer_unknown") return true;
  if (!(error instanceof ServiceError) || error.code !== "request_refused") return false;
  // A proxy answers 413 before anybody has looked at the credentials.
  return error.status !== undefined && error.status !== 413 && isOfRecord(error.status);
}

/**
 * Ends the holds that are over, and leaves the next probe of the others to other flows. Where that cannot be written, they stand until the
 * next probe, and the pass keeps its own error.
 */
async function endTried(
  { admission, over }: { admission: Admission; over: Admission },
  job: Job,
  { context, gate, signal }: { context: JobContext; gate: HoldGate; signal: AbortSignal },
): Promise<void> {
  if (admission.state !== "probe") return;
  const ended = over.state === "probe" ? over.holds : [];
  try {
    await gate.passed(over, signal);
    const left = admission.holds.filter((hold) => !ended.includes(hold));
    await gate.inVain(left, job.areas, signal);
  } catch (error) {
    context.log.debug({ errorCode: asError(error).code }, "The end of a hold could not be written.");
  }
}

/** The service accepted the request, but its answer is unusable: the pass fails, but the refusal is over. */
function isAnswered(error: BridgeError): boolean {
  return error.code === "answer_unreadable" && !(error instanceof ServiceError);
}

/** A wait that a stop interrupts rejects with the abort itself; any other error at that time is a defect. */
function isAbort(caught: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (caught === signal.reason || (caught instanceof Error && caught.name === "AbortError"));
}

/**
 * Pulling and following send requests in every pass; a flow that sends counts its requests, and may have had nothing to
 * send.
 */
function hasAsked(job: Job, { counts }: JobReport): boolean {
  return (
    job.name === "orders" || job.name === "updates" || ["requests", "checked"].some((name) => (counts[name] ?? 0) > 0)
  );
}

/** `orders held since 18:20 (credentials): …; next try 18:25, or at once: erp-bridge resume orders` */
function describeHeld({ area, reason, since: at, nextProbeAt, detail }: HoldRow, nowMs: number): Message {
  const next = nextProbeAt === null ? m.daemon.goesOnAfter : m.daemon.nextTry({ at: clockTime(nextProbeAt, nowMs) });
  const held = { area, since: clockTime(at, nowMs), reason, next };
  if (detail === null) return m.daemon.heldSince(held);
  return m.daemon.heldSinceBecause({ ...held, why: m.common.bare({ text: detail }) });
}

async function saveResult(
  job: Job,
  context: JobContext,
  run: { startedAt: string; result: RunResult },
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, client, log } = context;
  const { result } = run;
  if (result.outcome === "idle" && job.skipsIdleRow?.(clock.monotonicMs()) === true) return;
  const row: RunRow = {
    job: job.name,
    startedAt: run.startedAt,
    finishedAt: isoTime(clock.nowMs()),
    outcome: result.outcome === "more" ? "done" : result.outcome,
    counts: result.counts,
    errorCode: result.error?.code ?? (result.outcome === "held" ? "held" : null),
    error: wordsOf(result, client.hideSecrets),
  };
  try {
    await commit({ store, clock, log }, signal, () =>
      saveRun(store, row, { isAwaiting: "isAwaiting" in result && result.isAwaiting === true }),
    );
  } catch (error) {
    log.debug({ job: job.name, errorCode: asError(error).code }, "The run's own record could not be written.");
  }
}

/** Why a pass did not do its work; null where it did. */
export function wordsOf(result: RunResult, hideSecrets: (text: string) => string): Message | null {
  if (result.error !== null) return withTexts(describeFailure(result.error), hideSecrets);
  return result.outcome === "held" ? result.reason : null;
}
