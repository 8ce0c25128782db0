/*
 * Decides when an order that the service does not find is marked as removed. A deployment, a stale replica or a proxy
 * also answers 404, so it must happen again at least ten minutes later, each time while the service answers for another
 * order, and with nothing of the order served in between. The first time is a row (`missing_orders`), which outlives a
 * restart.
 */
import { deleteMissingOrder, loadMissingOrder, saveMissingOrder } from "../../orders/missing-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import { hasPassed, type Moment } from "../../pass/moment.ts";
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

export class MissingOrders {
  readonly #context: Pick<JobContext, "store" | "clock" | "client">;
  /** When this process first missed an order, by the monotonic clock. */
  readonly #missedAt = new Map<string, { since: string; monotonicMs: number }>();

  constructor(context: Pick<JobContext, "store" | "clock" | "client">) {
    this.#context = context;
  }

  /**
   * To be called inside the transaction that acts on the result, where the service was well. Returns whether the order
   * was missing for long enough.
   */
  note(orderId: string, at: string): boolean {
    const { store, clock, client } = this.#context;
    const now: Moment = { monotonicMs: clock.monotonicMs(), serviceDate: client.serviceNow ?? null };
    const row = loadMissingOrder(store, orderId);
    if (row === undefined) {
      saveMissingOrder(store, orderId, { since: at, serviceDate: now.serviceDate });
      this.#missedAt.set(orderId, { since: at, monotonicMs: clock.monotonicMs() });
      return false;
    }
    const own = this.#missedAt.get(orderId);
    const first: Moment = {
      monotonicMs: own?.since === row.since ? own.monotonicMs : undefined,
      serviceDate: row.serviceDate,
    };
    const isOver = hasPassed(first, now, MISSING_FOR_MS);
    if (isOver) {
      deleteMissingOrder(store, orderId);
      this.#missedAt.delete(orderId);
    } else if (first.monotonicMs === undefined) {
      // Without `Date` the time is measured since this process first missed the order.
      this.#missedAt.set(orderId, { since: row.since, monotonicMs: clock.monotonicMs() });
    }
    return isOver;
  }
}
