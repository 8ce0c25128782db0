/*
 * Records of runs: one row per pass in `runs`, one row per flow in `flows`, read by `status` and `sync_status`. They may lag:
 * losing the last row in a crash loses no data of the shop. Raw SQL, because of CASE in the update and of bounded deletes.
 */
import { onlyValue } from "../database/only-row.ts";
import { findRow, insertRow, updateRows, upsertRow } from "../database/queries.ts";
import { flows, runs } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import type { ErrorCode } from "../platform/errors.ts";

export type RunRow = Omit<typeof runs.$inferInsert, "error"> & {
  counts: Record<string, number>;
  error: Message | null;
};

/** @param is.isAwaiting nothing was sent, and rows of an unanswered request wait: an earlier failure stands */
export function saveRun(store: Store, run: RunRow, is: { isAwaiting: boolean } = { isAwaiting: false }): void {
  const error = store.textOf(run.error);
  insertRow(store, runs, { ...run, error });
  const isLeft = is.isAwaiting && !isWell(store, run.job);
  const good = (run.outcome === "idle" || run.outcome === "done") && !isLeft ? 1 : 0;
  const bad = run.outcome === "failed" || run.outcome === "held" ? 1 : 0;
  store
    .prepare(
      `INSERT INTO flows (flow, last_run_at, last_success_at, failing_since, failures, error_code, error)
       VALUES (@job, @at, CASE WHEN @good THEN @at END, CASE WHEN @bad THEN @at END, @bad, @code, @error)
       ON CONFLICT (flow) DO UPDATE SET last_run_at = @at,
         last_success_at = CASE WHEN @good THEN @at ELSE last_success_at END,
         failing_since = CASE WHEN @good THEN NULL WHEN @bad THEN coalesce(failing_since, @at) ELSE failing_since END,
         first_pass_since = NULL, failures = CASE WHEN @good THEN 0 ELSE failures + @bad END,
         error_code = CASE WHEN @good THEN NULL WHEN @bad THEN @code ELSE error_code END,
         error = CASE WHEN @good THEN NULL WHEN @bad THEN @error ELSE error END`,
    )
    .run({ job: run.job, at: run.finishedAt, good, bad, code: run.errorCode, error });
}

/** Brings the times of flows after `now` to it. To be called inside a transaction. */
export function bringFlowsBack(store: Store, now: string): void {
  store
    .prepare(
      `UPDATE flows SET last_run_at = min(last_run_at, @now), last_success_at = min(last_success_at, @now),
         failing_since = min(failing_since, @now), first_pass_since = min(first_pass_since, @now)
       WHERE last_run_at > @now OR last_success_at > @now OR failing_since > @now OR first_pass_since > @now`,
    )
    .run({ now });
}

/** Whether the flow has never succeeded, and its first pass is not known to be under way. */
export function isFirstPass(store: Store, flow: string): boolean {
  return findRow(store, flows, { flow, lastSuccessAt: null, firstPassSince: null }) !== undefined;
}

export function hasSucceeded(store: Store, flow: string): boolean {
  return (findRow(store, flows, { flow })?.lastSuccessAt ?? null) !== null;
}

/** Whether the flow has succeeded, and has not failed since. */
export function isWell(store: Store, flow: string): boolean {
  const row = findRow(store, flows, { flow });
  return row !== undefined && row.lastSuccessAt !== null && row.failures === 0;
}

/**
 * The earliest time that this machine's clock has shown from `since` on: an earlier one than that where the clock was set back afterwards.
 * Reads all runs that are kept.
 */
export function loadEarliestSince(store: Store, since: string): string {
  const sql = `SELECT min(started_at, finished_at) AS earliest FROM runs
    WHERE id > (SELECT min(id) FROM runs WHERE finished_at >= @since) AND min(started_at, finished_at) < @since
    ORDER BY earliest LIMIT 1`;
  return store.prepare<string>(sql).pluck().get({ since }) ?? since;
}

/** The newest run, 0 where there is none. */
export function loadNewestRun(store: Store): number {
  return onlyValue<number>(store, "SELECT coalesce(max(id), 0) FROM runs");
}

/**
 * When the newest complete pass over changes after the run `sinceRun` began; undefined where there is none, or it was followed by
 * a failure.
 */
export function loadFollowedAt(store: Store, { sinceRun }: { sinceRun: number }): string | undefined {
  return isWell(store, "updates") ? loadCompleteAt(store, "updates", { sinceRun }) : undefined;
}

/** When the flow's newest pass without a failure after the run `sinceRun` began; undefined where there is none. */
export function loadCompleteAt(store: Store, flow: string, { sinceRun } = { sinceRun: 0 }): string | undefined {
  const sql = `SELECT (SELECT started_at FROM runs WHERE job = ? AND id > ? AND outcome IN ('done', 'idle') ORDER BY id DESC LIMIT 1)`;
  return onlyValue<string | null>(store, sql, flow, sinceRun) ?? undefined;
}

/** Whether the flow has a row in `flows`. */
export function hasFlow(store: Store, flow: string): boolean {
  return findRow(store, flows, { flow }) !== undefined;
}

/** A first pass may take an hour and is visible meanwhile. */
export function saveFirstPass(store: Store, flow: string, at: string): void {
  updateRows(store, flows, { flow }, { firstPassSince: at });
}

/** At a start no pass is running. */
export function endFirstPasses(store: Store): void {
  store.prepare("UPDATE flows SET first_pass_since = NULL WHERE first_pass_since IS NOT NULL").run();
}

/** Errors that mean that the service does not answer the flow. */
const UNANSWERED: ReadonlySet<string> = new Set<ErrorCode>([
  ...(["unavailable", "unreachable", "timed_out", "rate_limited", "redirected"] as const),
  ...(["request_refused", "credentials_refused", "payment_required"] as const),
]);

/** Whether the last pass of `orders` was answered. */
export function areOrdersAnswered(store: Store): boolean {
  const { lastRunAt = null, errorCode = null } = findRow(store, flows, { flow: "orders" }) ?? {};
  return lastRunAt !== null && errorCode !== "held" && (errorCode === null || !UNANSWERED.has(errorCode));
}

/** Whether every pass of the flow has failed for so long, by the time of day. */
export function hasFailedFor(store: Store, flow: string, { nowMs, forMs }: { nowMs: number; forMs: number }): boolean {
  const since = findRow(store, flows, { flow })?.failingSince ?? null;
  return since !== null && nowMs - Date.parse(since) >= forMs;
}

export function isFlowEnabled(store: Store, flow: string): boolean {
  return findRow(store, flows, { flow })?.enabled === true;
}

/** Stores for `sync_status` which flows run, and after which time without success each needs attention. */
export function saveFlow(store: Store, flow: { flow: string; enabled: boolean; staleAfterS: number }): void {
  upsertRow(store, flows, flow, { key: ["flow"], set: ["enabled", "staleAfterS"] });
}

/** Runs to remove: numbers up to `upTo` that ended before `before`, or have a time later than `now`. */
export interface Old {
  upTo: number;
  before: string;
  now: string;
}

/** Removes the oldest runs up to `id`, a bounded number at a time so that the write lock is never held long. */
export function deleteRunsUpTo(store: Store, id: number, limit: number): number {
  return store
    .prepare("DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE id <= ? ORDER BY id LIMIT ?)")
    .run(id, limit).changes;
}

/** Removes the oldest of more than `max` runs, a bounded number at a time. Numbers leave hardly any gaps. */
export function deleteRunsBeyond(store: Store, max: number, limit: number): number {
  return store
    .prepare(
      "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE id <= (SELECT max(id) FROM runs) - ? ORDER BY id LIMIT ?)",
    )
    .run(max, limit).changes;
}
