/*
 * Whether the list of changes is silent while orders change: an index behind it stands still, or a replica of it is not fed. Each poll is
 * answered well then, and the nightly comparison alone learns what has changed. Orders count whose status has changed later than all that was
 * listed. Polls of an hour that name nothing new show that they were not merely listed late: no clock of the service's is asked, which may send none.
 * As soon as the list names something new they count no more.
 */
import { isStrictlyNewer } from "../answers/timestamp.ts";
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { JobContext } from "../pass/job.ts";
import { hasFollowed, loadWatermark, TIME_STREAM, UPDATES_STREAM } from "../pass/position-rows.ts";
import { isToken } from "./follow.ts";
import { isOfFuture } from "./latest-time.ts";
import { loadLearned } from "./learned-rows.ts";

/** As it stands in `meta`. */
export interface UnlistedChanges {
  /** Up to where the list had been followed: what is counted is over where it is another. */
  position: string;
  count: number;
  /** When the first of them was found, UTC. */
  since: string;
  /** When they became so many that they are told of, UTC. */
  enoughAt?: string;
}

/** One may have changed while the list was asked for. */
const UNLISTED_ORDERS = 2;

/**
 * Counts an order whose status the comparison found changed. Inside the transaction that stores it.
 * @param order its timestamp, as the service writes it
 */
export function noteUnlisted(
  context: Pick<JobContext, "store" | "client" | "clock">,
  order: { timestamp: string | null; timezone: string; at: string },
): void {
  const { store } = context;
  const { timestamp, timezone, at } = order;
  const position = loadWatermark(store, UPDATES_STREAM);
  if (position === undefined || timestamp === null || !hasFollowed(store)) return;
  // A token does not say what it covers: the largest time beside it does.
  const isOwn = isToken(position, loadLearned(store).form, timezone);
  const listed = isOwn ? loadWatermark(store, TIME_STREAM) : position;
  // What lies in the future moves no position where it is listed.
  if (!isStrictlyNewer(timestamp, listed ?? null, timezone) || isOfFuture(context, timestamp, timezone)) return;
  const known = loadMetaJson<UnlistedChanges>(store, "unlisted_changes");
  const before = known?.position === position ? known : { position, count: 0, since: at };
  const count = before.count + 1;
  saveMetaJson(store, "unlisted_changes", { ...(count === UNLISTED_ORDERS && { enoughAt: at }), ...before, count });
}
