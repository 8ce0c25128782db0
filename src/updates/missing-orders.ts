/*
 * Decides when an order that the service does not find is marked as removed. Once says little: a deployment, a stale
 * replica or a proxy answers 404 as well. It must happen again at least ten minutes later, each time while the service
 * answers for another order, and with nothing of the order served in between. The first time is a row
 * (`missing_orders`), so that it outlives a restart.
 */
import { deleteMissingOrder, loadMissingOrder, saveMissingOrder } from "../orders/missing-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { hasPassed, type Moment } from "../pass/moment.ts";
import { ServiceError } from "../service/service-error.ts";

/** How long the service must have said that it has no such order until that counts. */
export const MISSING_FOR_MS = 10 * 60_000;

/** Whether the service itself says that it has no such order. A web page is a proxy's word or a deployment's, and a cache's word is an old one. */
export function saysNoSuchOrder(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  return !error.isWebPage && !error.isCached && (error.status === 404 || error.status === 410);
}

export class MissingOrders {
  readonly #context: Pick<JobContext, "store" | "clock" | "client">;
  /** When this process first missed an order: measured by a clock that does not jump. */
  readonly #missedAt = new Map<string, { since: string; monotonicMs: number }>();

  constructor(context: Pick<JobContext, "store" | "clock" | "client">) {
    this.#context = context;
  }

  /** Inside the transaction that acts on it, where the service was well. Returns whether the order has been missing for long enough. */
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
      // Without a Date from the service the time is counted from this process's first look.
      this.#missedAt.set(orderId, { since: row.since, monotonicMs: clock.monotonicMs() });
    }
    return isOver;
  }
}
