/*
 * Requests of `erp-bridge sync` to a running daemon, a row each: the command reaches the daemon through the database alone.
 * Requests left open by a crash are closed at the next start. Raw SQL, because the table is polled through a named index, and
 * because of strftime.
 */
import { findRow, insertRow, updateRows } from "../database/queries.ts";
import { syncRequests } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";

export interface SyncRequest {
  id: number;
  jobs: string[];
  /** The one key of a feed that is wanted. */
  only: string | null;
}

export interface SyncOutcome {
  job: string;
  outcome: string;
  counts: Record<string, number>;
  errorCode: string | null;
  /** The hold that stops the job's requests. */
  hold: { area: string; reason: string } | null;
  error: Message | null;
}

export function saveSyncRequest(
  store: Store,
  request: { jobs: readonly string[]; only?: string | undefined; at: string },
): number {
  const { jobs, only = null, at } = request;
  return insertRow(store, syncRequests, { jobs: JSON.stringify(jobs), onlyKey: only, requestedAt: at });
}

/** Requests that no daemon has begun. */
export function loadSyncRequests(store: Store): SyncRequest[] {
  const rows = store
    .prepare<{ id: number; jobs: string; only: string | null }>(
      "SELECT id, jobs, only_key AS only FROM sync_requests INDEXED BY sync_requests_open WHERE finished_at IS NULL AND taken_at IS NULL ORDER BY id",
    )
    .all();
  return rows.map(({ id, jobs, only }) => ({ id, jobs: JSON.parse(jobs) as string[], only }));
}

export function markSyncTaken(store: Store, id: number, at: string): void {
  updateRows(store, syncRequests, { id }, { takenAt: at });
}

/** Stores the results so far; with `at` they are final. */
export function saveSyncResult(store: Store, id: number, outcomes: readonly SyncOutcome[], at: string | null): void {
  for (const { error } of outcomes) store.textOf(error);
  updateRows(store, syncRequests, { id }, { result: JSON.stringify(outcomes), finishedAt: at });
}

export function loadSyncResult(
  store: Store,
  id: number,
): { taken: boolean; finished: boolean; outcomes: SyncOutcome[] } {
  const { takenAt = null, finishedAt = null, result } = findRow(store, syncRequests, { id }) ?? {};
  const outcomes = JSON.parse(result ?? "[]") as (Omit<SyncOutcome, "error"> & { error: string | null })[];
  return {
    taken: takenAt !== null,
    finished: finishedAt !== null,
    outcomes: outcomes.map((one) => ({ ...one, error: store.messageOf(one.error) })),
  };
}

/** Withdraws the request of a command that stops waiting. Returns false if the daemon has begun it. */
export function cancelSyncRequest(store: Store, id: number, at: string): boolean {
  return updateRows(store, syncRequests, { id, takenAt: null }, { finishedAt: at }) > 0;
}

/** At a start: closes requests that an earlier process left open. */
export function closeSyncRequests(store: Store, at: string): void {
  store.prepare("UPDATE sync_requests SET finished_at = ? WHERE finished_at IS NULL AND taken_at IS NOT NULL").run(at);
  // Withdrawn before a daemon began it.
  store.prepare("DELETE FROM sync_requests WHERE finished_at IS NOT NULL AND taken_at IS NULL").run();
  store.prepare("DELETE FROM sync_requests WHERE requested_at < strftime('%Y-%m-%dT%H:%M:%fZ', ?, '-1 day')").run(at);
}
