import type { JobName } from "../domain/job-names.ts";
import { isoTime } from "../domain/ports.ts";
import { isLocked } from "../store/instance-lock.ts";
import type { Store } from "../store/store.ts";
import { saveSyncRequest } from "../store/sync-requests.ts";

/** Asks a running daemon to run these jobs soon. False where none is running. */
export function askDaemon(store: Store, jobs: readonly JobName[]): boolean {
  if (jobs.length === 0 || isLocked(store.path) === undefined) return false;
  store.write(() => saveSyncRequest(store, { jobs, at: isoTime(Date.now()) }));
  return true;
}
