import type { ErrorCode } from "../platform/errors.ts";
import { BridgeError } from "../platform/errors.ts";
import { type Area, ServiceError } from "../service/service-error.ts";
import { HOLDS, type HoldReason, type HoldScope } from "./hold-reasons.ts";

export interface HoldPlan {
  /** The area, or the single flow, that is held. */
  area: string;
  scope: HoldScope;
  reason: HoldReason;
  /** Milliseconds until one request may probe; null: a person decides. */
  probeAfterMs: number | null;
}

/** The service's last answer to a flow of an area, in this process. */
export interface Verdict {
  flow: string;
  isAccepted: boolean;
  /** Monotonic; for an acceptance, the beginning of its pass. */
  atMs: number;
}

/**
 * Whether refused credentials, a refused payment or a requested wait hold the whole area or only the flow that was refused:
 * the area, unless another flow was accepted after the last refusal of the others.
 *
 * @example
 * scopeOfRefusal("stocks", []); // "area": nothing is known of the others
 * scopeOfRefusal("stocks", [{ flow: "prices", isAccepted: true, atMs: 5 }]); // "flow"
 * scopeOfRefusal("stocks", [
 *   { flow: "prices", isAccepted: true, atMs: 5 },
 *   { flow: "catalog", isAccepted: false, atMs: 9 },
 * ]); // "area": the failure of prices is older than the trouble
 * @param standing the scope of the flow's hold before this refusal, which may come from before a restart
 */
export function scopeOfRefusal(flow: string, verdicts: readonly Verdict[], standing?: HoldScope): HoldScope {
  const others = verdicts.filter((verdict) => verdict.flow !== flow);
  const refused = others.filter(({ isAccepted }) => !isAccepted).map(({ atMs }) => atMs);
  const accepted = others.filter(({ isAccepted }) => isAccepted).map(({ atMs }) => atMs);
  if (refused.length === 0 && accepted.length === 0) return standing ?? "area";
  return accepted.some((atMs) => atMs >= Math.max(...refused)) ? "flow" : "area";
}

/**
 * The hold that an error requires, or undefined if the job's own backoff is enough. An answer about one order holds
 * at most the flow that asked, unless the service names a time to wait: then all wait for it, at most a minute.
 * @param flow the flow that failed
 * @param scope what an answer holds that may be about the whole area: see {@link scopeOfRefusal}
 */
export function planHold(error: unknown, flow: string, scope: HoldScope = "area"): HoldPlan | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const area: Area = error.area;
  const isOfOrder = error.target === "order";
  const ofFlow = { area: flow, scope: "flow" } as const;
  const covered = scope === "flow" ? ofFlow : ({ area, scope } as const);
  const ofRefusal = isOfOrder ? ofFlow : covered;
  switch (error.code) {
    case "credentials_refused":
      return { ...ofRefusal, reason: "credentials", probeAfterMs: HOLDS.credentials.blocks.probeMs };
    case "payment_required":
      return { ...ofRefusal, reason: "payment", probeAfterMs: HOLDS.payment.blocks.probeMs };
    case "rate_limited":
    case "unavailable": {
      const { retryAfterMs } = error;
      const { probeMs } = HOLDS["rate limit"].blocks;
      if (retryAfterMs !== undefined) {
        // The order waits as long as it was asked. Whether others must, the next request shows. The comparison alone can wait.
        const isShort = isOfOrder && (flow !== "reconcile" || scope === "area");
        const probeAfterMs = isShort ? Math.min(retryAfterMs, probeMs) : retryAfterMs;
        return { ...covered, reason: "rate limit", probeAfterMs };
      }
      if (error.code === "unavailable") return undefined;
      return { ...ofRefusal, reason: "rate limit", probeAfterMs: probeMs };
    }
    case "redirected":
    case "request_refused":
      return { ...ofFlow, reason: "refused", probeAfterMs: HOLDS.refused.blocks.probeMs };
    default:
      return undefined;
  }
}

/** What a failure concerns: the requested record, the flow, the area of the service, or the machine. */
export type Reach = "record" | "flow" | "area" | "machine";

/** Internal errors that one record may cause. They must not stop the other records. */
const OF_ONE_RECORD: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["answer_unreadable", "answer_too_large", "internal"]);

/** A record that got a request to wait so often is the cause itself. */
const WAITS_OF_AREA = 2;

/**
 * Whether an answer makes all requests wait. It does, unless it is about one record that got the same answer several times before.
 * @param attempts how often this record has failed before
 */
export function asksAllToWait(error: unknown, attempts = 0): boolean {
  if (!(error instanceof ServiceError)) return false;
  // Without a time it concerns the order alone, like any refusal.
  const isWait = error.retryAfterMs !== undefined || (error.code === "rate_limited" && error.target !== "order");
  return isWait && Math.max(attempts, error.waitsBefore) < WAITS_OF_AREA;
}

/**
 * What a failure concerns where records are requested one by one. Only after `record` is the next one tried, and several
 * of those in a row (`Breaker`) count as the service's failure. Any answer for an order counts as one of its attempts,
 * so an order that always fails moves to the end of the queue.
 * @param attempts how often this record has failed before
 */
export function reachOf(error: unknown, attempts = 0): Reach {
  if (!(error instanceof BridgeError)) return "record";
  if (!(error instanceof ServiceError)) {
    if (OF_ONE_RECORD.has(error.code)) return "record";
    return error.code === "answer_shape" ? "flow" : "machine";
  }
  if (error.code === "stopped") return "machine";
  // No connection was made: the record was not judged.
  if (error.status === undefined && error.effect === "none") return "area";
  if (error.target === "order") return asksAllToWait(error, attempts) ? "area" : "record";
  return asksAllToWait(error) || error.code === "credentials_refused" || error.code === "payment_required"
    ? "area"
    : "flow";
}

/** Whether the service answered for the record at all: then the attempt counts. */
export function isAnswered(error: unknown): boolean {
  return error instanceof ServiceError && error.target === "order" && error.status !== undefined;
}

/** Errors after which a pass cannot continue with its next collection: the area, the network or the machine fails. */
const STOPPING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "credentials_refused",
  "payment_required",
  "rate_limited",
  "unreachable",
  "timed_out",
  "redirected",
  "stopped",
  "database_busy",
  "database_corrupt",
  "disk_full",
  "disk_failed",
]);

/** Whether an error at a collection ends the pass. A requested wait always does. */
export function stopsPass(error: unknown): boolean {
  if (!(error instanceof BridgeError) || STOPPING.has(error.code)) return true;
  return error instanceof ServiceError && error.retryAfterMs !== undefined;
}
