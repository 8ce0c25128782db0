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

export function isJobName(name: string): name is JobName {
  return (JOB_NAMES as readonly string[]).includes(name);
}
