import type { ErpObjects } from "../database/objects/erp-objects.ts";
import type { Store } from "../database/store.ts";
import type { BridgeError } from "../platform/errors.ts";
import type { Clock, Log } from "../platform/ports.ts";
import type { ServiceClient } from "../service/client.ts";
import type { FlowName } from "./job-names.ts";

/** What every job gets. All share one client, because one rate limit covers the whole bridge. */
export interface JobContext {
  store: Store;
  client: ServiceClient;
  clock: Clock;
  log: Log;
  /** What the ERP has attached to the bridge's tables; undefined for writes outside of jobs. */
  objects?: ErpObjects;
  /** Throws `account_changed` once the database belongs to another account; undefined for writes outside of jobs. */
  requireAccount?: () => void;
  /** Whether the program stops: finish the present step and begin no other. */
  isStopping: () => boolean;
}

export interface JobReport {
  /** `idle`: nothing to do. `done`: something was done. `more`: something was done, and more is due now. */
  outcome: "idle" | "done" | "more";
  counts: Record<string, number>;
  /** Milliseconds until something is due: a pass never sleeps. */
  dueInMs?: number;
  /** `false`: no request was answered well, so the pass ends no hold. */
  isLetIn?: boolean;
  /** The pass failed after an answer that shows its flow accepted; a hold that it probed ends all the same. */
  failure?: BridgeError;
  /** Although it failed, it did work that no later pass does again: the wait before the next one does not grow. */
  hasProgressed?: boolean;
}

export interface Job {
  readonly name: FlowName;
  /** The holds that stop this job's requests: those of its area of the service, and of its own name. */
  readonly areas: readonly string[];
  /**
   * The work that needs no service, done before holds are checked. Without `hasWork` the pass ends here: a job with nothing to
   * request must neither use up a probe nor end a hold. `isAwaiting`: unanswered requests may still arrive, and their rows are
   * sent again after that time; until then nothing shows that a failure is over. `dueInMs`: as in {@link JobReport}.
   */
  prepare?(signal: AbortSignal): Promise<{
    counts: Record<string, number>;
    hasWork: boolean;
    isAwaiting?: boolean;
    dueInMs?: number;
  }>;
  /** Whether an idle pass is not recorded in `runs`, as for a job that runs every second. */
  skipsIdleRow?(monotonicMs: number): boolean;
  /** One bounded pass. Throws typed errors; what it committed before stays. */
  runOnce(signal: AbortSignal): Promise<JobReport>;
}
