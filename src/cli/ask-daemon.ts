import { isLocked } from "../database/file/instance-lock.ts";
import type { Store } from "../database/store.ts";
import type { JobName } from "../pass/job-names.ts";
import { saveSyncRequest } from "../pass/sync-request-rows.ts";
import { isoTime } from "../platform/ports.ts";

/** Requests these jobs from a running daemon; it starts them soon. False where no daemon runs. */
export function askDaemon(store: Store, jobs: readonly JobName[]): boolean {
  if (jobs.length === 0 || isLocked(store.path) === undefined) return false;
  store.write(() => saveSyncRequest(store, { jobs, at: isoTime(Date.now()) }));
  return true;
}
