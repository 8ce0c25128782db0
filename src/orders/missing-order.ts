import { ServiceError } from "../service/service-error.ts";

/** How long the service must have said that it has no such order until that counts. */
export const MISSING_FOR_MS = 10 * 60_000;

/** Whether the service itself says that it has no such order. A web page is a proxy's word or a deployment's, and a cache's word is an old one. */
export function saysNoSuchOrder(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  return !error.isWebPage && !error.isCached && (error.status === 404 || error.status === 410);
}

/** The clocks at one moment. The wall clock is not among them: it jumps. */
export interface Moment {
  /** Of this process; undefined for a moment that another process saw. */
  monotonicMs: number | undefined;
  /** The service's `Date`. */
  serviceDate: string | null;
}

/** Whether at least `ms` lie between two moments. Where no clock has shown both of them they do not. */
export function hasPassed(first: Moment, now: Moment, ms: number): boolean {
  if (first.monotonicMs !== undefined && now.monotonicMs !== undefined)
    return now.monotonicMs - first.monotonicMs >= ms;
  return Date.parse(now.serviceDate ?? "") - Date.parse(first.serviceDate ?? "") >= ms;
}
