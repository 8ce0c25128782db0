/*
 * Detects that the change list is silent while orders change: its index stands still, or its replica is not fed. Each
 * poll succeeds then, and only the nightly comparison finds changes. Counts orders whose status changed later than
 * everything listed. Polls of an hour without news show that they were not merely listed late, measured without the
 * service's clock, which may be unknown. News in the list resets the count.
 */
import { isStrictlyNewer } from "../../answers/timestamp.ts";
import type { JobContext } from "../../pass/job.ts";
import { hasFollowed, loadWatermark, TIME_STREAM, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { isToken } from "../pages/follow.ts";
import { isOfFuture } from "../times/latest-time.ts";
import { loadLearned, UNLISTED } from "../times/learned-rows.ts";

/** One may have changed during the request of the list. */
const UNLISTED_ORDERS = 2;

/**
 * Counts an order whose status was found changed by the comparison. To be called inside the transaction that stores it.
 * @param order its timestamp as the service writes it
 */
export function noteUnlisted(
  context: Pick<JobContext, "store" | "client" | "clock">,
  order: { timestamp: string | null; timezone: string; at: string },
): void {
  const { store } = context;
  const { timestamp, timezone, at } = order;
  const position = loadWatermark(store, UPDATES_STREAM);
  if (position === undefined || timestamp === null || !hasFollowed(store)) return;
  // A token has no time; the largest time saved beside it is used.
  const isOwn = isToken(position, loadLearned(store).form, timezone);
  const listed = isOwn ? loadWatermark(store, TIME_STREAM) : position;
  // Listed changes from the future move no position either.
  if (!isStrictlyNewer(timestamp, listed ?? null, timezone) || isOfFuture(context, timestamp, timezone)) return;
  const known = UNLISTED.load(store);
  const before = known?.position === position ? known : { position, count: 0, since: at };
  const count = before.count + 1;
  UNLISTED.save(store, { ...(count === UNLISTED_ORDERS && { enoughAt: at }), ...before, count });
}
