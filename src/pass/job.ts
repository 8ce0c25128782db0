import type { ErpObjects } from "../database/erp-objects.ts";
import type { Store } from "../database/store.ts";
import type { BridgeError } from "../platform/errors.ts";
import type { Clock, Log } from "../platform/ports.ts";
import type { ServiceClient } from "../service/client.ts";
import type { FlowName } from "./job-names.ts";

/** What every job is handed. One client for all: the rate limit is one for the whole bridge. */
export interface JobContext {
  store: Store;
  client: ServiceClient;
  clock: Clock;
  log: Log;
  /** What the ERP has put on the bridge's tables; absent for what is written beside the jobs. */
  objects?: ErpObjects;
  /** Throws account_changed once the database was given to another account; absent for what is written beside the jobs. */
  requireAccount?: () => void;
  /** The program is to end soon: finish the step under way, begin no further one. */
  isStopping: () => boolean;
}

export interface JobReport {
  /** `idle`: nothing to do. `done`: something was done. `more`: something was done and more waits already. */
  outcome: "idle" | "done" | "more";
  counts: Record<string, number>;
  /** Something waits for its time, which is over in so many milliseconds: no pass waits itself. */
  dueInMs?: number;
  /** `false`: nothing was answered well, so that the pass is no sign that a hold is over. */
  isLetIn?: boolean;
  /** The pass has failed, behind an answer that shows its flow to be let in: a hold that it has tried is over all the same. */
  failure?: BridgeError;
}

export interface Job {
  readonly name: FlowName;
  /** The holds that keep this job from asking the service: its half of the service, and its own name. */
  readonly areas: readonly string[];
  /**
   * What can be done without the service, before any hold is looked at. Without `hasWork` the pass ends here: a job that
   * has nothing to ask must neither use up a probe nor end a hold. `isAwaiting`: requests that were not answered may still arrive, and what
   * they sent goes again after that: until then nothing shows that a failure has passed.
   */
  prepare?(signal: AbortSignal): Promise<{ counts: Record<string, number>; hasWork: boolean; isAwaiting?: boolean }>;
  /** Whether an idle pass is not worth a record: of a job that looks every second few are. */
  skipsIdleRow?(monotonicMs: number): boolean;
  /** One bounded pass. Throws typed errors; what it had committed until then stays. */
  runOnce(signal: AbortSignal): Promise<JobReport>;
}
