/*
 * The bookkeeping of runs: one row a pass, one row a flow. It is what `status` and `sync_status` tell from, and it is
 * allowed to lag: losing the last row in a crash loses nothing of the shop's.
 */
import type { runs } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import type { ErrorCode } from "../platform/errors.ts";

export type RunRow = Omit<typeof runs.$inferInsert, "error"> & {
  counts: Record<string, number>;
  error: Message | string | null;
};

export function saveRun(store: Store, run: RunRow): void {
  const error = run.error === null ? null : store.textOf(run.error);
  store
    .prepare(
      `INSERT INTO runs (job, started_at, finished_at, outcome, counts, error_code, error) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(run.job, run.startedAt, run.finishedAt, run.outcome, JSON.stringify(run.counts), run.errorCode, error);
  const good = run.outcome === "idle" || run.outcome === "done" ? 1 : 0;
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

/** Whether the flow has never succeeded, and its first pass is not known to be under way. */
export function isFirstPass(store: Store, flow: string): boolean {
  const sql = "SELECT 1 FROM flows WHERE flow = ? AND last_success_at IS NULL AND first_pass_since IS NULL";
  return store.prepare(sql).get(flow) !== undefined;
}

/** A first pass may take an hour: whoever looks meanwhile is to see it. */
export function saveFirstPass(store: Store, flow: string, at: string): void {
  store.prepare("UPDATE flows SET first_pass_since = ? WHERE flow = ?").run(at, flow);
}

/** After a start no pass is under way. */
export function endFirstPasses(store: Store): void {
  store.prepare("UPDATE flows SET first_pass_since = NULL WHERE first_pass_since IS NOT NULL").run();
}

/** Failures of a flow that say that the service does not answer it. */
const UNANSWERED: readonly ErrorCode[] = [
  ...(["unavailable", "unreachable", "timed_out", "rate_limited", "redirected"] as const),
  ...(["request_refused", "credentials_refused", "payment_required"] as const),
];

/** Whether the last pass that asked for orders was answered. */
export function areOrdersAnswered(store: Store): boolean {
  const sql = "SELECT error_code AS code FROM flows WHERE flow = 'orders' AND last_run_at IS NOT NULL";
  const row = store.prepare<{ code: ErrorCode | "held" | null }>(sql).get();
  return row !== undefined && row.code !== "held" && (row.code === null || !UNANSWERED.includes(row.code));
}

/** Tells `sync_status` which flows run and when their silence is worth attention. */
export function saveFlow(store: Store, flow: { flow: string; enabled: boolean; staleAfterS: number }): void {
  store
    .prepare(
      `INSERT INTO flows (flow, enabled, stale_after_s) VALUES (?, ?, ?)
       ON CONFLICT (flow) DO UPDATE SET enabled = excluded.enabled, stale_after_s = excluded.stale_after_s
       WHERE enabled <> excluded.enabled OR stale_after_s <> excluded.stale_after_s`,
    )
    .run(flow.flow, Number(flow.enabled), flow.staleAfterS);
}

/** Removes runs that ended before `before`, a bounded number at a time so that the write lock is never held long. */
/** What is old: numbers up to `upTo`, and of those what ended before `before`, or by its time later than `now`. */
export interface Old {
  upTo: number;
  before: string;
  now: string;
}

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
