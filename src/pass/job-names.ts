import type { Area } from "../service/service-error.ts";

/** Every job, in the order in which `sync` runs them. */
export const JOB_NAMES = [
  "orders",
  "updates",
  "statuses",
  "stocks",
  "prices",
  "catalog",
  "images",
  "reconcile",
] as const;
export type JobName = (typeof JOB_NAMES)[number];

/** The flows that a hold of each half of the service stops. */
export const AREA_FLOWS = {
  orders: ["orders", "updates", "statuses", "reconcile"],
  imports: ["stocks", "prices", "catalog", "images"],
} as const satisfies Record<Area, readonly JobName[]>;

/** Passes that run by schedule alone: no command names them, and they ask the service nothing. */
export const UPKEEP_NAMES = ["backup", "upkeep", "mirror"] as const;

/** Everything that has runs and a row in `sync_status`. */
export type FlowName = JobName | (typeof UPKEEP_NAMES)[number];

export function isJobName(name: string): name is JobName {
  return (JOB_NAMES as readonly string[]).includes(name);
}
