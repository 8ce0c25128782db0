/*
 * Queues a read of the orders whose records are held. A record may have been bad only temporarily: written in another
 * encoding, or corrected without a newer timestamp. The service's present order decides: a good snapshot releases what
 * is held, a bad one leaves it held. In one transaction; after a crash the reads are queued again.
 */

import { readOrderId } from "../answers/uuid.ts";
import { commit } from "../pass/commit.ts";
import { loadHeldOrders } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { expediteRead, requestRead } from "../pass/position-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { ORDER_KINDS } from "../records/order-mapping.ts";

/** The newest held records; as many reads as a night allows. */
const HELD_PER_ROUND = 500;

export async function requestHeldReads(context: JobContext, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  const held = loadHeldOrders(store, ORDER_KINDS, { before: Number.MAX_SAFE_INTEGER, limit: HELD_PER_ROUND });
  if (held.length === 0) return;
  await commit(context, signal, () => {
    for (const { reference, serviceId } of held) {
      const orderId = readOrderId(reference);
      if (orderId === undefined) continue;
      requestRead(store, { orderId, serviceId: serviceId ?? orderId }, isoTime(clock.nowMs()));
      expediteRead(store, orderId);
    }
  });
}
