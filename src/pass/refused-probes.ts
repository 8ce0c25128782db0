/*
 * Which flow tried last, in vain, whether a hold of its area is over: another flow tries next. Saved with the hold, because
 * from cron each pass is a process of its own. Without the hold it means nothing, and stays where a person lifts the hold.
 */

import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { type HoldRow, loadHoldsOf } from "./hold-rows.ts";

type Hold = Pick<HoldRow, "area" | "reason">;
/** Suffix of a flow that has left a probe to others since, in another process. */
const YIELDED = " yielded";
/** By area and reason: the flow. */
const REFUSED = new MetaValue<Record<string, string>>("refused_probes", {});

/** Undefined also where the flow has left a probe to others since. */
export function loadRefusedProbe(store: Store, hold: Hold): string | undefined {
  const flow = REFUSED.load(store)[keyOf(hold)];
  return flow?.endsWith(YIELDED) ? undefined : flow;
}

/** The flow leaves a probe to others. To be called inside a transaction. */
export function saveYielded(store: Store, hold: Hold, flow: string): void {
  saveRefusedProbe(store, hold, flow + YIELDED);
}

/** To be called inside a transaction. Writes only what has changed. */
export function saveRefusedProbe(store: Store, hold: Hold, flow: string | undefined): void {
  const { [keyOf(hold)]: before, ...others } = REFUSED.load(store);
  if (before === flow) return;
  REFUSED.save(store, flow === undefined ? others : { ...others, [keyOf(hold)]: flow });
}

/** Whether the last probe of a hold of the area was this flow's, in vain. */
export function wasProbeRefused(store: Store, area: string, flow: string): boolean {
  const refused = REFUSED.load(store);
  return loadHoldsOf(store, area).some((hold) => refused[keyOf(hold)]?.replace(YIELDED, "") === flow);
}

function keyOf({ area, reason }: Hold): string {
  return `${area} ${reason}`;
}
