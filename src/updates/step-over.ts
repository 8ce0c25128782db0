/*
 * Pages that were stepped over because all of their changes have one timestamp: what was behind them in the same timestamp cannot be asked for.
 */

import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import type { Asked, FollowRules, Page } from "./follow.ts";
import { isLater } from "./follow.ts";
import type { Pass } from "./follow-pass.ts";
import { deleteTie, saveTie, type TieRange } from "./tie-rows.ts";

/** A page that was stepped over, until the next one shows whether something was left behind it. */
export interface Tie {
  /** None: the changes carry no timestamps at all. */
  timestamp: string | undefined;
  count: number;
  /** What was stepped over, and the service's time then. */
  range?: TieRange;
  servedAt?: string | undefined;
}

/** Changes that cannot be reached must be looked for by a person. Once told, the same timestamp is not told again. */
export async function raiseTie(
  context: JobContext,
  { timestamp, count, range }: Tie,
  { pass, path }: { pass: Pass; path: string },
): Promise<void> {
  const { store, log } = context;
  const detail =
    timestamp === undefined
      ? m.updates.pageWithoutTime({ count, path })
      : m.updates.pageOfOneTime({ count, timestamp });
  const isNew = await commit(context, pass.signal, () => saveTie(store, { at: pass.at, detail, range }));
  pass.isTieOver = false;
  if (isNew) log.error({ timestamp, count }, detail);
}

export async function endTie(context: JobContext, signal: AbortSignal): Promise<void> {
  const { store, log } = context;
  if (await commit(context, signal, () => deleteTie(store))) log.info({}, m.updates.tieServed);
}

/** What a page that was not cut would have held as well tells for certain that it was. A change made since tells nothing. */
export function provesCut({ timestamps }: Page, { timestamp, servedAt }: Tie, rules: FollowRules): boolean {
  return timestamps.some(
    (served) =>
      served !== undefined &&
      isLater(served.text, timestamp, rules) &&
      (servedAt === undefined || !isLater(served.text, servedAt, rules)),
  );
}

/** Whether a page that begins before a tie goes on behind it: then nothing was left out in between. */
export function showsWhole({ timestamps }: Page, asked: Asked, tie: TieRange | undefined): boolean {
  if (tie === undefined || asked.ns >= tie.fromNs) return false;
  return timestamps.some((timestamp) => timestamp !== undefined && timestamp.instantNs > tie.toNs);
}
