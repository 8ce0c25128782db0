import type { ServiceClient } from "../api/client.ts";
import type { JobName } from "../domain/job-names.ts";
import type { Clock, Log } from "../domain/ports.ts";
import type { Store } from "../store/store.ts";

/** What every job is handed. One client for all: the rate limit is one for the whole bridge. */
export interface JobContext {
  store: Store;
  client: ServiceClient;
  clock: Clock;
  log: Log;
  /** The program is to end soon: finish the step under way, begin no further one. */
  isStopping: () => boolean;
}

export interface JobReport {
  /** `idle`: nothing to do. `done`: something was done. `more`: something was done and more waits already. */
  outcome: "idle" | "done" | "more";
  counts: Record<string, number>;
}

export interface Job {
  readonly name: JobName;
  /** The holds that keep this job from asking the service: its half of the service, and its own name. */
  readonly areas: readonly string[];
  /** One bounded pass. Throws typed errors; what it had committed until then stays. */
  runOnce(signal: AbortSignal): Promise<JobReport>;
}
