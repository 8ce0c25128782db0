/* The latest time that the service can have written by now. A later timestamp is in the future and proves nothing. */
import type { JobContext } from "../../pass/job.ts";
import { loadWatermark, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { isoTime } from "../../platform/ports.ts";
import { AHEAD_MS, isFromFuture, liesAhead } from "../pages/follow.ts";
import { loadAhead, loadLearned } from "./learned-rows.ts";

type Context = Pick<JobContext, "store" | "client" | "clock">;

/**
 * The service's own clock; without `Date`, once changes have shown that times ahead of this machine's clock were wrong
 * (`look-near.ts`), that clock plus an hour, unless it was set back since. Undefined where it is unknown.
 */
export function latestTime({ store, client, clock }: Context, timezone: string): string | undefined {
  if (client.serviceNow !== undefined || loadAhead(store)?.isProven !== true) return client.serviceNow;
  const nowMs = clock.nowMs();
  const isSetBack = liesAhead(loadWatermark(store, UPDATES_STREAM), nowMs, loadLearned(store).form, { timezone });
  return isSetBack ? undefined : isoTime(nowMs + AHEAD_MS);
}

/** Whether a timestamp of an order or a change is in the service's future. */
export function isOfFuture(context: Context, timestamp: string, timezone: string): boolean {
  return isFromFuture(timestamp, latestTime(context, timezone), timezone);
}
