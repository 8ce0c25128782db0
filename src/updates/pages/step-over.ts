/*
 * Pages that were stepped over because all changes have one timestamp: further changes with that timestamp cannot be
 * requested.
 */

import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { isoTime } from "../../platform/ports.ts";
import {
  deleteEqualTimestamps,
  loadEqualTimestamps,
  saveEqualTimestamps,
  type TimestampRange,
} from "../cuts/equal-timestamps-rows.ts";
import type { Asked, FollowRules, Page } from "./follow.ts";
import { instantOf, isLater } from "./follow.ts";
import type { Pass } from "./follow-pass.ts";
import { isWholeDownTo } from "./page-cover.ts";

/** A page that was stepped over, until the next page shows whether something was left out. */
export interface EqualTimestamps {
  /** Undefined where the changes have no timestamps at all. */
  timestamp: string | undefined;
  count: number;
  /** The times stepped over, and the service's time then. */
  range?: TimestampRange;
  servedAt?: string | undefined;
}

/** Raises a hold for changes that cannot be requested, once per timestamp: a person must look for them. */
export async function holdEqualTimestamps(
  context: JobContext,
  { timestamp, count, range }: EqualTimestamps,
  { pass, path }: { pass: Pass; path: string },
): Promise<void> {
  const { store, log } = context;
  const detail =
    timestamp === undefined
      ? m.updates.pageWithoutTime({ count, path })
      : m.updates.pageOfOneTime({ count, timestamp });
  const isNew = await commit(context, pass.signal, () => saveEqualTimestamps(store, { at: pass.at, detail, range }));
  pass.isEqualServed = false;
  if (isNew) log.error({ timestamp, count }, detail);
}

/** The instant up to which orders are read because of such pages: once no later change can be before it. */
export function findEqualServed(
  { store, clock, client }: Pick<JobContext, "store" | "clock" | "client">,
  { high }: Pick<Pass, "high">,
): bigint | undefined {
  const equal = loadEqualTimestamps(store);
  // Without `Date`, this machine's clock or a later change decides.
  const nowNs = instantOf(client.serviceNow ?? isoTime(clock.nowMs()), "UTC");
  const shownNs = client.serviceNow === undefined ? high?.ns : undefined;
  const isOver = (ns: bigint | undefined) => equal !== undefined && ns !== undefined && ns >= equal.overNs;
  return isOver(nowNs) || isOver(shownNs) ? equal?.toNs : undefined;
}

export async function endEqualTimestamps(context: JobContext, signal: AbortSignal): Promise<void> {
  const { store, log } = context;
  if (await commit(context, signal, () => deleteEqualTimestamps(store))) log.info({}, m.updates.equalTimestampsServed);
}

/** Whether the next page has a change that a complete page would have had too. A change made since proves nothing. */
export function provesCut({ timestamps }: Page, { timestamp, servedAt }: EqualTimestamps, rules: FollowRules): boolean {
  return timestamps.some(
    (served) =>
      served !== undefined &&
      isLater(served.text, timestamp, rules) &&
      (servedAt === undefined || !isLater(served.text, servedAt, rules)),
  );
}

/** Whether a page starts before the equal timestamps and continues after them: then nothing was left out between. */
export function showsWhole({ timestamps }: Page, asked: Asked, equal: TimestampRange | undefined): boolean {
  if (equal === undefined || asked.ns >= equal.fromNs) return false;
  if (!isWholeDownTo(timestamps, { askedNs: asked.ns, ns: equal.fromNs - 1n })) return false;
  return timestamps.some((timestamp) => timestamp !== undefined && timestamp.instantNs > equal.toNs);
}
