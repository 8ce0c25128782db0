import { LateOrders } from "../../src/confirm/late-orders.ts";
import { orderRulesOf } from "../../src/daemon/build-jobs.ts";
import type { JobReport } from "../../src/pass/job.ts";
import { FollowUpdates } from "../../src/updates/follow-updates.ts";
import { ReadOrders } from "../../src/updates/reads/read-orders.ts";
import { configFor } from "./bridge.ts";
import type { Followed } from "./followed.ts";

/** A pass over changes that reads at most so many pages. */
export async function boundedPass({ bridge, sandbox }: Followed, pagesMax = 30): Promise<JobReport> {
  const loaded = configFor(sandbox, "/nowhere");
  const { updates } = loaded.config;
  const rules = orderRulesOf(loaded);
  const follow = { since: updates.since, timezone: "UTC", overlapMs: updates.overlap };
  const late = new LateOrders(bridge.context, follow);
  const options = { rules, follow, late, wideOverlapMs: updates.sweep.overlap, pagesMax };
  const job = new FollowUpdates(bridge.context, options, new ReadOrders(bridge.context, rules, follow));
  return await job.runOnce(new AbortController().signal);
}
