/*
 * Decides when an order that the service does not find is marked as removed. A deployment, a stale replica or a proxy
 * also answers 404, so it must happen again at least ten minutes later, each time while the service answers for another
 * order, and with nothing of the order served in between. The first time is a row (`missing_orders`), which outlives a
 * restart.
 */
import { deleteMissingOrder, loadMissingOrder, saveMissingOrder } from "../../orders/missing-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import { leastAgoMs } from "../../pass/machine-clock.ts";
import { ServiceError } from "../../service/service-error.ts";

/** How long an order must be missing. */
export const MISSING_FOR_MS = 10 * 60_000;

/**
 * Whether the service itself answers that it has no such order. A web page comes from a proxy or a deployment; a cached
 * answer may be old.
 */
export function saysNoSuchOrder(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  return !error.isWebPage && !error.isCached && (error.status === 404 || error.status === 410);
}

/**
 * To be called inside the transaction that acts on the result, where the service was well. Returns whether the order
 * was missing for long enough.
 */
export function noteMissing(
  { store, clock }: Pick<JobContext, "store" | "clock">,
  orderId: string,
  at: string,
): boolean {
  const nowMs = clock.monotonicMs();
  const row = loadMissingOrder(store, orderId);
  if (row === undefined) saveMissingOrder(store, orderId, { since: at, machineMs: nowMs });
  if (row === undefined || leastAgoMs(row.machineMs, nowMs) < MISSING_FOR_MS) return false;
  deleteMissingOrder(store, orderId);
  return true;
}
