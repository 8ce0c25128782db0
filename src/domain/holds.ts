import type { ErrorCode } from "./errors.ts";
import { BridgeError } from "./errors.ts";
import { type Area, ServiceError } from "./service-error.ts";

/** Why something waits. Reasons with a probe end by themselves; the others wait for a person. */
export type HoldReason =
  | "credentials"
  | "payment"
  | "rate limit"
  | "refused"
  | "shape"
  | "hand-out lost"
  | "tie"
  | "guard"
  | "table"
  | "disk"
  | "mapping"
  | "account"
  /** Told, not held: what a restore could not bring back. */
  | "restored";

export interface HoldPlan {
  area: string;
  reason: HoldReason;
  /** How long until one request may try whether the cause is gone; null: a person decides. */
  probeAfterMs: number | null;
}

const MINUTE_MS = 60_000;

/** At most one probe in this time: credentials are put right by a person, and some services lock accounts. */
export const CREDENTIALS_PROBE_MS = 5 * MINUTE_MS;
export const PAYMENT_PROBE_MS = 30 * MINUTE_MS;
/** For 429 and 503 that name no time. */
export const RATE_LIMIT_DEFAULT_MS = MINUTE_MS;
/** A 4xx that blames nobody in particular: the cause is at the service or in the configuration. */
export const REFUSED_PROBE_MS = 5 * MINUTE_MS;

/**
 * The hold that an error asks for, or undefined where the job's own backoff is enough.
 * @param flow the flow that met the error, for refusals that concern it alone.
 */
export function planHold(error: unknown, flow: string): HoldPlan | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const area: Area = error.area;
  switch (error.code) {
    case "credentials_refused":
      return { area, reason: "credentials", probeAfterMs: CREDENTIALS_PROBE_MS };
    case "payment_required":
      return { area, reason: "payment", probeAfterMs: PAYMENT_PROBE_MS };
    case "rate_limited":
      return { area, reason: "rate limit", probeAfterMs: error.retryAfterMs ?? RATE_LIMIT_DEFAULT_MS };
    case "unavailable":
      return error.retryAfterMs === undefined
        ? undefined
        : { area, reason: "rate limit", probeAfterMs: error.retryAfterMs };
    case "redirected":
    case "request_refused":
      return { area: flow, reason: "refused", probeAfterMs: REFUSED_PROBE_MS };
    default:
      return undefined;
  }
}

/** Errors after which a pass cannot go on with its next record: the area, the way to it or the machine is ill. */
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

/** Whether an error met while reading one order ends the pass, or is that order's own. A wait that was asked for is everybody's. */
export function stopsPass(error: unknown): boolean {
  if (!(error instanceof BridgeError) || STOPPING.has(error.code)) return true;
  return error instanceof ServiceError && error.retryAfterMs !== undefined;
}
